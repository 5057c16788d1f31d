"""Counts of the paper's numbers by verdict; each published number counts once.

Several cells of ours may be compared with one published number. The cell that counts is the first by these rules:

1. A run with the published sizes and settings comes first, then a run with others (``differs_in``), then a void
   comparison, then a cell that was not run.
2. Of these, the cell with the most seeds.
3. Of equal ones, the cell that is planned first.

The outcome of a comparison is in none of the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from puoc.analysis.paper.verdicts import STATES, VerdictRow


@dataclass(frozen=True)
class NumberCounts:
    """Published numbers by verdict, in the order of ``STATES``."""

    published: str  # the paper's table, by our name; empty for all tables
    n: int
    by_state: tuple[int, ...]
    by_own_spread: tuple[int, ...]  # by the verdict with the standard deviation of each cell alone
    otherwise: tuple[int, ...]  # of ``by_state``: runs with sizes or settings that differ from the paper's


def counted_rows(verdicts: Sequence[VerdictRow]) -> list[VerdictRow]:
    """Return the row that counts for each published number, in the order of the numbers."""
    rows_by_number: dict[tuple[str, str, str], list[VerdictRow]] = {}
    for row in verdicts:
        rows_by_number.setdefault((row.published, row.method, row.column), []).append(row)
    return [min(rows, key=lambda row: (_distance(row), -row.n)) for rows in rows_by_number.values()]


def number_counts(verdicts: Sequence[VerdictRow]) -> list[NumberCounts]:
    """Return the counts of each table of the paper, then those of all tables."""
    counted = counted_rows(verdicts)
    names = dict.fromkeys(row.published for row in counted)
    return [*(_counts(name, [row for row in counted if row.published == name]) for name in names), _counts("", counted)]


def _distance(row: VerdictRow) -> int:
    """Return how far a comparison is from the paper's own setup: 0 to 3."""
    if row.n == 0 or row.verdict == "not run":
        return 3
    if row.verdict == "void":
        return 2
    return 1 if row.differs_in else 0


def _counts(published: str, rows: Sequence[VerdictRow]) -> NumberCounts:
    own = [row.verdict_own_spread or "not run" for row in rows]
    changed = [row.verdict for row in rows if _distance(row) == 1]
    return NumberCounts(
        published,
        len(rows),
        tuple(sum(row.verdict == state for row in rows) for state in STATES),
        tuple(own.count(state) for state in STATES),
        tuple(changed.count(state) for state in STATES),
    )
