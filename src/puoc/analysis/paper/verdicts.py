"""Verdicts on the published numbers: reproduced, differs, not decided, not run, or void.

The interval of (our mean - printed number) is +- (t * sd * sqrt(1/n + 1/10) plus half a unit of the last printed
digit). Here sd and n are ours, and 10 is the number of the paper's repetitions. The paper does not print their spread,
so ours is used. t is Student's quantile at 95 % with n - 1 degrees of freedom. *Reproduced*: the interval is within
.03 of no difference. *Differs*: the interval is entirely outside of that. Otherwise the verdict is *not decided*; this
includes a single seed, which has no spread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import sqrt
from typing import Any

import pandas as pd

from puoc.analysis.paper.deviations import Reservation
from puoc.analysis.paper.matching import PublishedCell, published_cells
from puoc.analysis.paper.published import REPETITIONS, numbers, scored_on
from puoc.analysis.paper.underlines import underline_verdicts
from puoc.analysis.tables.frames import frame, number, present, records
from puoc.store.plans import TablePlan

#: Largest difference of a reproduced mean, in AUC.
BAND = 0.03
_LEVEL = 0.95
#: All verdicts, in the order of the report's counts.
STATES = ("reproduced", "differs", "not decided", "void", "not run")

VERDICTS = {
    "published": "text",  # the paper's table, by our name
    "label": "text",  # by its own
    "row": "text",  # as printed
    "method": "text",
    "column": "text",
    "printed": "text",
    "value": "float",
    "underlined": "bool",
    "bold": "bool",
    "table": "text",  # ours; null if none is compared with it
    "entry": "text",
    "cell": "text",
    "scored_on": "text",  # which AUC is compared: training pool or held out
    "n": "int",  # seeds
    "mean": "float",
    "std": "float",
    "difference": "float",  # mean - value
    "low": "float",  # of the interval of the difference
    "high": "float",
    "verdict": "text",
    "other_mean": "float",  # of the AUC that is not compared
    "other_verdict": "text",
    "differs_in": "text",  # sizes and settings that differ from the paper's
    "underline_raw": "text",  # only of underlined numbers
    "underline_holm": "text",
    "note": "text",
}
_COLUMN_OF = {"held out": "", "training pool": "_train_pool"}


def decide(difference: float, half_width: float) -> str:
    """Return the verdict for an interval ``difference`` +- ``half_width``, both in AUC."""
    if abs(difference) + half_width <= BAND + 1e-12:
        return "reproduced"
    return "differs" if abs(difference) - half_width > BAND else "not decided"


def half_width(std: float, n: int, rounding: float) -> float:
    """Compute half the 95 % interval of a difference of means over ``n`` (at least 2) and the paper's repetitions."""
    return student(n) * std * sqrt(1 / n + 1 / REPETITIONS) + rounding


@cache
def student(n: int, choices: int = 1) -> float:
    """Return Student's t quantile of a two-sided 95 % interval from ``n`` values, for ``choices`` joint intervals."""
    from scipy.special import stdtrit  # scipy.stats takes a second to import

    return float(stdtrit(n - 1, 1 - (1 - _LEVEL) / (2 * choices)))


def verdicts(
    plans: Sequence[TablePlan],
    summary: pd.DataFrame,
    tests: pd.DataFrame,
    reservation_by_cell: Mapping[PublishedCell, Reservation],
) -> pd.DataFrame:
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
    summary_rows = {(row["table"], row["entry"], row["cell"], row["is_average"]): row for row in records(summary)}
    rows = []
    for printed in records(numbers()):
        key = (printed["published"], printed["method"], printed["column"])
        for cell in cells_by_number.get(key, []):
            ours = summary_rows.get((cell.table, cell.entry, cell.cell, cell.is_average))
            rows.append(_head(printed) | _comparison(printed, cell, ours, reservation_by_cell[cell]))
        if key not in cells_by_number:
            rows.append(_head(printed) | {"n": 0, "verdict": "not run", "note": _no_cell(printed)})
    rows_with_underlines = underline_verdicts(rows, plans, tests)
    return frame([{name: row.get(name) for name in VERDICTS} for row in rows_with_underlines], VERDICTS)


def _head(printed: dict[str, Any]) -> dict[str, Any]:
    kept = ("published", "row", "method", "column", "printed", "value", "underlined", "bold")
    protocol = scored_on(printed["published"], printed["method"], printed["column"])
    return {name: printed[name] for name in kept} | {"label": printed["table"], "scored_on": protocol}


def _comparison(
    printed: dict[str, Any], cell: PublishedCell, ours: dict[str, Any] | None, reservation: Reservation
) -> dict[str, Any]:
    place = {"table": cell.table, "entry": cell.entry, "cell": cell.cell, "differs_in": reservation.differs_in}
    if ours is None:
        return place | {"n": 0, "verdict": "not run", "note": "the table was not run"}
    protocol = scored_on(cell.published, cell.method, cell.column)
    other = next(name for name in _COLUMN_OF if name != protocol)
    compared, other_scores = (_compared(printed, ours, _COLUMN_OF[name], reservation) for name in (protocol, other))
    reasons = str(ours["reasons"]) if present(ours["reasons"]) else ""
    holes = f"{compared['n']} of {ours['n_planned']} seeds" if 0 < compared["n"] < ours["n_planned"] else ""
    unscored = f"no AUC, {protocol}" if compared["n"] == 0 and ours["n_ok"] else ""
    note = "; ".join(dict.fromkeys(filter(None, (compared.pop("why"), unscored, holes, reasons))))
    return (
        place | compared | {"other_mean": other_scores["mean"], "other_verdict": other_scores["verdict"], "note": note}
    )


def _compared(printed: dict[str, Any], ours: dict[str, Any], suffix: str, reservation: Reservation) -> dict[str, Any]:
    """Return mean, interval and verdict for one of the two AUCs, and why the verdict is void or undecided."""
    n, mean, std = int(ours[f"n{suffix}"]), number(ours[f"mean{suffix}"]), number(ours[f"std{suffix}"])
    values: dict[str, Any] = {"n": n, "mean": mean, "std": std, "why": ""}
    if mean is None:
        return values | {"verdict": "not run"}
    values["difference"] = mean - printed["value"]
    if std is not None:
        width = half_width(std, n, printed["rounding"])
        values |= {"low": values["difference"] - width, "high": values["difference"] + width}
    if reservation.void:
        return values | {"verdict": "void", "why": reservation.void}
    if std is None:
        return values | {"verdict": "not decided", "why": "one seed has no spread"}
    return values | {"verdict": decide(values["difference"], width)}


def _no_cell(printed: dict[str, Any]) -> str:
    if printed["method"] == "hrn_star":
        return "copied by the paper from the one on HRN: nothing to run"
    return "no planned table stands beside it"
