"""COPOD (Li et al., 2020): tails of the empirical copula over the labelled positives."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import PositiveFloat

from puoc.methods.training.array_model import ArrayModel, Sizes
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.records import Array
from puoc.registry import method

_AT_ONCE = 65536  # rows


@method("copod")
@typed
class COPOD(ArrayModel):
    """The score is minus the sum over the columns j of max((l_j + r_j) / 2, s_j).

    l_j and r_j are -log of the empirical probabilities of values at most, and at least, that of the row. s_j is l_j
    where the column has negative skewness, r_j where it is positive, and their sum where it is 0. This is the code that
    the authors released in PyOD. Algorithm 1 of the paper takes the largest of the three sums over the columns, which
    is ``ecod`` with ``largest: row``. Ours: ``added`` rows count as more extreme than every value, so that a value
    outside P has the probability added / (n + added) and not 0. With 1 a score is PyOD's of a call with this row alone.
    """

    kind = "oc"
    needs_alpha = False
    keeps_rows = True
    array_shapes: ClassVar[dict[str, Sizes]] = {"sorted": ("n_p", "d"), "skewness": ("d",)}

    added: PositiveFloat

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Sort each column of the labelled positives."""
        self.check_shape(sample.X_p.shape[1:])
        P = np.asarray(sample.X_p, dtype=np.float64)
        constant = P.min(axis=0) == P.max(axis=0)  # rounding gives their mean, and so their skewness, a sign
        third = ((P - P.mean(axis=0)) ** 3).mean(axis=0)
        self.arrays_ = {"sorted": np.sort(P, axis=0), "skewness": np.where(constant, 0.0, np.sign(third))}

    def check_arrays(self, d: int) -> None:
        """See ``ArrayModel``: the columns are sorted numbers."""
        of_columns, skewness = self.arrays_["sorted"], self.arrays_["skewness"]
        if not (len(of_columns) and np.isin(skewness, (-1, 0, 1)).all() and (np.diff(of_columns, axis=0) >= 0).all()):
            raise ValueError(f"{self.name}: sorted columns of numbers and the signs of their skewness expected")

    def decision_function(self, X: Array) -> Array:
        """Return scores (n,), float64."""
        scores = np.empty(len(X))
        for start in range(0, len(X), _AT_ONCE):
            scores[start : start + _AT_ONCE] = self._scores(np.asarray(X[start : start + _AT_ONCE], dtype=np.float64))
        return scores

    def _scores(self, X: Array) -> Array:
        of_columns, skewness = self.arrays_["sorted"], self.arrays_["skewness"]
        n, scores = len(of_columns), np.zeros(len(X))
        for j, values in enumerate(of_columns.T):
            at_most = np.searchsorted(values, X[:, j], side="right")
            at_least = n - np.searchsorted(values, X[:, j], side="left")
            left, right = (-np.log((count + self.added) / (n + self.added)) for count in (at_most, at_least))
            by_skewness = left * (skewness[j] <= 0) + right * (skewness[j] >= 0)
            scores -= np.maximum(by_skewness, (left + right) / 2)
        return scores
