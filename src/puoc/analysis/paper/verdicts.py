"""Verdicts on the published numbers: reproduced, differs, not decided, not run, or void.

The interval of (our mean - printed number) is +- (t * sd * sqrt(1/n + 1/10) plus half a unit of the last printed
digit). Here sd and n are ours, and 10 is the number of the paper's repetitions. The paper does not print their spread,
so ours is used. t is Student's quantile at 95 %. *Reproduced*: the interval is within .03 of no difference. *Differs*:
the interval is entirely outside of that. Otherwise the verdict is *not decided*.

The spread of a cell is estimated from all cells of its entry in the table (``moderated_spreads``), and t has the
degrees of freedom of that estimate. The verdict with the cell's own spread and n - 1 degrees of freedom stands beside
it. Averages have their own spread only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import sqrt
from typing import NamedTuple

from puoc.analysis.paper.deviations import Reservation
from puoc.analysis.paper.matching import PublishedCell, published_cells
from puoc.analysis.paper.published import REPETITIONS, PrintedNumber, numbers, scored_on
from puoc.analysis.paper.spreads import HELD_OUT, TRAIN_POOL, Spread, Spreads, moderated_spreads, own_spread
from puoc.analysis.paper.underlines import Outcomes, twin_outcomes, underline_verdict
from puoc.analysis.statistics.significance import SignificanceRow
from puoc.analysis.tables.frames import rows_of
from puoc.analysis.tables.summary import Statistics, SummaryRow
from puoc.store.plans import TablePlan

#: Largest difference of a reproduced mean, in AUC.
BAND = 0.03
_LEVEL = 0.95
#: All verdicts, in the order of the report's counts.
STATES = ("reproduced", "differs", "not decided", "void", "not run")


@dataclass(frozen=True, kw_only=True)
class VerdictRow:
    """One published number, and the cell of ours that is compared with it, if there is one."""

    published: str  # the paper's table, by our name
    label: str  # by its own
    row: str  # as printed
    method: str
    column: str
    printed: str
    value: float
    underlined: bool
    bold: bool
    table: str | None = None  # ours; None if none is compared with it
    entry: str | None = None
    cell: str | None = None
    scored_on: str  # which AUC is compared: training pool or held out
    n: int = 0  # seeds
    mean: float | None = None
    std: float | None = None
    difference: float | None = None  # mean - value
    low: float | None = None  # of the interval of the difference
    high: float | None = None
    spread: float | None = None  # standard deviation in the interval, estimated from all cells of the entry
    df: float | None = None  # its degrees of freedom
    verdict: str = "not run"
    verdict_own_spread: str | None = None  # with the standard deviation of this cell alone
    other_mean: float | None = None  # of the AUC that is not compared
    other_verdict: str | None = None
    differs_in: str | None = None  # sizes and settings that differ from the paper's
    underline_raw: str | None = None  # only of underlined numbers
    underline_holm: str | None = None
    note: str = ""


def decide(difference: float, half_width: float) -> str:
    """Return the verdict for an interval ``difference`` +- ``half_width``, both in AUC."""
    if abs(difference) + half_width <= BAND + 1e-12:
        return "reproduced"
    return "differs" if abs(difference) - half_width > BAND else "not decided"


def half_width(spread: Spread, n: int, rounding: float) -> float:
    """Compute half the 95 % interval of a difference of means over ``n`` seeds and over the paper's repetitions."""
    return student(spread.df) * spread.std * sqrt(1 / n + 1 / REPETITIONS) + rounding


@cache
def student(df: float, choices: int = 1) -> float:
    """Return Student's t quantile of a two-sided 95 % interval, for ``choices`` joint intervals."""
    from scipy.special import stdtrit  # scipy.stats takes a second to import

    return float(stdtrit(df, 1 - (1 - _LEVEL) / (2 * choices)))


