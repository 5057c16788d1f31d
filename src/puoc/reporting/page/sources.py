"""Where the numbers of a table come from: draws, configurations, both AUCs, trials."""

from __future__ import annotations

from typing import Any

import pandas as pd

from puoc.analysis.tables.frames import number, present, records
from puoc.analysis.tables.plans import TablePlan

_SIZES = (
    ("n_pos_lab", "labelled positives"),
    ("n_pos_unl", "unlabelled positives"),
    ("n_neg_unl", "unlabelled negatives"),
    ("n_unl", "unlabelled rows, of classes that nobody knows"),
)
_CONFIG = ("params", "config_source", "encoder", "numerics", "prior", "prior_alpha")
_SHOWN = 4  # more values than this are shown as a range

_GAINS = ("gain", "gain_low", "gain_high")


def draw_sentence(rows: pd.DataFrame) -> str:
    """What a trial of the table is trained on: the sizes and the share of positives in U."""
    said = [f"{words}: {values}" for name, words in _SIZES if (values := _values(rows, name))]
    if alphas := _values(rows, "alpha"):
        said.append(f"share of positives in U (alpha): {alphas}")
    text = "; ".join(said)
    return text[:1].upper() + text[1:]


def config_views(plan: TablePlan, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """One row per entry: its method, twin and every configuration it was run with."""
    views = []
    for entry in plan.entries:
        of_entry = rows[rows["entry"] == entry.entry]
        view: dict[str, Any] = {"entry": entry.entry, "method": entry.method, "twin": entry.twin or ""}
        views.append(view | {name: _texts(of_entry, name) for name in _CONFIG})
    return views


def config_badge(rows: pd.DataFrame | None, entry: str) -> str:
    """``selected`` where the choice replaced the published configuration, else ``published``; empty where unknown.

    A table may ask for selected configurations and still run the published one: not tuned, or not beaten.
    """
    if rows is None or "config_source" not in rows:
        return ""
    sources = rows.loc[rows["entry"] == entry, "config_source"].dropna()
    if sources.empty:
        return ""
    return "selected" if sources.str.startswith("selected").any() else "published"


def protocol_views(summary: pd.DataFrame, protocol: pd.DataFrame) -> list[dict[str, Any]]:
    """Both AUCs of the same models, averaged over cells, and what the second gains; nothing without a training pool."""
    average = summary[summary["is_average"]]
    if not (average["n_train_pool"] > 0).any():
        return []
    gains = {row["entry"]: row for row in records(protocol)}
    return [row | {name: gains[row["entry"]][name] for name in _GAINS} for row in records(average)]


def trial_groups(anchor: str, plan: TablePlan, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Every recorded trial, grouped by entry and cell; the cells of the results table point here.

    An average points to a heading of its own, which those of all cells follow.
    """
    groups: list[dict[str, Any]] = []
    for at, entry in enumerate(plan.entries):
        if len(plan.cells) > 1 and (rows["entry"] == entry.entry).any():
            every = f"average: of the trials of all {len(plan.cells)} columns, which follow"
            groups.append({"id": f"{anchor}-e{at}", "entry": entry.entry, "cell": every, "trials": []})
        for column, cell in enumerate(plan.cells):
            trials = rows[(rows["entry"] == entry.entry) & (rows["cell"] == cell)]
            if len(trials):
                name = {"id": f"{anchor}-e{at}-c{column}", "entry": entry.entry, "cell": cell}
                groups.append(name | {"trials": [_trial(row) for row in records(trials)]})
    return groups


def _trial(row: dict[str, Any]) -> dict[str, Any]:
    kept = ("seed", "status", "reason", "auc", "fit_id", "trial_id")
    numbers = {"auc": number(row["auc"]), "auc_val_pu": number(row.get("auc_val_pu"))}
    return {name: row[name] if present(row[name]) else "" for name in kept} | numbers


def _values(rows: pd.DataFrame, name: str) -> str:
    found = sorted(rows[name].dropna().unique()) if name in rows else []
    shown = [f"{value:g}" for value in found]
    return f"{shown[0]} to {shown[-1]}" if len(shown) > _SHOWN else ", ".join(shown)


def _texts(rows: pd.DataFrame, name: str) -> str:
    if name not in rows:
        return ""
    found = sorted({f"{value:g}" if isinstance(value, float) else str(value) for value in rows[name].dropna()})
    return f"{found[0]} to {found[-1]}" if name == "prior_alpha" and len(found) > _SHOWN else "; ".join(found)
