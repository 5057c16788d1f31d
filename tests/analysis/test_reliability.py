"""Evidence on unlabelled data: known answers, invariances, and what has no answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benches import bench
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu, norm, ttest_ind

from puoc.analysis.reliability.alpha import PURE, combined_p, counted_order, share_of_negatives
from puoc.analysis.reliability.gain import gain, placements
from puoc.analysis.reliability.shift import incoming
from puoc.analysis.reliability.two_sample import two_sample_p
from puoc.analysis.statistics.auc import auc

Array = NDArray[Any]


def normal(n: int, mean: float, spread: float = 1.0) -> Array:
    """n values that lie as a normal distribution has them, without chance."""
    return norm.ppf((np.arange(n) + 0.5) / n) * spread + mean


def mixture(n: int, alpha: float, *negatives: float) -> Array:
    """Positives about 0, negatives about the given places, in equal parts."""
    n_neg = round(n * (1 - alpha) / len(negatives))
    return np.concatenate([normal(n - n_neg * len(negatives), 0), *(normal(n_neg, at) for at in negatives)])


# the two-sample tests of the paper's procedures


def test_the_papers_tests_are_scipys_and_constant_scores_tell_nothing() -> None:
    one, other = np.random.default_rng(0).normal(size=(2, 30))
    assert two_sample_p(one, other) == pytest.approx(mannwhitneyu(one, other).pvalue, rel=1e-12)
    assert two_sample_p(one, other, "t") == pytest.approx(ttest_ind(one, other).pvalue, rel=1e-12)
    same = np.ones(5)
    assert two_sample_p(same, same) == two_sample_p(same, same, "t") == 1.0
    assert two_sample_p(same, same + 1, "t") == 0.0
    with pytest.raises(ValueError, match="not finite"):
        two_sample_p(one, np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="expected at least 1"):
        two_sample_p(one, one[:0])
    with pytest.raises(ValueError, match="expected at least 2"):
        two_sample_p(one[:1], one, "t")


# the share of negatives


def test_several_splits_count_by_their_lower_middle_p_value() -> None:
    assert [counted_order(k) for k in (1, 2, 3, 4)] == [(0, 1.0), (0, 2.0), (1, 1.5), (1, 2.0)]
    assert combined_p([0.3]) == 0.3
    assert combined_p([0.3, 0.01]) == 0.02
    assert combined_p([0.5, 0.01, 0.02]) == pytest.approx(0.03)
    assert combined_p([0.9, 0.8]) == 1.0


def test_the_dkw_bound_of_the_bench_is_the_formulas() -> None:
    dkw_bound = bench("false_alarms").dkw_bound
    f_p, f_u = normal(200, 0), mixture(200, 0.4, -9.0)
    width = np.sqrt(np.log(2 / 0.025) / 400)
    t = -5.0  # all negatives are below, no positive is
    assert dkw_bound(f_p, f_u) >= (0.6 - 2 * width) / (1 - width) - 1e-12
    assert dkw_bound(f_p, f_u) < 0.6
    assert (f_u < t).mean() == pytest.approx(0.6)


@pytest.mark.parametrize("alpha", [0.9, 0.7, 0.3, 0.0])
def test_the_interval_holds_the_share_and_beats_dkw(alpha: float) -> None:
    f_p, f_u = normal(300, 0), mixture(400, alpha, -6.0)
    found = share_of_negatives([(f_p, f_u)])
    assert bench("false_alarms").dkw_bound(f_p, f_u) < found.low <= 1 - alpha <= found.high
    assert found.low > 1 - alpha - 0.12
    assert found.p < 0.001


def test_there_is_no_bound_without_negatives_nor_where_all_scores_are_alike() -> None:
    found = share_of_negatives([(normal(300, 0), normal(400, 0))])
    assert found.low == 0.0
    assert found.p > 0.2
    alike = share_of_negatives([(np.zeros(30), np.zeros(40))])
    assert (alike.low, alike.high, alike.p) == (0.0, 1.0, 1.0)
    reversed_order = share_of_negatives([(normal(300, 0), mixture(400, 0.3, 6.0))])
    assert reversed_order.low == 0.0, "negatives above all positives are not seen by the lower bound"


@given(seed=st.integers(0, 10_000), alpha=st.sampled_from([0.2, 0.6, 1.0]))
@settings(max_examples=12, deadline=None)
def test_only_the_order_counts_and_ties_never_raise_the_bound(seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    f_p = rng.normal(size=60)
    f_u = np.where(rng.random(60) < alpha, rng.normal(size=60), rng.normal(-2, 1, size=60))
    found = share_of_negatives([(f_p, f_u)])
    assert share_of_negatives([(np.exp(f_p), np.exp(f_u))]) == found
    rounded = share_of_negatives([(np.round(f_p), np.round(f_u))])
    assert rounded.low <= found.low
    assert rounded.p >= found.p


def test_too_few_scores_are_refused() -> None:
    few, many = np.arange(9.0), np.arange(30.0)
    for ask in (lambda: share_of_negatives([(few, many)]), lambda: share_of_negatives([(many, few)])):
        with pytest.raises(ValueError, match="got 9 scores of"):
            ask()
    with pytest.raises(ValueError, match="not finite"):
        share_of_negatives([(many, np.append(many, np.inf))])
    with pytest.raises(ValueError, match="got 9 scores of V"):
        incoming([(many, many, few)])
    with pytest.raises(ValueError, match="score of U that is not finite"):
        incoming([(many, many * np.nan, many)])


@pytest.mark.parametrize(
    "page",
    [
        "docs/reliability.md",
        "docs/reliability_tables.py",
        "src/puoc/userdata/assess/evidence.py",
        "src/puoc/reporting/page/templates/assess.html.j2",
        "src/puoc/analysis/reliability/alpha.py",
        "tests/analysis/test_false_alarms.py",
    ],
)
def test_every_text_names_the_share_that_the_upper_bound_assumes(page: str) -> None:
    shares = {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "fifth": 1 / 5, "tenth": 1 / 10}
    named = re.findall(r"\bbest\s+(\w+)\s+of\s+P\b", (Path(__file__).parents[2] / page).read_text())
    assert named
    assert all(shares[word] == PURE for word in named)


# later rows


@pytest.mark.parametrize("alpha_v", [0.5, 0.45, 0.4, 0.3, 0.9, 1.0])
def test_a_mere_change_of_alpha_is_reported_as_one(alpha_v: float) -> None:
    found = incoming([(normal(400, 0), mixture(400, 0.5, -2.5), mixture(400, alpha_v, -2.5))])
    assert found.p_new > 0.5
    assert found.ratio_low <= (1 - alpha_v) / 0.5 <= found.ratio_high
    assert (found.ratio_low <= 1 <= found.ratio_high) == (alpha_v in (0.5, 0.45))


def test_new_negatives_are_found_where_the_scores_tell_them_from_both() -> None:
    p, u = normal(400, 0), mixture(400, 0.5, -2.5)
    for new in (4.0, -6.0):
        assert incoming([(p, u, mixture(400, 0.5, new))]).p_new < 1e-3
    # where one score takes the new ones for positives, a second can find them
    rng = np.random.default_rng(4)

    def two(first: Array, second: Array) -> Array:
        return np.column_stack([first, rng.permutation(second)])

    v = two(normal(400, 0), np.concatenate([normal(200, 0), normal(200, 3)]))
    of_p, of_u = two(normal(400, 0), normal(400, 0)), two(u, normal(400, 0))
    assert incoming([(of_p[:, 0], of_u[:, 0], v[:, 0])]).p_new > 0.5
    assert incoming([(of_p, of_u, v)]).p_new < 1e-3


def test_where_nothing_tells_rows_apart_no_shift_is_found() -> None:
    alike = np.zeros(40)
    found = incoming([(alike, alike, alike)])
    assert (found.p_new, found.ratio_high) == (1.0, np.inf)
    two_values = np.tile([0.0, 1.0], 20)
    assert incoming([(two_values, two_values, two_values)]).p_new == 1.0


# gain


def test_the_gain_is_the_difference_of_aucs_with_delongs_spread() -> None:
    rng = np.random.default_rng(6)
    p, u = rng.normal(1, 1, 80), rng.normal(0, 1, 90)
    worse_p, worse_u = np.round(p + rng.normal(0, 2, 80)), np.round(u + rng.normal(0, 2, 90))
    found = gain([((worse_p, worse_u), (p, u))])
    assert found.gain == pytest.approx(auc(p, u, "better") - auc(worse_p, worse_u, "worse"), abs=1e-12)
    draws = []
    for _ in range(400):
        i, j = rng.integers(80, size=80), rng.integers(90, size=90)
        draws.append(placements(p[i], u[j])[0].mean() - placements(worse_p[i], worse_u[j])[0].mean())
    assert found.error == pytest.approx(np.std(draws), rel=0.2)
    assert found.high - found.low == pytest.approx(2 * 1.96 * found.error, rel=1e-3)
    same = gain([((p, u), (p, u))] * 2)
    assert (same.gain, same.low, same.high, same.error) == (0, 0, 0, 0)
