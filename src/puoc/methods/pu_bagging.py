"""PU bagging (Mordelet and Vert, 2014): classifiers of P against small random samples of U, averaged."""

from __future__ import annotations

import numpy as np
from pydantic import PositiveFloat, PositiveInt

from puoc.methods.solvers import forest
from puoc.methods.solvers.trees_model import Trees, labelled
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.registry import method


@method("pu_bagging")
@typed
class PUBagging(Trees):
    """Decision trees, each grown on P and on rows of U drawn with replacement.

    The score is the mean share of P in the leaves. Each sample of U has another share of positives by chance, so the
    classifiers differ and their mean is stable (algorithm 1 of Mordelet and Vert, there with support vector machines).
    Both classes get the same total weight.
    """

    kind = "pu"
    needs_alpha = False
    libraries = ("sklearn.tree",)

    trees: PositiveInt
    ratio: PositiveFloat  # rows of U for each tree, as a multiple of the rows of P
    min_leaf: PositiveInt  # rows in a leaf at least
    max_rows: PositiveInt  # rows of P, and of U, for each tree at most

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Grow the trees."""
        from sklearn.tree import DecisionTreeClassifier

        self.check_shape(sample.X_p.shape[1:])
        X, y = labelled(sample.X_p, sample.X_u)
        n_p, n_u = len(sample.X_p), len(X) - len(sample.X_p)
        rng, trees = np.random.default_rng(sample.seed), []
        size_u = min(max(round(self.ratio * n_p), 1), self.max_rows)
        for _ in range(self.trees):
            of_p = np.arange(n_p) if n_p <= self.max_rows else rng.choice(n_p, self.max_rows)
            rows = np.concatenate([of_p, n_p + rng.integers(n_u, size=size_u)])
            tree = DecisionTreeClassifier(
                min_samples_leaf=self.min_leaf,
                max_features="sqrt",
                class_weight="balanced",
                random_state=int(rng.integers(2**32)),
            ).fit(X[rows], y[rows])
            weight = tree.tree_.value[:, 0]
            trees.append(forest.grown(tree.tree_, weight[:, 1] / weight.sum(axis=1)))
        self.keep(forest.join(trees), X.shape[1])
