"""Classifiers of the package pulearn by name: Elkan and Noto (2008), Mordelet and Vert (2014), and naive Bayes for PU.

The score is the classifier's probability of the class 1, after a fit to P with the label 1 and U with the label 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from puoc.methods.solvers.refitted import Refitted, Settings, library_class, made
from puoc.methods.training.array_model import Sizes
from puoc.methods.training.estimator import typed
from puoc.records import Array
from puoc.registry import method

Classifier = Literal[
    "BaggingPuClassifier",
    "ElkanotoPuClassifier",
    "PositiveNaiveBayesClassifier",
    "PositiveTANClassifier",
    "WeightedElkanotoPuClassifier",
    "WeightedNaiveBayesClassifier",
    "WeightedTANClassifier",
]
Base = Literal[
    "DecisionTreeClassifier",
    "ExtraTreesClassifier",
    "HistGradientBoostingClassifier",
    "LogisticRegression",
    "RandomForestClassifier",
    "SVC",
]
_MODULES = {
    "DecisionTreeClassifier": "tree",
    "ExtraTreesClassifier": "ensemble",
    "HistGradientBoostingClassifier": "ensemble",
    "LogisticRegression": "linear_model",
    "RandomForestClassifier": "ensemble",
    "SVC": "svm",
}


@method("pulearn")
@typed
class PULearn(Refitted):
    """The score is the probability that pulearn's classifier gives; Elkan and Noto's may be above 1.

    ``NNPUClassifier`` is left out: it needs a class prior, and ``nnpu`` is a method of puoc.
    """

    kind = "pu"
    needs_alpha = False
    package = "pulearn"
    array_shapes: ClassVar[dict[str, Sizes]] = {"positives": ("n_p", "d"), "unlabelled": ("n_u", "d"), "seed": (1,)}

    classifier: Classifier
    settings: Settings  # arguments of the classifier, such as hold_out_ratio=0.2; its defaults for others
    estimator: Base | None = None  # scikit-learn's classifier inside; naive Bayes has none
    estimator_settings: Settings | None = None  # arguments of this one

    @model_validator(mode="after")
    def _check_estimator(self) -> Self:
        bayes = self.classifier.endswith(("BayesClassifier", "TANClassifier"))
        if self.estimator is None and not bayes:
            raise ValueError(
                f"missing hyperparameter 'estimator': {self.classifier} has a classifier inside, expected one of "
                + ", ".join(_MODULES)
            )
        if self.estimator is not None and bayes:
            raise ValueError(
                f"hyperparameter 'estimator': got {self.estimator}, expected none, as {self.classifier} has no "
                "classifier inside"
            )
        if self.estimator is None and self.estimator_settings is not None:
            raise ValueError("hyperparameter 'estimator_settings': got values without an estimator, expected none")
        return self

    def train(self, arrays: Mapping[str, Array], seed: int) -> Any:
        """See ``Refitted``."""
        P, U = arrays["positives"], arrays["unlabelled"]
        given: dict[str, Any] = {"random_state": seed, "labeled": len(P), "unlabeled": len(U)}
        if self.estimator is not None:
            base = library_class("sklearn", _MODULES[self.estimator], self.estimator)
            inside = {"random_state": seed} | ({"probability": True} if self.estimator == "SVC" else {})
            given["estimator"] = made(base, self.estimator_settings or "", inside, "estimator_settings")
        cls = library_class("pulearn", "", self.classifier)
        return made(cls, self.settings, given, "settings").fit(*labelled(P, U))

    def raw_scores(self, learner: Any, X: Array) -> Array:
        """See ``Refitted``."""
        scores: Array = np.asarray(learner.predict_proba(X))[:, 1]
        return scores


def labelled(P: Array, U: Array) -> tuple[Array, Array]:
    """Return the rows of P and U together, and 1 for P and 0 for U."""
    return np.concatenate([P, U]), np.repeat([1, 0], [len(P), len(U)])
