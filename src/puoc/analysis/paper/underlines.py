"""Check by our paired tests the numbers that the paper underlines as significantly better than their twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from puoc.analysis.paper.matching import published_entries
from puoc.analysis.paper.published import TWINS
from puoc.analysis.tables.frames import number, records
from puoc.store.plans import TablePlan

#: The significance level of the paper.
LEVEL = 0.05
_PARENTS = {parent: hybrid for hybrid, parent in TWINS.items()}
_LEVELS = {"raw": ("p", "min_p"), "holm": ("p_adjusted", "min_p_adjusted")}


def underline_verdicts(
    rows: Sequence[dict[str, Any]], plans: Sequence[TablePlan], tests: pd.DataFrame
) -> list[dict[str, Any]]:
    """Return the rows, with ``underline_raw`` and ``underline_holm`` added to each underlined row.

    Their values are *confirmed*, *reversed* (the twin is significantly better), *not confirmed*, *cannot tell* (our
    seeds could not show it), *void* or *not run*. The tests use the AUC on held-out rows, whatever the paper scored.
    """
    outcomes = twin_outcomes(plans, tests)
    return [row | (_underline_verdict(row, outcomes) if row["underlined"] else {}) for row in rows]


def twin_outcomes(plans: Sequence[TablePlan], tests: pd.DataFrame) -> dict[tuple[str, str, str], dict[str, str]]:
    """Return the outcome of each twin test for the PU-OC method: better, worse, no difference shown, cannot tell.

    The keys are table, the paper's PU-OC method and cell, then ``raw`` and ``holm``. If a table has several pairs, the
    pair of entries that is compared with the paper counts.
    """
    pairs = {}
    for plan in plans:
        entries = published_entries(plan)
        for hybrid, parent in TWINS.items():
            if hybrid in entries and parent in entries:
                pairs[plan.table, entries[hybrid].entry, entries[parent].entry] = hybrid
    outcomes = {}
    for test in records(tests):
        hybrid = pairs.get((test["table"], test["entry"], test["twin_entry"]), "")
        if hybrid:
            outcomes[test["table"], hybrid, test["cell"]] = {
                level: _outcome(test, *columns) for level, columns in _LEVELS.items()
            }
    return outcomes


def _outcome(test: Mapping[str, Any], p_name: str, floor_name: str) -> str:
    p, floor, shift = number(test[p_name]), number(test[floor_name]), number(test["shift"])
    if p is None or shift is None:
        return "not run"
    if p < LEVEL and shift != 0:
        return "better" if shift > 0 else "worse"
    return "cannot tell" if floor is not None and floor >= LEVEL else "no difference shown"


def _underline_verdict(
    row: dict[str, Any], outcomes_by_cell: Mapping[tuple[str, str, str], Mapping[str, str]]
) -> dict[str, str]:
    names = {level: f"underline_{level}" for level in _LEVELS}
    if row["verdict"] == "void":
        return dict.fromkeys(names.values(), "void")
    is_hybrid = row["method"] in TWINS
    hybrid = row["method"] if is_hybrid else _PARENTS[row["method"]]
    by_level = outcomes_by_cell.get((row.get("table") or "", hybrid, row.get("cell") or ""), {})
    words = {"no difference shown": "not confirmed", "better": "confirmed", "worse": "reversed"}
    if not is_hybrid:
        words |= {"better": "reversed", "worse": "confirmed"}
    outcomes = {level: by_level.get(level, "not run") for level in names}
    return {names[level]: words.get(outcome, outcome) for level, outcome in outcomes.items()}
