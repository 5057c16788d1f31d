"""Means by entry and cell, each with its n and with the trials that are missing from it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from puoc.analysis.tables.frames import frame
from puoc.analysis.tables.grid import Floats, Grid
from puoc.store.plans import EntryPlan, TablePlan

#: Name of the column of class-averaged AUC; ``is_average`` distinguishes it from a cell with that name.
AVERAGE = "average"

_STATISTICS = ("mean", "std", "min", "max")

SUMMARY = {
    "table": "text",
    "scenario": "text",
    "dataset": "text",
    "entry": "text",
    "method": "text",
    "kind": "text",
    "twin": "text",
    "labels": "text",
    "configs": "text",
    "cell": "text",
    "cell_index": "int",
    "is_average": "bool",
    "n": "int",  # values behind the mean: rows of a cell, complete seeds of the average
    **dict.fromkeys(_STATISTICS, "float"),  # of auc; std with ddof 1
    "rank": "float",  # 1 = best mean of the column; null for oracles and for means over fewer values than others have
    "n_train_pool": "int",
    **{f"{name}_train_pool": "float" for name in _STATISTICS},
    "n_val_pu": "int",  # of auc_val_pu, in tables that withhold rows of P and U
    **{f"{name}_val_pu": "float" for name in _STATISTICS},
    "n_planned": "int",
    "n_ok": "int",
    "n_failed": "int",
    "n_skipped": "int",
    "n_missing": "int",
    "reasons": "text",
    "state": "text",  # ok, partial, failed, skipped, not run; untested: no labelled test rows, auc_val_pu alone
    "trial_ids": "text",  # JSON list of the trials behind the mean
}


def summarise(plan: TablePlan, rows: pd.DataFrame | None) -> pd.DataFrame:
    """Return one row per entry and column (cells, then the average). The plan alone determines shape and order.

    Parameters
    ----------
    plan : the plan of the table.
    rows : as returned by ``planned_rows``; None if the table was not run.
    """
    grid = None if rows is None else Grid.from_rows(plan, rows)
    summary = []
    for position, entry in enumerate(plan.entries):
        head = _head(plan, entry)
        for index, cell in enumerate(plan.cell_names):
            column = {"cell": cell, "cell_index": index, "is_average": False, "n_planned": len(plan.seeds)}
            summary.append(_unrun(head | column) if grid is None else _cell_row(head | column, grid, position, index))
        column = {"cell": AVERAGE, "cell_index": len(plan.cells), "is_average": True, "n_planned": len(plan.seeds)}
        summary.append(_unrun(head | column) if grid is None else _average_row(head | column, grid, position))
    table = frame(summary, SUMMARY)
    table["rank"] = _ranks(table)
    return table


def _cell_row(row: dict[str, Any], grid: Grid, entry: int, cell: int) -> dict[str, Any]:
    held_out = grid.auc[entry, cell]
    row |= _statistics(held_out) | _statistics(grid.auc_train_pool[entry, cell], "_train_pool")
    row |= _statistics(grid.auc_val_pu[entry, cell], "_val_pu") | grid.outcomes(entry, cell)
    behind = grid.trials(entry, cell, ~np.isnan(grid.main_score[entry, cell]))
    return row | {"state": _state(row, grid.plan.tested), "trial_ids": json.dumps(behind)}


def _average_row(row: dict[str, Any], grid: Grid, entry: int) -> dict[str, Any]:
    held_out = grid.averages(entry)
    row |= _statistics(held_out) | _statistics(grid.averages(entry, "auc_train_pool"), "_train_pool")
    row |= _statistics(grid.averages(entry, "auc_val_pu"), "_val_pu") | grid.outcomes(entry, None)
    n_seeds = len(grid.plan.seeds)
    if grid.plan.tested and row["n"] < n_seeds and row["n_ok"]:
        holes = f"{row['n']} of {n_seeds} seeds have every cell"
        row["reasons"] = "; ".join(part for part in (holes, row["reasons"]) if part)
    behind = grid.trials(entry, None, ~np.isnan(grid.averages(entry, "auc" if grid.plan.tested else "auc_val_pu")))
    return row | {"state": _state(row, grid.plan.tested), "trial_ids": json.dumps(behind)}


def _head(plan: TablePlan, entry: EntryPlan) -> dict[str, Any]:
    return {
        "table": plan.table,
        "scenario": plan.scenario,
        "dataset": plan.dataset,
        "entry": entry.entry,
        "method": entry.method,
        "kind": entry.kind,
        "twin": entry.twin,
        "labels": entry.labels,
        "configs": plan.configs,
    }


def _unrun(row: dict[str, Any]) -> dict[str, Any]:
    no_values = np.empty(0)
    row |= _statistics(no_values) | _statistics(no_values, "_train_pool") | _statistics(no_values, "_val_pu")
    cells = row["cell_index"] if row["is_average"] else 1
    counts = {"n_ok": 0, "n_failed": 0, "n_skipped": 0, "n_missing": row["n_planned"] * cells}
    return row | counts | {"reasons": "the table was not run", "state": "not run", "trial_ids": "[]"}


def _statistics(values: Floats, suffix: str = "") -> dict[str, Any]:
    """Compute n, mean, standard deviation and range of the values that are not NaN."""
    known = values[~np.isnan(values)]
    n = len(known)
    return {
        f"n{suffix}": n,
        f"mean{suffix}": float(known.mean()) if n else None,
        f"std{suffix}": float(known.std(ddof=1)) if n > 1 else None,
        f"min{suffix}": float(known.min()) if n else None,
        f"max{suffix}": float(known.max()) if n else None,
    }


def _state(row: dict[str, Any], tested: bool) -> str:
    if not tested and row["n_val_pu"]:
        return "untested"
    if row["n"]:
        return "ok" if row["n"] == row["n_planned"] else "partial"
    if row["n_failed"] or row["n_ok"]:
        return "partial" if row["is_average"] and row["n_ok"] else "failed"
    if row["n_skipped"] and not row["n_missing"]:
        return "skipped"
    return "partial" if row["is_average"] and row["n_skipped"] else "not run"


def _ranks(table: pd.DataFrame) -> pd.Series[float]:
    """Rank entries within a column by mean; ties share the better rank.

    Only entries with as many values as the entry that has the most are ranked.
    """
    honest = table[(table["labels"] != "oracle") & (table["n"] > 0)]
    most_values = honest.groupby("cell_index")["n"].transform("max")
    compared = honest[honest["n"] == most_values]
    ranks = (
        compared.assign(mean=compared["mean"].round(10))
        .groupby("cell_index")["mean"]
        .rank(ascending=False, method="min")
    )
    return ranks.reindex(table.index)
