"""The section of the page on the paper: published numbers compared with ours, and claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from puoc.analysis.paper.claims import ClaimRow
from puoc.analysis.paper.published import AVERAGE_COLUMN, columns
from puoc.analysis.paper.verdicts import STATES, VerdictRow
from puoc.reporting.page.format import number, signed, spread
from puoc.reporting.page.places import passport
from puoc.reporting.page.tables import column_heads
from puoc.store.plans import TablePlan

_UNDERLINES = ("confirmed", "reversed", "not confirmed", "cannot tell", "void", "not run")
#: CSS class of each verdict; the cell also shows the word.
_CLASSES = {"reproduced": "same", "differs": "other", "not decided": "open", "void": "void"}


@dataclass(frozen=True)
class PaperCell:
    """One published number, and ours."""

    printed: str
    marks: str  # CSS classes for the paper's bold and underlined numbers: best, holm
    ours: str  # empty if nothing was run
    passport: str  # address of the runs behind it; empty if nothing was run
    verdict: str
    look: str
    title: str


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper compared with one of ours."""

    anchor: str
    title: str
    caption: str
    columns: list[str]
    rows: list[tuple[str, list[PaperCell | None]]]
    run: bool
    notes: list[tuple[str, str]]  # rows and columns, remarks on them


class TableCounts(NamedTuple):
    """The verdicts on one table of the paper, counted."""

    table: PaperTable
    n: int
    by_state: list[int]
    otherwise: int  # of runs with other sizes or settings than the paper's


class UnderlineCounts(NamedTuple):
    """The verdicts on underlined numbers at one level, counted."""

    level: str
    by_state: list[int]


@dataclass(frozen=True)
class PaperView:
    """The content of the section on the paper."""

    n_numbers: int
    n_compared: int
    states: Sequence[str]
    counts: list[TableCounts]
    tables: list[PaperTable]
    underlines: list[UnderlineCounts]
    underline_states: Sequence[str]
    n_underlined: int
    claims: list[ClaimRow]
    claims_run: bool
    paper_verdicts: str  # numbers of claims by verdict, from the paper's numbers
    our_verdicts: str  # from ours


def paper_view(verdicts: Sequence[VerdictRow], claims: list[ClaimRow], plans: Sequence[TablePlan]) -> PaperView:
    """Return the content of the section on the paper: counts, tables, underlines, claims."""
    groups = _groups(verdicts)
    planned = {plan.table: plan for plan in plans}
    tables = [_table(f"p{at}", name, ours, rows, planned.get(ours)) for at, (name, ours, rows) in enumerate(groups)]
    return PaperView(
        n_numbers=_n_distinct(verdicts),
        n_compared=_n_distinct([row for row in verdicts if row.n]),
        states=STATES,
        counts=[_counts(table, rows) for table, (_, _, rows) in zip(tables, groups, strict=True)],
        tables=tables,
        underlines=_underlines([row for row in verdicts if row.underlined]),
        underline_states=_UNDERLINES,
        n_underlined=_n_distinct([row for row in verdicts if row.underlined]),
        claims=claims,
        claims_run=any(claim.verdict != "not run" for claim in claims),
        paper_verdicts=_claim_sentence([claim.paper_verdict for claim in claims]),
        our_verdicts=_claim_sentence([claim.verdict for claim in claims]),
    )


def _n_distinct(rows: Sequence[VerdictRow]) -> int:
    """Count published numbers; several tables of ours may be compared with one."""
    return len({(row.published, row.method, row.column) for row in rows})


def _groups(verdicts: Sequence[VerdictRow]) -> list[tuple[str, str, list[VerdictRow]]]:
    """Group rows by table of the paper and table of ours; unmatched numbers are in each group, to complete the grid."""
    groups = []
    for name in dict.fromkeys(row.published for row in verdicts):
        rows = [row for row in verdicts if row.published == name]
        ours = list(dict.fromkeys(row.table for row in rows if row.table is not None))
        groups += [(name, table, [row for row in rows if row.table in (table, None)]) for table in ours]
        groups += [] if ours else [(name, "", rows)]
    return groups


def _table(anchor: str, name: str, ours: str, rows: list[VerdictRow], plan: TablePlan | None) -> PaperTable:
    heads = columns(name)
    by_key = {(row.method, row.column): row for row in rows}
    lines = dict.fromkeys((row.row, row.method) for row in rows)
    return PaperTable(
        anchor=anchor,
        title=f"{name}{f' beside {ours}' if ours else ''}",
        caption=_caption(rows, ours),
        columns=heads,
        rows=[(row, [_cell(by_key.get((method, head)), plan) for head in heads]) for row, method in lines],
        run=any(row.n for row in rows),
        notes=[*_notes(rows), *_told(rows, plan)],
    )


