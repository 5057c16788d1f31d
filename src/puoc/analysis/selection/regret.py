"""The regret of choosing a configuration without test labels: published, selected and best-on-test compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from puoc.analysis.tables.frames import frame, number, present
from puoc.analysis.tables.results import Trials, present_sweep
from puoc.store.checked_parquet import read_frame
from puoc.store.plan_files import read_configs, sweep_names
from puoc.store.plans import Config, EntryPlan, TablePlan

_CHOICES = ("published", "selected", "oracle")
_OF_CHOICE = {
    "config_id": "text",
    "params": "text",  # JSON
    "n": "int",  # tuning rows with a test AUC
    "test_mean": "float",
    "test_se": "float",  # over seeds
    "val_mean": "float",  # AUC of withheld labelled positives against withheld unlabelled rows
    "val_se": "float",
}

CHOICE = {
    "table": "text",  # the table that uses the choice; null if none does
    "tune": "text",
    "entry": "text",
    "method": "text",
    "source": "text",  # where the selected values come from, as written by the stage select
    "n_configs": "int",
    "n_comparable": "int",  # configurations with the largest number of test rows; the oracle chooses among these
    **{f"{choice}_{name}": kind for choice in _CHOICES for name, kind in _OF_CHOICE.items()},
    "regret": "float",  # oracle - selected, in test AUC
    "regret_se": "float",  # over seeds, of the paired difference
    "gain": "float",  # selected - published
    "gain_se": "float",
    "note": "text",
}

_KEY = ["entry", "config_id", "cell", "seed"]
#: Required columns of validation rows and of test rows.
_NEEDED = ([*_KEY, "trial_id", "method", "params", "is_published", "auc_val_pu"], [*_KEY, "trial_id", "auc"])


def choices(root: Path, plans: list[TablePlan], planned_trials: Trials | None = None) -> pd.DataFrame:
    """Return one row per planned sweep and table that uses its choice.

    The oracle choice uses test labels and serves only for this comparison.

    Parameters
    ----------
    planned_trials : see ``puoc.analysis.selection.surface.sweeps``.

    Raises
    ------
    ValueError : a results file of a sweep lacks a column, or a configuration has two rows for one (cell, seed).
    """
    used = _selected_configs(root, plans)
    rows = []
    for tune in sweep_names(root):
        paths = [root / "results" / "tune" / part / f"{tune}.parquet" for part in ("val", "test")]
        if not all(path.is_file() for path in paths):
            rows.append({"tune": tune, "entry": tune, "note": "not run"})
            continue
        val, test = (read_frame(*both) for both in zip(paths, _NEEDED, strict=True))
        _check(val, test, paths)
        val, test, plan_note = present_sweep(val, test, tune, planned_trials)
        if val.empty:
            rows.append({"tune": tune, "entry": tune, "note": plan_note or "not run"})
        for entry in sorted(val["entry"].unique()):
            of_entry = val[val["entry"] == entry], test[test["entry"] == entry]
            rows += [_with_note(row, plan_note) for row in _entry_rows(tune, entry, of_entry, used)]
    return frame([_with_all_columns(row) for row in rows], CHOICE)


def _with_note(row: dict[str, Any], plan_note: str) -> dict[str, Any]:
    return row | {"note": "; ".join(filter(None, (plan_note, row["note"])))}


def _with_all_columns(row: dict[str, Any]) -> dict[str, Any]:
    counts = {name: 0 for name, kind in CHOICE.items() if kind == "int"}
    return {name: row.get(name, counts.get(name)) for name in CHOICE}


def _selected_configs(root: Path, plans: list[TablePlan]) -> list[tuple[TablePlan, EntryPlan, Config]]:
    selected = []
    for plan in plans:
        path = root / "work" / "configs" / "selected" / f"{plan.table}.json"
        if path.is_file():
            values = read_configs(path)
            selected += [(plan, entry, values[entry.entry]) for entry in plan.entries if entry.entry in values]
    return selected


def _check(val: pd.DataFrame, test: pd.DataFrame, paths: list[Path]) -> None:
    for table, path in zip((val, test), paths, strict=True):
        if table.duplicated(_KEY).any():
            raise ValueError(f"{path}: two rows for one entry, configuration, cell and seed, expected one")


def _entry_rows(
    tune: str,
    entry: str,
    tuned: tuple[pd.DataFrame, pd.DataFrame],
    used: list[tuple[TablePlan, EntryPlan, Config]],
) -> list[dict[str, Any]]:
    """Return one row per table that uses the choice of this entry, or one row without a table."""
    method = str(tuned[0]["method"].iloc[0])
    users = [use for use in used if use[1].entry == entry]
    if not users:
        return [{"tune": tune, "entry": entry, "method": method} | _side_by_side(tuned, None)]
    return [
        {"table": plan.table, "tune": tune, "entry": row.entry, "method": method, "source": chosen.source}
        | _side_by_side(tuned, chosen)
        for plan, row, chosen in users
    ]


def _side_by_side(tuned: tuple[pd.DataFrame, pd.DataFrame], chosen: Config | None) -> dict[str, Any]:
    val, test = tuned[0], tuned[1][tuned[1]["auc"].notna()]
    published = sorted(val.loc[val["is_published"].astype(bool), "config_id"].unique())
    picked: dict[str, str | None] = dict.fromkeys(_CHOICES)
    picked["published"] = published[0] if published else None
    notes = [] if published else ["the published configuration was not tuned"]
    if chosen is None:
        notes.append("no table uses a selected configuration")
    else:
        picked["selected"] = chosen.config_id or picked["published"]
    counts = test.groupby("config_id").size()
    comparable = sorted(counts.index[counts == counts.max()]) if len(counts) else []
    means = test[test["config_id"].isin(comparable)].groupby("config_id")["auc"].mean()
    picked["oracle"] = str(means.index[int(np.argmax(means.to_numpy()))]) if len(means) else None
    row: dict[str, Any] = {"n_configs": int(val["config_id"].nunique()), "n_comparable": len(comparable)}
    for choice, config in picked.items():
        row |= {f"{choice}_{name}": value for name, value in _of_config(val, test, config).items()}
        if config is not None and len(counts) and row[f"{choice}_n"] < counts.max():
            notes.append(f"{choice}: {row[f'{choice}_n']} test rows, others have {int(counts.max())}")
    notes += [] if len(counts) else ["no configuration has a test AUC"]
    row["regret"], row["regret_se"] = _difference(test, picked["oracle"], picked["selected"])
    row["gain"], row["gain_se"] = _difference(test, picked["selected"], picked["published"])
    return row | {"note": "; ".join(notes)}


def _of_config(val: pd.DataFrame, test: pd.DataFrame, config: str | None) -> dict[str, Any]:
    if config is None:
        return {"n": 0}
    of_val, of_test = val[val["config_id"] == config], test[test["config_id"] == config]
    params = [text for text in of_val["params"] if present(text)]
    val_mean, val_se = _mean_and_error(of_val, "auc_val_pu")
    test_mean, test_se = _mean_and_error(of_test, "auc")
    return {
        "config_id": config,
        "params": params[0] if params else None,
        "n": len(of_test),
        "test_mean": test_mean,
        "test_se": test_se,
        "val_mean": val_mean,
        "val_se": val_se,
    }


def _mean_and_error(rows: pd.DataFrame, column: str) -> tuple[float | None, float | None]:
    """Compute the mean over rows, and its standard error over the means of the seeds.

    Cells of one seed are not independent.
    """
    values = rows[rows[column].notna()]
    if values.empty:
        return None, None
    by_seed = values.groupby("seed")[column].mean()
    error = float(by_seed.std(ddof=1) / np.sqrt(len(by_seed))) if len(by_seed) > 1 else None
    return float(values[column].mean()), error


def _difference(test: pd.DataFrame, first: str | None, second: str | None) -> tuple[float | None, float | None]:
    """Compute the difference of the two test means, and its standard error over seeds.

    The standard error uses the (cell, seed) pairs that both configurations have.
    """
    if first is None or second is None:
        return None, None
    sides = [test[test["config_id"] == config].set_index(["cell", "seed"])["auc"] for config in (first, second)]
    means = [number(side.mean()) for side in sides]
    if means[0] is None or means[1] is None:
        return None, None
    paired = (sides[0] - sides[1]).dropna().groupby("seed").mean()
    error = float(paired.std(ddof=1) / np.sqrt(len(paired))) if len(paired) > 1 else None
    return means[0] - means[1], error
