"""The gain from scoring on training images: the AUC by the released scripts' protocol minus the held-out AUC."""

from __future__ import annotations

from typing import Any

import pandas as pd

from puoc.analysis.statistics.signed_rank import shift_with_interval
from puoc.analysis.tables.frames import frame
from puoc.analysis.tables.results import UNTESTED, scored
from puoc.store.plans import TablePlan

PROTOCOL = {
    "table": "text",
    "entry": "text",
    "method": "text",
    "n_seeds": "int",
    "n_trials": "int",  # with both AUCs
    "held_out": "float",  # mean AUC over these trials
    "train_pool": "float",
    "gain": "float",  # Hodges-Lehmann, over seeds, of the mean difference over cells
    "gain_low": "float",  # 95 % interval; null below six seeds
    "gain_high": "float",
    "note": "text",
}


def protocol_table(plan: TablePlan, rows: pd.DataFrame | None) -> pd.DataFrame:
    """Return one row per entry. A trial counts if it has both AUCs; a seed counts if it has both for every cell."""
    table = [_row(plan, entry.entry, entry.method, rows) for entry in plan.entries]
    return frame(table, PROTOCOL)


def _row(plan: TablePlan, entry: str, method: str, rows: pd.DataFrame | None) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(PROTOCOL) | {"table": plan.table, "entry": entry, "method": method}
    row |= {"n_seeds": 0, "n_trials": 0}
    if rows is None:
        return row | {"note": "the table was not run"}
    both = scored(rows, entry)
    both = both[both["auc_train_pool"].notna()]
    if both.empty:
        return row | {"note": "no trial with both AUCs" if plan.tested else UNTESTED}
    by_seed = both.assign(gain=both["auc_train_pool"] - both["auc"]).pivot(index="seed", columns="cell", values="gain")
    complete = by_seed.reindex(columns=list(plan.cell_names)).dropna(axis=0, how="any")
    notes = [] if len(complete) == len(plan.seeds) else [f"{len(complete)} of {len(plan.seeds)} seeds have every cell"]
    row |= {"n_seeds": len(complete), "n_trials": len(both)}
    row |= {"held_out": float(both["auc"].mean()), "train_pool": float(both["auc_train_pool"].mean())}
    if len(complete):
        shift, low, high = shift_with_interval(complete.mean(axis=1).to_numpy(dtype=float))
        row |= {"gain": shift, "gain_low": low, "gain_high": high}
    return row | {"note": "; ".join(notes)}
