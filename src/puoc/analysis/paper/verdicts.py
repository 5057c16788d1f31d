"""Each published number beside ours: reproduced, differs, not decided, not run, or void.

The interval of (our mean - printed number) is t * sd * sqrt(1/n + 1/10) plus half a unit of the last printed digit: sd
and n are ours, 10 the paper's repetitions, whose spread it does not print and ours stands for; t is Student's at 95 %
with n - 1 degrees of freedom. *Reproduced*: the interval lies within .03 of no difference. *Differs*: it lies wholly
outside of that. Else *not decided*, as with one seed, which has no spread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import sqrt
from typing import Any

import pandas as pd

from puoc.analysis.paper.deviations import Reservation
from puoc.analysis.paper.matching import Beside, beside
from puoc.analysis.paper.published import REPETITIONS, numbers, scored_on
from puoc.analysis.paper.underlines import underline_verdicts
from puoc.analysis.tables.frames import frame, number, present, records
from puoc.analysis.tables.plans import TablePlan

#: How near a mean has to be, in AUC.
BAND = 0.03
_LEVEL = 0.95
#: In the order of the report's counts.
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
    "table": "text",  # ours; null where none stands beside it
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
    "differs_in": "text",  # sizes and settings that are not the paper's
    "underline_raw": "text",  # only of underlined numbers
    "underline_holm": "text",
    "note": "text",
}
_COLUMN_OF = {"held out": "", "training pool": "_train_pool"}


def decide(difference: float, half_width: float) -> str:
    """The verdict of an interval ``difference`` +- ``half_width``, both in AUC."""
    if abs(difference) + half_width <= BAND + 1e-12:
        return "reproduced"
    return "differs" if abs(difference) - half_width > BAND else "not decided"


def half_width(std: float, n: int, rounding: float) -> float:
    """Half the 95 % interval of a difference of means over ``n`` (at least 2) and over the paper's repetitions."""
    return student(n) * std * sqrt(1 / n + 1 / REPETITIONS) + rounding


@cache
def student(n: int, choices: int = 1) -> float:
    """Quantile of Student's t for a two-sided 95 % interval by ``n`` values, ``choices`` of them to hold at once."""
    from scipy.special import stdtrit  # scipy.stats takes a second to import

    return float(stdtrit(n - 1, 1 - (1 - _LEVEL) / (2 * choices)))


def verdicts(
    plans: Sequence[TablePlan], summary: pd.DataFrame, tests: pd.DataFrame, held: Mapping[Beside, Reservation]
) -> pd.DataFrame:
    """One row per published number and cell of ours that stands beside it; one *not run* where none does.

    Parameters
    ----------
    plans : what was asked.
    summary, tests : as ``summarise`` and ``twin_tests`` give them, of all tables together.
    held : as ``reservations`` gives it.
    """
    found: dict[tuple[str, str, str], list[Beside]] = {}
    for one in beside(plans):
        found.setdefault((one.published, one.method, one.column), []).append(one)
    of_cell = {(row["table"], row["entry"], row["cell"], row["is_average"]): row for row in records(summary)}
    rows = []
    for printed in records(numbers()):
        key = (printed["published"], printed["method"], printed["column"])
        for one in found.get(key, []):
            ours = of_cell.get((one.table, one.entry, one.cell, one.is_average))
            rows.append(_head(printed) | _beside(printed, one, ours, held[one]))
        if key not in found:
            rows.append(_head(printed) | {"n": 0, "verdict": "not run", "note": _no_cell(printed)})
    marked = underline_verdicts(rows, plans, tests)
    return frame([{name: row.get(name) for name in VERDICTS} for row in marked], VERDICTS)


def _head(printed: dict[str, Any]) -> dict[str, Any]:
    kept = ("published", "row", "method", "column", "printed", "value", "underlined", "bold")
    protocol = scored_on(printed["published"], printed["method"], printed["column"])
    return {name: printed[name] for name in kept} | {"label": printed["table"], "scored_on": protocol}


def _beside(printed: dict[str, Any], one: Beside, ours: dict[str, Any] | None, held: Reservation) -> dict[str, Any]:
    place = {"table": one.table, "entry": one.entry, "cell": one.cell, "differs_in": held.differs_in}
    if ours is None:
        return place | {"n": 0, "verdict": "not run", "note": "the table was not run"}
    protocol = scored_on(one.published, one.method, one.column)
    other = next(name for name in _COLUMN_OF if name != protocol)
    compared, beside_it = (_compared(printed, ours, _COLUMN_OF[name], held) for name in (protocol, other))
    reasons = str(ours["reasons"]) if present(ours["reasons"]) else ""
    holes = f"{compared['n']} of {ours['n_planned']} seeds" if 0 < compared["n"] < ours["n_planned"] else ""
    unscored = f"no AUC, {protocol}" if compared["n"] == 0 and ours["n_ok"] else ""
    note = "; ".join(dict.fromkeys(filter(None, (compared.pop("why"), unscored, holes, reasons))))
    return place | compared | {"other_mean": beside_it["mean"], "other_verdict": beside_it["verdict"], "note": note}


def _compared(printed: dict[str, Any], ours: dict[str, Any], suffix: str, held: Reservation) -> dict[str, Any]:
    """Mean, interval and verdict by one of the two AUCs; ``why`` in words where the numbers do not tell."""
    n, mean, std = int(ours[f"n{suffix}"]), number(ours[f"mean{suffix}"]), number(ours[f"std{suffix}"])
    found: dict[str, Any] = {"n": n, "mean": mean, "std": std, "why": ""}
    if mean is None:
        return found | {"verdict": "not run"}
    found["difference"] = mean - printed["value"]
    if std is not None:
        width = half_width(std, n, printed["rounding"])
        found |= {"low": found["difference"] - width, "high": found["difference"] + width}
    if held.void:
        return found | {"verdict": "void", "why": held.void}
    if std is None:
        return found | {"verdict": "not decided", "why": "one seed has no spread"}
    return found | {"verdict": decide(found["difference"], width)}


def _no_cell(printed: dict[str, Any]) -> str:
    if printed["method"] == "hrn_star":
        return "copied by the paper from the one on HRN: nothing to run"
    return "no planned table stands beside it"
