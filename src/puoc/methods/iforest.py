"""Isolation forest (Liu, Ting and Zhou, 2008) on the labelled positives, and its extension by the unlabelled rows.

A tree splits a sample of P at random until each row is alone. The score is the depth h(x) at which a row is alone,
averaged over the trees, since rows in sparse regions are alone early.

The extension needs log p up to a constant. A split is uniform over the range of a region, so the part that holds x has
on average exp(-1/2) of its volume: 2 E[v log v] = -1/2 for v uniform in (0, 1). A row is alone once the volume is near
1 / (n p(x)), with n rows in the sample. So log p is h / 2 up to a constant where p is smooth.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveInt

from puoc.methods.solvers import excess, forest
from puoc.methods.solvers.forest import Forest
from puoc.methods.solvers.trees_model import Trees
from puoc.methods.training.array_model import Sizes
from puoc.methods.training.deep import given_prior
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.records import Array
from puoc.registry import method

_SLOPE = 0.5  # log density per split
SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("iforest")
@typed
class IForest(Trees):
    """The score is the mean depth at which the trees isolate a row. Rows (n, d). scikit-learn grows the trees."""

    kind = "oc"
    needs_alpha = False
    libraries = ("sklearn.ensemble",)

    trees: PositiveInt
    subsample: PositiveInt  # rows of P for each tree, drawn without replacement

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Grow the trees on the labelled positives."""
        self.check_shape(sample.X_p.shape[1:])
        grown = _grow(sample.X_p, self.trees, self.subsample, sample.seed)
        self.keep(forest.join(forest.grown(tree, _depth_alone(tree)) for tree in grown), sample.X_p.shape[1])


@method("pu_iforest")
@typed
class PUIForest(Trees):
    """The score of ``solvers.excess``, with the density of P from its twin and u / p from a second forest.

    The second forest is grown on as many rows of P as of U. In each tree u / p is the ratio of the shares of U and P
    in the smallest region around the row that holds ``k`` rows of both together; log(u / p) is the mean over the
    trees, and so is its standard error, from the counts. The constant density c of unknown negatives is that of P at
    the quantile ``border`` of the labelled positives, counted from the densest. Ours; no method of the paper.
    """

    kind = "pu_oc"
    twin = "iforest"
    needs_alpha = True
    libraries = ("sklearn.ensemble",)
    array_shapes: ClassVar[dict[str, Sizes]] = Trees.array_shapes | {
        "ratio_roots": ("trees",),
        "ratio_nodes": ("ratio_nodes", 5),
        "ratio_errors": ("ratio_nodes",),
        "constants": (2,),
    }

    trees: PositiveInt
    subsample: PositiveInt  # rows for each tree, drawn without replacement
    k: PositiveInt
    border: float = Field(gt=0, lt=1)
    caution: NonNegativeFloat  # standard errors by which the ratio of densities is lowered

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Grow both forests, and find the depth of the border."""
        alpha = given_prior(self.name, sample.alpha)
        X_p = sample.X_p
        self.check_shape(X_p.shape[1:])
        X_u = X_p[:0] if sample.X_u is None else sample.X_u
        grown = _grow(X_p, self.trees, self.subsample, sample.seed)
        self.keep(forest.join(forest.grown(tree, _depth_alone(tree)) for tree in grown), X_p.shape[1])
        rng, n = np.random.default_rng(sample.seed), min(len(X_p), len(X_u))
        both = np.concatenate([rows[rng.permutation(len(rows))[:n]] for rows in (X_p, X_u)])
        trees, errors = [], []
        for tree in _grow(both, self.trees, self.subsample, sample.seed):
            log_ratio, error = _ratios(tree, X_p, X_u, self.k)
            trees.append(forest.grown(tree, log_ratio))
            errors.append(error)
        ratio = forest.join(trees)
        border = np.quantile(self.forest.mean(X_p), 1 - self.border)
        self.arrays_ |= {
            "ratio_roots": ratio.roots,
            "ratio_nodes": ratio.nodes,
            "ratio_errors": np.concatenate(errors),
            "constants": np.array([alpha, border]),
        }

    @property
    def ratio_forest(self) -> Forest:
        """Return the trees whose values are log(u / p)."""
        return Forest(self.arrays_["ratio_roots"], self.arrays_["ratio_nodes"])

    def check_arrays(self, d: int) -> None:
        """See ``ArrayModel``: the trees and the constants are sound."""
        for trees in (self.forest, self.ratio_forest):
            forest.check(self.name, trees, d)
        (alpha, border), errors = self.arrays_["constants"], self.arrays_["ratio_errors"]
        if not (0 < alpha < 1 and 0 <= border < np.inf and ((errors >= 0) & (errors < np.inf)).all()):
            raise ValueError(f"{self.name}: alpha in (0, 1), a depth and standard errors expected, got other numbers")

    def decision_function(self, X: Array) -> Array:
        """Return scores (n,), float64."""
        alpha, border = (float(value) for value in self.arrays_["constants"])
        by_node = np.stack([self.arrays_["ratio_nodes"][:, 4], self.arrays_["ratio_errors"]], axis=1)
        log_ratio, standard_error = self.ratio_forest.mean_of(by_node, X).T
        log_level = _SLOPE * (border - self.forest.mean(X))
        return excess.score(log_ratio, standard_error, log_level, alpha, self.caution)


def _grow(X: Array, trees: int, subsample: int, seed: int) -> list[Any]:
    """Return trees of scikit-learn, each grown on ``subsample`` rows or on all."""
    from sklearn.ensemble import IsolationForest

    size = min(subsample, len(X))
    grown = IsolationForest(n_estimators=trees, max_samples=size, random_state=seed % 2**32).fit(X.astype(np.float32))
    return [one.tree_ for one in grown.estimators_]


def _depth_alone(tree: Any) -> Array:
    """Return of each node its depth, plus the mean depth that its rows would need to be alone (nodes,)."""
    depth = np.zeros(tree.node_count)
    for node, *children in zip(range(tree.node_count), tree.children_left, tree.children_right, strict=True):
        for child in children:
            if child >= 0:  # a parent comes before its children
                depth[child] = depth[node] + 1
    n = tree.n_node_samples.astype(np.float64)
    many = np.maximum(n, 3)
    rest = 2 * (np.log(many - 1) + np.euler_gamma) - 2 * (many - 1) / many  # equation 1 of Liu, Ting and Zhou
    alone: Array = depth + np.where(n <= 1, 0.0, np.where(n == 2, 1.0, rest))
    return alone


def _ratios(tree: Any, X_p: Array, X_u: Array, k: int) -> tuple[Array, Array]:
    """Return log(u / p) and its standard error by node: of the node, or of the first above it with ``k`` rows."""
    counts = np.stack(
        [np.bincount(tree.apply(rows.astype(np.float32)), minlength=tree.node_count) for rows in (X_p, X_u)], axis=1
    ).astype(np.float64)
    families = list(zip(range(tree.node_count), tree.children_left, tree.children_right, strict=True))
    for node, left, right in reversed(families):
        if left >= 0:
            counts[node] = counts[left] + counts[right]
    smoothed = (counts + 0.5) / (counts[0] + 1)
    log_ratio, error = np.log(smoothed[:, 1] / smoothed[:, 0]), np.sqrt((1 / (counts + 0.5)).sum(axis=1))
    for node, *children in families:
        for child in children:
            if child >= 0 and counts[child].sum() < k:
                log_ratio[child], error[child] = log_ratio[node], error[node]
    return log_ratio, error