def verdicts(
    plans: Sequence[TablePlan],
    summary: Sequence[SummaryRow],
    tests: Sequence[SignificanceRow],
    reservation_by_cell: Mapping[PublishedCell, Reservation],
) -> list[VerdictRow]:
    """Return one row per published number and cell of ours that is compared with it; one *not run* row without a cell.

    Parameters
    ----------
    plans : the planned tables.
    summary, tests : as returned by ``summarise`` and ``twin_tests``, for all tables together.
    reservation_by_cell : as returned by ``reservations``.
    """
    cells_by_number: dict[tuple[str, str, str], list[PublishedCell]] = {}
    for cell in published_cells(plans):
        cells_by_number.setdefault((cell.published, cell.method, cell.column), []).append(cell)
    summary_rows = {(row.table, row.entry, row.cell, row.is_average): row for row in summary}
    outcomes, spreads = twin_outcomes(plans, tests), moderated_spreads(summary)
    rows = []
    for printed in rows_of(numbers(), PrintedNumber):
        cells = cells_by_number.get((printed.published, printed.method, printed.column), [])
        for cell in cells:
            ours = summary_rows.get((cell.table, cell.entry, cell.cell, cell.is_average))
            rows.append(_comparison(printed, cell, ours, reservation_by_cell[cell], spreads))
        if not cells:
            rows.append(replace(_head(printed), note=_no_cell(printed)))
    return [_with_underlines(row, outcomes) if row.underlined else row for row in rows]


def _with_underlines(row: VerdictRow, outcomes: Outcomes) -> VerdictRow:
    """Add the verdicts on an underline; they are *void* if that on the number is."""
    if row.verdict == "void":
        return replace(row, underline_raw="void", underline_holm="void")
    raw, holm = underline_verdict(outcomes, row.method, row.table or "", row.cell or "")
    return replace(row, underline_raw=raw, underline_holm=holm)


def _head(printed: PrintedNumber) -> VerdictRow:
    return VerdictRow(
        published=printed.published,
        label=printed.table,
        row=printed.row,
        method=printed.method,
        column=printed.column,
        printed=printed.printed,
        value=printed.value,
        underlined=printed.underlined,
        bold=printed.bold,
        scored_on=scored_on(printed.published, printed.method, printed.column),
    )


def _comparison(
    printed: PrintedNumber,
    cell: PublishedCell,
    ours: SummaryRow | None,
    reservation: Reservation,
    spreads: Spreads,
) -> VerdictRow:
    row = replace(_head(printed), table=cell.table, entry=cell.entry, cell=cell.cell, differs_in=reservation.differs_in)
    if ours is None:
        return replace(row, note="the table was not run")
    other_scored_on = TRAIN_POOL if row.scored_on == HELD_OUT else HELD_OUT
    compared, result = _compared(printed, ours, row.scored_on, reservation, spreads)
    other, other_result = _compared(printed, ours, other_scored_on, reservation, spreads)
    holes = f"{compared.n} of {ours.n_planned} seeds" if 0 < compared.n < ours.n_planned else ""
    unscored = f"no AUC, {row.scored_on}" if compared.n == 0 and ours.n_ok else ""
    note = "; ".join(dict.fromkeys(filter(None, (result.why, unscored, holes, ours.reasons))))
    return replace(
        row,
        n=compared.n,
        mean=compared.mean,
        std=compared.std,
        difference=result.difference,
        low=result.low,
        high=result.high,
        spread=result.spread.std if result.spread else None,
        df=result.spread.df if result.spread else None,
        verdict=result.verdict,
        verdict_own_spread=_verdict(printed, compared, own_spread(compared), reservation).verdict,
        other_mean=other.mean,
        other_verdict=other_result.verdict,
        note=note,
    )


class _Comparison(NamedTuple):
    """The interval and the verdict for one AUC, and why the verdict is void or undecided."""

    verdict: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    spread: Spread | None = None
    why: str = ""


def _compared(
    printed: PrintedNumber, ours: SummaryRow, scored_on: str, reservation: Reservation, spreads: Spreads
) -> tuple[Statistics, _Comparison]:
    """Return our numbers for one of the two AUCs, and the comparison by the spread of all cells, or else by its own."""
    statistics = ours.held_out if scored_on == HELD_OUT else ours.train_pool
    shared = None if ours.is_average else spreads.get((ours.table, ours.entry, ours.cell, scored_on))
    return statistics, _verdict(printed, statistics, shared or own_spread(statistics), reservation)


def _verdict(printed: PrintedNumber, ours: Statistics, spread: Spread | None, reservation: Reservation) -> _Comparison:
    if ours.mean is None:
        return _Comparison("not run")
    difference = ours.mean - printed.value
    low = high = width = None
    if spread is not None:
        width = half_width(spread, ours.n, printed.rounding)
        low, high = difference - width, difference + width
    if reservation.void:
        return _Comparison("void", difference, low, high, spread, reservation.void)
    if width is None:
        return _Comparison("not decided", difference, why="one seed has no spread")
    return _Comparison(decide(difference, width), difference, low, high, spread)


def _no_cell(printed: PrintedNumber) -> str:
    if printed.method == "hrn_star":
        return "copied by the paper from the one on HRN: nothing to run"
    return "no planned table stands beside it"
