"""The answer on the paper, before all details: numbers by verdict, claims by outcome, and the best families."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from puoc.analysis.paper.answer import NumberCounts, counted_rows, number_counts
from puoc.analysis.paper.claims import ClaimRow
from puoc.analysis.paper.family_wins import FAMILIES, OUTCOMES, FamilyWinRow
from puoc.analysis.paper.verdicts import STATES, VerdictRow
from puoc.reporting.page.format import number, signed
from puoc.store.plans import TablePlan

_BAR_WIDTH = 240.0
_CLAIM_STATES = {"holds": "hold", "fails": "fail", "not decided": "not decided", "not run": "not run"}
#: CSS class of each outcome; the cell also shows the word.
_LOOKS = {name: f"family-{kind.replace('_', '-')}" for kind, name in FAMILIES.items()}


class Segment(NamedTuple):
    """A part of a bar."""

    state: str
    look: str  # CSS class
    x: float
    width: float
    n: int


class BarRow(NamedTuple):
    """The numbers of one table of the paper by verdict."""

    name: str
    n: int
    by_state: tuple[int, ...]
    otherwise: int  # of runs with other sizes or settings than the paper's
    segments: list[Segment]
    words: str


class ClaimGroup(NamedTuple):
    """The claims with one outcome on our runs."""

    state: str
    words: str  # such as "12 hold"
    claims: list[ClaimRow]


class FamilyCell(NamedTuple):
    """One cell in the comparison of the families."""

    cell: str
    outcome: str
    look: str
    title: str
    row: FamilyWinRow


class FamilyTable(NamedTuple):
    """The comparison of the families in one table."""

    table: str
    axis: str
    dataset: str
    by_outcome: list[int]
    cells: list[FamilyCell]
    label: Callable[[str], str]  # the name that stands beside a number of an entry


@dataclass(frozen=True)
class AnswerView:
    """The content of the section."""

    planned: bool  # whether a table of the plan is compared with the paper
    sentence: str
    changed: str  # a sentence on runs with other sizes and settings; empty if there are none
    states: list[tuple[str, str]]  # with their CSS classes
    bars: list[BarRow]  # of all tables, then of each
    by_own_spread: tuple[int, ...]
    n_by_another_spread: int  # numbers with another verdict by their own spread
    n_claims: int
    claims: list[ClaimGroup]
    claim_sentence: str
    outcomes: Sequence[str]
    families: list[FamilyTable]
    family_sentence: str


def answer_view(
    verdicts: Sequence[VerdictRow],
    claims: Sequence[ClaimRow],
    families: Sequence[FamilyWinRow],
    plans: Sequence[TablePlan],
) -> AnswerView:
    """Return the content of the section from the tables of the comparison, whether or not they have rows.

    Parameters
    ----------
    plans : the planned tables. ``families`` may have others, which were planned when it was computed.
    """
    *tables, total = number_counts(verdicts)
    rows = counted_rows(verdicts)
    groups = _claim_groups(claims)
    return AnswerView(
        planned=any(row.table is not None for row in verdicts),
        sentence=_by_state(total),
        changed=_changed_sentence(total),
        states=[(state, _state_look(state)) for state in STATES],
        bars=[_bar(count) for count in (total, *tables)],
        by_own_spread=total.by_own_spread,
        n_by_another_spread=sum(row.verdict != (row.verdict_own_spread or "not run") for row in rows),
        n_claims=len(claims),
        claims=groups,
        claim_sentence=", ".join(group.words for group in groups),
        outcomes=OUTCOMES,
        families=_family_tables(families, {plan.table: plan for plan in plans}),
        family_sentence=_family_sentence(families),
    )


def _by_state(count: NumberCounts) -> str:
    words = {"differs": "differ"}
    return ", ".join(f"{n} {words.get(state, state)}" for state, n in zip(STATES, count.by_state, strict=True))


def _changed_sentence(total: NumberCounts) -> str:
    n = sum(total.otherwise)
    if not n:
        return ""
    parts = [f"{n_of} {state}" for state, n_of in zip(STATES, total.otherwise, strict=True) if n_of]
    return (
        f"{n} of these verdicts are on runs with other sizes or settings than the paper's ({', '.join(parts)}); "
        "they do not apply to the paper's own setup."
    )


def _bar(count: NumberCounts) -> BarRow:
    segments, x = [], 0.0
    for state, n in zip(STATES, count.by_state, strict=True):
        width = _BAR_WIDTH * n / max(count.n, 1)
        if n:
            segments.append(Segment(state, _state_look(state), round(x, 2), round(width, 2), n))
        x += width
    name = count.published or "all"
    return BarRow(name, count.n, count.by_state, sum(count.otherwise), segments, f"{name}: {_by_state(count)}")


def _state_look(state: str) -> str:
    return f"state-{state.replace(' ', '-')}"


def _claim_groups(claims: Sequence[ClaimRow]) -> list[ClaimGroup]:
    groups = []
    for state, words in _CLAIM_STATES.items():
        members = [claim for claim in claims if claim.verdict == state]
        groups.append(ClaimGroup(state, f"{len(members)} {words}", members))
    return groups


def _family_tables(rows: Sequence[FamilyWinRow], plans: Mapping[str, TablePlan]) -> list[FamilyTable]:
    tables = []
    for name in dict.fromkeys(row.table for row in rows):
        members = [row for row in rows if row.table == name]
        outcomes = [row.outcome for row in members]
        label = plans[name].label if name in plans else str
        titles = [_family_title(row, label) for row in members]
        looks = [_LOOKS.get(outcome, "") for outcome in outcomes]
        parts = zip(members, looks, titles, strict=True)
        cells = [FamilyCell(row.cell, row.outcome, look, title, row) for row, look, title in parts]
        counts = [outcomes.count(outcome) for outcome in OUTCOMES]
        tables.append(FamilyTable(name, members[0].axis, members[0].dataset, counts, cells, label))
    return tables


def _family_title(row: FamilyWinRow, label: Callable[[str], str]) -> str:
    if row.best_entry is None:
        return "not run"
    parts = [f"best: {label(row.best_entry)} ({row.best_family}) {number(row.best_mean, 3)}"]
    if row.next_entry is not None:
        parts.append(f"next family: {label(row.next_entry)} ({row.next_family}) {number(row.next_mean, 3)}")
        interval = f", interval {signed(row.low)} to {signed(row.high)}" if row.low is not None else ""
        parts.append(f"difference {signed(row.difference)}{interval}, {row.n} common seeds")
    return "; ".join([*parts, *([row.note] if row.note else [])])


def _family_sentence(rows: Sequence[FamilyWinRow]) -> str:
    if not rows:
        return "No table of this plan compares two families over alpha, |U| or a shift."
    outcomes = [row.outcome for row in rows]
    wins = ", ".join(f"{name} in {outcomes.count(name)}" for name in FAMILIES.values())
    rest = f"{outcomes.count('not decided')} are not decided and {outcomes.count('not run')} not run"
    return f"Of {len(rows)} cells over alpha, |U| or a shift, {wins} ranks best; {rest}."
