"""What the paper underlines as significantly better than its twin: confirmed by our paired tests or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from puoc.analysis.paper.matching import rows_of
from puoc.analysis.paper.published import TWINS
from puoc.analysis.tables.frames import number, records
from puoc.analysis.tables.plans import TablePlan

#: The paper's level.
LEVEL = 0.05
_PARENTS = {parent: hybrid for hybrid, parent in TWINS.items()}
_LEVELS = {"raw": ("p", "min_p"), "holm": ("p_adjusted", "min_p_adjusted")}


def underline_verdicts(
    rows: Sequence[dict[str, Any]], plans: Sequence[TablePlan], tests: pd.DataFrame
) -> list[dict[str, Any]]:
    """The rows, each underlined one with ``underline_raw`` and ``underline_holm``.

    They say *confirmed*, *reversed* (the twin is significantly better), *not confirmed*, *cannot tell* (our seeds could
    not show it), *void* or *not run*. Tests are of held-out AUC, whatever the paper scored.
    """
    found = twin_outcomes(plans, tests)
    return [row | (_of_row(row, found) if row["underlined"] else {}) for row in rows]


def twin_outcomes(plans: Sequence[TablePlan], tests: pd.DataFrame) -> dict[tuple[str, str, str], dict[str, str]]:
    """What the test of each twin pair shows of the PU-OC method: better, worse, no difference shown, cannot tell.

    Keyed by table, the paper's PU-OC method and cell, then by ``raw`` and ``holm``. Of several pairs in a table it is
    the one of the entries that stand beside the paper's.
    """
    pairs = {}
    for plan in plans:
        entries = rows_of(plan)
        for hybrid, parent in TWINS.items():
            if hybrid in entries and parent in entries:
                pairs[plan.table, entries[hybrid].entry, entries[parent].entry] = hybrid
    found = {}
    for test in records(tests):
        hybrid = pairs.get((test["table"], test["entry"], test["twin_entry"]), "")
        if hybrid:
            found[test["table"], hybrid, test["cell"]] = {level: _outcome(test, *of) for level, of in _LEVELS.items()}
    return found


def _outcome(test: Mapping[str, Any], p_name: str, floor_name: str) -> str:
    p, floor, shift = number(test[p_name]), number(test[floor_name]), number(test["shift"])
    if p is None or shift is None:
        return "not run"
    if p < LEVEL and shift != 0:
        return "better" if shift > 0 else "worse"
    return "cannot tell" if floor is not None and floor >= LEVEL else "no difference shown"


def _of_row(row: dict[str, Any], found: Mapping[tuple[str, str, str], Mapping[str, str]]) -> dict[str, str]:
    names = {level: f"underline_{level}" for level in _LEVELS}
    if row["verdict"] == "void":
        return dict.fromkeys(names.values(), "void")
    is_hybrid = row["method"] in TWINS
    hybrid = row["method"] if is_hybrid else _PARENTS[row["method"]]
    by_level = found.get((row.get("table") or "", hybrid, row.get("cell") or ""), {})
    words = {"no difference shown": "not confirmed", "better": "confirmed", "worse": "reversed"}
    if not is_hybrid:
        words |= {"better": "reversed", "worse": "confirmed"}
    outcomes = {level: by_level.get(level, "not run") for level in names}
    return {names[level]: words.get(outcome, outcome) for level, outcome in outcomes.items()}
