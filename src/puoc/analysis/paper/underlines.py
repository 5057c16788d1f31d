"""Check by our paired tests the numbers that the paper underlines as significantly better than their twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from puoc.analysis.paper.matching import published_entries
from puoc.analysis.paper.published import TWINS
from puoc.analysis.statistics.significance import SignificanceRow
from puoc.store.plans import TablePlan

#: The significance level of the paper.
LEVEL = 0.05
_PARENTS = {parent: hybrid for hybrid, parent in TWINS.items()}


class Outcome(NamedTuple):
    """The outcome of one twin test, in words: by its raw p, and by its p after Holm's adjustment."""

    raw: str
    holm: str


#: Outcomes by table, the paper's PU-OC method and cell.
Outcomes = Mapping[tuple[str, str, str], Outcome]


def underline_verdict(outcomes: Outcomes, method: str, table: str, cell: str) -> Outcome:
    """Return the verdict on an underlined number of a method, from the test in a cell of ours.

    It is *confirmed*, *reversed* (the twin is significantly better), *not confirmed*, *cannot tell* (our seeds could
    not show it) or *not run*. The tests use the AUC on held-out rows, whatever the paper scored.
    """
    is_hybrid = method in TWINS
    outcome = outcomes.get((table, method if is_hybrid else _PARENTS[method], cell), Outcome("not run", "not run"))
    words = {"no difference shown": "not confirmed", "better": "confirmed", "worse": "reversed"}
    if not is_hybrid:
        words |= {"better": "reversed", "worse": "confirmed"}
    return Outcome(*(words.get(text, text) for text in outcome))


def twin_outcomes(plans: Sequence[TablePlan], tests: Sequence[SignificanceRow]) -> dict[tuple[str, str, str], Outcome]:
    """Return the outcome of each twin test for the PU-OC method: better, worse, no difference shown, cannot tell.

    The keys are table, the paper's PU-OC method and cell. If a table has several pairs, the pair of entries that is
    compared with the paper counts.
    """
    pairs = {}
    for plan in plans:
        entries = published_entries(plan)
        for hybrid, parent in TWINS.items():
            if hybrid in entries and parent in entries:
                pairs[plan.table, entries[hybrid].entry, entries[parent].entry] = hybrid
    outcomes = {}
    for test in tests:
        hybrid = pairs.get((test.table, test.entry, test.twin_entry), "")
        if hybrid:
            raw, holm = (
                _outcome(test.shift, test.p, test.min_p),
                _outcome(test.shift, test.p_adjusted, test.min_p_adjusted),
            )
            outcomes[test.table, hybrid, test.cell] = Outcome(raw, holm)
    return outcomes


def _outcome(shift: float | None, p: float | None, floor: float | None) -> str:
    if p is None or shift is None:
        return "not run"
    if p < LEVEL and shift != 0:
        return "better" if shift > 0 else "worse"
    return "cannot tell" if floor is not None and floor >= LEVEL else "no difference shown"
