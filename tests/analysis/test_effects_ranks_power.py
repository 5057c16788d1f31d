"""Effects, ranks and power against enumerated cases, other implementations and a published example."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import entry_plan, table_plan, with_entries
from scipy.stats import friedmanchisquare, norm, rankdata, studentized_range
from test_analysis import ORACLE, plan, rows

from puoc.analysis.paper.protocol import protocol_table
from puoc.analysis.statistics.effects import (
    PAIRS_FOR_INTERVAL,
    bayesian_signed_rank,
    rank_biserial,
    rank_biserial_interval,
)
from puoc.analysis.statistics.power import MAX_SEEDS, power, seeds_for_power, seeds_to_reject
from puoc.analysis.statistics.ranks import friedman, groups, rank_table
from puoc.analysis.statistics.seed_power import EFFECTS, EvidenceRow, evidence_table
from puoc.analysis.statistics.signed_rank import null_rank_sums, shift_with_interval, signed_rank_test
from puoc.analysis.tables.frames import column_types

coarse = st.lists(st.integers(-4, 4).map(lambda step: step / 50), min_size=1, max_size=12)
DEGENERATE = ([], [[0.1]], ["a"], [0.1, float("nan")], [0.1, float("inf")])


@given(coarse)
def test_the_rank_biserial_correlation_by_its_definition(differences: list[float]) -> None:
    moved = np.array([d for d in differences if d])
    ranks = rankdata(np.abs(moved).round(10))
    expected = (ranks[moved > 0].sum() - ranks[moved < 0].sum()) / ranks.sum() if len(moved) else 0.0
    assert rank_biserial(differences) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [5, 8, 12])
def test_equal_signs_leave_the_effect_an_interval(n: int) -> None:
    """All signs are plus with the probability Phi(m) ** n: the lower end has 2.5 % there."""
    low, high = rank_biserial_interval([0.1] * n)
    assert high == 1.0
    assert low == pytest.approx(2 * norm.cdf(np.sqrt(2) * norm.ppf(0.025 ** (1 / n))) - 1, abs=0.05)
    assert rank_biserial_interval([-0.1] * n) == (-1.0, pytest.approx(-low, abs=0.05))


@pytest.mark.parametrize(("n", "effect"), [(5, 1.5), (12, 1.5), (12, 3.0)])
def test_the_interval_of_the_effect_covers_it(n: int, effect: float) -> None:
    """A bootstrap covers it in .26 to .59 of draws at 1.5 standard deviations, and in .01 to .03 at 3."""
    truth = 2 * norm.cdf(np.sqrt(2) * effect) - 1
    draws = np.random.default_rng(1).normal(effect, 1, (200, n))
    covered = [low <= truth <= high for low, high in map(rank_biserial_interval, draws)]
    assert np.mean(covered) > 0.9


@pytest.mark.parametrize("n_negative", [1, 2, 3])
def test_the_interval_of_the_effect_turns_round_with_the_sides(n_negative: int) -> None:
    values = np.arange(1, 7) / 100 * np.repeat([-1, 1], [n_negative, 6 - n_negative])
    low, high = rank_biserial_interval(values)
    assert rank_biserial_interval(-values) == (pytest.approx(-high, abs=0.03), pytest.approx(-low, abs=0.03))


@settings(max_examples=50, deadline=None)
@given(coarse)
def test_the_interval_of_the_effect_holds_the_effect(differences: list[float]) -> None:
    low, high = rank_biserial_interval(differences)
    if low is not None and high is not None:
        assert -1 <= low <= rank_biserial(differences) <= high <= 1


def test_the_hodges_lehmann_shift_is_the_median_of_all_pairwise_means() -> None:
    values = np.random.default_rng(3).normal(0.2, 1, 9).round(3)
    means = [(a + b) / 2 for a, b in combinations_with_replacement(values, 2)]
    assert shift_with_interval(values)[0] == pytest.approx(np.median(means), abs=1e-12)


def test_fewer_than_five_pairs_that_differ_have_no_interval_of_the_effect() -> None:
    few = [0.1] * (PAIRS_FOR_INTERVAL - 1)
    assert rank_biserial_interval(few) == rank_biserial_interval([*few, 0.0, 0.0]) == (None, None)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(-0.2, 0.2), min_size=5, max_size=12), st.randoms())
def test_the_order_of_pairs_changes_no_digit(differences: list[float], random: object) -> None:
    shuffled = differences.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for statistic in (rank_biserial, rank_biserial_interval, bayesian_signed_rank):
        assert statistic(shuffled) == statistic(differences)


@pytest.mark.parametrize("strange", DEGENERATE, ids=repr)
def test_what_is_no_list_of_differences_is_refused_in_words(strange: list[object]) -> None:
    for statistic in (rank_biserial, rank_biserial_interval, bayesian_signed_rank):
        with pytest.raises(ValueError, match=r"expected|not finite"):
            statistic(strange)  # type: ignore[operator]


def test_the_bayesian_chances_against_a_plain_simulation() -> None:
    values = np.random.default_rng(5).normal(0.012, 0.02, 8).round(4)
    gen = np.random.default_rng(99)
    with_prior = np.concatenate([[0.0], values])
    counts = np.zeros(3)
    for _ in range(3000):
        weights = gen.gamma([0.5] + [1.0] * len(values))
        weights /= weights.sum()
        sides = np.zeros(3)
        for (a, wa), (b, wb) in product(zip(with_prior, weights, strict=True), repeat=2):
            sides[0 if a + b < -0.02 else 2 if a + b > 0.02 else 1] += wa * wb
        counts[np.argmax(sides)] += 1
    found = bayesian_signed_rank(values)
    assert [found.lower, found.equal, found.higher] == pytest.approx(counts / 3000, abs=0.03)


def test_the_bayesian_chances_add_up_and_turn_round_with_the_sides() -> None:
    values = np.array([0.03, -0.01, 0.05, 0.0, 0.02, -0.04])
    found, mirrored = bayesian_signed_rank(values), bayesian_signed_rank(-values)
    assert found.lower + found.equal + found.higher == pytest.approx(1)
    assert (found.lower, found.equal, found.higher) == pytest.approx(
        (mirrored.higher, mirrored.equal, mirrored.lower), abs=0.04
    )
    assert bayesian_signed_rank([0.0] * 5).equal == 1
    assert bayesian_signed_rank([0.01] * 5).equal == 1  # no further than the region reaches
    assert bayesian_signed_rank([0.3] * 9).higher > 0.999
    with pytest.raises(ValueError, match=r"rope is -0\.1"):
        bayesian_signed_rank(values, rope=-0.1)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 9), st.integers(2, 6), st.integers(0, 10**6))
def test_friedman_is_scipys_and_invariant(n: int, k: int, seed: int) -> None:
    gen = np.random.default_rng(seed)
    values = gen.integers(0, 4, (n, k)) / 100  # many ties
    found = friedman(values)
    assert sum(found.average_ranks) == pytest.approx(k * (k + 1) / 2)
    assert friedman(values[gen.permutation(n)]).p == found.p
    if k > 2 and (values != values[:, :1]).any():
        assert found.chi_squared == pytest.approx(friedmanchisquare(*values.T).statistic, rel=1e-9, abs=1e-9)


def test_friedman_by_hand_and_at_its_ends() -> None:
    agreeing = friedman([[0.3, 0.2, 0.1]] * 4)
    assert agreeing.average_ranks == (1, 2, 3)
    assert agreeing.chi_squared == 8.0
    assert agreeing.p == pytest.approx(1 / 6**3, abs=0.002)  # all four blocks alike, in any of six orders
    assert friedman([[0.9, 0.8]] * 2).p == pytest.approx(0.5, abs=0.02)  # two cells cannot tell two methods apart
    assert friedman([[0.9, 0.8, 0.7]] * 2).p == pytest.approx(1 / 6, abs=0.02)
    tied = friedman([[0.5, 0.5], [0.5, 0.5]])
    assert (tied.average_ranks, tied.chi_squared, tied.p) == ((1.5, 1.5), 0.0, 1.0)
    one = friedman([[[0.9, 0.8, 0.7]] * 20])  # one block of twenty cells shows how they rank, and proves nothing
    assert (one.average_ranks, one.p, one.critical_difference) == ((1, 2, 3), 1.0, 2.0)


@pytest.mark.parametrize("strange", [[], [[1.0], [2.0]], [1.0, 2.0], [["a", "b"]] * 2, [[[]]]])
def test_friedman_refuses_what_is_no_table(strange: object) -> None:
    with pytest.raises(ValueError, match="expected numbers of at least one block and two methods"):
        friedman(strange)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="1 of 4 values are not finite"):
        friedman([[0.1, float("nan")], [0.2, 0.3]])


def test_the_permutation_p_of_friedman_is_near_that_of_its_large_sample_form() -> None:
    values = np.random.default_rng(4).normal(0, 1, (30, 5)) + np.linspace(0, 0.6, 5)
    found = friedman(values)
    assert found.p == pytest.approx(friedmanchisquare(*values.T).pvalue, abs=0.02)
    assert found.critical_difference == pytest.approx(nemenyi(30, 5), abs=0.08)


def nemenyi(n_blocks: int, n_methods: int, level: float = 0.05) -> float:
    """Demsar (2006), section 3.2.2."""
    q = float(studentized_range.ppf(1 - level, n_methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_blocks)))


@pytest.mark.slow
@pytest.mark.parametrize("shared", [0.0, 0.5, 0.99])
def test_equal_methods_are_told_apart_at_the_level_whatever_cells_share(shared: float) -> None:
    gen = np.random.default_rng(11)
    rejected = 0
    for _ in range(200):
        of_seed, of_cell = gen.normal(0, 1, (5, 1, 3)), gen.normal(0, 1, (5, 6, 3))
        rejected += friedman(np.sqrt(shared) * of_seed + np.sqrt(1 - shared) * of_cell).p < 0.05
    assert rejected <= 19  # of 200 at .05: no more with a chance of .997


def test_more_cells_and_more_seeds_tell_more_apart() -> None:
    gen = np.random.default_rng(3)
    effect = np.array([0.0, 0.4, 0.8])

    def power(seeds: int, cells: int) -> float:
        return float(np.mean([friedman(gen.normal(0, 1, (seeds, cells, 3)) + effect).p < 0.05 for _ in range(60)]))

    few, more_cells, more_seeds = power(5, 1), power(5, 8), power(12, 8)
    assert few + 0.2 < more_cells
    assert more_cells + 0.2 < more_seeds


def test_groups_of_a_published_example() -> None:
    """Demsar (2006), section 3.2.4: four variants of C4.5 on 14 datasets, average ranks as printed there."""
    ranks = [3.143, 2.000, 2.893, 1.964]  # plain, with m, with cf, with both
    assert nemenyi(14, 4) == pytest.approx(1.25, abs=0.005)
    assert groups(ranks, nemenyi(14, 4)) == [(3, 1, 2, 0)]
    assert groups(ranks, nemenyi(14, 4, 0.1)) == [(3, 1, 2), (2, 0)]


@given(st.lists(st.floats(1, 8), min_size=1, max_size=8), st.floats(0, 4))
def test_groups_cover_all_and_none_lies_inside_another(ranks: list[float], difference: float) -> None:
    found = groups(ranks, difference)
    assert {at for group in found for at in group} == set(range(len(ranks)))
    for group in found:
        spread = [ranks[at] for at in group]
        assert max(spread) - min(spread) <= difference + 1e-9
        assert not any(set(group) < set(other) for other in found)


A, B, C = (entry_plan(name, name, "pu", None, "pu") for name in "ABC")


def test_ranks_of_a_table_by_hand() -> None:
    asked = plan(seeds=2, cells=("x", "y", "z"), entries=(A, B, C, ORACLE))
    values = {("A", "x"): [0.9, 0.9], ("A", "y"): [0.9, 0.9], ("A", "z"): [0.7, 0.9], ("B", "x"): [0.8, 0.8]}
    values |= {("B", "y"): [0.9, 0.9], ("B", "z"): [0.8, 0.8]}
    values |= {("C", "x"): [0.7, 0.7], ("C", "y"): [0.5, 0.5], ("C", "z"): [0.6, 0.6]}
    values |= {("pn_oracle", cell): [1.0, 1.0] for cell in "xyz"}
    table = rank_table(asked, rows(asked, values))
    assert [row.entry for row in table] == ["A", "B", "C"]
    first, second = [(1 + 1.5 + 2) / 3, (2 + 1.5 + 1) / 3, 3], [(1 + 1.5 + 1) / 3, (2 + 1.5 + 2) / 3, 3]
    means = [(a + b) / 2 for a, b in zip(first, second, strict=True)]
    assert [row.average_rank for row in table] == pytest.approx(means)
    assert [(row.wins, row.ties, row.losses) for row in table] == [(1, 2, 0), (0, 2, 1), (0, 0, 3)]
    assert {row.groups for row in table} == {"a"}  # two seeds tell nothing apart
    assert {row.note for row in table} == {"2 seeds of 3 entries can give no p below 0.17"}
    assert table[0].p == pytest.approx(1 / 3, abs=0.02)  # of six orders C is last in two


def test_one_fit_that_serves_every_cell_counts_once() -> None:
    """Of a one-class method in a sweep over alpha, all cells are one number."""
    asked = plan(seeds=3, cells=tuple("vwxyz"), entries=(A, B, C))
    gen = np.random.default_rng(5)
    values = {(name, cell): row for name in "ABC" for row in [gen.normal(0.7, 0.02, 3).tolist()] for cell in "vwxyz"}
    table = rank_table(asked, rows(asked, values))
    alone = rank_table(plan(seeds=3, cells=("v",), entries=(A, B, C)), rows(asked, values).query("cell == 'v'"))
    assert [replace(row, n_cells=1, wins=0, ties=0, losses=0) for row in table] == [
        replace(row, wins=0, ties=0, losses=0) for row in alone
    ]


def test_a_cell_with_a_hole_is_left_out_of_the_ranks_and_said() -> None:
    asked = plan(seeds=2, cells=("x", "y", "z"), entries=(A, B, C))
    values = {(name, cell): [0.6, 0.7] for name in "AB" for cell in "xyz"} | {("C", c): ["failed"] * 2 for c in "xyz"}
    values[("A", "y")] = [0.6, "failed"]
    table = rank_table(asked, rows(asked, values))
    assert [(row.entry, row.average_rank) for row in table] == [("A", 1.5), ("B", 1.5), ("C", None)]
    lacking, holes = "full in half of the cells or fewer: C", "2 of 3 cells have every entry"
    assert {row.note for row in table} == {f"{lacking}; {holes}; 2 seeds of 2 entries can give no p below 0.5"}
    assert rank_table(asked, None)[0].note.startswith("full in half of the cells or fewer: A, B, C")


@pytest.mark.parametrize("n", range(1, 9))
def test_the_null_distribution_by_enumeration(n: int) -> None:
    sums = [sum(r for r, plus in zip(range(1, n + 1), s, strict=True) if plus) for s in product((0, 1), repeat=n)]
    assert null_rank_sums(n) == pytest.approx(np.bincount(sums, minlength=n * (n + 1) // 2 + 1) / 2**n)


def test_power_is_the_rejection_rate_of_the_test_itself() -> None:
    gen = np.random.default_rng(8)
    draws = [signed_rank_test(gen.normal(0.9, 1, 9)).p for _ in range(1500)]
    assert power(9, 0.9) == pytest.approx(np.mean(np.array(draws) < 0.05), abs=0.04)
    adjusted = np.mean(np.array(draws) < 0.05 / 5)
    assert power(9, 0.9, comparisons=5) == pytest.approx(adjusted, abs=0.04)


def test_power_at_no_effect_stays_below_the_level_and_grows_with_the_effect() -> None:
    assert power(20, 0.0) <= 0.06
    found = [power(12, effect) for effect in (0.0, 0.5, 1.0, 2.0)]
    assert found == sorted(found)
    assert power(5, 3.0) == 0.0  # five pairs cannot reach .05
    assert power(6, 3.0) > 0.9


def test_more_seeds_than_are_simulated_have_the_power_of_those() -> None:
    assert power(100_000, 0.0) == power(MAX_SEEDS, 0.0) <= 0.06
    assert power(300, 0.1) == power(MAX_SEEDS, 0.1) < 1


def test_seeds_for_a_power_are_the_fewest() -> None:
    n = seeds_for_power(1.0, 0.8, comparisons=4)
    assert n is not None
    assert power(n, 1.0, 4) >= 0.8 > power(n - 1, 1.0, 4)
    assert seeds_for_power(0.01) is None
    assert [seeds_to_reject(m) for m in (1, 2, 40)] == [6, 7, 11]
    for effect, comparisons in ((2.0, 1), (2.0, 40), (1.0, 3), (1.0, 50)):
        found = seeds_for_power(effect, 0.8, comparisons)
        assert found == next(n for n in range(1, 60) if power(n, effect, comparisons) >= 0.8)


def test_what_a_profile_says_of_its_seeds_is_so() -> None:
    text = (Path(__file__).parents[2] / "profiles" / "paper.yaml").read_text()
    told = re.search(r"over (\d+) comparisons needs (\d+)", text)
    assert told is not None
    assert seeds_to_reject(int(told[1])) == int(told[2])


@pytest.mark.parametrize("asked", [(0, 1.0), (5, float("nan")), (5, 1.0, 0), (5, 1.0, 1, 1.5)])
def test_power_refuses_what_makes_no_sense(asked: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="expected"):
        power(*asked)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"got a power of 1\.2"):
        seeds_for_power(1.0, 1.2)


def test_what_ten_seeds_can_show_over_forty_cells_is_known_before_a_run() -> None:
    names = ("oc_svm", "drocc", "csi", "oc_cnn")
    twins = [entry_plan(f"pu_{name}", f"pu_{name}", "pu_oc", name, "pu") for name in names]
    parents = [entry_plan(name, name, "oc", None, "pu") for name in names]
    asked = table_plan("t", "one_vs_all", "cifar10", "T", tuple("abcdefghij"), (*twins, *parents), tuple(range(10)))
    skipped = entry_plan("pu_lstm", "pu_lstm", "pu_oc", "oc_svm", "pu", skip="takes sequences")
    asked = with_entries(asked, (*asked.entries, skipped))
    cells, average = evidence_table(asked)
    assert (cells.comparisons, average.comparisons) == (40, 4)
    assert cells.min_p_adjusted == pytest.approx(40 * 2 / 1024)
    assert cells.seeds_to_reject == 11
    assert cells.power_two == 0.0
    assert average.power_two > 0.9
    assert list(column_types(EvidenceRow))[7:] == [f"{name}_{n:g}" for name in ("power", "seeds") for n in EFFECTS]


def test_the_protocol_table_by_hand() -> None:
    asked = plan(seeds=2, cells=("a", "b"), entries=(A, B))
    values = {("A", "a"): [0.5, 0.6], ("A", "b"): [0.7, 0.8], ("B", "a"): [0.5, "failed"], ("B", "b"): [0.5, 0.5]}
    told = rows(asked, values)
    told["auc_train_pool"] = told["auc"] + np.where(told["cell"] == "a", 0.1, 0.2)
    first, second = protocol_table(asked, told)
    assert (first.gain, first.held_out, first.train_pool) == pytest.approx((0.15, 0.65, 0.8))
    assert (second.n_seeds, second.note) == (1, "1 of 2 seeds have every cell")
    assert [row.note for row in protocol_table(asked, None)] == ["the table was not run"] * 2
