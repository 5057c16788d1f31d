"""Paired tests of each PU-OC method against the OC method that it extends, by cell, adjusted over the table.

The tests are those of the paper (paired Wilcoxon over repetitions). In addition, there are Holm's adjustment and the
smallest p that the number of seeds can reach. The adjustment holds for one table; a second one is over all tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from puoc.analysis.statistics.effects import bayesian_signed_rank, rank_biserial, rank_biserial_interval
from puoc.analysis.statistics.holm import holm
from puoc.analysis.statistics.signed_rank import (
    rounded_differences,
    shift_with_interval,
    signed_rank_test,
    smallest_p,
)
from puoc.analysis.tables.grid import CIRCUMSTANCES, UNSCORED, Floats, Grid, Outcomes
from puoc.analysis.tables.results import UNTESTED
from puoc.analysis.tables.summary import AVERAGE
from puoc.store.plans import EntryPlan, TablePlan

#: The unit of repetition, and what it does not show.
UNIT = "seed"
UNIT_NOTE = "seeds redraw rows of one dataset: the result holds for that dataset, not for others"

#: Why seeds of user data may be no replication.
SAME_ROWS = "every seed learns from the same rows, so seeds do not repeat the draw"

_MIN_SHARE = 0.05  # a smaller share of common rows is not mentioned


@dataclass(frozen=True, kw_only=True)
class SignificanceRow:
    """The test of one twin pair in one column of a table: a cell, or the average over the cells."""

    table: str
    scenario: str
    entry: str  # PU-OC
    twin_entry: str  # its OC twin
    cell: str
    cell_index: int
    is_average: bool
    n: int = 0
    n_planned: int
    n_zero: int = 0
    n_ties: int = 0
    mean_difference: float | None = None  # entry - twin_entry, in AUC
    shift: float | None = None  # Hodges-Lehmann
    shift_low: float | None = None  # 95 % interval
    shift_high: float | None = None
    n_better: int = 0  # pairs in which the entry is higher; n_zero are ties
    n_worse: int = 0
    effect: float | None = None  # matched rank-biserial correlation, -1 to 1
    effect_low: float | None = None  # 95 % interval
    effect_high: float | None = None
    chance_worse: float | None = None  # Bayesian signed-rank: lower by more than the region of practical equivalence
    chance_equal: float | None = None
    chance_better: float | None = None
    statistic: float | None = None
    p: float | None = None  # two-sided
    p_greater: float | None = None  # one-sided: entry better
    p_adjusted: float | None = None  # Holm over the family, two-sided
    p_adjusted_all: float | None = None  # Holm over the families of all tables: cells, or averages
    min_p: float | None = None  # smallest p that n pairs can reach
    min_p_adjusted: float | None = None
    method: str = "not tested"  # exact, normal, none, not tested
    family: str
    family_size: int = 0
    family_size_all: int = 0  # tests of all tables
    unit: str = UNIT
    unit_note: str
    note: str = ""
    warning: str = ""


def twin_tests(plan: TablePlan, rows: pd.DataFrame | None) -> list[SignificanceRow]:
    """Return one row per twin pair and column of a table: cells, then the average.

    Two families are adjusted separately: all cells of all pairs, and the averages of all pairs. The plan determines a
    family, so a planned test that could not be made counts as p = 1. Only tests that are not applicable (skipped for
    all seeds) are excluded.
    """
    grid = None if rows is None else Grid.from_rows(plan, rows)
    columns = (*range(len(plan.cells)), None)
    return _adjusted([_test(plan, pair, cell, grid) for pair in plan.twin_pairs() for cell in columns])


def over_all_tables(tests: Sequence[SignificanceRow]) -> list[SignificanceRow]:
    """Return the tests of several tables with Holm's adjustment over all of them, cells and averages separately.

    The adjustment of ``twin_tests`` holds for one table. Among several tables, one false finding is then likelier.
    """
    rows = list(tests)
    for is_average in (False, True):
        # a table without any test, such as one that was not run, has no part in it
        sizes = {row.family: row.family_size for row in rows if row.is_average == is_average and row.p is not None}
        size = sum(sizes.values())
        of_kind = [index for index, row in enumerate(rows) if row.is_average == is_average]
        with_p = [(index, p) for index in of_kind if (p := rows[index].p) is not None]
        missing = [1.0] * max(size - len(with_p), 0)  # planned tests that could not be made
        if not with_p:
            continue
        adjusted = holm([p for _, p in with_p] + missing)
        found = {index: float(p) for (index, _), p in zip(with_p, adjusted[: len(with_p)], strict=True)}
        for index in of_kind:
            rows[index] = replace(rows[index], family_size_all=size, p_adjusted_all=found.get(index))
    return rows


def unit_note(plan: TablePlan) -> str:
    """Return what a repetition shows, with the shares of rows that two seeds have in common.

    Common rows make the tests anti-conservative.
    """
    if not plan.shared_rows or len(plan.seeds) < 2:
        return UNIT_NOTE
    shares = ", ".join(f"{share:.0%} of {part}" for part, share in plan.shared_rows if share >= _MIN_SHARE)
    return f"{UNIT_NOTE}; two seeds share {shares}, so they are not independent" if shares else UNIT_NOTE


class _Test(NamedTuple):
    row: SignificanceRow  # before the adjustment
    applicable: bool = True


def _test(plan: TablePlan, pair: tuple[EntryPlan, EntryPlan], cell: int | None, grid: Grid | None) -> _Test:
    """Test one cell, or the average if there is no cell."""
    row = SignificanceRow(
        table=plan.table,
        scenario=plan.scenario,
        entry=pair[0].entry,
        twin_entry=pair[1].entry,
        cell=AVERAGE if cell is None else plan.cell_names[cell],
        cell_index=len(plan.cells) if cell is None else cell,
        is_average=cell is None,
        n_planned=len(plan.seeds),
        family=f"twin pairs of {plan.table}, {'average' if cell is None else 'cells'}",
        unit_note=unit_note(plan),
    )
    if grid is None:
        return _Test(replace(row, note="the table was not run"))
    if not plan.tested:
        return _Test(replace(row, note=UNTESTED))
    if not plan.redraws:
        return _Test(replace(row, note=SAME_ROWS))
    entries = [grid.place[entry.entry] for entry in pair]
    sides = [grid.averages(number) if cell is None else grid.auc[number, cell] for number in entries]
    both = ~np.isnan(sides[0]) & ~np.isnan(sides[1])
    applicable = not any(_skipped_throughout(grid, number, cell) for number in entries)
    holes = _holes(pair, sides, [grid.outcomes(number, cell) for number in entries], int(both.sum()))
    if not both.any():
        return _Test(replace(row, note=holes), applicable)
    tested = _tested(row, sides[0][both] - sides[1][both])
    note = "; ".join(part for part in (holes, tested.note) if part)
    return _Test(replace(tested, note=note, warning=_unlike(grid, entries, cell, both)), applicable)


def _tested(row: SignificanceRow, differences: Floats) -> SignificanceRow:
    test = signed_rank_test(differences)
    shift, low, high = shift_with_interval(differences)
    rounded = rounded_differences(differences)
    effect_low, effect_high = rank_biserial_interval(differences)
    chances = bayesian_signed_rank(differences)
    return replace(
        row,
        n=test.n,
        n_zero=test.n_zero,
        n_ties=test.n_ties,
        mean_difference=float(np.sort(rounded).mean()),  # sorted: the order of rows changes no digit
        shift=shift,
        shift_low=low,
        shift_high=high,
        n_better=int((rounded > 0).sum()),
        n_worse=int((rounded < 0).sum()),
        effect=rank_biserial(differences),
        effect_low=effect_low,
        effect_high=effect_high,
        chance_worse=chances.lower,
        chance_equal=chances.equal,
        chance_better=chances.higher,
        statistic=test.statistic,
        p=test.p,
        p_greater=signed_rank_test(differences, "greater").p,
        min_p=smallest_p(test.n),
        method=test.method,
        note=test.note,
    )


def _adjusted(tests: Sequence[_Test]) -> list[SignificanceRow]:
    """Return the rows of the tests with the adjusted values of their families."""
    rows = [test.row for test in tests]
    for is_average in (False, True):
        family = [index for index, row in enumerate(rows) if row.is_average == is_average]
        counted = [index for index in family if tests[index].applicable]
        for index in family:
            rows[index] = replace(rows[index], family_size=len(counted))
        if not counted:
            continue
        adjusted = holm([1.0 if (p := rows[index].p) is None else p for index in counted])
        # tests with fewer pairs come after those with more
        floors = holm([1.0 if (p := rows[index].min_p) is None else p for index in counted])
        for index, p_adjusted, floor in zip(counted, adjusted, floors, strict=True):
            if rows[index].p is not None:
                rows[index] = replace(rows[index], p_adjusted=float(p_adjusted), min_p_adjusted=float(floor))
    return rows


def _skipped_throughout(grid: Grid, entry: int, cell: int | None) -> bool:
    statuses = grid.texts["status"][entry] if cell is None else grid.texts["status"][entry, cell]
    recorded = statuses[statuses != None]  # noqa: E711, elementwise
    return recorded.size > 0 and bool((recorded == "skipped").all())


def _holes(pair: tuple[EntryPlan, EntryPlan], sides: list[Floats], counts: list[Outcomes], n: int) -> str:
    """Describe which pairs are absent, and why."""
    planned = len(sides[0])
    if n == planned:
        return ""
    parts = [f"{n} of {planned} planned pairs" if n else "no pair"]
    for entry, side, count in zip(pair, sides, counts, strict=True):
        known = int((~np.isnan(side)).sum())
        if known == planned:
            continue
        why = [f"{number} {status}" for status, number in count.holes().items() if number]
        why += [part for part in count.reasons.split("; ") if part.endswith(UNSCORED)]
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


def _name(value: object) -> str:
    return "not recorded" if value is None else str(value)
