"""Which number of ours stands beside which number of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from puoc.analysis.paper.published import AVERAGE_COLUMN, CAPTIONS, RESULT_TABLES, UNPRINTED, columns
from puoc.analysis.tables.plans import EntryPlan, TablePlan
from puoc.analysis.tables.summary import AVERAGE

#: ``published_as`` of an entry that stands beside no row.
_NO_ROW = "none"


@dataclass(frozen=True)
class Beside:
    """A cell of a table of ours, and the method and column of the paper that it answers."""

    published: str
    method: str
    column: str
    table: str
    entry: str
    cell: str
    is_average: bool


def beside(plans: Sequence[TablePlan]) -> list[Beside]:
    """Every planned cell that stands beside a number or a curve of the paper.

    A cell is matched by its name; the only cell of a table also by its dataset (``pendigits_odds`` answers
    ``pendigits``) or where the paper has one column. An average counts only where every printed column has its cell.

    Raises
    ------
    ValueError : a plan names a table that the paper has not.
    """
    return [found for plan in plans if plan.published for found in _of_plan(plan, str(plan.published))]


def rows_of(plan: TablePlan) -> dict[str, EntryPlan]:
    """The entry that answers each row of the paper, by the paper's method; oracles answer none.

    Of several entries, one that says so comes first, then one of that name, then the one that is planned first.
    """
    found: dict[str, EntryPlan] = {}
    claimed: dict[str, int] = {}
    for entry in plan.entries:
        method = entry.published_as or entry.method
        if entry.oracle or method == _NO_ROW:
            continue
        strength = 2 if entry.published_as else 1 if entry.entry == method else 0
        if strength > claimed.get(method, -1):
            found[method], claimed[method] = entry, strength
    return found


def columns_beside(published: str, cells: Sequence[str], dataset: str) -> dict[str, str]:
    """Column of the paper by cell of ours, of the cells that have one.

    Raises
    ------
    ValueError : the paper has no such table.
    """
    if published in UNPRINTED:
        return {cell: cell for cell in cells}
    if published not in (*RESULT_TABLES, *CAPTIONS):
        known = ", ".join((*RESULT_TABLES, *CAPTIONS, *UNPRINTED))
        raise ValueError(f"published is {published!r}, one of {known} expected")
    printed = [column for column in columns(published) if column != AVERAGE_COLUMN]
    found = {cell: cell for cell in cells if cell in printed}
    if not found and len(cells) == 1:
        of_dataset = [column for column in printed if dataset == column or dataset.startswith(f"{column}_")]
        only = printed if len(printed) == 1 else of_dataset
        found = dict(zip(cells, only, strict=False))
    return found


def _of_plan(plan: TablePlan, name: str) -> Iterator[Beside]:
    cells = columns_beside(name, plan.cells, plan.dataset)
    for method, entry in rows_of(plan).items():
        for cell, column in cells.items():
            yield Beside(name, method, column, plan.table, entry.entry, cell, is_average=False)
        if name in RESULT_TABLES and set(columns(name)) - set(cells.values()) == {AVERAGE_COLUMN}:
            yield Beside(name, method, AVERAGE_COLUMN, plan.table, entry.entry, AVERAGE, is_average=True)
