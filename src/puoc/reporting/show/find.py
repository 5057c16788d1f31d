"""Which results ``TABLE/CELL/ENTRY`` names."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import NamedTuple

from puoc.analysis.tables.summary import AVERAGE
from puoc.store.plans import TablePlan


class Place(NamedTuple):
    """A table, a column of it, or an entry in a column. None stands for all of them."""

    plan: TablePlan | None = None
    column: str | None = None  # a cell, or AVERAGE in a table of several cells
    entry: str | None = None


def find(plans: Sequence[TablePlan], path: str | None) -> Place:
    """Return the place of a path ``TABLE``, ``TABLE/CELL`` or ``TABLE/CELL/ENTRY``; without a path, all tables.

    The name of a cell may contain slashes.

    Raises
    ------
    ValueError : the plan has no such table, cell or entry. The message lists what it has.
    """
    if path is None:
        return Place()
    by_name = {plan.table: plan for plan in plans}
    table, _, rest = path.partition("/")
    if table not in by_name:
        raise ValueError(unknown("table", table, list(by_name), "planned"))
    plan = by_name[table]
    if not rest:
        return Place(plan)
    columns = [*plan.cell_names, *([AVERAGE] if len(plan.cells) > 1 else [])]
    if rest in columns:
        return Place(plan, rest)
    column = next((name for name in sorted(columns, key=len, reverse=True) if rest.startswith(f"{name}/")), None)
    if column is None:
        raise ValueError(unknown("cell", rest.partition("/")[0], columns, f"{table} has"))
    entry = rest.removeprefix(f"{column}/")
    if entry not in plan.entries_by_name:
        raise ValueError(unknown("entry", entry, list(plan.entries_by_name), f"{table} has"))
    return Place(plan, column, entry)


def unknown(what: str, name: str, known: Sequence[str], owner: str) -> str:
    """Return the message about a name that does not exist, with the nearest one and those that do."""
    near = get_close_matches(name, known, 1)
    meant = f" (did you mean {near[0]!r}?)" if near else ""
    return f"got the {what} {name!r}{meant}; {owner}: {', '.join(known) or 'none; run puoc plan'}"
