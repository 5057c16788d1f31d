"""Means by entry and cell, each with its n and with what is missing from it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from puoc.analysis.frames import frame, present
from puoc.analysis.plans import EntryPlan, TablePlan
from puoc.analysis.results import class_averages, scored

#: Name of the column of class-averaged AUC; ``is_average`` tells it from a cell of that name.
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
    "rank": "float",  # 1 = best mean of the column; none for oracles and for means over fewer values than others have
    "n_train_pool": "int",
    **{f"{name}_train_pool": "float" for name in _STATISTICS},
    "n_planned": "int",
    "n_ok": "int",
    "n_failed": "int",
    "n_skipped": "int",
    "n_missing": "int",
    "reasons": "text",
    "state": "text",  # ok, partial, failed, skipped, not run
    "trial_ids": "text",  # JSON list of the trials behind the mean
}


def summarise(plan: TablePlan, rows: pd.DataFrame | None) -> pd.DataFrame:
    """One row per entry and column (cells, then the average); shape and order follow from the plan alone.

    Parameters
    ----------
    plan : what was asked.
    rows : as ``planned_rows`` gives them; None where the table was not run.
    """
    summary = []
    for entry in plan.entries:
        for index, cell in enumerate(plan.cells):
            summary.append(_cell_row(plan, entry, cell, index, rows))
        summary.append(_average_row(plan, entry, rows))
    table = frame(summary, SUMMARY)
    table["rank"] = _ranks(table)
    return table


def _cell_row(plan: TablePlan, entry: EntryPlan, cell: str, index: int, rows: pd.DataFrame | None) -> dict[str, Any]:
    row = _head(plan, entry) | {"cell": cell, "cell_index": index, "is_average": False, "n_planned": len(plan.seeds)}
    if rows is None:
        return (
            row | _statistics(pd.Series(dtype=float)) | _statistics(pd.Series(dtype=float), "_train_pool") | _unrun(row)
        )
    of_cell = rows[(rows["entry"] == entry.entry) & (rows["cell"] == cell)]
    held_out = scored(of_cell, entry.entry)
    row |= _statistics(held_out["auc"])
    row |= _statistics(scored(of_cell, entry.entry, "auc_train_pool")["auc_train_pool"], "_train_pool")
    row |= _outcomes(of_cell, len(plan.seeds))
    return row | {"state": _state(row), "trial_ids": json.dumps(list(held_out["trial_id"]))}


def _average_row(plan: TablePlan, entry: EntryPlan, rows: pd.DataFrame | None) -> dict[str, Any]:
    row = _head(plan, entry) | {"cell": AVERAGE, "cell_index": len(plan.cells), "is_average": True}
    row["n_planned"] = len(plan.seeds)
    if rows is None:
        return (
            row | _statistics(pd.Series(dtype=float)) | _statistics(pd.Series(dtype=float), "_train_pool") | _unrun(row)
        )
    of_entry = rows[rows["entry"] == entry.entry]
    held_out = class_averages(rows, plan, entry.entry)
    row |= _statistics(held_out)
    row |= _statistics(class_averages(rows, plan, entry.entry, "auc_train_pool"), "_train_pool")
    row |= _outcomes(of_entry, len(plan.seeds) * len(plan.cells))
    if row["n"] < len(plan.seeds) and row["n_ok"]:
        holes = f"{row['n']} of {len(plan.seeds)} seeds have every cell"
        row["reasons"] = "; ".join(part for part in (holes, row["reasons"]) if part)
    behind = scored(of_entry, entry.entry)
    behind = behind[behind["seed"].isin(held_out.index)]
    return row | {"state": _state(row), "trial_ids": json.dumps(list(behind["trial_id"]))}


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
        "configs": entry.configs,
    }


def _unrun(row: dict[str, Any]) -> dict[str, Any]:
    cells = row["cell_index"] if row["is_average"] else 1
    counts = {"n_ok": 0, "n_failed": 0, "n_skipped": 0, "n_missing": row["n_planned"] * cells}
    return counts | {"reasons": "the table was not run", "state": "not run", "trial_ids": "[]"}


def _statistics(values: pd.Series[float], suffix: str = "") -> dict[str, Any]:
    found = np.asarray(values, dtype=float)
    n = len(found)
    return {
        f"n{suffix}": n,
        f"mean{suffix}": float(found.mean()) if n else None,
        f"std{suffix}": float(found.std(ddof=1)) if n > 1 else None,
        f"min{suffix}": float(found.min()) if n else None,
        f"max{suffix}": float(found.max()) if n else None,
    }


def _outcomes(rows: pd.DataFrame, n_planned: int) -> dict[str, Any]:
    """Counts by status, a planned trial without a row being missing, and the reasons in words."""
    counts = {status: int((rows["status"] == status).sum()) for status in ("ok", "failed", "skipped")}
    unscored = int(((rows["status"] == "ok") & rows["auc"].isna()).sum())
    said = [f"{unscored} ok without an AUC"] if unscored else []
    for status in ("failed", "skipped", "missing"):
        reasons = [str(text) for text in rows.loc[rows["status"] == status, "reason"] if present(text)]
        said += [f"{reasons.count(text)} {status}: {text}" for text in sorted(set(reasons))]
    n_missing = n_planned - sum(counts.values())
    return {f"n_{status}": count for status, count in counts.items()} | {
        "n_missing": n_missing,
        "reasons": "; ".join(said),
    }


def _state(row: dict[str, Any]) -> str:
    if row["n"]:
        return "ok" if row["n"] == row["n_planned"] else "partial"
    if row["n_failed"] or row["n_ok"]:
        return "partial" if row["is_average"] and row["n_ok"] else "failed"
    if row["n_skipped"] and not row["n_missing"]:
        return "skipped"
    return "partial" if row["is_average"] and row["n_skipped"] else "not run"


def _ranks(table: pd.DataFrame) -> pd.Series[float]:
    """Rank within a column by mean, ties sharing the better one; only entries with as many values as the fullest."""
    honest = table[(table["labels"] != "oracle") & (table["n"] > 0)]
    fullest = honest.groupby("cell_index")["n"].transform("max")
    compared = honest[honest["n"] == fullest]
    ranks = (
        compared.assign(mean=compared["mean"].round(10))
        .groupby("cell_index")["mean"]
        .rank(ascending=False, method="min")
    )
    return ranks.reindex(table.index)
