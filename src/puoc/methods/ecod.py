"""ECOD (Li et al., 2022): tails of the empirical distribution of each column over the labelled positives."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import PositiveFloat

from puoc.methods.training.array_model import ArrayModel, Sizes
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.records import Array
from puoc.registry import method

_AT_ONCE = 65536  # rows


@method("ecod")
@typed
class ECOD(ArrayModel):
    """The score is minus a sum over the columns of -log of a tail's probability.

    There are three such sums: of the left tails, of the right tails, and of the tails on the side of the skewness.
    With ``largest: row`` the largest of the three counts (algorithm 1 of Li et al.). With ``largest: column``, as in
    the code that the authors released in PyOD, the sum is over the largest tail of each column. Ours: ``added`` rows
    count as more extreme than every value, so that a value outside P has the probability added / (n + added) and not
    0.
    """

    kind = "oc"
    needs_alpha = False
    keeps_rows = True
    array_shapes: ClassVar[dict[str, Sizes]] = {"sorted": ("n_p", "d"), "skewness": ("d",)}

    largest: Literal["row", "column"]
    added: PositiveFloat

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Sort each column of the labelled positives."""
        self.check_shape(sample.X_p.shape[1:])
        P = np.asarray(sample.X_p, dtype=np.float64)
        centred = P - P.mean(axis=0)
        spread = np.sqrt((centred**2).mean(axis=0))
        skewness = (centred**3).mean(axis=0) / np.where(spread > 0, spread, 1) ** 3
        self.arrays_ = {"sorted": np.sort(P, axis=0), "skewness": skewness}

    def check_arrays(self, d: int) -> None:
        """See ``ArrayModel``: the columns are sorted numbers."""
        of_columns, skewness = self.arrays_["sorted"], self.arrays_["skewness"]
        if not (len(of_columns) and np.isfinite(skewness).all() and (np.diff(of_columns, axis=0) >= 0).all()):
            raise ValueError(f"{self.name}: sorted columns of numbers and their skewness expected")

    def decision_function(self, X: Array) -> Array:
        """Return scores (n,), float64."""
        scores = np.empty(len(X))
        for start in range(0, len(X), _AT_ONCE):
            scores[start : start + _AT_ONCE] = self._scores(np.asarray(X[start : start + _AT_ONCE], dtype=np.float64))
        return scores

    def _scores(self, X: Array) -> Array:
        of_columns, skewness = self.arrays_["sorted"], self.arrays_["skewness"]
        n, sums = len(of_columns), np.zeros((3 if self.largest == "row" else 1, len(X)))
        for j, values in enumerate(of_columns.T):
            at_most = np.searchsorted(values, X[:, j], side="right")
            at_least = n - np.searchsorted(values, X[:, j], side="left")
            left, right = (-np.log((count + self.added) / (n + self.added)) for count in (at_most, at_least))
            if self.largest == "row":
                sums += left, right, left if skewness[j] < 0 else right
            else:
                sums += np.maximum(left, right)
        scores: Array = -sums.max(axis=0)
        return scores
