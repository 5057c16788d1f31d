"""Match planned cells of our tables with the published numbers of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from puoc.analysis.paper.published import AVERAGE_COLUMN, CAPTIONS, RESULT_TABLES, UNPRINTED, columns
from puoc.store.plans import EntryPlan, TablePlan

#: ``published_as`` of an entry that is compared with no row of the paper.
_NO_ROW = "none"


@dataclass(frozen=True)
class PublishedCell:
    """A cell of one of our tables, with the method and column of the paper that it is compared with."""

    published: str
    method: str
    column: str
    table: str
    entry: str
    cell: str
    is_average: bool


def published_cells(plans: Sequence[TablePlan]) -> list[PublishedCell]:
    """Return every planned cell that is compared with a number or a curve of the paper.

    A cell is matched by its name. The only cell of a table is also matched by its dataset (``pendigits_odds`` matches
    ``pendigits``), or if the paper has only one column. An average is matched only if every printed column has a cell.

    Raises
    ------
    ValueError : a plan names a table that the paper does not have.
    """
    return [cell for plan in plans if plan.published for cell in _cells_of_plan(plan, str(plan.published))]


def published_entries(plan: TablePlan) -> dict[str, EntryPlan]:
    """Return the entry that is compared with each row of the paper, by method; oracles are compared with none.

    If several entries match a row, an entry with ``published_as`` comes first, then an entry whose name is the method,
    then the entry that is planned first.
    """
    entry_of_method: dict[str, EntryPlan] = {}
    claimed: dict[str, int] = {}
    for entry in plan.entries:
        method = entry.published_as or entry.method
        if entry.oracle or method == _NO_ROW:
            continue
        strength = 2 if entry.published_as else 1 if entry.entry == method else 0
        if strength > claimed.get(method, -1):
            entry_of_method[method], claimed[method] = entry, strength
    return entry_of_method


def published_columns(published: str, cells: Sequence[str], dataset: str) -> dict[str, str]:
    """Return the column of the paper for each of our cells that has one.

    Raises
    ------
    ValueError : the paper has no such table.
    """
    if published in UNPRINTED:
        return {cell: cell for cell in cells}
    if published not in (*RESULT_TABLES, *CAPTIONS):
        known = ", ".join((*RESULT_TABLES, *CAPTIONS, *UNPRINTED))
        raise ValueError(f"published is {published!r}, expected one of {known}")
    printed = [column for column in columns(published) if column != AVERAGE_COLUMN]
    column_of_cell = {cell: cell for cell in cells if cell in printed}
    if not column_of_cell and len(cells) == 1:
        of_dataset = [column for column in printed if dataset == column or dataset.startswith(f"{column}_")]
        only = printed if len(printed) == 1 else of_dataset
        column_of_cell = dict(zip(cells, only, strict=False))
    return column_of_cell


def _cells_of_plan(plan: TablePlan, name: str) -> Iterator[PublishedCell]:
    from puoc.analysis.tables.summary import AVERAGE  # imports pandas, which a plan does not need

    cells = published_columns(name, plan.cell_names, plan.dataset)
    for method, entry in published_entries(plan).items():
        for cell, column in cells.items():
            yield PublishedCell(name, method, column, plan.table, entry.entry, cell, is_average=False)
        if name in RESULT_TABLES and set(columns(name)) - set(cells.values()) == {AVERAGE_COLUMN}:
            yield PublishedCell(name, method, AVERAGE_COLUMN, plan.table, entry.entry, AVERAGE, is_average=True)
