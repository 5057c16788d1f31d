"""Trees grown by recursive greedy minimisation of the PU risk (Wilton et al., 2022), as an ensemble ("PU ET").

A node that holds the share p of the labelled positives and the share u of the unlabelled rows has the weight
w_p = alpha p of positives and, by the non-negative estimate, w_n = max(u - alpha p, 0) of negatives. With the quadratic
loss its best constant prediction is v = w_p / (w_p + w_n), and its risk is w_p w_n / (w_p + w_n), up to a factor: the
Gini impurity of these weights. A split is the best of one random threshold in each of some random columns.
"""

from __future__ import annotations

import numpy as np
from pydantic import PositiveInt

from puoc.methods.solvers import forest
from puoc.methods.solvers.forest import Tree
from puoc.methods.solvers.trees_model import Trees, labelled
from puoc.methods.training.deep import given_prior
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.records import Array
from puoc.registry import method

SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("pu_trees")
@typed
class PUTrees(Trees):
    """The score is the mean over the trees of v, the estimated probability of a positive in a leaf."""

    kind = "pu"
    needs_alpha = True

    trees: PositiveInt
    min_leaf: PositiveInt  # rows of P and U together in a leaf at least
    max_rows: PositiveInt  # rows of P, and of U, for each tree; beyond, so many are drawn without replacement

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Grow the trees."""
        alpha = given_prior(self.name, sample.alpha)
        self.check_shape(sample.X_p.shape[1:])
        X, y = labelled(sample.X_p, sample.X_u)
        rng, sides = np.random.default_rng(sample.seed), (np.flatnonzero(y == 1), np.flatnonzero(y == 0))
        trees = []
        for _ in range(self.trees):
            drawn = [
                rows if len(rows) <= self.max_rows else rng.choice(rows, self.max_rows, replace=False) for rows in sides
            ]
            rows = np.concatenate(drawn)
            weights = np.zeros((len(rows), 2))  # of a row, for the shares of P and of U
            weights[: len(drawn[0]), 0] = alpha / len(drawn[0])
            weights[len(drawn[0]) :, 1] = 1 / len(drawn[1])
            trees.append(_Grower(X[rows], weights, self.min_leaf, rng).tree())
        self.keep(forest.join(trees), X.shape[1])


class _Grower:
    """Grows one tree."""

    def __init__(self, X: Array, weights: Array, min_leaf: int, rng: np.random.Generator):
        self.X, self.weights, self.min_leaf, self.rng = X, weights, min_leaf, rng
        self.n_columns = max(round(np.sqrt(X.shape[1])), 1)
        self.nodes: list[list[float]] = []  # feature, threshold, left, right, value

    def tree(self) -> Tree:
        """Return the tree, with a node's children after it."""
        waiting = [(np.arange(len(self.X)), self._add(np.arange(len(self.X))))]
        while waiting:
            rows, node = waiting.pop()
            split = self._split(rows)
            if split is None:
                continue
            column, threshold = split
            goes_left = self.X[rows, column] <= threshold
            parts = rows[goes_left], rows[~goes_left]
            children = [self._add(part) for part in parts]
            self.nodes[node][:4] = [column, threshold, *children]
            waiting += zip(parts, children, strict=True)
        nodes = np.array(self.nodes)
        return Tree(
            nodes[:, 0].astype(np.intp),
            nodes[:, 1],
            nodes[:, 2].astype(np.intp),
            nodes[:, 3].astype(np.intp),
            nodes[:, 4],
        )

    def _add(self, rows: Array) -> int:
        w_p, w_u = self.weights[rows].sum(axis=0)
        w_n = max(w_u - w_p, 0.0)
        self.nodes.append([-1, 0.0, 0, 0, w_p / (w_p + w_n)])
        return len(self.nodes) - 1

    def _split(self, rows: Array) -> tuple[int, np.float64] | None:
        """Return a column and a threshold; None if the node is pure, too small, or constant in the columns drawn.

        The threshold is no Python float: numpy would round it to the float32 of the rows, and a side could get none.
        """
        weights = self.weights[rows]
        total = weights.sum(axis=0)
        if len(rows) < 2 * self.min_leaf or _risk(total) == 0:
            return None
        columns = self.rng.permutation(self.X.shape[1])
        x = self.X[np.ix_(rows, columns)]
        low, high = x.min(axis=0), x.max(axis=0)
        varied = np.flatnonzero(high > low)[: self.n_columns]
        if not len(varied):
            return None
        low, high, x = low[varied].astype(np.float64), high[varied].astype(np.float64), x[:, varied]
        thresholds = low + (high - low) * self.rng.random(len(varied))  # below high, so both sides get rows
        goes_left = x <= thresholds
        n_left = goes_left.sum(axis=0)
        left = goes_left.T.astype(np.float64) @ weights
        risk = _risk(left) + _risk(total - left)
        risk[(n_left < self.min_leaf) | (len(rows) - n_left < self.min_leaf)] = np.inf
        best = int(np.argmin(risk))
        return None if risk[best] == np.inf else (int(columns[varied[best]]), thresholds[best])


def _risk(weights: Array) -> Array:
    """Return the risk of nodes of weights (..., 2) of P, times alpha, and of U."""
    w_p, w_n = weights[..., 0], np.maximum(weights[..., 1] - weights[..., 0], 0)
    found: Array = w_p * w_n / np.maximum(w_p + w_n, np.finfo(np.float64).tiny)
    return found
