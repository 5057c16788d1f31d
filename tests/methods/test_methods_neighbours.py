"""kNN, LOF and PU-kNN: distances by brute force, scikit-learn's LOF, and the extension by hand and at its limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor

from puoc.methods import make
from puoc.methods.solvers import excess
from puoc.methods.solvers.neighbours import distances, within
from puoc.records import Array

PU_KNN: dict[str, Any] = {"k": 10, "max_rows": 10_000, "border": 0.95, "exponent": 2.0, "caution": 1.0}


def normal(seed: int, n: int, d: int = 4) -> Array:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


@pytest.mark.parametrize("d", [3, 15, 16, 40])
def test_distances_are_those_by_brute_force_on_either_side_of_the_limit_for_trees(d: int) -> None:
    reference, X = normal(0, 50, d), normal(1, 20, d)
    np.testing.assert_allclose(distances(reference, X, 7), np.sort(cdist(X, reference), axis=1)[:, :7], rtol=1e-12)
    among = np.sort(cdist(reference, reference), axis=1)[:, 1:8]
    np.testing.assert_allclose(distances(reference, reference, 7, to_itself=True), among, rtol=1e-12)
    assert distances(reference, X[:0], 7).shape == (0, 7)


def test_equal_rows_have_a_distance_above_0() -> None:
    rows = np.zeros((5, 3))
    assert (distances(rows, rows, 2, to_itself=True) > 0).all()


@pytest.mark.parametrize("d", [3, 16])
def test_counts_within_a_radius_are_those_by_brute_force(d: int) -> None:
    reference, X = normal(0, 50, d), normal(1, 20, d)
    radius = np.linspace(0.5, 6, 20)
    expected = (cdist(X.astype(np.float64), reference.astype(np.float64)) <= radius[:, None]).sum(axis=1)
    assert within(reference, X, radius).tolist() == expected.tolist()
    assert within(reference, X[:0], radius[:0]).shape == (0,)


def test_knn_scores_by_the_kth_distance_and_keeps_a_random_part_of_many_rows() -> None:
    P, X = normal(0, 60), normal(1, 30)
    scores = make("knn", {"k": 4, "max_rows": 100}).fit(P).decision_function(X)
    np.testing.assert_allclose(scores, -np.sort(cdist(X, P), axis=1)[:, 3], rtol=1e-6)
    few = make("knn", {"k": 4, "max_rows": 20})
    kept = few.fit(P, seed=1).state()["positives"]
    assert kept.shape == (20, 4)
    assert {tuple(row) for row in kept} <= {tuple(row) for row in P.astype(np.float64)}
    assert not np.array_equal(kept, few.fit(P, seed=2).state()["positives"])


def test_lof_is_that_of_scikit_learn() -> None:
    P, X = normal(0, 80), normal(1, 40)
    oracle = LocalOutlierFactor(n_neighbors=7, novelty=True).fit(P.astype(np.float64))
    scores = make("lof", {"k": 7, "max_rows": 1000}).fit(P).decision_function(X)
    np.testing.assert_allclose(scores, oracle.score_samples(X.astype(np.float64)), rtol=1e-9)


@pytest.mark.parametrize(("name", "least"), [("knn", 5), ("lof", 6), ("pu_knn", 6)])
def test_too_few_rows_for_k_are_refused_with_the_largest_k(name: str, least: int) -> None:
    params = {"k": 5, "max_rows": 100} | ({"border": 0.95, "exponent": 2.0, "caution": 1.0} if name == "pu_knn" else {})
    make(name, params).fit(normal(0, least), normal(1, 5), alpha=0.5)
    with pytest.raises(ValueError, match=r"k = 5 takes \d .* at least, got [45]; .*--params k=4"):
        make(name, params).fit(normal(0, least - 1), normal(1, 5), alpha=0.5)


def test_the_excess_has_its_two_limits_and_counts_only_beyond_the_caution() -> None:
    level = np.array([-1.0, 0.5, 2.0])
    same = excess.score(np.zeros(3), 0.3, level, 1 - 1e-12, 1.0)
    np.testing.assert_allclose(same, -level, atol=1e-9)  # no excess: the order of the one-class method
    ratio = np.array([-2.0, 0.0, 3.0])
    alone = excess.score(ratio, 0.3, np.full(3, -50.0), 1e-9, 0.0)
    np.testing.assert_allclose(alone, -ratio, atol=1e-6)  # U holds negatives alone: the likelihood ratio
    by_hand = -np.log(np.maximum(np.exp(1.0 - 2 * 0.3) - 0.4, 0) + 0.4 * np.exp(0.5))
    np.testing.assert_allclose(excess.score(np.array([1.0]), 0.3, np.array([0.5]), 0.4, 2.0), by_hand, rtol=1e-12)


def test_pu_knn_is_the_formula_of_its_docstring() -> None:
    P, U, X, alpha, k = normal(0, 40), normal(1, 70) + 1, normal(2, 15), 0.3, 10
    scores = make("pu_knn", PU_KNN).fit(P, U, alpha=alpha).decision_function(X)
    border = np.quantile(np.sort(cdist(P, P), axis=1)[:, k], 0.95)
    d_p = np.sort(cdist(X, P), axis=1)[:, k - 1]
    of_u = (cdist(X, U) <= d_p[:, None]).sum(axis=1) + 0.5
    ratio = (of_u / 71) / (k / 40)
    lowered = ratio * np.exp(-np.sqrt(1 / of_u + 1 / k))
    expected = -np.log(np.maximum(lowered - alpha, 0) + alpha * (d_p / border) ** 2)
    np.testing.assert_allclose(scores, expected, rtol=1e-5)


HYBRIDS = {
    "pu_knn": ("knn", {"k": 10, "max_rows": 10_000}, {"border": 0.95, "exponent": 2.0, "caution": 1.0}),
    "pu_iforest": ("iforest", {"trees": 100, "subsample": 256}, {"k": 20, "border": 0.95, "caution": 1.0}),
}


@pytest.mark.parametrize("name", HYBRIDS)
def test_a_hybrid_is_its_twin_on_new_negatives_and_beats_it_on_those_of_u(name: str) -> None:
    """Positives N(0, I); negatives of U near them, which their density does not show; new ones on the other side."""
    twin, of_twin, more = HYBRIDS[name]
    rng = np.random.default_rng(5)
    positives, known, new = (
        lambda n: rng.normal(size=(n, 6)).astype(np.float32),
        lambda n: (rng.normal(size=(n, 6)) * 0.7 + [1.5, 1, 0, 0, 0, 0]).astype(np.float32),
        lambda n: (rng.normal(size=(n, 6)) - [2.5, 0, 0, 0, 0, 0]).astype(np.float32),
    )
    P, of_p, of_known, of_new = positives(300), positives(600), known(600), new(600)

    def auc(fitted: Any, negatives: Array) -> float:
        scores = fitted.decision_function(np.concatenate([of_p, negatives]))
        return float(roc_auc_score(np.repeat([1, 0], 600), scores))

    parent = make(twin, of_twin).fit(P, seed=1)
    no_negatives = make(name, of_twin | more).fit(P, positives(1000), alpha=0.99, seed=1)
    assert auc(no_negatives, of_new) > auc(parent, of_new) - 0.05
    assert auc(no_negatives, of_known) > auc(parent, of_known) - 0.05
    half = make(name, of_twin | more).fit(P, np.concatenate([positives(500), known(500)]), alpha=0.5, seed=1)
    assert auc(half, of_known) > auc(parent, of_known) + 0.25
    believes_u = make("naive_forest", {"trees": 100, "min_leaf": 5, "max_rows": 10_000})
    U = np.concatenate([positives(500), known(500)])
    assert auc(half, of_new) > auc(believes_u.fit(P, U, seed=1), of_new) + 0.15
