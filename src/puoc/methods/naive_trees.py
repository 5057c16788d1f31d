"""Labelled positives against unlabelled rows as if these were negative, with ensembles of decision trees.

A classifier of P against U ranks rows as a classifier of positives against negatives does, if P is a random sample of
the positives (Elkan and Noto, 2008). Both classes get the same total weight. scikit-learn grows the trees.
"""

from __future__ import annotations

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from puoc.methods.solvers import forest
from puoc.methods.solvers.trees_model import Trees, labelled
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.records import Array
from puoc.registry import method


@method("naive_forest")
@typed
class NaiveForest(Trees):
    """Extremely randomised trees (Geurts, Ernst and Wehenkel, 2006); the score is the mean share of P in the leaves."""

    kind = "pu"
    needs_alpha = False
    libraries = ("sklearn.ensemble",)

    trees: PositiveInt
    min_leaf: PositiveInt  # rows in a leaf at least
    max_rows: PositiveInt  # rows for each tree; beyond, a tree gets so many drawn with replacement

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Grow the trees."""
        from sklearn.ensemble import ExtraTreesClassifier

        self.check_shape(sample.X_p.shape[1:])
        X, y = labelled(sample.X_p, sample.X_u)
        too_many = len(X) > self.max_rows
        grown = ExtraTreesClassifier(
            n_estimators=self.trees,
            min_samples_leaf=self.min_leaf,
            class_weight="balanced",
            bootstrap=too_many,
            max_samples=self.max_rows if too_many else None,
            random_state=sample.seed % 2**32,
        ).fit(X, y)
        self.keep(
            forest.join(forest.grown(one.tree_, _share(one.tree_.value)) for one in grown.estimators_), X.shape[1]
        )


@method("naive_boosting")
@typed
class NaiveBoosting(Trees):
    """Gradient boosting on histograms of the columns (Ke et al., 2017); the score is the log-odds, up to a constant."""

    kind = "pu"
    needs_alpha = False
    libraries = ("sklearn.ensemble",)

    trees: PositiveInt
    lr: PositiveFloat
    max_leaves: PositiveInt
    min_leaf: PositiveInt  # rows in a leaf at least
    l2: NonNegativeFloat  # regularisation of the values of leaves

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Grow the trees."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        self.check_shape(sample.X_p.shape[1:])
        X, y = labelled(sample.X_p, sample.X_u)
        grown = HistGradientBoostingClassifier(
            max_iter=self.trees,
            learning_rate=self.lr,
            max_leaf_nodes=self.max_leaves,
            min_samples_leaf=self.min_leaf,
            l2_regularization=self.l2,
            early_stopping=False,
            class_weight="balanced",
            random_state=sample.seed % 2**32,
        ).fit(X, y)
        # private, since scikit-learn has no public form of these trees; test_methods_trees compares the scores
        self.keep(forest.join(forest.boosted(of_round[0].nodes) for of_round in grown._predictors), X.shape[1])


def _share(value: Array) -> Array:
    """Return the share of P in each node, of the weights (nodes, 1, 2) of U and P."""
    shares: Array = value[:, 0, 1] / value[:, 0].sum(axis=1)
    return shares
