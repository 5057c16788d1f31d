"""The data that claims are computed from: AUC by seed, method and column, and the outcomes of twin tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from puoc.analysis.paper.deviations import Reservation
from puoc.analysis.paper.matching import PublishedCell, published_cells
from puoc.analysis.paper.published import AVERAGE_COLUMN, CAPTIONS, RESULT_TABLES, TWINS, numbers
from puoc.analysis.paper.underlines import twin_outcomes
from puoc.analysis.statistics.significance import SignificanceRow
from puoc.analysis.tables.results import scored
from puoc.store.plans import TablePlan

#: A row that the paper copied from another paper: its printed numbers are also used as ours.
_COPIED = "hrn_star"
_SIZES = ("n_pos_lab", "n_pos_unl", "n_neg_unl")
Drawn = tuple[tuple[int, ...], ...]


@dataclass
class Source:
    """The known values and outcomes for one printed table."""

    values: dict[tuple[str, str], dict[int, float]] = field(default_factory=dict)  # AUC by seed, of method and column
    better: dict[tuple[str, str], str] = field(default_factory=dict)  # by PU-OC method and column: hybrid, parent, ...
    tables: set[str] = field(default_factory=set)  # ours
    differs_in: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Evidence:
    """The data of all printed tables; ``exact`` marks printed numbers, which have no spread."""

    sources: dict[str, Source]
    exact: bool

    def columns(self, published: str) -> list[str]:
        """Return the columns that have a value, in the order of their addition."""
        source = self.sources.get(published, Source())
        return list(dict.fromkeys(column for _, column in source.values))

    def values(self, published: str, method: str, columns: Sequence[str]) -> dict[int, NDArray[np.float64]]:
        """Return the AUC of each column, (k,), by seed; only seeds that have every column."""
        source = self.sources.get(published, Source())
        by_column = [source.values.get((method, column), {}) for column in columns]
        seeds = set.intersection(*(set(aucs) for aucs in by_column)) if by_column else set()
        return {seed: np.array([aucs[seed] for aucs in by_column]) for seed in sorted(seeds)}

    def outcome(self, published: str, first: str, second: str, column: str) -> str | None:
        """Return which of two twins is significantly better: first, second, neither or unknown; None if untested."""
        hybrid = first if TWINS.get(first) == second else second
        better = self.sources.get(published, Source()).better.get((hybrid, column))
        sides = {"hybrid": hybrid, "parent": TWINS[hybrid]}
        return better if better not in sides else "first" if sides[better] == first else "second"


def printed_evidence() -> Evidence:
    """Return the paper's own numbers. An underlined number counts as significantly better."""
    sources: dict[str, Source] = {}
    table = numbers(*RESULT_TABLES, *CAPTIONS)
    table = table[table["column"] != AVERAGE_COLUMN]
    keys = zip(table["published"], table["method"], table["column"], strict=True)
    for (name, method, column), value in zip(keys, table["value"], strict=True):
        sources.setdefault(name, Source()).values[method, column] = {0: float(value)}
    marked = set(zip(*(table.loc[table["underlined"], key] for key in ("published", "method", "column")), strict=True))
    for name, source in sources.items():
        for method, column in source.values:
            if TWINS.get(method, "") and (TWINS[method], column) in source.values:
                ours, theirs = (name, method, column) in marked, (name, TWINS[method], column) in marked
                source.better[method, column] = "hybrid" if ours else "parent" if theirs else "neither"
    return Evidence(sources, exact=True)


def our_evidence(
    plans: Sequence[TablePlan],
    tests: Sequence[SignificanceRow],
    results: Mapping[str, pd.DataFrame | None],
    reservation_by_cell: Mapping[PublishedCell, Reservation],
) -> Evidence:
    """Return our rows and tests. Cells that must not be compared with the paper (see ``reservations``) are left out.

    If several tables match one printed column, the table with the most methods of that column counts; of equal ones,
    the first planned. The others contribute missing methods only if they draw as many rows of each kind. Their seeds
    then draw the same rows, so that methods are compared on equal terms. The outcome of a twin test comes from the
    first of these tables that has the test.
    """
    sources: dict[str, Source] = {}
    outcomes = twin_outcomes(plans, tests)
    words = {"better": "hybrid", "worse": "parent", "no difference shown": "neither", "cannot tell": "unknown"}
    cells = [cell for cell in published_cells(plans) if not cell.is_average]
    by_entry = _by_entry(cells, results)
    cells_with_aucs = [
        (cell, by_entry.get((cell.table, cell.entry, cell.cell), {}))
        for cell in cells
        if not reservation_by_cell[cell].void
    ]
    n_methods = Counter((cell.published, cell.column, cell.table) for cell, aucs in cells_with_aucs if aucs)
    cells_with_aucs.sort(key=lambda pair: -n_methods[pair[0].published, pair[0].column, pair[0].table])
    drawn_sizes: dict[tuple[str, str], Drawn] = {}
    for cell, aucs in cells_with_aucs:
        source = sources.setdefault(cell.published, Source())
        if not aucs:
            continue
        key, sizes = (cell.method, cell.column), _drawn(results[cell.table], cell.cell)
        outcome = outcomes.get((cell.table, cell.method, cell.cell))
        tested = outcome.raw if outcome else "not run"
        counts = tested in words and key not in source.better
        if counts:
            source.better[key] = words[tested]
        is_alike = drawn_sizes.setdefault((cell.published, cell.column), sizes) == sizes
        if is_alike and key not in source.values:
            source.values[key] = aucs
            counts = True
        if counts:
            source.tables.add(cell.table)
            source.differs_in |= {reservation_by_cell[cell].differs_in} - {""}
    _copy(sources)
    return Evidence(sources, exact=False)


def _drawn(rows: pd.DataFrame | None, cell: str) -> Drawn:
    """Return the numbers of rows of each kind that a cell of a table draws."""
    assert rows is not None, "the cell has recorded rows"
    of_cell = rows[rows["cell"] == cell]
    return tuple(tuple(sorted(of_cell[name].dropna().unique())) for name in _SIZES if name in of_cell)


def _by_entry(
    cells: Sequence[PublishedCell], results: Mapping[str, pd.DataFrame | None]
) -> dict[tuple[str, str, str], dict[int, float]]:
    aucs: dict[tuple[str, str, str], dict[int, float]] = {}
    for table, entry in dict.fromkeys((cell.table, cell.entry) for cell in cells):
        rows = results.get(table)
        if rows is not None:
            ok_rows = scored(rows, entry)
            for cell, seed, auc in zip(ok_rows["cell"], ok_rows["seed"], ok_rows["auc"], strict=True):
                aucs.setdefault((table, entry, str(cell)), {})[int(seed)] = float(auc)
    return aucs


def _copy(sources: dict[str, Source]) -> None:
    """Add the printed numbers of the copied row, for the seeds that the other rows of a column have."""
    copied = numbers()
    copied = copied[copied["method"] == _COPIED]
    for published, column, value in zip(copied["published"], copied["column"], copied["value"], strict=True):
        source = sources.get(published, Source())
        seeds = {seed for (_, name), values in source.values.items() if name == column for seed in values}
        if seeds:
            source.values[_COPIED, column] = dict.fromkeys(sorted(seeds), float(value))
