"""Ensembles of trees: scores are those of scikit-learn, the PU risk of a node by hand, trees of a hostile file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, IsolationForest
from sklearn.metrics import roc_auc_score

from puoc.methods import make
from puoc.methods.nnpu_boosting import _derivatives
from puoc.methods.pu_trees import _Grower, _risk
from puoc.methods.solvers.forest import Tree, join
from puoc.records import Array

PARAMS: dict[str, dict[str, Any]] = {
    "iforest": {"trees": 20, "subsample": 64},
    "naive_forest": {"trees": 20, "min_leaf": 3, "max_rows": 10_000},
    "naive_boosting": {"trees": 20, "lr": 0.1, "max_leaves": 8, "min_leaf": 10, "l2": 1.0},
    "pu_bagging": {"trees": 40, "ratio": 1.0, "min_leaf": 2, "max_rows": 10_000},
    "pu_trees": {"trees": 20, "min_leaf": 5, "max_rows": 10_000},
    "nnpu_boosting": {
        "trees": 40,
        "lr": 0.1,
        "max_depth": 2,
        "min_leaf": 5,
        "columns": 0.5,
        "l2": 1.0,
        "max_rows": 10_000,
    },
}


def rows(seed: int, n: int = 200) -> tuple[Array, Array, Array]:
    """P, U with half positives, and new rows."""
    rng = np.random.default_rng(seed)
    P = rng.normal(size=(n, 5))
    U = np.concatenate([rng.normal(size=(n, 5)), rng.normal([1, -1, 1, 0, 0], size=(n, 5))])
    return P.astype(np.float32), U.astype(np.float32), rng.normal(size=(100, 5)).astype(np.float32)


def test_iforest_is_that_of_scikit_learn() -> None:
    P, _, X = rows(0)
    oracle = IsolationForest(n_estimators=20, max_samples=64, random_state=3).fit(P)
    depth = make("iforest", PARAMS["iforest"]).fit(P, seed=3).decision_function(X)
    n = 64
    normal = 2 * (np.log(n - 1) + np.euler_gamma) - 2 * (n - 1) / n
    np.testing.assert_allclose(-(2 ** (-depth / normal)), oracle.score_samples(X), rtol=1e-12)


def test_naive_trees_are_those_of_scikit_learn() -> None:
    P, U, X = rows(1)
    both, y = np.concatenate([P, U]), np.repeat([1, 0], [len(P), len(U)])
    forest = ExtraTreesClassifier(20, min_samples_leaf=3, class_weight="balanced", random_state=3).fit(both, y)
    scores = make("naive_forest", PARAMS["naive_forest"]).fit(P, U, seed=3).decision_function(X)
    np.testing.assert_allclose(scores, forest.predict_proba(X)[:, 1], rtol=1e-12)
    boosting = HistGradientBoostingClassifier(
        max_iter=20,
        max_leaf_nodes=8,
        min_samples_leaf=10,
        l2_regularization=1.0,
        class_weight="balanced",
        early_stopping=False,
        random_state=3,
    ).fit(both, y)
    scores = make("naive_boosting", PARAMS["naive_boosting"]).fit(P, U, seed=3).decision_function(X)
    raw = boosting.decision_function(X)
    np.testing.assert_allclose(20 * scores - raw, (20 * scores - raw)[0], atol=1e-9)  # up to the start of the boosting


def test_a_row_goes_left_up_to_the_threshold_and_a_forest_gives_the_mean_of_its_trees() -> None:
    one = Tree(*(np.array(values) for values in ([0, -1, -1], [1.5, 0, 0], [1, 0, 0], [2, 0, 0], [0.0, 3.0, 5.0])))
    leaf = Tree(*(np.array([value]) for value in (-1, 0.0, 0, 0, 7.0)))
    X = np.array([[1.5], [1.4], [1.6]], dtype=np.float32)
    np.testing.assert_array_equal(join([one, leaf]).mean(X), [5.0, 5.0, 6.0])
    assert join([leaf, one]).leaves(X).tolist() == [[0, 2], [0, 2], [0, 3]]


def test_the_risk_of_a_node_is_that_of_its_best_constant() -> None:
    for w_p, w_u in [(0.2, 0.5), (0.3, 0.3), (0.4, 0.1), (0.0, 0.6), (0.5, 0.0)]:
        w_n, v = max(w_u - w_p, 0.0), np.linspace(0, 1, 10_001)
        best = (w_p * (1 - v) ** 2 + w_n * v**2).min()
        assert _risk(np.array([w_p, w_u])) == pytest.approx(best, abs=1e-7)


def test_a_tree_splits_where_the_excess_of_u_begins_and_leaves_keep_their_least_size() -> None:
    """One column: P on (0, 1), U on (0, 2), so that alpha is .5 and all rows above 1 are negatives."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(0, 1, 500), rng.uniform(0, 2, 1000)])[:, None].astype(np.float32)
    weights = np.zeros((1500, 2))
    weights[:500, 0], weights[500:, 1] = 0.5 / 500, 1 / 1000
    tree = _Grower(X, weights, 25, np.random.default_rng(1)).tree()
    inner = tree.feature >= 0
    assert (tree.left[inner] > np.flatnonzero(inner)).all()
    fitted = make("pu_trees", PARAMS["pu_trees"]).fit(X[:500], X[500:], alpha=0.5, seed=1)
    below, above = fitted.decision_function(np.array([[0.5], [1.5]], dtype=np.float32))
    assert below > 0.9
    assert above < 0.05


