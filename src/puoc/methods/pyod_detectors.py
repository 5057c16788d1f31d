"""Detectors of PyOD (Zhao, Nasrullah and Li, 2019) by name, fitted to the labelled positives.

PyOD's score of an outlier is high, so the score is minus PyOD's ``decision_function``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from puoc.methods.solvers.refitted import Refitted, Settings, library_class, made
from puoc.methods.training.array_model import Sizes
from puoc.methods.training.estimator import typed
from puoc.records import Array
from puoc.registry import method

Detector = Literal[
    "ABOD",
    "AE1SVM",
    "AnoGAN",
    "AutoEncoder",
    "CBLOF",
    "DeepSVDD",
    "GMM",
    "HBOS",
    "HDBSCAN",
    "IForest",
    "INNE",
    "KDE",
    "KNN",
    "KPCA",
    "LODA",
    "LOF",
    "LUNAR",
    "MCD",
    "OCSVM",
    "PCA",
    "QMCD",
    "SO_GAAL",
    "Sampling",
]
_MODULES: dict[str, str] = {"AutoEncoder": "auto_encoder", "DeepSVDD": "deep_svdd"}  # others: the name in lower case


@method("pyod")
@typed
class PyOD(Refitted):
    """The score is minus that of the detector.

    The detectors are those of PyOD whose scores are decided by the rows of P, the settings and the seed, and whose
    score of a row does not depend on the rows that are scored with it. That leaves out ALAD and VAE, which draw numbers
    while they score, and CD, COF, COPOD, DIF, ECOD, LMDD, LOCI, RGraph, ROD, SOD and SOS, which rank the rows of a call
    among each other; ``copod`` and ``ecod`` are methods of puoc. Rows (n, d) need columns of comparable scale for most
    detectors.
    """

    kind = "oc"
    needs_alpha = False
    package = "pyod"
    array_shapes: ClassVar[dict[str, Sizes]] = {"positives": ("n_p", "d"), "seed": (1,)}

    detector: Detector
    settings: Settings  # arguments of the detector, such as n_neighbors=10, method=mean; its defaults for others

    def train(self, arrays: Mapping[str, Array], seed: int) -> Any:
        """See ``Refitted``."""
        cls = library_class("pyod.models", _MODULES.get(self.detector, self.detector.lower()), self.detector)
        P = arrays["positives"]
        return made(cls, self.settings, {"random_state": seed, "n_features": P.shape[1]}, "settings").fit(P)

    def raw_scores(self, learner: Any, X: Array) -> Array:
        """See ``Refitted``."""
        scores: Array = -learner.decision_function(X)
        return scores
