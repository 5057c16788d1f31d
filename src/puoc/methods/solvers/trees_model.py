"""Scoring by the mean, or the sum, over decision trees: what all methods of trees leave behind."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from puoc.methods.solvers import forest
from puoc.methods.solvers.forest import Forest
from puoc.methods.training.array_model import ArrayModel, Sizes
from puoc.records import Array


class Trees(ArrayModel):
    """The score is the mean of the values of the leaves that a row reaches, one in each tree."""

    array_shapes: ClassVar[dict[str, Sizes]] = {"roots": ("trees",), "nodes": ("nodes", 5), "splits": ("d",)}

    def keep(self, trees: Forest, d: int) -> None:
        """Keep the trees of a fit, and the number of nodes that compare each of the ``d`` columns."""
        self.arrays_ = {"roots": trees.roots, "nodes": trees.nodes, "splits": trees.splits(d)}

    @property
    def forest(self) -> Forest:
        """Return the trees of the fitted model."""
        return Forest(self.arrays_["roots"], self.arrays_["nodes"])

    def check_arrays(self, d: int) -> None:
        """See ``ArrayModel``: the trees are sound."""
        forest.check(self.name, self.forest, d)

    def decision_function(self, X: Array) -> Array:
        """Return scores (n,), float64."""
        return self.forest.mean(X)


def labelled(X_p: Array, X_u: Array | None) -> tuple[Array, Array]:
    """Return the rows of P and U together, float32 as trees compare them, and 1 for P and 0 for U."""
    X_u = X_p[:0] if X_u is None else X_u
    X = np.concatenate([X_p, X_u]).astype(np.float32)
    return X, np.repeat([1.0, 0.0], [len(X_p), len(X_u)])
