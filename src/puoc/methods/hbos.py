"""HBOS (Goldstein and Dengel, 2012): a histogram of each column over the labelled positives."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import PositiveInt

from puoc.methods.training.array_model import ArrayModel, Sizes
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.records import Array
from puoc.registry import method

_AT_ONCE = 65536  # rows


@method("hbos")
@typed
class HBOS(ArrayModel):
    """The score is the sum over the columns of the log height of the row's bin.

    Bins of one width span the values of P, and the tallest has height 1. Ours: half a row is added to each bin, so
    that an empty bin has a finite score. A value outside P loses log(1 + b), if it lies b widths beyond the last bin,
    so that far rows differ.
    """

    kind = "oc"
    needs_alpha = False
    array_shapes: ClassVar[dict[str, Sizes]] = {"low": ("d",), "width": ("d",), "log_height": ("d", "bins")}

    bins: PositiveInt

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Count the labelled positives in each bin."""
        self.check_shape(sample.X_p.shape[1:])
        P = np.asarray(sample.X_p, dtype=np.float64)
        low, span = P.min(axis=0), np.ptp(P, axis=0)
        width = np.where(span > 0, span, 1.0) / self.bins
        bins = self._bins(P, low, width)
        counts = np.stack([np.bincount(column, minlength=self.bins) for column in bins.T]) + 0.5
        self.arrays_ = {"low": low, "width": width, "log_height": np.log(counts / counts.max(axis=1, keepdims=True))}

    def check_arrays(self, d: int) -> None:
        """See ``ArrayModel``: widths are positive and all values finite."""
        low, width, log_height = (self.arrays_[name] for name in self.array_shapes)
        is_finite = all(np.isfinite(array).all() for array in (low, width, log_height))
        if not (is_finite and (width > 0).all() and log_height.shape[1] == self.bins):
            raise ValueError(f"{self.name}: {self.bins} bins of positive width for each column expected")

    def decision_function(self, X: Array) -> Array:
        """Return scores (n,), float64."""
        low, width, log_height = (self.arrays_[name] for name in self.array_shapes)
        scores, columns = np.empty(len(X)), np.arange(len(low))
        for start in range(0, len(X), _AT_ONCE):
            x = np.asarray(X[start : start + _AT_ONCE], dtype=np.float64)
            beyond = np.maximum(low - x, x - (low + self.bins * width)) / width
            penalty = np.log1p(np.maximum(beyond, 0))
            scores[start : start + len(x)] = (log_height[columns, self._bins(x, low, width)] - penalty).sum(axis=1)
        return scores

    def _bins(self, X: Array, low: Array, width: Array) -> Array:
        return np.clip((X - low) / width, 0, self.bins - 1).astype(np.intp)
