"""ROC curves of a few hundred bytes: near the exact curve, and a text that comes back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from sklearn.metrics import roc_curve as exact_curve

from puoc.analysis.statistics.auc import auc
from puoc.analysis.statistics.roc import POINTS, decode, encode, roc_curve

# few distinct values, so that ties are common
scores = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=60).map(np.array)


@settings(max_examples=200, deadline=None)
@given(scores, scores)
def test_the_curve_is_the_exact_one_at_its_points_and_comes_back_from_its_text(
    positive: np.ndarray, negative: np.ndarray
) -> None:
    curve = roc_curve(positive, negative)
    assert curve.shape == (POINTS,)
    assert (np.diff(curve) >= 0).all()
    assert curve[-1] == 1
    labels = np.concatenate([np.ones(len(positive)), np.zeros(len(negative))])
    fpr, tpr, _ = exact_curve(labels, np.concatenate([positive, negative]), drop_intermediate=False)
    last = np.append(fpr[1:] != fpr[:-1], True)
    assert np.allclose(curve, np.interp(np.linspace(0, 1, POINTS), fpr[last], tpr[last]))
    assert np.abs(decode(encode(curve)) - curve).max() <= 0.5 / 65535 + 1e-12


@pytest.mark.parametrize(("n", "m"), [(1000, 9000), (1000, 1000)])
def test_the_area_under_a_kept_curve_is_the_auc_to_a_thousandth_in_under_a_kilobyte(n: int, m: int) -> None:
    rng = np.random.default_rng(0)
    positive, negative = rng.normal(1, 1, n), rng.normal(0, 1, m)
    text = encode(roc_curve(positive, negative))
    area = np.trapezoid(decode(text), dx=1 / (POINTS - 1))
    exact = auc(positive, negative, "test")
    assert exact == pytest.approx(roc_auc_score([1] * n + [0] * m, np.concatenate([positive, negative])))
    assert area == pytest.approx(exact, abs=1e-3)
    assert len(text) < 1000


@pytest.mark.parametrize("text", ["", "abc", "not base 85 \u00e4", encode(np.linspace(0, 1, 5))])
def test_a_text_that_is_no_curve_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="ROC curve"):
        decode(text)
