"""The methods as scikit-learn estimators, with splitters and scorers for positive and unlabelled rows.

A fit goes the way of ``puoc fit``: the same preparation of columns, the same default hyperparameters and the same model
file. ``puoc`` exports the public names; a class is made for each registered method when it is first asked for.
"""

from puoc.userdata.estimators.classes import all_estimators, class_named
from puoc.userdata.estimators.general import OneClassDetector, PUClassifier
from puoc.userdata.estimators.loading import load
from puoc.userdata.estimators.scorers import lee_liu_score, proxy_accuracy_score, pu_auc_score, pu_scorer
from puoc.userdata.estimators.splitters import PUKFold, PUShuffleSplit

__all__ = [
    "OneClassDetector",
    "PUClassifier",
    "PUKFold",
    "PUShuffleSplit",
    "all_estimators",
    "class_named",
    "lee_liu_score",
    "load",
    "proxy_accuracy_score",
    "pu_auc_score",
    "pu_scorer",
]
