"""The gain from scoring on training images: the AUC by the released scripts' protocol minus the held-out AUC."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd

from puoc.analysis.statistics.signed_rank import shift_with_interval
from puoc.analysis.tables.results import UNTESTED, scored
from puoc.store.plans import TablePlan


@dataclass(frozen=True, kw_only=True)
class ProtocolRow:
    """Both AUCs of one entry of a table."""

    table: str
    entry: str
    method: str
    n_seeds: int = 0
    n_trials: int = 0  # with both AUCs
    held_out: float | None = None  # mean AUC over these trials
    train_pool: float | None = None
    gain: float | None = None  # Hodges-Lehmann, over seeds, of the mean difference over cells
    gain_low: float | None = None  # 95 % interval; None below six seeds
    gain_high: float | None = None
    note: str = ""


def protocol_table(plan: TablePlan, rows: pd.DataFrame | None) -> list[ProtocolRow]:
    """Return one row per entry. A trial counts if it has both AUCs; a seed counts if it has both for every cell."""
    return [
        _row(ProtocolRow(table=plan.table, entry=entry.entry, method=entry.method), plan, rows)
        for entry in plan.entries
    ]


def _row(row: ProtocolRow, plan: TablePlan, rows: pd.DataFrame | None) -> ProtocolRow:
    if rows is None:
        return replace(row, note="the table was not run")
    both = scored(rows, row.entry)
    both = both[both["auc_train_pool"].notna()]
    if both.empty:
        return replace(row, note="no trial with both AUCs" if plan.tested else UNTESTED)
    by_seed = both.assign(gain=both["auc_train_pool"] - both["auc"]).pivot(index="seed", columns="cell", values="gain")
    complete = by_seed.reindex(columns=list(plan.cell_names)).dropna(axis=0, how="any")
    notes = [] if len(complete) == len(plan.seeds) else [f"{len(complete)} of {len(plan.seeds)} seeds have every cell"]
    gain, low, high = (
        shift_with_interval(complete.mean(axis=1).to_numpy(dtype=float)) if len(complete) else (None, None, None)
    )
    return replace(
        row,
        n_seeds=len(complete),
        n_trials=len(both),
        held_out=float(both["auc"].mean()),
        train_pool=float(both["auc_train_pool"].mean()),
        gain=gain,
        gain_low=low,
        gain_high=high,
        note="; ".join(notes),
    )
