"""The map of the overview: which family of methods is best in each cell, over alpha, |U|, shifts and labelling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from puoc.analysis.metrics import DEFAULT
from puoc.analysis.paper.family_wins import AXES, FAMILIES, FamilyWinRow, family_wins
from puoc.reporting.page.format import number, signed
from puoc.reporting.page.places import passport, table_page
from puoc.reporting.page.section import Table
from puoc.reporting.site.standings import Standing
from puoc.store.counting import counted
from puoc.store.plans import TablePlan

#: Axes in their order on the page.
ORDER = ("alpha", "|U|", "shift", "labelling", "classes and data")
SHARED_BY = 3  # tables with a cell of the same name, from which its winners are counted
_NEEDED = ["entry", "cell", "seed", "status", "auc"]  # each entry takes its rows; fewer columns cost less
_LOOKS = {name: f"fam-{kind.replace('_', '-')}" for kind, name in FAMILIES.items()}


@dataclass(frozen=True)
class MapCell:
    """The best entry of a cell."""

    cell: str
    entry: str
    family: str
    look: str  # CSS class of the family
    mean: float | None
    state: str  # "ahead", "not decided" or "not run"
    href: str
    title: str
    below_chance: bool = False  # no entry ranks better than chance


@dataclass(frozen=True)
class MapRow:
    """The cells of one table."""

    table: str
    title: str
    href: str
    dataset: str
    cells: list[MapCell]


@dataclass(frozen=True)
class MapBlock:
    """The tables that vary one thing."""

    axis: str
    sentence: str
    by_cell: list[tuple[str, str]]  # cells that several tables have by name, and who wins them how often
    rows: list[MapRow]


def map_blocks(tables: Sequence[Table], standings: Mapping[str, Sequence[Standing]]) -> list[MapBlock]:
    """Return the tables by what their cells vary; tables of user data without test rows are left out.

    A cell has the outcome of ``family_wins``, which compares families jointly over seeds. In a table with one family,
    an entry is ahead if its rank interval is rank 1 alone.

    Parameters
    ----------
    standings : those of each table, by its name.
    """
    plans = [table.plan for table in tables if table.plan.tested]
    results = {t.plan.table: None if t.rows is None else t.rows[_NEEDED] for t in tables}
    wins = family_wins(plans, results, {plan.scenario: "any" for plan in plans})
    by_cell = {(row.table, row.cell_index): row for row in wins}
    blocks: dict[str, list[MapRow]] = {axis: [] for axis in ORDER}
    for table in tables:
        if not table.plan.tested:
            continue
        cells = [
            _cell(table, index, by_cell.get((table.plan.table, index)), standings[table.plan.table])
            for index in range(len(table.plan.cells))
        ]
        row = MapRow(table.plan.table, table.plan.title, table_page(table.plan.table), table.plan.dataset, cells)
        blocks[axis_of(table)].append(row)
    return [MapBlock(axis, _sentence(rows), _by_cell(rows), rows) for axis, rows in blocks.items() if rows]


def axis_of(table: Table) -> str:
    """Return what the cells of a table vary."""
    if not all(cell.is_plain for cell in table.plan.cells):
        return "labelling"
    if len(table.plan.cells) < 2 and table.plan.scenario not in ("neg_shift", "named_shift"):
        return "classes and data"
    return AXES.get(table.plan.scenario, "classes and data")


def _cell(table: Table, index: int, win: FamilyWinRow | None, standings: Sequence[Standing]) -> MapCell:
    plan, name = table.plan, table.plan.cell_names[index]
    here = [one for one in standings if one.column == index and one.summary.n and not one.entry.oracle]
    best = min(here, key=lambda one: (one.summary.rank or 1e6, -(one.summary.mean or 0.0)), default=None)
    if best is None or best.summary.mean is None:
        return MapCell(name, "", "", "", None, "not run", table_page(plan.table), f"{plan.title}, {name}: not run")
    family = best.family
    if win is not None:
        state = "ahead" if win.outcome == family else "not decided"
        reason = _joint(plan, win)
    else:
        state = "ahead" if best.interval is not None and best.interval.high == 1 else "not decided"
        reason = f"rank interval {best.interval.low} to {best.interval.high}" if best.interval else "one entry alone"
    title = f"{plan.title}, {name}: {best.entry.label} ({family}) {number(best.summary.mean, 3)}, {state}; {reason}"
    look = _LOOKS.get(family, "")
    return MapCell(
        name, best.entry.label, family, look, best.summary.mean, state,
        passport(plan.table, best.entry_index, index), title,
        below_chance=table.metric == DEFAULT and best.summary.mean < 0.5,
    )  # fmt: skip


def _joint(plan: TablePlan, win: FamilyWinRow) -> str:
    if win.low is None or win.high is None or win.next_entry is None:
        return win.note or "no other family"
    return (
        f"to the best of {win.next_family}, {plan.label(win.next_entry)}: {signed(win.difference)} "
        f"({signed(win.low)} to {signed(win.high)}, {counted(win.n, 'seed')})"
    )


def _by_cell(rows: Sequence[MapRow]) -> list[tuple[str, str]]:
    """Count for each cell of ``SHARED_BY`` tables or more which families and entries have the highest mean."""
    cells: dict[str, list[MapCell]] = {}
    for row in rows:
        for cell in row.cells:
            if cell.state != "not run":
                cells.setdefault(cell.cell, []).append(cell)
    lines = []
    for name, several in cells.items():
        if len(several) < SHARED_BY:
            continue
        families = Counter(cell.family for cell in several)
        entries = Counter(cell.entry for cell in several).most_common()
        most = ", ".join(f"{entry} {n}" for entry, n in sorted(entries, key=lambda one: (-one[1], one[0]))[:3])
        won = ", ".join(f"{family} {families[family]}" for family in FAMILIES.values() if families[family])
        lines.append((name, f"{won} of {counted(len(several), 'table')}; most often {most}"))
    return lines


def _sentence(rows: Sequence[MapRow]) -> str:
    cells = [cell for row in rows for cell in row.cells]
    run = [cell for cell in cells if cell.state != "not run"]
    if not run:
        return f"{counted(len(cells), 'cell')}, none run."
    parts = []
    for name in FAMILIES.values():
        of_family = [cell for cell in run if cell.family == name]
        if of_family:
            ahead = sum(cell.state == "ahead" for cell in of_family)
            parts.append(f"{name} has the highest mean in {len(of_family)} (ahead in {ahead})")
    rest = f" {len(cells) - len(run)} were not run." if len(run) < len(cells) else ""
    return f"Of {counted(len(run), 'cell')} with results, {', '.join(parts)}.{rest}"
