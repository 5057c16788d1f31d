"""The rows of a table as recorded, checked before anything is computed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from puoc.store.checked_parquet import FROM_LEDGER, read_frame
from puoc.store.counting import counted
from puoc.store.plans import TablePlan

#: Why a table of user data has no AUC and nothing that is computed from one.
UNTESTED = "no labelled test rows"
#: All statuses that a planned trial may have; ``missing`` means that a run stopped before it.
STATUSES = ("ok", "failed", "skipped", "missing")
_KEY = ["entry", "cell", "seed"]
_NEEDED = [*_KEY, "status", "reason", "attempts", "auc", "auc_train_pool", "fit_id", "trial_id"]
_NEEDED += ["device", "torch_version", "numerics"]
_AUCS = ("auc", "auc_train_pool")

Trials = Mapping[str, frozenset[str]]  # ids by table, and by tune/ENTRY of a planned sweep


def read_results(root: Path, plan: TablePlan, planned_trials: Trials | None = None) -> pd.DataFrame | None:
    """Return the recorded rows of one table, or None if it was not run; see ``planned_rows``.

    Parameters
    ----------
    planned_trials : ids of the planned trials, by table. Rows of other trials belong to an earlier plan, perhaps on
        another dataset, and are left out. All rows are returned for a table that it lacks, or if it is None.
    """
    path = root / "results" / "tables" / f"{plan.table}.parquet"
    rows = planned_rows(read_frame(path, _NEEDED), plan, str(path)) if path.is_file() else None
    return present_rows(rows, plan, planned_trials)


def present_rows(rows: pd.DataFrame | None, plan: TablePlan, planned_trials: Trials | None) -> pd.DataFrame | None:
    """Return the rows of trials that the current plan contains; None if there are none."""
    if rows is None or rows.empty:  # the file has only rows of other entries, cells or seeds
        return None
    if planned_trials is None or plan.table not in planned_trials:
        return rows
    present = rows[rows["trial_id"].isin(planned_trials[plan.table])].reset_index(drop=True)
    return None if present.empty else present


def present_sweep(
    val: pd.DataFrame, test: pd.DataFrame, tune: str, planned_trials: Trials | None
) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """Return the validation and test rows of trials that the current plan of a sweep contains, and a note.

    The note counts rows of an earlier plan and planned trials without a row. It is empty if the rows are those of the
    plan, or if ``planned_trials`` does not contain this sweep.
    """
    ids = (planned_trials or {}).get(f"tune/{tune}")
    if ids is None:
        return val, test, ""
    present, tested = (rows[rows["trial_id"].isin(ids)].reset_index(drop=True) for rows in (val, test))
    lacking, earlier = len(ids.difference(present["trial_id"])), earlier_words(len(val) - len(present))
    hole = "not run" if present.empty else f"{lacking} of {counted(len(ids), 'trial')} not run" if lacking else ""
    return present, tested, "; ".join(filter(None, (hole, earlier)))


def earlier_words(n: int) -> str:
    """Return a note about n rows that the plan no longer contains; empty for none."""
    if not n:
        return ""
    belong, are = ("belongs", "is") if n == 1 else ("belong", "are")
    note = f"{counted(n, 'row')} in results/ {belong} to an earlier plan and {are} not shown"
    return f"{note}; dvc repro computes the current plan"


def planned_rows(rows: pd.DataFrame, plan: TablePlan, source: str) -> pd.DataFrame:
    """Return the planned rows, at most one per (entry, cell, seed), in the order of the plan.

    Raises
    ------
    ValueError : a column is missing or contains text instead of numbers, a status is unknown, an AUC is outside
        [0, 1], or two rows have the same (entry, cell, seed).
    """
    _check(rows, source)
    rows = rows.assign(entry=rows["entry"].astype(str), cell=rows["cell"].astype(str))
    order: dict[str, Sequence[object]] = {
        "entry": [entry.entry for entry in plan.entries],
        "cell": list(plan.cell_names),
        "seed": list(plan.seeds),
    }
    is_planned = pd.DataFrame({key: rows[key].isin(names) for key, names in order.items()}).all(axis=1)
    kept = rows[is_planned].reset_index(drop=True)
    twice = kept[kept.duplicated(_KEY, keep=False)]
    if len(twice):
        first = {key: twice.iloc[0][key] for key in _KEY}
        raise ValueError(f"{source}: {len(twice)} rows share a key, each key once expected; the first is {first}")
    place = {key: kept[key].map({name: n for n, name in enumerate(names)}) for key, names in order.items()}
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


def scored(rows: pd.DataFrame, entry: str | None = None, column: str = "auc") -> pd.DataFrame:
    """Return the rows with status ok and this AUC, of one entry or of all. Means are taken over these rows only."""
    of_entry = rows if entry is None else rows[rows["entry"] == entry]
    return of_entry[(of_entry["status"] == "ok") & of_entry[column].notna()]
