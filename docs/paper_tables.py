"""Tables of docs/published.md: what the paper's numbers say of its text, and verdicts by the rows in docs/evidence."""

from __future__ import annotations

from answer_tables import compared_tables
from evidence_plans import Lines
from told_alpha import entry_name, told_alpha

from puoc.analysis.paper.claims import claims
from puoc.analysis.paper.deviations import reservations
from puoc.analysis.paper.published import RESULT_TABLES, columns, methods, numbers
from puoc.analysis.paper.verdicts import VerdictRow, verdicts
from puoc.analysis.tables.summary import summarise


def paper_numbers() -> Lines:
    """Counts of what is packaged, by table."""
    table = numbers()
    lines = [["table", "label", "rows", "columns", "AUCs", "underlined", "bold"]]
    for name in RESULT_TABLES:
        of_table = table[table["published"] == name]
        marks = [of_table[mark].sum() for mark in ("underlined", "bold")]
        counts = [len(methods(name)), len(columns(name)), len(of_table), *marks]
        lines.append([f"`{name}`", f"`{of_table['table'].iloc[0]}`", *(str(count) for count in counts)])
    sums = [len(table), table["underlined"].sum(), table["bold"].sum()]
    return [*lines, ["all", "", "", "", *(str(count) for count in sums)]]


def paper_contradictions() -> Lines:
    """Claims that the paper's own numbers do not bear out."""
    lines = [["claim", "place", "parts that hold", "needed", "against it"]]
    for row in claims([], [], {}, {}):
        if row.paper_verdict in ("fails", "not decided"):
            parts = f"{row.paper_holds} of {row.n_parts}"
            against = row.paper_note.removeprefix("against: ").replace("_", r"\_")
            lines.append([row.claim, row.place, parts, str(row.need), against])
    return lines


def paper_verdicts() -> Lines:
    """Every run of a published number by the committed rows, with its verdict."""
    heads = ["rows", "column", "entry", "paper", "scored on", "ours", "n", "difference, 95 %", "verdict"]
    lines = []
    for name in ("cifar10", "cifar10_methods", "cifar10_small", "lstm_pendigits"):
        told = told_alpha(name)
        for plan, kept in compared_tables(name):
            held = reservations([plan], {plan.table: kept})
            found = verdicts([plan], summarise(plan, kept), [], held)
            lines += [[f"`{name}`", *_line(row, told)] for row in found if row.n]
    return [[*heads, "not as published"], *sorted(lines, key=lambda line: (line[1], line[2], line[0]))]


def _line(row: VerdictRow, told: frozenset[str]) -> list[str]:
    spread = "" if row.std is None else f" ± {row.std:.3f}"
    interval = "" if row.low is None else f"{row.low:+.3f} to {row.high:+.3f}"
    verdict = row.verdict + (f": {row.note}" if row.verdict == "void" else "")
    return [
        *(row.column, entry_name(row.entry, told), row.printed, row.scored_on),
        *(f"{row.mean:.3f}{spread}", str(row.n), interval, verdict, row.differs_in),
    ]