def _caption(rows: list[VerdictRow], ours: str) -> str:
    label = rows[0].label
    if not any(row.n for row in rows):
        why = f"{ours} was not run" if ours else "no table of this plan is compared with it"
        return f"Table {label} of the paper; {why}."
    held_out = sorted({row.row for row in rows if row.scored_on == "held out"})
    scored = {
        0: "scored on the training pool, as the released scripts do",
        len({row.row for row in rows}): "scored on held-out rows",
    }.get(len(held_out), f"scored on the training pool, but {', '.join(held_out)} on held-out rows")
    return f"Table {label} of the paper: the printed number, below it ours, mean ± standard deviation, {scored}."


def _cell(row: VerdictRow | None, plan: TablePlan | None) -> PaperCell | None:
    if row is None:
        return None
    marks = " ".join(name for name, is_marked in (("best", row.bold), ("holm", row.underlined)) if is_marked)
    run = row.mean is not None
    return PaperCell(
        printed=row.printed,
        marks=marks,
        ours=spread(row.mean, row.std) if run else "",
        passport=_passport(row, plan) if run and plan is not None else "",
        verdict=row.verdict,
        look=_CLASSES.get(row.verdict, ""),
        title=_title(row, plan) if run else row.note,
    )


def _passport(row: VerdictRow, plan: TablePlan) -> str:
    """Return the address of the passport of our number."""
    entries, heads = [entry.entry for entry in plan.entries], column_heads(plan)
    if row.entry not in entries or row.cell not in heads:
        return ""
    return passport(plan.table, entries.index(row.entry), heads.index(row.cell))


def _title(row: VerdictRow, plan: TablePlan | None) -> str:
    parts = [f"n = {row.n}, difference {signed(row.difference)}"]
    if row.low is not None:
        parts[0] += f", interval {signed(row.low)} to {signed(row.high)}"
    if row.spread is not None and row.df is not None:
        parts.append(f"spread {number(row.spread, 3)} with {row.df:.1f} degrees of freedom")
        if row.verdict_own_spread != row.verdict:
            parts.append(f"by the cell's own spread {row.verdict_own_spread}")
    if row.other_mean is not None:
        where = "held out" if row.scored_on == "training pool" else "training pool"
        parts.append(f"{where}: {number(row.other_mean, 3)}, {row.other_verdict}")
    if row.underlined:
        parts.append(f"underlined by the paper: {row.underline_raw}, after Holm {row.underline_holm}")
    if plan is not None and row.entry in plan.entries_by_name and plan.entries_by_name[row.entry].told_alpha:
        parts.append("told alpha")
    if row.differs_in:
        parts.append(f"not as published: {row.differs_in}")
    return "; ".join([*parts, *([row.note] if row.note else [])])


def _notes(rows: list[VerdictRow]) -> list[tuple[str, str]]:
    """Return each distinct note once, with the cells to which it applies."""
    cells_by_note: dict[str, list[str]] = {}
    cells = [row for row in rows if row.table is not None and row.column != AVERAGE_COLUMN]
    for row in cells:
        differs = f"not as published: {row.differs_in}" if row.differs_in else ""
        for text in filter(None, (row.note, differs)):
            cells_by_note.setdefault(text, []).append(f"{row.row} {row.column}")
    return [
        ("all cells" if len(where) == len(cells) else ", ".join(where), text) for text, where in cells_by_note.items()
    ]


def _told(rows: list[VerdictRow], plan: TablePlan | None) -> list[tuple[str, str]]:
    """Return which rows are compared with fits that get the true alpha."""
    if plan is None:
        return []
    told = {entry.entry for entry in plan.entries if entry.told_alpha}
    names = dict.fromkeys(row.row for row in rows if row.n and row.entry in told)
    return [(", ".join(names), "our fits are told alpha")] if names else []


def _counts(table: PaperTable, rows: list[VerdictRow]) -> TableCounts:
    by_state = [sum(row.verdict == state for row in rows) for state in STATES]
    otherwise = sum(bool(row.n and row.differs_in and row.verdict != "void") for row in rows)
    return TableCounts(table, len(rows), by_state, otherwise)


def _underlines(marked: list[VerdictRow]) -> list[UnderlineCounts]:
    by_level = {"raw": [row.underline_raw for row in marked], "Holm": [row.underline_holm for row in marked]}
    return [
        UnderlineCounts(level, [verdicts.count(state) for state in _UNDERLINES]) for level, verdicts in by_level.items()
    ]


def _claim_sentence(verdicts: list[str]) -> str:
    """Return the counts of verdicts in words, such as ``12 hold, 3 fail``."""
    words = {"holds": "hold", "fails": "fail"} | {word: word for word in ("not decided", "not printed", "not run")}
    counts = {plural: verdicts.count(word) for word, plural in words.items()}
    return ", ".join(f"{n} {plural}" for plural, n in counts.items() if n)
