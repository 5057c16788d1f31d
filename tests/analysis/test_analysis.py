"""Summaries and twin tests on tables small enough to compute by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pytest
from plans import entry_plan, table_plan, with_entries

from puoc.analysis.statistics.effects import rank_biserial_interval
from puoc.analysis.statistics.signed_rank import EXACT_UP_TO, PAIRS_FOR_INTERVAL
from puoc.analysis.statistics.significance import SignificanceRow, over_all_tables, twin_tests
from puoc.analysis.tables.results import planned_rows
from puoc.analysis.tables.summary import SummaryRow, summarise
from puoc.records import Prior
from puoc.reporting.page.significance import evidence_sentences
from puoc.reporting.page.tables import CellView, row_views
from puoc.store.plans import EntryPlan, TablePlan

Row = TypeVar("Row", SummaryRow, SignificanceRow)

OC = entry_plan("oc_svm", "oc_svm", "oc", None, "pu")
PU_OC = entry_plan("pu_svm", "pu_svm", "pu_oc", "oc_svm", "pu")
ORACLE = entry_plan("pn_oracle", "naive", "pu", None, "oracle")


def plan(
    seeds: int = 3, cells: tuple[str, ...] = ("a", "b"), entries: tuple[EntryPlan, ...] = (OC, PU_OC, ORACLE)
) -> TablePlan:
    return table_plan("t", "one_vs_all", "digits", "T", cells, entries, tuple(range(seeds)))


def rows(asked: TablePlan, values: dict[tuple[str, str], list[Any]]) -> pd.DataFrame:
    """Rows from AUCs by (entry, cell), one a seed; a text stands for a status other than ok."""
    found = []
    for (entry, cell), aucs in values.items():
        for seed, auc in enumerate(aucs):
            status = auc if isinstance(auc, str) else "ok"
            value = None if isinstance(auc, str) else auc
            found.append(
                {"entry": entry, "cell": cell, "seed": seed, "status": status, "attempts": 1, "auc": value}
                | {"reason": None if status == "ok" else f"why {status}", "auc_train_pool": value, "device": "cpu"}
                | {"torch_version": "2.6", "numerics": "fp32", "fit_id": "f", "trial_id": f"{entry}/{cell}/{seed}"}
            )
    return planned_rows(pd.DataFrame(found), asked, "t.parquet")


def at(table: list[Row], cell: str, entry: str = "pu_svm") -> Row:
    (found,) = (row for row in table if (row.entry, row.cell) == (entry, cell))
    return found


def test_means_deviations_and_ranks_by_hand() -> None:
    asked = plan()
    values = {("oc_svm", "a"): [0.5, 0.6, 0.7], ("oc_svm", "b"): [0.7, 0.8, 0.9]}
    values |= {("pu_svm", "a"): [0.8, 0.8, 0.8], ("pu_svm", "b"): [0.6, 0.6, 0.6]}
    values |= {("pn_oracle", "a"): [0.9, 0.9, 0.9], ("pn_oracle", "b"): [0.9, 0.9, 0.9]}
    summary = summarise(asked, rows(asked, values))
    cell = at(summary, "a", "oc_svm")
    assert (cell.mean, cell.std, cell.min, cell.max, cell.n) == pytest.approx((0.6, 0.1, 0.5, 0.7, 3))
    average = at(summary, "average", "oc_svm")
    assert (average.mean, average.std) == pytest.approx((0.7, 0.1))
    assert [row.rank for row in summary if row.cell == "b"] == [1, 2, None]
    assert json.loads(cell.trial_ids) == ["oc_svm/a/0", "oc_svm/a/1", "oc_svm/a/2"]
    assert {row.state for row in summary} == {"ok"}


def test_a_mean_over_holes_says_its_n_and_what_is_missing() -> None:
    asked = plan(seeds=4)
    values = {("oc_svm", "a"): [0.5, "failed", 0.7, "missing"], ("oc_svm", "b"): [0.5, 0.6, "skipped"]}
    summary = summarise(asked, rows(asked, values))
    cell = at(summary, "a", "oc_svm")
    assert (cell.n, cell.n_failed, cell.n_missing, cell.state) == (2, 1, 1, "partial")
    assert cell.mean == pytest.approx(0.6)
    assert cell.reasons == "1 failed: why failed; 1 missing: why missing"
    other = at(summary, "b", "oc_svm")
    assert (other.n, other.n_skipped, other.n_missing) == (2, 1, 1)  # the fourth seed has no row
    average = at(summary, "average", "oc_svm")
    assert (average.n, average.mean) == (1, 0.5)  # only seed 0 has both cells
    assert average.std is None
    assert average.reasons.startswith("1 of 4 seeds have every cell")
    assert at(summary, "a").state == "not run"


def test_an_ok_row_without_an_auc_is_told_and_not_averaged() -> None:
    asked = plan()
    summary = summarise(asked, rows(asked, {("oc_svm", "a"): [0.5, float("nan"), 0.7]}))
    cell = at(summary, "a", "oc_svm")
    assert (cell.n, cell.mean) == (2, pytest.approx(0.6))
    assert "1 ok without a value" in cell.reasons
    unscored = rows(asked, {("oc_svm", "a"): [float("nan")] * 3})
    for text, why in (("{}", "which the stored results do not determine"), (None, "since an earlier version wrote")):
        by_f1 = at(summarise(asked, unscored.assign(metrics=text), "f1"), "a", "oc_svm")
        assert by_f1.reasons.startswith(f"3 ok without a value of f1, {why}")


def test_an_average_names_the_cells_below_chance_that_it_hides() -> None:
    asked = plan()
    found = summarise(asked, rows(asked, {("pu_svm", "a"): [0.4, 0.42, 0.41], ("pu_svm", "b"): [0.9, 0.9, 0.9]}))
    average = at(found, "average", "pu_svm")
    assert average.below_chance == "0.41 at a"
    assert {row.below_chance for row in found if row is not average} == {""}
    (note,) = {view.note for view in _cells("pu_svm", asked, found) if view.note}
    assert note == "hides 0.41 at a"
    by_f1 = summarise(asked, rows(asked, {("pu_svm", "a"): [0.4] * 3, ("pu_svm", "b"): [0.9] * 3}), "f1")
    assert {row.below_chance for row in by_f1} == {""}  # .5 is the level of chance of an AUC alone


def _cells(entry: str, asked: TablePlan, found: list[SummaryRow]) -> list[CellView]:
    return next(view.cells for view in row_views("t0", asked, None, found, []) if view.name == entry)


def test_an_entry_that_is_told_alpha_says_so() -> None:
    asked = plan()
    told = asked.entries[0].model_copy(update={"prior": Prior(kind="true")})
    asked = with_entries(asked, (told, *asked.entries[1:]))
    views = row_views("t0", asked, None, summarise(asked, None), [])
    assert [view.told_alpha for view in views] == [True] + [False] * (len(views) - 1)


def test_a_table_that_was_not_run_has_every_cell_and_no_number() -> None:
    summary = summarise(plan(), None)
    assert len(summary) == 9
    assert {(row.state, row.mean) for row in summary} == {("not run", None)}
    tests = twin_tests(plan(), None)
    assert {(test.note, test.p) for test in tests} == {("the table was not run", None)}


def test_the_smallest_p_of_a_family_is_one_that_can_be_reached_where_pairs_differ_in_number() -> None:
    asked = plan(seeds=8)
    oc, better = [0.5] * 8, [0.51, 0.52, 0.53, 0.54, 0.55, 0.56, 0.57, 0.58]
    fewer = [*better[:6], None, None]
    values = {("oc_svm", "a"): oc, ("oc_svm", "b"): oc, ("pu_svm", "a"): better, ("pu_svm", "b"): fewer}
    tests = twin_tests(asked, rows(asked, values))
    for cell, floor in (("a", 2 * 2 / 2**8), ("b", 2 / 2**6)):
        found = at(tests, cell)
        assert found.p_adjusted == found.min_p_adjusted == floor
    assert all(test.p_adjusted >= test.min_p_adjusted for test in tests if test.p_adjusted is not None)


def test_twin_tests_by_hand() -> None:
    asked = plan(seeds=5)
    oc, better = [0.5, 0.5, 0.5, 0.5, 0.5], [0.51, 0.52, 0.53, 0.54, 0.55]
    values = {("oc_svm", "a"): oc, ("oc_svm", "b"): oc, ("pu_svm", "a"): better, ("pu_svm", "b"): oc}
    tests = twin_tests(asked, rows(asked, values))
    first = at(tests, "a")
    assert (first.p, first.p_greater, first.min_p) == (0.0625, 0.03125, 0.0625)
    assert (first.family_size, first.p_adjusted, first.min_p_adjusted) == (2, 0.125, 0.125)
    assert (first.mean_difference, first.shift) == pytest.approx((0.03, 0.03))
    assert first.unit == "seed"
    differences = np.array(better) - np.array(oc)
    assert first.effect == 1.0
    assert (first.effect_low, first.effect_high) == rank_biserial_interval(differences) != (None, None)
    second = at(tests, "b")
    assert (second.p, second.n_zero, second.note) == (1.0, 5, "all differences are zero")
    average = at(tests, "average")
    assert (average.family_size, average.p, average.p_adjusted) == (1, 0.0625, 0.0625)
    assert average.mean_difference == pytest.approx(0.015)


@pytest.mark.parametrize(("seeds", "method"), [(26, "exact"), (EXACT_UP_TO + 1, "normal")])
def test_a_row_is_named_exact_only_where_its_p_is(seeds: int, method: str) -> None:
    asked = plan(seeds=seeds, cells=("a",))
    aucs = np.random.default_rng(0).uniform(0.4, 0.9, (2, seeds))
    values = {("oc_svm", "a"): aucs[0].tolist(), ("pu_svm", "a"): aucs[1].tolist()}
    assert at(twin_tests(asked, rows(asked, values)), "a").method == method


def test_the_adjustment_over_all_tables_counts_tests_that_could_not_be_made() -> None:
    better = [0.51, 0.52, 0.53, 0.54, 0.55, 0.56, 0.57, 0.58]
    asked = plan(seeds=8)
    values: dict[tuple[str, str], list[Any]] = {("oc_svm", cell): [0.5] * 8 for cell in "ab"}
    values |= {("pu_svm", "a"): better, ("pu_svm", "b"): ["failed"] * 8}
    one = twin_tests(asked, rows(asked, values))
    tables = [[replace(test, family=f"{test.family} {number}") for test in one] for number in range(4)]
    found = over_all_tables([test for table in tables for test in table])
    made = [test for test in found if test.p is not None and not test.is_average]
    assert len(made) == 4
    assert {test.p_adjusted for test in made} == {2 * 2 / 2**8}
    assert {test.p_adjusted_all for test in made} == {4 * 2 * 2 / 2**8}  # 8 planned tests
    assert [test.p_adjusted_all for test in found if test.p is None] == [None] * sum(test.p is None for test in found)
    (sentence, _) = evidence_sentences(found[: len(one)], run=True)
    assert ", 1 is significant after Holm" in sentence
    assert sentence.endswith("after Holm over the 8 of all tables, 0 of them.")


def test_the_adjustment_over_all_tables_counts_the_tests_of_each_that_has_some() -> None:
    better = [0.51, 0.52, 0.53, 0.54, 0.55, 0.56, 0.57, 0.58]
    asked = plan(seeds=8)
    values = {("oc_svm", "a"): [0.5] * 8, ("oc_svm", "b"): [0.5] * 8}
    values |= {("pu_svm", "a"): better, ("pu_svm", "b"): better}
    one = twin_tests(asked, rows(asked, values))
    assert {test.p_adjusted_all for test in one} == {None}
    other = [replace(test, table="other", family=test.family.replace(asked.table, "other")) for test in one]
    not_run = [replace(test, family="twin pairs of t3, cells") for test in twin_tests(plan(), None)]
    found = over_all_tables([*one, *other, *not_run])
    cells = [test for test in found if not test.is_average and test.p is not None]
    assert {test.family_size for test in cells} == {2}
    assert {test.family_size_all for test in cells} == {4}
    assert {test.p_adjusted for test in cells} == {2 * 2 / 2**8}
    assert {test.p_adjusted_all for test in cells} == {4 * 2 / 2**8}
    assert [test.p_adjusted for test in found] == [test.p_adjusted for test in [*one, *other, *not_run]]
    (sentence, _) = evidence_sentences([test for test in found if test.table == asked.table], run=True)
    assert sentence.endswith("That holds for this table; after Holm over the 4 of all tables, 2 of them.")


@pytest.mark.parametrize("n", [PAIRS_FOR_INTERVAL - 1, PAIRS_FOR_INTERVAL])
def test_the_interval_of_the_shift_starts_at_the_number_of_pairs_the_page_names(n: int) -> None:
    asked = plan(seeds=n, cells=("a",))
    values = {("oc_svm", "a"): [0.5] * n, ("pu_svm", "a"): [0.51 + 0.01 * seed for seed in range(n)]}
    test = at(twin_tests(asked, rows(asked, values)), "a")
    assert {test.shift_low is None, test.shift_high is None} == {n != PAIRS_FOR_INTERVAL}


def test_pairs_are_joined_by_seed_and_never_by_position() -> None:
    asked = plan(seeds=6, cells=("a",))
    gen = np.random.default_rng(0)
    values = {("oc_svm", "a"): list(gen.uniform(0.4, 0.9, 6)), ("pu_svm", "a"): list(gen.uniform(0.4, 0.9, 6))}
    ordered = rows(asked, values)
    shuffled = planned_rows(ordered.sample(frac=1, random_state=1), asked, "t.parquet")
    assert twin_tests(asked, shuffled) == twin_tests(asked, ordered)
    dropped = ordered[~((ordered["entry"] == "oc_svm") & (ordered["seed"] == 0))]
    dropped = dropped[~((dropped["entry"] == "pu_svm") & (dropped["seed"] == 5))]
    test = at(twin_tests(asked, dropped), "a")
    wanted = np.array(values["pu_svm", "a"][1:5]) - np.array(values["oc_svm", "a"][1:5])
    assert (test.n, test.mean_difference) == (4, pytest.approx(wanted.mean()))
    assert test.note == "4 of 6 planned pairs; pu_svm has 5 (1 missing); oc_svm has 5 (1 missing)"


def test_holes_single_pairs_and_absent_twins_are_named_in_words() -> None:
    asked = plan(seeds=3, cells=("a", "b", "c"))
    values: dict[tuple[str, str], list[Any]] = {
        ("oc_svm", "a"): [0.5, float("nan"), 0.6],
        ("pu_svm", "a"): [0.6, 0.7, 0.8],
    }
    values |= {("oc_svm", "b"): [0.5, "failed", "failed"], ("pu_svm", "b"): [0.6, 0.7, 0.8]}
    values |= {("oc_svm", "c"): ["missing"] * 3, ("pu_svm", "c"): [0.6, 0.7, 0.8]}
    tests = twin_tests(asked, rows(asked, values))
    assert at(tests, "a").note == "2 of 3 planned pairs; oc_svm has 2 (1 ok without a value)"
    assert at(tests, "b").note == "1 of 3 planned pairs; oc_svm has 1 (2 failed); one pair: no test can reject"
    assert at(tests, "b").p == 1.0
    assert at(tests, "c").note == "no pair; oc_svm has 0 (3 missing)"
    assert at(tests, "c").method == "not tested"
    assert at(tests, "c").p is None
    assert {test.family_size for test in tests if not test.is_average} == {
        3
    }  # the untested cell counts: the plan fixes the family


def test_what_does_not_apply_leaves_the_family() -> None:
    asked = plan(seeds=2)
    values: dict[tuple[str, str], list[Any]] = {("oc_svm", cell): [0.5, 0.6] for cell in "ab"} | {
        ("pu_svm", "a"): [0.6, 0.7],
        ("pu_svm", "b"): ["skipped"] * 2,
    }
    tests = twin_tests(asked, rows(asked, values))
    assert at(tests, "a").family_size == 1
    assert at(tests, "b").note == "no pair; pu_svm has 0 (2 skipped)"


def test_a_pair_computed_on_unlike_machines_is_warned_of() -> None:
    asked = plan(cells=("a",))
    found = rows(asked, {("oc_svm", "a"): [0.5, 0.6, 0.7], ("pu_svm", "a"): [0.6, 0.7, 0.8]})
    assert at(twin_tests(asked, found), "a").warning == ""
    found.loc[(found["entry"] == "pu_svm") & (found["seed"] == 1), "device"] = "cuda"
    found.loc[found["entry"] == "oc_svm", "numerics"] = "bf16"
    warning = at(twin_tests(asked, found), "a").warning
    assert warning == "device differs in 1 of 3 pairs (cuda / cpu); numerics differs in 3 of 3 pairs (fp32 / bf16)"


def test_every_hybrid_is_paired_with_every_entry_of_its_twin_but_no_oracle() -> None:
    other = entry_plan("oc_svm_rbf", "oc_svm", "oc", None, "pu")
    oracle = entry_plan("oc_svm_oracle", "oc_svm", "oc", None, "oracle")
    pairs = plan(entries=(OC, other, oracle, PU_OC, ORACLE)).twin_pairs()
    assert [(hybrid.entry, parent.entry) for hybrid, parent in pairs] == [
        ("pu_svm", "oc_svm"),
        ("pu_svm", "oc_svm_rbf"),
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"auc": "0.7"}, "numbers expected"),
        ({"auc": 1.2}, r"in \[0, 1\] expected"),
        ({"status": "fine"}, "'fine' is unknown"),
        ({"seed": 0}, "share a key"),
    ],
)
def test_rows_that_cannot_be_right_are_refused(change: dict[str, Any], said: str) -> None:
    asked = plan(cells=("a",))
    found = rows(asked, {("oc_svm", "a"): [0.5, 0.6, 0.7]})
    with pytest.raises(ValueError, match=said):
        planned_rows(found.assign(**change), asked, "t.parquet")


def test_a_table_without_a_needed_column_is_refused_by_name() -> None:
    found = rows(plan(), {("oc_svm", "a"): [0.5]})
    with pytest.raises(ValueError, match="no column trial_id"):
        planned_rows(found.drop(columns="trial_id"), plan(), "t.parquet")
