"""What a claim is computed from: AUC by seed, method and column, and which of two twins is significantly better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from puoc.analysis.paper.deviations import Reservation
from puoc.analysis.paper.matching import Beside, beside
from puoc.analysis.paper.published import AVERAGE_COLUMN, CAPTIONS, RESULT_TABLES, TWINS, numbers
from puoc.analysis.paper.underlines import twin_outcomes
from puoc.analysis.tables.plans import TablePlan
from puoc.analysis.tables.results import scored

#: A row of the paper that is copied from another one: its printed numbers stand for ours too.
_COPIED = "hrn_star"
_SIZES = ("n_pos_lab", "n_pos_unl", "n_neg_unl")
Drawn = tuple[tuple[int, ...], ...]


@dataclass
class Source:
    """What is known of one printed table."""

    values: dict[tuple[str, str], dict[int, float]] = field(default_factory=dict)  # AUC by seed, of method and column
    better: dict[tuple[str, str], str] = field(default_factory=dict)  # by PU-OC method and column: hybrid, parent, ...
    tables: set[str] = field(default_factory=set)  # ours
    differs_in: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Evidence:
    """All that claims are computed from; ``exact`` numbers are printed ones, without a spread."""

    sources: dict[str, Source]
    exact: bool

    def columns(self, published: str) -> list[str]:
        """Columns that have a value, in the order they came in."""
        source = self.sources.get(published, Source())
        return list(dict.fromkeys(column for _, column in source.values))

    def values(self, published: str, method: str, columns: Sequence[str]) -> dict[int, NDArray[np.float64]]:
        """AUC of each column, (k,), by seed; only seeds that have every column."""
        source = self.sources.get(published, Source())
        by_column = [source.values.get((method, column), {}) for column in columns]
        seeds = set.intersection(*(set(one) for one in by_column)) if by_column else set()
        return {seed: np.array([one[seed] for one in by_column]) for seed in sorted(seeds)}

    def outcome(self, published: str, first: str, second: str, column: str) -> str | None:
        """Which of two twins is significantly better: first, second, neither, unknown; None where untested."""
        hybrid = first if TWINS.get(first) == second else second
        better = self.sources.get(published, Source()).better.get((hybrid, column))
        sides = {"hybrid": hybrid, "parent": TWINS[hybrid]}
        return better if better not in sides else "first" if sides[better] == first else "second"


def printed_evidence() -> Evidence:
    """The paper's own numbers; what it underlines is significant."""
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
    tests: pd.DataFrame,
    results: Mapping[str, pd.DataFrame | None],
    held: Mapping[Beside, Reservation],
) -> Evidence:
    """Our rows and tests; what may not be compared with the paper (see ``reservations``) is left out.

    Of several tables that answer one printed column, the one with most methods of it counts, of equals the first
    planned. Others add what it lacks only where they have as many rows of each kind: seeds draw the same ones then, and
    methods are compared on equal terms. A test of twins counts from the first of them that made it.
    """
    sources: dict[str, Source] = {}
    outcomes = twin_outcomes(plans, tests)
    words = {"better": "hybrid", "worse": "parent", "no difference shown": "neither", "cannot tell": "unknown"}
    cells = [one for one in beside(plans) if not one.is_average]
    by_entry = _by_entry(cells, results)
    known = [(one, by_entry.get((one.table, one.entry, one.cell), {})) for one in cells if not held[one].void]
    answers = Counter((one.published, one.column, one.table) for one, found in known if found)
    known.sort(key=lambda pair: -answers[pair[0].published, pair[0].column, pair[0].table])
    drawn: dict[tuple[str, str], Drawn] = {}
    for one, found in known:
        source = sources.setdefault(one.published, Source())
        if not found:
            continue
        key, rows = (one.method, one.column), _drawn(results[one.table], one.cell)
        tested = outcomes.get((one.table, one.method, one.cell), {}).get("raw", "not run")
        counts = tested in words and key not in source.better
        if counts:
            source.better[key] = words[tested]
        is_alike = drawn.setdefault((one.published, one.column), rows) == rows
        if is_alike and key not in source.values:
            source.values[key] = found
            counts = True
        if counts:
            source.tables.add(one.table)
            source.differs_in |= {held[one].differs_in} - {""}
    _copy(sources)
    return Evidence(sources, exact=False)


def _drawn(rows: pd.DataFrame | None, cell: str) -> Drawn:
    """How many rows of each kind a cell of a table draws."""
    assert rows is not None, "it has answers"
    of_cell = rows[rows["cell"] == cell]
    return tuple(tuple(sorted(of_cell[name].dropna().unique())) for name in _SIZES if name in of_cell)


def _by_entry(
    cells: Sequence[Beside], results: Mapping[str, pd.DataFrame | None]
) -> dict[tuple[str, str, str], dict[int, float]]:
    found: dict[tuple[str, str, str], dict[int, float]] = {}
    for table, entry in dict.fromkeys((one.table, one.entry) for one in cells):
        rows = results.get(table)
        if rows is not None:
            known = scored(rows, entry)
            for cell, seed, auc in zip(known["cell"], known["seed"], known["auc"], strict=True):
                found.setdefault((table, entry, str(cell)), {})[int(seed)] = float(auc)
    return found


def _copy(sources: dict[str, Source]) -> None:
    """Printed numbers of a copied row, for the seeds that the other rows of a column have."""
    copied = numbers()
    copied = copied[copied["method"] == _COPIED]
    for name, column, value in zip(copied["published"], copied["column"], copied["value"], strict=True):
        source = sources.get(name, Source())
        seeds = {seed for (_, of), values in source.values.items() if of == column for seed in values}
        if seeds:
            source.values[_COPIED, column] = dict.fromkeys(sorted(seeds), float(value))