def test_the_slope_of_the_boosted_risk_is_that_of_differences_on_both_sides_of_0() -> None:
    rng, is_p = np.random.default_rng(0), np.repeat([True, False], [6, 9])
    weight = np.where(is_p, 1 / 6, 1 / 9)

    def parts(f: Array, alpha: float) -> tuple[float, float]:
        of_negative = np.logaddexp(0, f)
        negatives = of_negative[~is_p].mean() - alpha * of_negative[is_p].mean()
        return alpha * np.logaddexp(0, -f[is_p]).mean(), negatives

    for shift, ascends in [(0.0, False), (3.0, True)]:
        f = rng.normal(size=15) + np.where(is_p, shift, -shift)
        slope, curvature, risk = _derivatives(f, is_p, 0.6)
        positives, negatives = parts(f, 0.6)
        assert (negatives < 0) == ascends
        assert risk == pytest.approx(positives + max(negatives, 0))
        for i in range(15):
            step = np.eye(15)[i] * 1e-6
            values = [-parts(f + s * step, 0.6)[1] if ascends else sum(parts(f + s * step, 0.6)) for s in (-1, 1)]
            assert slope[i] * weight[i] == pytest.approx((values[1] - values[0]) / 2e-6, abs=1e-7)
        assert (curvature >= 0).all()


@pytest.mark.parametrize("name", [name for name in PARAMS if name != "iforest"])
def test_many_rows_are_drawn_down_to_the_limit_and_still_rank(name: str) -> None:
    P, U, _ = rows(2, 400)
    params = PARAMS[name] | ({"max_rows": 100} if "max_rows" in PARAMS[name] else {})
    fitted = make(name, params).fit(P, U, alpha=0.5, seed=0)
    y = np.repeat([1, 0], 400)
    assert roc_auc_score(y, fitted.decision_function(U)) > 0.8


@pytest.mark.parametrize("place", ["loop", "outside", "column", "fraction", "nan", "root", "negative"])
def test_trees_that_would_loop_or_read_elsewhere_are_refused(place: str) -> None:
    P, U, _ = rows(3)
    fitted = make("pu_trees", PARAMS["pu_trees"]).fit(P, U, alpha=0.5, seed=0)
    state = {name: array.copy() for name, array in fitted.state().items()}
    inner = np.flatnonzero(state["nodes"][:, 0] >= 0)[3]
    if place == "root":
        state["roots"][2] = len(state["nodes"])
    else:
        column, value = {
            "loop": (2, inner),
            "outside": (3, 1e9),
            "column": (0, 5),
            "fraction": (2, inner + 1.5),
            "nan": (1, np.nan),
            "negative": (0, -2),
        }[place]
        state["nodes"][inner, column] = value
    with pytest.raises(ValueError, match="expected"):
        make("pu_trees", PARAMS["pu_trees"]).restore(state, (5,))
