"""The metrics of the results on the page: a table of means for each table, and where the best entry changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import fmean

import pandas as pd

from puoc.analysis.metrics import DEFAULT, metrics
from puoc.analysis.tables.frames import frame, replace_file
from puoc.analysis.tables.metric_tables import MetricRow, WinnerRow
from puoc.store.plans import TablePlan

#: Files beside the page, with the type of their rows.
FILES = {"metrics.csv": MetricRow, "metric_winners.csv": WinnerRow}


@dataclass(frozen=True)
class MetricTable:
    """Means over the cells by entry and metric; None where a trial lacks the metric."""

    heads: list[tuple[str, str]]  # names of metrics, and what they are
    rows: list[tuple[str, list[float | None]]]  # by entry


@dataclass(frozen=True)
class ChangeView:
    """A cell in which at least one metric has another best entry than the AUC."""

    table: str
    cell: str
    by_auc: str
    by_metric: list[str | None]  # in the order of the heads; None: the metric agrees with the AUC or is not compared


@dataclass(frozen=True)
class ChangesView:
    """Where the best entry changes with the metric."""

    heads: list[tuple[str, str]]
    rows: list[ChangeView]
    n_cells: int  # compared by at least one metric besides the AUC
    counts: list[tuple[str, int, int]]  # by metric: cells with another best entry, and cells compared


def label_of(metric: str) -> str:
    """Return the name of a metric in the captions of the page."""
    return "AUC" if metric == DEFAULT else metric


def metric_table(plan: TablePlan, rows: Sequence[MetricRow]) -> MetricTable | None:
    """Return the means of a table by entry, averaged over its cells; None without another metric than the AUCs."""
    names = _ordered({row.metric for row in rows})
    if not set(names) - {DEFAULT, "auc_val_pu"}:
        return None
    values = {(row.entry, row.metric, row.cell): row.mean for row in rows if row.n == row.n_ok}

    def mean(entry: str, name: str) -> float | None:
        found = [values.get((entry, name, cell)) for cell in plan.cell_names]
        known = [value for value in found if value is not None]
        return fmean(known) if known and len(known) == len(found) else None

    entries = [entry.entry for entry in plan.entries if any(row.entry == entry.entry for row in rows)]
    return MetricTable(_heads(names), [(plan.label(entry), [mean(entry, name) for name in names]) for entry in entries])


def changes_view(winners: Sequence[WinnerRow]) -> ChangesView | None:
    """Return where another metric has another best entry; None if no cell has a second metric."""
    compared = [row for row in winners if row.best is not None]
    if not compared:
        return None
    names = _ordered({row.metric for row in compared})
    cells = {(row.table, row.cell_index): row for row in compared}
    changed = {(row.table, row.cell_index, row.metric): row.best for row in compared if row.changes}
    rows = [
        ChangeView(row.table, row.cell, row.best_by_auc, [changed.get((*key, name)) for name in names])
        for key, row in cells.items()
        if any((*key, name) in changed for name in names)
    ]
    counts = [
        (name, sum(key[2] == name for key in changed), sum(row.metric == name for row in compared)) for name in names
    ]
    return ChangesView(_heads(names), rows, len(cells), counts)


def write_csv(folder: Path, rows: Sequence[MetricRow], winners: Sequence[WinnerRow]) -> None:
    """Write all means and all best entries as CSV files beside the page."""
    for name, table in (("metrics.csv", frame(rows, MetricRow)), ("metric_winners.csv", frame(winners, WinnerRow))):
        columns = [field.name for field in fields(FILES[name])]
        replace_file(folder / name, pd.DataFrame(table, columns=columns).to_csv(index=False).encode())


def _ordered(names: set[str]) -> list[str]:
    return [name for name in metrics() if name in names]


def _heads(names: Sequence[str]) -> list[tuple[str, str]]:
    known = metrics()
    return [(name, known[name].said) for name in names]
