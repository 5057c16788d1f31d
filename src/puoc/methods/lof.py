"""Local outlier factor (Breunig et al., 2000) with the labelled positives as reference."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import PositiveInt

from puoc.methods.solvers.neighbours import kept
from puoc.methods.training.array_model import ArrayModel, Sizes
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.records import Array
from puoc.registry import method

_SMOOTH = 1e-10  # scikit-learn's: added to mean distances, so that equal rows have a finite density
_AT_ONCE = 8192  # rows


@method("lof")
@typed
class LOF(ArrayModel):
    """The score is minus the local outlier factor: the neighbours' mean density of reachability over the row's own.

    Neighbours are labelled positives, and new rows do not count as neighbours ("novelty" in scikit-learn). Rows (n, d)
    need columns of comparable scale.
    """

    kind = "oc"
    needs_alpha = False
    libraries = ("sklearn.neighbors",)
    keeps_rows = True
    array_shapes: ClassVar[dict[str, Sizes]] = {"positives": ("n_p", "d"), "distance": ("n_p",), "density": ("n_p",)}

    k: PositiveInt
    max_rows: PositiveInt  # kept of P; the time of a score grows with it

    def check_counts(self, n_p: int, n_u: int) -> None:
        """See ``RowChecks``: each labelled positive has k others."""
        n = min(n_p, self.max_rows)
        if self.k > n - 1:
            raise ValueError(
                f"{self.name} with k = {self.k} takes {self.k + 1} labelled positives at least, got {n}; "
                f"give more rows or --params k={max(n - 1, 1)}"
            )

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Keep the labelled positives with their distances to the k-th neighbour and their densities."""
        self.check_shape(sample.X_p.shape[1:])
        self.check_counts(len(sample.X_p), 0)
        P = kept(sample.X_p, self.max_rows, sample.seed)
        near, who = _tree(P).kneighbors(None, self.k)
        distance = near[:, -1].copy()
        density = 1 / (np.maximum(near, distance[who]).mean(axis=1) + _SMOOTH)
        self.arrays_ = {"positives": P, "distance": distance, "density": density}

    def check_arrays(self, d: int) -> None:
        """See ``ArrayModel``: there are k rows, and distances and densities are numbers."""
        n = len(self.arrays_["positives"])
        is_sound = all(
            np.isfinite(array).all() and (name == "positives" or (array >= 0).all())
            for name, array in self.arrays_.items()
        )
        if self.k > n or not is_sound:
            raise ValueError(
                f"{self.name}: {self.k} rows at least with finite distances and densities expected, got {n} rows"
            )

    def decision_function(self, X: Array) -> Array:
        """Return scores (n,), float64."""
        P, distance, density = (self.arrays_[name] for name in self.array_shapes)
        scores, tree = np.empty(len(X)), _tree(P)
        for start in range(0, len(X), _AT_ONCE):
            near, who = tree.kneighbors(np.asarray(X[start : start + _AT_ONCE], dtype=np.float64), self.k)
            reach = np.maximum(near, distance[who]).mean(axis=1) + _SMOOTH
            scores[start : start + len(near)] = -density[who].mean(axis=1) * reach
        return scores


def _tree(P: Array) -> Any:
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(algorithm="auto").fit(P)
