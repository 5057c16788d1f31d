"""The rows of a table as recorded, checked before anything is computed from them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from puoc.analysis.tables.plans import TablePlan
from puoc.store.checked_parquet import FROM_LEDGER, read_frame
from puoc.store.counting import counted

#: Every answer a planned trial may have; ``missing`` says that a run stopped before it.
STATUSES = ("ok", "failed", "skipped", "missing")
_KEY = ["entry", "cell", "seed"]
_NEEDED = [*_KEY, "status", "reason", "attempts", "auc", "auc_train_pool", "fit_id", "trial_id"]
_NEEDED += ["device", "torch_version", "numerics"]
_AUCS = ("auc", "auc_train_pool")

Trials = Mapping[str, frozenset[str]]  # ids by table, and by tune/ENTRY of a planned sweep


def read_results(root: Path, plan: TablePlan, asked: Trials | None = None) -> pd.DataFrame | None:
    """The recorded rows of one table, None where it was not run; see ``planned_rows``.

    Parameters
    ----------
    asked : of each table the trials that the plan asks. Rows of others answer an earlier question, on another dataset
        maybe, and are left out. Of a table that it lacks, and without it, all rows are taken.
    """
    path = root / "results" / "tables" / f"{plan.table}.parquet"
    rows = planned_rows(read_frame(path, _NEEDED), plan, str(path)) if path.is_file() else None
    return present_rows(rows, plan, asked)


def present_rows(rows: pd.DataFrame | None, plan: TablePlan, asked: Trials | None) -> pd.DataFrame | None:
    """The rows that answer the present question; None where there are none."""
    if rows is None or rows.empty:  # of other entries, cells or seeds only
        return None
    if asked is None or plan.table not in asked:
        return rows
    present = rows[rows["trial_id"].isin(asked[plan.table])].reset_index(drop=True)
    return None if present.empty else present


def present_sweep(
    val: pd.DataFrame, test: pd.DataFrame, tune: str, asked: Trials | None
) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """Validation and test rows that answer the present question of a planned sweep.

    With them what is to be said of rows that do not, and of trials that have no row; empty where the rows are those
    that the plan asks, or ``asked`` has nothing of this sweep.
    """
    ids = (asked or {}).get(f"tune/{tune}")
    if ids is None:
        return val, test, ""
    present, tested = (rows[rows["trial_id"].isin(ids)].reset_index(drop=True) for rows in (val, test))
    lacking, earlier = len(ids.difference(present["trial_id"])), earlier_words(len(val) - len(present))
    hole = "not run" if present.empty else f"{lacking} of {counted(len(ids), 'trial')} not run" if lacking else ""
    return present, tested, "; ".join(filter(None, (hole, earlier)))


def earlier_words(n: int) -> str:
    """What is said of so many rows that the plan asks no more; nothing of none."""
    if not n:
        return ""
    answers, are = ("answers", "is") if n == 1 else ("answer", "are")
    told = f"{counted(n, 'row')} in results/ {answers} an earlier question and {are} not shown"
    return f"{told}; dvc repro answers the present one"


def planned_rows(rows: pd.DataFrame, plan: TablePlan, source: str) -> pd.DataFrame:
    """The rows the plan asks for, one per (entry, cell, seed) at most, in the plan's order.

    Raises
    ------
    ValueError : a column is missing or holds text for numbers, a status is unknown, an AUC lies outside [0, 1], or two
        rows answer the same (entry, cell, seed).
    """
    _check(rows, source)
    rows = rows.assign(entry=rows["entry"].astype(str), cell=rows["cell"].astype(str))
    order: dict[str, list[Any]] = {
        "entry": [entry.entry for entry in plan.entries],
        "cell": list(plan.cells),
        "seed": list(plan.seeds),
    }
    asked = pd.DataFrame({key: rows[key].isin(names) for key, names in order.items()}).all(axis=1)
    kept = rows[asked].reset_index(drop=True)
    twice = kept[kept.duplicated(_KEY, keep=False)]
    if len(twice):
        first = {key: twice.iloc[0][key] for key in _KEY}
        raise ValueError(f"{source}: {len(twice)} rows share a key, each key once expected; the first is {first}")
    place = {key: kept[key].map({name: at for at, name in enumerate(names)}) for key, names in order.items()}
    return kept.loc[pd.DataFrame(place).sort_values(_KEY, kind="stable").index].reset_index(drop=True)


def _check(rows: pd.DataFrame, source: str) -> None:
    lacking = [name for name in _NEEDED if name not in rows.columns]
    if lacking:
        raise ValueError(f"{source}: no column {', '.join(lacking)}; {FROM_LEDGER}")
    unknown = sorted({str(status) for status in rows["status"]} - set(STATUSES))
    if unknown:
        raise ValueError(f"{source}: status {unknown[0]!r} is unknown, one of {', '.join(STATUSES)} expected")
    for name in _AUCS:
        if rows[name].isna().all():
            continue
        if not pd.api.types.is_numeric_dtype(rows[name]):
            raise ValueError(f"{source}: column {name} holds {rows[name].dtype}, numbers expected")
        outside = rows[name].notna() & ~rows[name].between(0, 1)
        if outside.any():
            raise ValueError(f"{source}: {name} is {rows.loc[outside, name].iloc[0]}, a number in [0, 1] expected")


def scored(rows: pd.DataFrame, entry: str, column: str = "auc") -> pd.DataFrame:
    """The rows of an entry that came out well and carry this AUC: the only ones a mean may be taken over."""
    return rows[(rows["entry"] == entry) & (rows["status"] == "ok") & rows[column].notna()]


def class_averages(rows: pd.DataFrame, plan: TablePlan, entry: str, column: str = "auc") -> pd.Series[float]:
    """AUC averaged over the cells, by seed; only seeds that have every cell, so that all average the same cells."""
    grid = scored(rows, entry, column).pivot(index="seed", columns="cell", values=column)
    complete = grid.reindex(columns=list(plan.cells)).dropna(axis=0, how="any").astype(float)
    return complete.mean(axis=1)
