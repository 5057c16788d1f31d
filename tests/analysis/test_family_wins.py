"""Which family ranks best, and which comparison of a published number counts, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from beside_paper import plan_beside
from scipy import stats

from puoc.analysis.paper.answer import counted_rows, number_counts
from puoc.analysis.paper.family_wins import FamilyWinRow, family_wins
from puoc.analysis.paper.verdicts import VerdictRow, verdicts
from puoc.store.plans import TablePlan

SEEDS = 5
AUCS = {"oc_svm": 0.6, "drocc": 0.65, "pu_svm": 0.7, "pu_drocc": 0.9, "drpu": 0.8, "pan": 0.75}


def planned(entries: list[str], cells: int = 1, scenario: str = "neg_shift") -> TablePlan:
    plan = plan_beside("shift", SEEDS, only=["n=1", "n=2"][:cells])
    return plan.model_copy(update={"scenario": scenario}).only(entries)


def rows_of_cell(aucs: dict[str, list[float]]) -> pd.DataFrame:
    lines = [(entry, "n=1", seed, "ok", auc) for entry, values in aucs.items() for seed, auc in enumerate(values)]
    return pd.DataFrame(lines, columns=["entry", "cell", "seed", "status", "auc"])


def compared(aucs: dict[str, list[float]], entries: list[str] | None = None) -> FamilyWinRow:
    plan = planned(entries or list(aucs))
    (row,) = family_wins([plan], {plan.table: rows_of_cell(aucs) if aucs else None})
    return row


def steady(noise: float) -> dict[str, list[float]]:
    rng = np.random.default_rng(1)
    return {entry: list(mean + rng.normal(0, noise, SEEDS)) for entry, mean in AUCS.items()}


def test_the_interval_to_the_next_family_by_hand() -> None:
    aucs = steady(0.01)
    row = compared(aucs)
    difference = np.array(aucs["pu_drocc"]) - np.array(aucs["drpu"])
    half = stats.t.ppf(1 - 0.025 / 6, SEEDS - 1) * difference.std(ddof=1) / SEEDS**0.5  # six methods to choose from
    assert (row.outcome, row.best_entry, row.next_family, row.next_entry) == ("PU-OC", "pu_drocc", "PU", "drpu")
    assert (row.low, row.high) == pytest.approx((difference.mean() - half, difference.mean() + half))
    assert (row.oc.entry, row.pu.entry, row.pu_oc.entry, row.n, row.axis) == ("drocc", "drpu", "pu_drocc", 5, "shift")


def test_an_interval_with_zero_is_not_decided() -> None:
    row = compared(steady(0.2))
    assert row.outcome == "not decided"
    assert "not shown to be above" in row.note


def test_every_method_of_the_other_families_must_be_below() -> None:
    aucs = {"pu_drocc": [0.9] * 5, "drpu": [0.8] * 5, "pan": [0.5, 0.5, 0.99, 0.99, 0.5], "drocc": [0.4] * 5}
    row = compared(aucs)
    assert (row.next_entry, row.outcome) == ("drpu", "not decided")
    assert row.low is not None
    assert row.low > 0
    assert row.note == "not shown to be above pan"


def test_equal_methods_one_seed_and_absent_families_are_not_decided() -> None:
    level = {entry: [0.7] * SEEDS for entry in AUCS}
    assert compared(level).outcome == "not decided"
    assert compared({entry: values[:1] for entry, values in steady(0.001).items()}).outcome == "not decided"
    without_pu = {entry: values for entry, values in steady(0.001).items() if entry not in ("drpu", "pan")}
    row = compared(without_pu, list(AUCS))
    assert (row.outcome, row.note) == ("not decided", "without a result: drpu, pan; no result of PU")


def test_a_cell_without_rows_is_not_run() -> None:
    row = compared({}, list(AUCS))
    assert (row.outcome, row.best_entry, row.n_methods) == ("not run", None, 0)
    plan = planned(list(AUCS), cells=2)
    assert [row.outcome for row in family_wins([plan], {plan.table: rows_of_cell(steady(0.001))})][1] == "not run"


def test_a_method_with_one_seed_is_left_out_and_named() -> None:
    aucs = steady(0.001) | {"pan": [0.99]}
    row = compared(aucs)
    assert (row.outcome, row.n_methods) == ("PU-OC", 5)
    assert row.note == "left out for its single seed: pan"


def test_tables_without_an_axis_or_a_second_family_have_no_row() -> None:
    assert family_wins([planned(list(AUCS), scenario="one_vs_all"), planned(["drpu", "pan"])], {}) == []


def test_noise_alone_rarely_gives_a_winner() -> None:
    """The level is joint: with equal methods, at most about 2.5 % of cells have a winner."""
    rng, wins = np.random.default_rng(0), 0
    for _ in range(200):
        wins += compared({entry: list(0.7 + rng.normal(0, 0.02, SEEDS)) for entry in AUCS}).outcome != "not decided"
    assert wins <= 12


def test_which_comparison_of_a_number_counts() -> None:
    first = verdicts([], [], [], {})[0]
    away = replace(first, n=9, verdict="differs", differs_in="250 labelled positives (2500)", verdict_own_spread="void")
    void = replace(first, n=12, verdict="void")
    near, nearer = (replace(first, n=n, verdict="reproduced", table=f"t{n}") for n in (3, 4))
    again = replace(nearer, verdict="not decided")

    def chosen(*rows: VerdictRow) -> VerdictRow:
        (row,) = counted_rows(rows)
        return row

    assert chosen(first, void, away, near, nearer, again) is nearer
    assert chosen(first, again, nearer) is again, "of equal ones the first, whatever its verdict"
    assert chosen(void, first, away) is away
    assert chosen(first, void) is void
    total = number_counts([first, away])[-1]
    assert (total.n, total.by_state, total.by_own_spread) == (1, (0, 1, 0, 0, 0), (0, 0, 0, 1, 0))
    assert total.otherwise == (0, 1, 0, 0, 0)
    assert number_counts([])[-1].n == 0
