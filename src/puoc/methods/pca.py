"""Probabilistic principal components (Tipping and Bishop, 1999) of the labelled positives as a one-class method."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from puoc.methods.training.array_model import ArrayModel, Sizes
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.records import Array
from puoc.registry import method

_FLOOR = 1e-6  # of the noise, relative to the mean variance of a column


@method("pca")
@typed
class PCA(ArrayModel):
    """The score is the log-likelihood of a normal distribution, up to a constant: C = W W' + s^2 I.

    W spans the first components, which hold ``variance`` of the variance; s^2 is the mean variance of the others. Rows
    (n, d) need columns of comparable scale.
    """

    kind = "oc"
    needs_alpha = False
    array_shapes: ClassVar[dict[str, Sizes]] = {
        "mean": ("d",),
        "components": ("m", "d"),
        "variances": ("m",),
        "noise": (1,),
    }

    variance: float = Field(gt=0, lt=1)

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Decompose the labelled positives."""
        self.check_shape(sample.X_p.shape[1:])
        P = np.asarray(sample.X_p, dtype=np.float64)
        mean, d = P.mean(axis=0), P.shape[1]
        _, values, rows = np.linalg.svd(P - mean, full_matrices=False)
        variances = values**2 / max(len(P) - 1, 1)
        total = variances.sum()
        m = min(int(np.searchsorted(np.cumsum(variances), self.variance * total)) + 1, len(variances))
        m = min(m, d - 1)
        noise = max(variances[m:].sum() / (d - m), _FLOOR * total / d, np.finfo(np.float32).tiny) if d > m else total
        kept = variances[:m] > noise
        self.arrays_ = {
            "mean": mean,
            "components": rows[:m][kept],
            "variances": variances[:m][kept],
            "noise": np.array([noise]),
        }

    def check_arrays(self, d: int) -> None:
        """See ``ArrayModel``: variances are positive."""
        positive = np.concatenate([self.arrays_["variances"], self.arrays_["noise"]])
        if not ((positive > 0).all() and all(np.isfinite(array).all() for array in self.arrays_.values())):
            raise ValueError(f"{self.name}: finite numbers and positive variances expected")

    def decision_function(self, X: Array) -> Array:
        """Return scores (n,), float64."""
        mean, rows, variances, noise = (self.arrays_[name] for name in self.array_shapes)
        centred = np.asarray(X, dtype=np.float64) - mean
        along = (centred @ rows.T) ** 2
        outside = np.maximum((centred**2).sum(axis=1) - along.sum(axis=1), 0)
        scores: Array = -(along / variances).sum(axis=1) / 2 - outside / noise[0] / 2
        return scores
