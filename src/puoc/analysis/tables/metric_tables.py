"""Every metric by entry and cell, and the cells in which another metric has another best entry."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from puoc.analysis.metrics import DEFAULT, metrics
from puoc.analysis.tables.summary import statistics
from puoc.store.plans import TablePlan

_DIGITS = 10  # of a mean, so that the order of rows makes no difference


@dataclass(frozen=True, kw_only=True)
class MetricRow:
    """One metric of one entry in one cell, over seeds."""

    table: str
    entry: str
    kind: str
    labels: str
    cell: str
    cell_index: int
    metric: str
    n: int  # values behind the mean
    n_ok: int  # trials with a result; the scores or curves of some may not determine the metric
    mean: float | None
    std: float | None  # ddof 1


@dataclass(frozen=True, kw_only=True)
class WinnerRow:
    """The best entry of one cell by one metric, beside the best one by the AUC."""

    table: str
    cell: str
    cell_index: int
    metric: str
    best: str | None  # entries with the highest mean, equal ones separated by commas; None: not comparable
    best_mean: float | None
    best_by_auc: str
    mean_of_best_by_auc: float | None  # by this metric
    changes: bool  # no entry is best by both
    note: str


def as_metric(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return rows with the values of a metric in the column ``auc``, from which all comparisons are computed.

    The AUC on the training pool has no counterpart, so it is empty. The rows themselves are returned for the AUC.
    """
    if name == DEFAULT:
        return rows
    values = _values(rows)
    viewed = rows.assign(auc=values.get(name, np.nan))
    return viewed.assign(auc_train_pool=np.nan) if "auc_train_pool" in rows else viewed


def metric_rows(plan: TablePlan, rows: pd.DataFrame | None) -> list[MetricRow]:
    """Return one row per entry, cell and metric that at least one trial of the table has."""
    if rows is None:
        return []
    ok_rows = rows[rows["status"] == "ok"]
    values = _values(ok_rows)
    named = [name for name in metrics() if name in values and values[name].notna().any()]
    found = []
    for entry in plan.entries:
        for index, cell in enumerate(plan.cell_names):
            here = values[(ok_rows["entry"] == entry.entry) & (ok_rows["cell"] == cell)]
            for name in named if len(here) else []:
                over_seeds = statistics(here[name].to_numpy(dtype=np.float64))
                row = MetricRow(
                    table=plan.table,
                    entry=entry.entry,
                    kind=entry.kind,
                    labels=entry.labels,
                    cell=cell,
                    cell_index=index,
                    metric=name,
                    n=over_seeds.n,
                    n_ok=len(here),
                    mean=over_seeds.mean,
                    std=over_seeds.std,
                )
                found.append(row)
    return found


def winners(rows: Sequence[MetricRow]) -> list[WinnerRow]:
    """Return one row per cell and metric that methods may be compared by.

    The entries of a cell are those with as many AUCs as the entry that has the most, without references. A metric is
    compared only if each of them has it for each of these trials.
    """
    compared = [name for name, one in metrics().items() if one.compares and name != DEFAULT]
    found = []
    for of_cell in _by_cell(rows):
        aucs = {row.entry: row for row in of_cell if row.metric == DEFAULT and row.mean is not None}
        most = max((row.n for row in aucs.values()), default=0)
        aucs = {entry: row for entry, row in aucs.items() if row.n == most}
        if len(aucs) < 2:
            continue
        best_by_auc = _best({entry: row.mean for entry, row in aucs.items()})
        for name in compared:
            known = {row.entry: row.mean for row in of_cell if row.metric == name and row.n == most}
            known = {entry: mean for entry, mean in known.items() if entry in aucs}
            whole = len(known) == len(aucs)
            best = _best(known) if whole else []
            found.append(
                WinnerRow(
                    table=of_cell[0].table,
                    cell=of_cell[0].cell,
                    cell_index=of_cell[0].cell_index,
                    metric=name,
                    best=", ".join(best) or None,
                    best_mean=known[best[0]] if best else None,
                    best_by_auc=", ".join(best_by_auc),
                    mean_of_best_by_auc=known.get(best_by_auc[0]) if whole else None,
                    changes=bool(best) and not set(best) & set(best_by_auc),
                    note="" if whole else f"{len(known)} of {len(aucs)} entries have it in all of their trials",
                )
            )
    return found


def _by_cell(rows: Sequence[MetricRow]) -> Iterator[list[MetricRow]]:
    cells: dict[tuple[str, int], list[MetricRow]] = {}
    for row in rows:
        if row.labels != "oracle":
            cells.setdefault((row.table, row.cell_index), []).append(row)
    return iter(cells.values())


def _best(means: dict[str, float | None]) -> list[str]:
    rounded = {entry: round(mean, _DIGITS) for entry, mean in means.items() if mean is not None}
    return sorted(entry for entry, mean in rounded.items() if mean == max(rounded.values()))


def _values(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the metrics of rows as columns. Rows of an earlier version have the AUCs alone."""
    parts = []
    for column, name in (("metrics", "auc"), ("metrics_val_pu", "auc_val_pu")):
        texts = rows[column] if column in rows else pd.Series([None] * len(rows), index=rows.index, dtype=object)
        read = [json.loads(text) if isinstance(text, str) else {} for text in texts]
        frame = pd.DataFrame(read, index=rows.index)
        if name in rows:
            frame[name] = rows[name]
        parts.append(frame)
    return pd.concat(parts, axis=1).astype(float)
