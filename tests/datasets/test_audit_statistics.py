"""Statistics of two groups of rows, compared with scipy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from puoc.datasets.audit.numbers import resolution
from puoc.datasets.audit.two_groups import adjusted, fisher_p, interval, of_codes, of_shares, of_sorted


@pytest.mark.parametrize(("shift", "digits"), [(0.0, 6), (0.5, 6), (0.5, 0), (3.0, 1)])
def test_auc_and_p_value_of_numbers_with_ties(shift: float, digits: int) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(shift, 1, 80).round(digits), rng.normal(0, 1, 120).round(digits)
    found = of_sorted(np.sort(x), np.sort(y))
    assert found is not None
    assert found.auc == pytest.approx(roc_auc_score(np.repeat([1, 0], [80, 120]), np.concatenate([x, y])))
    rank = stats.mannwhitneyu(x, y, use_continuity=False, method="asymptotic").pvalue
    distance = stats.ks_2samp(x, y).statistic
    assert found.says == pytest.approx(max(found.auc, (1 + distance) / 2))
    assert found.p <= 2 * rank * 1.0001
    assert found.low <= found.auc <= found.high
    low, high = interval(found.says, 80, 120)
    assert (found.says_low, found.says_high) == (max(0.5, low), high)
    assert found.says_low <= found.says < found.says_high or found.says == 1


def test_the_p_value_of_equal_distributions_is_seldom_small() -> None:
    rng = np.random.default_rng(1)
    found = [of_sorted(np.sort(rng.normal(size=60)), np.sort(rng.normal(size=90))) for _ in range(400)]
    assert np.mean([one is not None and one.p < 0.05 for one in found]) < 0.075
    rare = [of_codes(rng.integers(0, 40, 60), rng.integers(0, 40, 90)) for _ in range(200)]
    assert np.mean([one is not None and one.p < 0.05 for one in rare]) < 0.09
    assert abs(np.mean([one.auc for one in rare if one is not None]) - 0.5) < 0.01


def test_intervals_hold_the_truth_and_have_a_width_at_the_ends() -> None:
    rng = np.random.default_rng(2)
    truth = stats.norm.cdf(1 / np.sqrt(2))
    inside = []
    for _ in range(300):
        one = of_sorted(np.sort(rng.normal(1, 1, 40)), np.sort(rng.normal(size=60)))
        assert one is not None
        inside.append(one.low <= truth <= one.high)
    assert np.mean(inside) > 0.92
    low, high = interval(1.0, 50, 50)
    assert 0.9 < low < 0.97
    assert high == pytest.approx(1)
    assert interval(0.3, 20, 40) == pytest.approx(tuple(1 - end for end in interval(0.7, 20, 40)[::-1]), abs=1e-4)


@pytest.mark.parametrize(("a", "n", "b", "m"), [(0, 20, 9, 30), (5, 20, 5, 20), (0, 10, 0, 10), (10, 10, 0, 12)])
def test_the_p_value_of_shares_is_that_of_fishers_test(a: int, n: int, b: int, m: int) -> None:
    one_sided = [stats.fisher_exact([[a, n - a], [b, m - b]], side).pvalue for side in ("less", "greater")]
    assert fisher_p(a, n, b, m) == pytest.approx(min(1, 2 * min(one_sided)))
    assert of_shares(a, n, b, m).auc == pytest.approx((1 + a / n - b / m) / 2)


def test_p_values_are_adjusted_for_the_rate_of_false_discoveries() -> None:
    p = np.random.default_rng(3).random(50) ** 2
    assert adjusted(p.tolist()) == pytest.approx(stats.false_discovery_control(p).tolist())


@pytest.mark.parametrize(
    ("values", "finest", "significant"),
    [
        ([1.25, 0.5, 33.75], 2, 3),
        ([0.1 + 0.2, 0.3], 1, 1),
        ([1200, 34000, 100], -2, 2),
        ([1.5e-7, 2.25e-7], 9, 2.5),
        ([123456.789012, 0.000001], 6, 6.5),
    ],
)
def test_digits_are_counted_as_they_are_written(values: list[float], finest: int, significant: float) -> None:
    found = resolution(np.array(values))
    assert (found.finest, found.significant) == (finest, significant)
