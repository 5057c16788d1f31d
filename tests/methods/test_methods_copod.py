"""COPOD by its formula, and beside PyOD's own values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import skew

from puoc.methods import make
from puoc.records import Array


def rows(seed: int, n: int = 60) -> Array:
    return np.random.default_rng(seed).gamma(2.0, size=(n, 5)) * [1, -1, 1, -1, 1]


def test_copod_takes_the_tail_of_the_skewness_or_the_mean_of_both() -> None:
    P, X = np.c_[rows(0), np.ones(60)], np.c_[rows(1, 25), np.arange(25.0) / 12]
    scores = make("copod", {"added": 0.5}).fit(P).decision_function(X)
    left = -np.log(((P[None] <= X[:, None]).sum(axis=1) + 0.5) / (len(P) + 0.5))
    right = -np.log(((P[None] >= X[:, None]).sum(axis=1) + 0.5) / (len(P) + 0.5))
    skewness = np.r_[np.sign(skew(P[:, :5])), 0]
    by_skewness = np.where(skewness < 0, left, np.where(skewness > 0, right, left + right))
    np.testing.assert_allclose(scores, -np.maximum(by_skewness, (left + right) / 2).sum(axis=1), rtol=1e-12)


def test_copod_is_pyods_on_its_training_rows_and_on_one_new_row_at_a_time() -> None:
    theirs = pytest.importorskip("pyod.models.copod").COPOD()
    P, X = rows(2), rows(3, 20)
    theirs.fit(P)
    scores = make("copod", {"added": 1e-12}).fit(P).decision_function(P)
    np.testing.assert_allclose(scores, -theirs.decision_scores_, rtol=1e-9, atol=1e-9)
    scores = make("copod", {"added": 1.0}).fit(P).decision_function(X)
    alone = [float(theirs.decision_function(row[None])[0]) for row in X]
    np.testing.assert_allclose(scores, -np.array(alone), rtol=1e-9)


def test_another_sign_of_the_skewness_is_not_restored() -> None:
    state = {"sorted": np.sort(rows(0), axis=0), "skewness": np.array([0.0, 1, -1, 0.5, 1])}
    with pytest.raises(ValueError, match="signs of their skewness expected"):
        make("copod", {"added": 1.0}).restore(state, (5,))
