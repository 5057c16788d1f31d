"""Paired tests of each PU-OC method against the OC method that it extends, by cell, adjusted over the table.

The tests are those of the paper (paired Wilcoxon over repetitions). In addition, there are Holm's adjustment and the
smallest p that the number of seeds can reach.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from puoc.analysis.statistics.effects import bayesian_signed_rank, rank_biserial, rank_biserial_interval
from puoc.analysis.statistics.signed_rank import (
    holm,
    rounded_differences,
    shift_with_interval,
    signed_rank_test,
    smallest_p,
)
from puoc.analysis.tables.frames import frame
from puoc.analysis.tables.grid import CIRCUMSTANCES, Floats, Grid
from puoc.analysis.tables.results import UNTESTED
from puoc.analysis.tables.summary import AVERAGE
from puoc.store.plans import EntryPlan, TablePlan

#: The unit of repetition, and what it does not show.
UNIT = "seed"
UNIT_NOTE = "seeds redraw rows of one dataset: the result holds for that dataset, not for others"

#: Why seeds of user data may be no replication.
SAME_ROWS = "every seed learns from the same rows, so seeds do not repeat the draw"

_HOLES = ("failed", "skipped", "missing")

_MIN_SHARE = 0.05  # a smaller share of common rows is not mentioned

SIGNIFICANCE = {
    "table": "text",
    "scenario": "text",
    "entry": "text",  # PU-OC
    "twin_entry": "text",  # its OC twin
    "cell": "text",
    "cell_index": "int",
    "is_average": "bool",
    "n": "int",
    "n_planned": "int",
    "n_zero": "int",
    "n_ties": "int",
    "mean_difference": "float",  # entry - twin_entry, in AUC
    "shift": "float",  # Hodges-Lehmann
    "shift_low": "float",  # 95 % interval
    "shift_high": "float",
    "n_better": "int",  # pairs in which the entry is higher; n_zero are ties
    "n_worse": "int",
    "effect": "float",  # matched rank-biserial correlation, -1 to 1
    "effect_low": "float",  # 95 % bootstrap interval
    "effect_high": "float",
    "chance_worse": "float",  # Bayesian signed-rank: lower by more than the region of practical equivalence
    "chance_equal": "float",
    "chance_better": "float",
    "statistic": "float",
    "p": "float",  # two-sided
    "p_greater": "float",  # one-sided: entry better
    "p_adjusted": "float",  # Holm, two-sided
    "min_p": "float",  # smallest p that n pairs can reach
    "min_p_adjusted": "float",
    "method": "text",  # exact, normal, none, not tested
    "family": "text",
    "family_size": "int",
    "unit": "text",
    "unit_note": "text",
    "note": "text",
    "warning": "text",
}


def twin_tests(plan: TablePlan, rows: pd.DataFrame | None) -> pd.DataFrame:
    """Return one row per twin pair and column of a table: cells, then the average.

    Two families are adjusted separately: all cells of all pairs, and the averages of all pairs. The plan determines a
    family, so a planned test that could not be made counts as p = 1. Only tests that are not applicable (skipped for
    all seeds) are excluded.
    """
    grid = None if rows is None else Grid.from_rows(plan, rows)
    columns = range(len(plan.cells) + 1)
    tests = [_test_row(plan, pair, column, grid) for pair in plan.twin_pairs() for column in columns]
    for is_average in (False, True):
        _adjust([test for test in tests if test["is_average"] == is_average])
    return frame([{name: test.get(name) for name in SIGNIFICANCE} for test in tests], SIGNIFICANCE)


def unit_note(plan: TablePlan) -> str:
    """Return what a repetition shows, with the shares of rows that two seeds have in common.

    Common rows make the tests anti-conservative.
    """
    if not plan.shared_rows or len(plan.seeds) < 2:
        return UNIT_NOTE
    shares = ", ".join(f"{share:.0%} of {part}" for part, share in plan.shared_rows if share >= _MIN_SHARE)
    return f"{UNIT_NOTE}; two seeds share {shares}, so they are not independent" if shares else UNIT_NOTE


def _test_row(plan: TablePlan, pair: tuple[EntryPlan, EntryPlan], index: int, grid: Grid | None) -> dict[str, Any]:
    """Test one cell, or the average, whose index follows the last cell."""
    cell = index if index < len(plan.cells) else None
    row: dict[str, Any] = {
        "table": plan.table,
        "scenario": plan.scenario,
        "entry": pair[0].entry,
        "twin_entry": pair[1].entry,
        "cell": AVERAGE if cell is None else plan.cell_names[cell],
        "cell_index": index,
        "is_average": cell is None,
        "family": f"twin pairs of {plan.table}, {'average' if cell is None else 'cells'}",
        "n_planned": len(plan.seeds),
        "unit": UNIT,
        "unit_note": unit_note(plan),
    }
    if grid is None:
        return row | _untested("the table was not run")
    if not plan.tested:
        return row | _untested(UNTESTED)
    if not plan.redraws:
        return row | _untested(SAME_ROWS)
    entries = [grid.place[entry.entry] for entry in pair]
    sides = [grid.averages(number) if cell is None else grid.auc[number, cell] for number in entries]
    both = ~np.isnan(sides[0]) & ~np.isnan(sides[1])
    row["applicable"] = not any(_skipped_throughout(grid, number, cell) for number in entries)
    holes = _holes(pair, sides, [grid.outcomes(number, cell) for number in entries], int(both.sum()))
    if not both.any():
        return row | _untested(holes)
    row |= _tested(sides[0][both] - sides[1][both])
    row["note"] = "; ".join(part for part in (holes, row["note"]) if part)
    return row | {"warning": _unlike(grid, entries, cell, both)}


def _tested(differences: Any) -> dict[str, Any]:
    test = signed_rank_test(differences)
    shift, low, high = shift_with_interval(differences)
    rounded = rounded_differences(differences)
    effect_low, effect_high = rank_biserial_interval(differences)
    chances = bayesian_signed_rank(differences)
    return asdict(test) | {
        "n_better": int((rounded > 0).sum()),
        "n_worse": int((rounded < 0).sum()),
        "effect": rank_biserial(differences),
        "effect_low": effect_low,
        "effect_high": effect_high,
        "chance_worse": chances.lower,
        "chance_equal": chances.equal,
        "chance_better": chances.higher,
        "p_greater": signed_rank_test(differences, "greater").p,
        "min_p": smallest_p(test.n),
        "mean_difference": float(np.sort(rounded).mean()),  # sorted: the order of rows changes no digit
        "shift": shift,
        "shift_low": low,
        "shift_high": high,
    }


def _untested(why: str) -> dict[str, Any]:
    return {
        "n": 0,
        "n_zero": 0,
        "n_ties": 0,
        "n_better": 0,
        "n_worse": 0,
        "method": "not tested",
        "note": why,
        "warning": "",
    }


def _adjust(family: list[dict[str, Any]]) -> None:
    """Add the adjusted values to the tests of one family, in place."""
    counted = [test for test in family if test.get("applicable", True)]
    for test in family:
        test["family_size"] = len(counted)
    if not counted:
        return
    adjusted = holm([test.get("p", 1.0) for test in counted])
    floors = holm([test.get("min_p", 1.0) for test in counted])  # tests with fewer pairs come after those with more
    for test, p_adjusted, floor in zip(counted, adjusted, floors, strict=True):
        if "p" in test:
            test["p_adjusted"], test["min_p_adjusted"] = float(p_adjusted), float(floor)


def _skipped_throughout(grid: Grid, entry: int, cell: int | None) -> bool:
    statuses = grid.texts["status"][entry] if cell is None else grid.texts["status"][entry, cell]
    recorded = statuses[statuses != None]  # noqa: E711, elementwise
    return recorded.size > 0 and bool((recorded == "skipped").all())


def _holes(pair: tuple[EntryPlan, EntryPlan], sides: list[Floats], counts: list[dict[str, Any]], n: int) -> str:
    """Describe which pairs are absent, and why."""
    planned = len(sides[0])
    if n == planned:
        return ""
    parts = [f"{n} of {planned} planned pairs" if n else "no pair"]
    for entry, side, count in zip(pair, sides, counts, strict=True):
        known = int((~np.isnan(side)).sum())
        if known == planned:
            continue
        why = [f"{count[f'n_{status}']} {status}" for status in _HOLES if count[f"n_{status}"]]
        why += [part for part in count["reasons"].split("; ") if part.endswith("ok without an AUC")]
        parts.append(f"{entry.entry} has {known}" + (f" ({', '.join(why)})" if why else ""))
    return "; ".join(parts)


def _unlike(grid: Grid, entries: list[int], cell: int | None, seeds: NDArray[np.bool_]) -> str:
    """Describe in how many pairs the two sides were computed differently."""
    where = slice(None) if cell is None else slice(cell, cell + 1)
    scores = [grid.auc[entry, where] for entry in entries]
    both = ~np.isnan(scores[0]) & ~np.isnan(scores[1]) & seeds
    differences = []
    for column, words in CIRCUMSTANCES:
        left, right = (grid.texts[column][entry, where][both] for entry in entries)
        differ = left != right
        if differ.any():
            kinds = sorted({f"{_name(a)} / {_name(b)}" for a, b in zip(left[differ], right[differ], strict=True)})
            n, n_pairs = int(differ.sum()), int(both.sum())
            differences.append(f"{words} differs in {n} of {n_pairs} pairs ({', '.join(kinds)})")
    return "; ".join(differences)


def _name(value: Any) -> str:
    return "not recorded" if value is None else str(value)
