"""The signed-rank test and Holm's adjustment against independent computations."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata, wilcoxon
from statsmodels.stats.multitest import multipletests

from puoc.analysis.statistics.holm import holm
from puoc.analysis.statistics.signed_rank import EXACT_UP_TO, shift_with_interval, signed_rank_test, smallest_p

coarse = st.lists(st.integers(-3, 3).map(lambda step: step / 100), min_size=1, max_size=8)


def p_by_enumeration(differences: list[float], alternative: str) -> float:
    """All sign patterns over the midranks of the non-zero differences, one by one."""
    moved = np.array([d for d in differences if d != 0])
    ranks = rankdata(np.abs(moved).round(10))
    observed = ranks[moved > 0].sum()
    sums = np.array(
        [sum(r for r, plus in zip(ranks, signs, strict=True) if plus) for signs in product((0, 1), repeat=len(moved))]
    )
    centre = ranks.sum() / 2
    extreme = {
        "greater": sums >= observed - 1e-9,
        "less": sums <= observed + 1e-9,
        "two-sided": np.abs(sums - centre) >= abs(observed - centre) - 1e-9,
    }[alternative]
    return float(extreme.mean())


@settings(max_examples=150, deadline=None)
@given(coarse, st.sampled_from(["two-sided", "greater", "less"]))
def test_p_with_ties_and_zeros_is_the_permutation_p(differences: list[float], alternative: str) -> None:
    test = signed_rank_test(differences, alternative)  # type: ignore[arg-type]
    if not any(differences):
        assert (test.p, test.method, test.note) == (1.0, "none", "all differences are zero")
        return
    assert test.p == pytest.approx(p_by_enumeration(differences, alternative), abs=1e-12)
    assert test.n_zero == differences.count(0)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(0, 10**6), st.sampled_from(["two-sided", "greater", "less"]))
def test_without_ties_the_exact_p_is_scipys(n: int, seed: int, alternative: str) -> None:
    gen = np.random.default_rng(seed)
    differences = gen.choice([-1, 1], n, p=[0.35, 0.65]) * gen.permutation(np.arange(1, n + 1)) / 1000
    ours = signed_rank_test(differences, alternative)  # type: ignore[arg-type]
    assert (ours.method, ours.n_ties) == ("exact", 0)
    assert ours.p == pytest.approx(wilcoxon(differences, alternative=alternative, method="exact").pvalue, rel=1e-12)


def test_above_the_exact_range_the_normal_approximation_is_named_and_near_the_exact_p() -> None:
    differences = np.random.default_rng(0).normal(0.1, 1, EXACT_UP_TO + 1)
    test = signed_rank_test(differences)
    assert test.method == "normal"
    below = signed_rank_test(differences[:-1])
    assert below.method == "exact"
    exact = wilcoxon(differences[:-1], method="exact").pvalue
    assert below.p == pytest.approx(exact, rel=1e-9)
    assert wilcoxon(differences[:-1], method="approx", correction=False).pvalue == pytest.approx(exact, rel=0.05)


def test_ties_keep_the_exact_p_beyond_what_whole_numbers_count() -> None:
    """With 70 differences there are more sign patterns than a 64-bit number holds."""
    differences = np.random.default_rng(1).integers(-3, 5, 70) / 100
    test = signed_rank_test(differences)
    assert test.method == "exact"
    approximate = wilcoxon(differences[differences != 0], method="approx", correction=False).pvalue
    assert test.p == pytest.approx(approximate, rel=0.1)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(EXACT_UP_TO + 100, EXACT_UP_TO + 200),
    st.integers(0, 10**6),
    st.sampled_from(["two-sided", "greater", "less"]),
)
def test_the_normal_approximation_is_scipys_with_ties(n: int, seed: int, alternative: str) -> None:
    differences = (
        np.random.default_rng(seed).choice([-1, 1, 2], n) * np.random.default_rng(seed).integers(1, 9, n) / 100
    )
    ours = signed_rank_test(differences, alternative)  # type: ignore[arg-type]
    assert ours.method == "normal"
    expected = wilcoxon(differences, alternative=alternative, method="approx", correction=False).pvalue
    assert ours.p == pytest.approx(expected, rel=1e-9)


@given(coarse, st.randoms())
def test_the_order_of_pairs_does_not_matter(differences: list[float], random: object) -> None:
    shuffled = differences.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert signed_rank_test(shuffled) == signed_rank_test(differences)


@given(coarse)
def test_swapping_the_sides_mirrors_the_one_sided_tests(differences: list[float]) -> None:
    mirrored = [-d for d in differences]
    assert signed_rank_test(differences, "greater").p == pytest.approx(signed_rank_test(mirrored, "less").p)
    assert signed_rank_test(differences).p == pytest.approx(signed_rank_test(mirrored).p)


@settings(max_examples=25)  # multipletests collects garbage at each call
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_holm_is_statsmodels_holm_and_never_below_the_raw_p(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    np.testing.assert_allclose(adjusted, multipletests(p_values, method="holm")[1], rtol=1e-12, atol=1e-300)
    assert (adjusted >= np.array(p_values)).all()
    assert (adjusted <= 1).all()


def test_holm_by_hand() -> None:
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])


@given(st.integers(2, 20))
def test_the_smallest_p_is_reached_when_all_signs_agree_and_never_undercut(n: int) -> None:
    agreeing = np.arange(1, n + 1) / 100
    assert signed_rank_test(agreeing).p == pytest.approx(smallest_p(n), rel=1e-12)
    agreeing[0] *= -1
    assert signed_rank_test(agreeing).p > smallest_p(n)


@settings(max_examples=40, deadline=None)
@given(st.integers(6, 20), st.integers(0, 10**6))
def test_the_interval_of_the_shift_excludes_zero_exactly_when_the_test_rejects(n: int, seed: int) -> None:
    differences = np.random.default_rng(seed).normal(0.5, 1, n)
    shift, low, high = shift_with_interval(differences)
    assert low is not None
    assert high is not None
    assert low <= shift <= high
    assert (low > 0 or high < 0) == (signed_rank_test(differences).p <= 0.05)


def test_five_pairs_give_a_shift_but_no_95_percent_interval() -> None:
    assert shift_with_interval([0.01, 0.02, 0.03, 0.04, 0.05]) == (0.03, None, None)


def test_differences_that_agree_to_ten_digits_are_equal() -> None:
    noise = 1e-13 * np.arange(1, 7)
    assert signed_rank_test(noise).method == "none"
    assert signed_rank_test(0.01 + noise).n_ties == 6


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.1, float("nan")], "1 of 2 values are not finite"),
        ([], "at least one value"),
        (["0.1", "0.2"], "expected numbers"),
        ([[0.1], [0.2]], "along one axis"),
    ],
)
def test_what_is_no_row_of_numbers_is_refused_in_words(values: list[object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        signed_rank_test(values)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [1, 5, 24, 25, 26, 40])
def test_the_smallest_p_is_that_of_pairs_with_one_sign(n: int) -> None:
    assert smallest_p(n) == signed_rank_test(np.arange(1, n + 1)).p
