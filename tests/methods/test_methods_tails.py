"""ECOD, HBOS and PCA: each by its formula, and what lies outside the labelled positives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, skew

from puoc.methods import make
from puoc.records import Array


def rows(seed: int, n: int = 60, d: int = 5) -> Array:
    return (np.random.default_rng(seed).gamma(2.0, size=(n, d)) * [1, -1, 1, -1, 1][:d]).astype(np.float32)


@pytest.mark.parametrize("largest", ["row", "column"])
def test_ecod_sums_the_tails_of_the_columns(largest: str) -> None:
    P, X = rows(0).astype(np.float64), rows(1, 25).astype(np.float64)
    scores = make("ecod", {"largest": largest, "added": 1.0}).fit(P).decision_function(X)
    left = -np.log(((P[None] <= X[:, None]).sum(axis=1) + 1) / (len(P) + 1))
    right = -np.log(((P[None] >= X[:, None]).sum(axis=1) + 1) / (len(P) + 1))
    by_skewness = np.where(skew(P) < 0, left, right)
    sums = [left.sum(axis=1), right.sum(axis=1), by_skewness.sum(axis=1)]
    expected = np.max(sums, axis=0) if largest == "row" else np.maximum(left, right).sum(axis=1)
    np.testing.assert_allclose(scores, -expected, rtol=1e-12)


def test_hbos_adds_log_heights_and_ranks_far_rows_by_their_distance() -> None:
    P = np.array([[0.0], [0.1], [0.2], [1.0]])
    fitted = make("hbos", {"bins": 2}).fit(P)
    inside = fitted.decision_function(np.array([[0.05], [0.9]]))
    np.testing.assert_allclose(inside, [0.0, np.log(1.5 / 3.5)], atol=1e-12)
    far = fitted.decision_function(np.array([[1.5], [2.0], [-0.5]]))
    np.testing.assert_allclose(far, [np.log(1.5 / 3.5) - np.log(2), np.log(1.5 / 3.5) - np.log(3), -np.log(2)])


def test_hbos_takes_a_column_that_is_constant() -> None:
    P = np.stack([np.ones(20), np.arange(20.0)], axis=1)
    scores = make("hbos", {"bins": 4}).fit(P).decision_function(np.array([[1.0, 3.0], [5.0, 3.0]]))
    assert scores[1] < scores[0]


def test_pca_is_the_likelihood_of_the_probabilistic_model() -> None:
    rng = np.random.default_rng(3)
    P = rng.normal(size=(400, 2)) @ rng.normal(size=(2, 6)) * 3 + rng.normal(size=(400, 6)) * 0.3 + 1
    X = rng.normal(size=(30, 6)) * 3
    fitted = make("pca", {"variance": 0.9}).fit(P)
    state = fitted.state()
    assert len(state["components"]) == 2
    W, noise = state["components"], state["noise"][0]
    covariance = W.T @ np.diag(state["variances"] - noise) @ W + noise * np.eye(6)
    values = np.linalg.eigvalsh(np.cov(P.T))
    assert noise == pytest.approx(values[:4].mean(), rel=1e-6)
    likelihood = multivariate_normal(P.mean(axis=0), covariance).logpdf(X)
    scores = fitted.decision_function(X)
    np.testing.assert_allclose(scores - scores[0], likelihood - likelihood[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("n", "d"), [(1, 3), (2, 3), (3, 1), (4, 40)])
def test_pca_takes_few_rows_and_single_columns(n: int, d: int) -> None:
    P = np.random.default_rng(n).normal(size=(n, d)).astype(np.float32)
    scores = make("pca", {"variance": 0.9}).fit(P).decision_function(np.concatenate([P, P + 100]))
    assert np.isfinite(scores).all()
    assert scores[:n].min() > scores[n:].max()
