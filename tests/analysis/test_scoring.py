"""The AUC against scikit-learn's, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import roc_auc_score

from puoc.analysis.statistics.auc import auc

scores = arrays(np.float32, st.integers(1, 40), elements=st.floats(-4, 4, width=16))  # coarse, so that many are tied


@given(scores, scores)
def test_the_auc_is_that_of_scikit_learn_ties_included(positive: np.ndarray, negative: np.ndarray) -> None:
    truth = np.r_[np.ones(len(positive)), np.zeros(len(negative))]
    assert auc(positive, negative, "x") == pytest.approx(roc_auc_score(truth, np.r_[positive, negative]), abs=1e-12)


@given(scores, scores)
def test_a_monotone_map_changes_nothing_and_a_flip_mirrors(positive: np.ndarray, negative: np.ndarray) -> None:
    found = auc(positive, negative, "x")
    assert auc(np.exp(positive.astype(float)), np.exp(negative.astype(float)), "x") == found
    assert auc(-positive, -negative, "x") == pytest.approx(1 - found, abs=1e-12)


def test_scores_of_any_scale_keep_their_order() -> None:
    tiny = np.array([3e-24, 4e-24]), np.array([1e-24, 2e-24])
    assert auc(*tiny, "x") == 1.0


def test_constant_scores_say_nothing() -> None:
    assert auc(np.zeros(5), np.zeros(7), "x") == 0.5


@pytest.mark.parametrize("empty", ["positive", "negative"])
def test_one_class_is_an_error_that_names_the_scores(empty: str) -> None:
    sides = {"positive": np.ones(3), "negative": np.ones(3)} | {empty: np.ones(0)}
    with pytest.raises(ValueError, match="test rows: an AUC needs both classes"):
        auc(sides["positive"], sides["negative"], "test rows")


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_counted(strange: float) -> None:
    with pytest.raises(ValueError, match="1 of 4 scores are not finite"):
        auc(np.array([1.0, strange]), np.array([0.0, 0.5]), "test rows")
