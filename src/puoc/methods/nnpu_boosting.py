"""Gradient boosting of trees on the non-negative PU risk (Kiryo et al., 2017) with the logistic loss.

The unbiased risk with this loss l is convex, since l(f) - l(-f) = -f (du Plessis et al., 2015):
alpha E_p[-f] + E_u[log(1 + e^f)]. Each tree fits its negative gradient, and a leaf takes a Newton step. Where the
estimated risk of the negatives, E_u[l(-f)] - alpha E_p[l(-f)], is below 0, the next tree descends on minus that term
instead, as nnPU does in a batch. Ours: the papers train networks.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from puoc.methods.solvers import forest
from puoc.methods.solvers.trees_model import Trees, labelled
from puoc.methods.training.deep import given_prior
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.records import Array
from puoc.registry import method

_LARGEST_STEP = 4.0  # of a leaf, in log-odds, before lr: a leaf of P alone has no curvature
SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("nnpu_boosting")
@typed
class NNPUBoosting(Trees):
    """The score is the sum of the trees, in log-odds."""

    kind = "pu"
    needs_alpha = True
    libraries = ("sklearn.tree",)

    trees: PositiveInt
    lr: PositiveFloat
    max_depth: PositiveInt
    min_leaf: PositiveInt  # rows of P and U together in a leaf at least
    columns: float = Field(gt=0, le=1)  # share of the columns, drawn at random, among which a split is the best one
    l2: NonNegativeFloat  # added to the curvature of a leaf, relative to that of all rows
    max_rows: PositiveInt  # rows that a tree is grown on; beyond, so many are drawn without replacement

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Grow the trees one after the other."""
        from sklearn.tree import DecisionTreeRegressor

        alpha = given_prior(self.name, sample.alpha)
        self.check_shape(sample.X_p.shape[1:])
        X, y = labelled(sample.X_p, sample.X_u)
        is_p, rng = y == 1, np.random.default_rng(sample.seed)
        weight = np.where(is_p, 1 / is_p.sum(), 1 / (~is_p).sum())
        start = np.log(alpha / (1 - alpha))
        f, trees, risks = np.full(len(X), start), [], []
        for _ in range(self.trees):
            slope, curvature, risk = _derivatives(f, is_p, alpha)
            risks.append(risk)
            rows = np.arange(len(X))
            if len(X) > self.max_rows:
                rows = np.sort(rng.choice(len(X), self.max_rows, replace=False))
            tree = DecisionTreeRegressor(
                max_depth=self.max_depth,
                min_samples_leaf=self.min_leaf,
                max_features=self.columns,
                random_state=int(rng.integers(2**32)),
            ).fit(X[rows], -slope[rows], sample_weight=weight[rows])
            leaf, n = tree.apply(X), tree.tree_.node_count
            g, h = (np.bincount(leaf, weight * of_row, minlength=n) for of_row in (slope, curvature))
            step = -g / np.maximum(h + self.l2 * (weight * curvature).sum(), np.finfo(np.float64).tiny)
            value = self.lr * np.clip(step, -_LARGEST_STEP, _LARGEST_STEP)
            f += value[leaf]
            trees.append(forest.grown(tree.tree_, value * self.trees))  # the score is a mean
        risks.append(_derivatives(f, is_p, alpha)[2])
        self.keep(forest.join(trees), X.shape[1])
        if risks[-1] < risks[0]:
            self.curve_ = {"risk": risks}


def _derivatives(f: Array, is_p: Array, alpha: float) -> tuple[Array, Array, float]:
    """Return slope and curvature of the risk at the row, each for weight 1, and the non-negative risk."""
    sigmoid = 1 / (1 + np.exp(-np.clip(f, -500, 500)))
    of_negative = np.logaddexp(0, f)  # l(-f)
    negatives = of_negative[~is_p].mean() - alpha * of_negative[is_p].mean()
    positives = alpha * np.logaddexp(0, -f[is_p]).mean()
    curvature = sigmoid * (1 - sigmoid)
    if negatives >= 0:
        slope, curved = np.where(is_p, -alpha, sigmoid), np.where(is_p, 0.0, curvature)
    else:  # descend on minus the negatives' term; the curvature that steps need is that of its size
        slope, curved = np.where(is_p, alpha * sigmoid, -sigmoid), np.where(is_p, alpha * curvature, curvature)
    return slope, curved, float(positives + max(negatives, 0.0))
