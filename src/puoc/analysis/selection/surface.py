"""Results of each sweep: its surface, the configuration chosen without negative labels, and the regret of that choice.

The value of a configuration is the mean over cells and seeds. Its standard error is that of the seeds' means, since the
cells of one seed may share rows. A difference of two configurations is paired by seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from puoc.analysis.tables.frames import frame, number
from puoc.analysis.tables.results import Trials, present_sweep
from puoc.store.checked_json import BY_SELECT, read_form
from puoc.store.checked_parquet import BY_SWEEP, FROM_LEDGER, read_frame
from puoc.store.plan_files import planned_sweep, sweep_names

#: Roles of configurations in a sweep. Tables use the first; the last uses test labels.
ROLES = ("chosen", "published", "by_value", "by_rank", "best_on_test")
_OF_ROLE = {
    "config_id": "text",
    "params": "text",  # JSON
    "val": "float",  # AUC of withheld labelled positives against withheld unlabelled rows
    "val_se": "float",
    "test": "float",
    "test_se": "float",
    "regret": "float",  # test AUC of best_on_test minus its own
    "regret_se": "float",  # over seeds, paired
}

SWEEPS = {
    "tune": "text",
    "method": "text",
    "scenario": "text",
    "dataset": "text",
    "space": "text",
    "n_cells": "int",
    "n_seeds": "int",
    "n_configs": "int",
    "n_complete": "int",  # configurations with a validation value for every cell and seed
    "source": "text",  # the choice, as described by the stage select
    "gain": "float",  # by_value - published, in validation
    "gain_se": "float",  # the criterion's standard error: over seeds, paired
    **{f"{role}_{name}": kind for role in ROLES for name, kind in _OF_ROLE.items()},
    "note": "text",
}
SURFACE = {
    "tune": "text",
    "config_id": "text",
    "params": "text",  # JSON
    "is_published": "bool",
    "n_val": "int",
    "val": "float",
    "val_se": "float",
    "n_test": "int",
    "test": "float",
    "test_se": "float",
}

_CHOSEN = TypeAdapter(dict[str, Any])

NOT_PLANNED = "params.yaml does not plan it; no table uses it"


class Value(NamedTuple):
    """Value of a configuration by one criterion."""

    n: int  # number of cells and seeds with a value
    mean: float | None
    se: float | None
    by_seed: pd.Series[float]  # means over the cells


def sweeps(root: Path, planned_trials: Trials | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables ``SWEEPS``, one row per sweep with a plan or results, and ``SURFACE``, one per configuration.

    Parameters
    ----------
    planned_trials : ids of the planned trials, by sweep. Rows of other trials belong to an earlier plan, perhaps on
        another dataset. They are left out, and the note counts them. All rows are used if it is None.

    Raises
    ------
    ValueError : a results file is damaged or lacks a column.
    """
    sweep_rows, surfaces = [], []
    for name, files in unplanned(root).items():
        val, test = _tuned(files, BY_SWEEP, "method", "scenario", "dataset")
        if len(val):
            summary, surface = summarise_sweep(val, test, None)
            about = {"tune": name, **{key: val[key].iloc[0] for key in ("method", "scenario", "dataset")}}
            sweep_rows.append(_with_all_columns(about | summary | {"note": NOT_PLANNED}))
            surfaces += [about | row for row in surface]
    for tune in sweep_names(root):
        plan = planned_sweep(root, tune)
        paths = [root / "results" / "tune" / part / f"{tune}.parquet" for part in ("val", "test")]
        about = {"scenario": plan.scenario, "dataset": plan.dataset, "space": plan.space, "tune": tune}
        about |= {"method": plan.entries_by_name[tune].method}
        if not all(path.is_file() for path in paths):
            sweep_rows.append(_with_all_columns(about | {"note": "not run"}))
            continue
        val, test, plan_note = present_sweep(*_tuned(paths, FROM_LEDGER), tune, planned_trials)
        if val.empty:
            sweep_rows.append(_with_all_columns(about | {"note": plan_note or "not run"}))
            continue
        path = root / "work" / "configs" / "selected" / "sweeps" / f"{tune}.json"
        is_chosen = path.is_file() and not plan_note  # the stage select chooses among planned rows only
        summary, surface = summarise_sweep(val, test, read_form(path, _CHOSEN, BY_SELECT) if is_chosen else None)
        sweep_rows.append(_with_all_columns(about | summary | ({"note": plan_note} if plan_note else {})))
        surfaces += [about | row for row in surface]
    return frame(sweep_rows, SWEEPS), frame([{name: row[name] for name in SURFACE} for row in surfaces], SURFACE)


def unplanned(root: Path) -> dict[str, tuple[Path, Path]]:
    """Return the files of validation and test rows, by name, of sweeps with results that are not planned.

    They come from ``puoc sweep`` with its own space or search, or from a section ``tune`` that was removed.
    """
    files_by_name, planned = {}, set(sweep_names(root))
    for folder in (root / "results" / "tune", root / "results" / "sweeps"):
        for path in sorted((folder / "val").glob("*.parquet")):
            tested = folder / "test" / path.name
            if (folder.name == "sweeps" or path.stem not in planned) and tested.is_file():
                files_by_name[path.stem] = path, tested
    return files_by_name


def summarise_sweep(
    val: pd.DataFrame, test: pd.DataFrame, choice: dict[str, Any] | None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the row of a sweep and its surface, from its validation and test rows.

    Parameters
    ----------
    choice : the choice as written by the stage ``select``; None if there is none.
    """
    n_planned = int(val.groupby("config_id").size().max())
    vals, tests = _values(val, "auc_val_pu"), _values(test, "auc")
    surface: list[dict[str, Any]] = []
    for name, rows in val.groupby("config_id", sort=False):
        of_val, of_test = vals[str(name)], tests.get(str(name), _NONE)
        about = {"config_id": str(name), "params": rows["params"].iloc[0]}
        about |= {"is_published": bool(rows["is_published"].iloc[0])}
        about |= {"n_val": of_val.n, "val": of_val.mean, "val_se": of_val.se}
        surface.append(about | {"n_test": of_test.n, "test": of_test.mean, "test_se": of_test.se})
    roles = _roles(surface, n_planned, choice)
    summary: dict[str, Any] = {"n_cells": val["cell"].nunique(), "n_seeds": val["seed"].nunique()}
    summary |= {"n_configs": len(surface), "n_complete": sum(row["n_val"] == n_planned for row in surface)}
    by_id = {row["config_id"]: row for row in surface}
    best = roles["best_on_test"]
    for role, config in roles.items():
        if config is not None:
            summary |= {f"{role}_{column}": by_id[config][column] for column in _OF_ROLE if column in by_id[config]}
            summary[f"{role}_regret"], summary[f"{role}_regret_se"] = _difference(tests, best, config)
    summary["gain"], summary["gain_se"] = _difference(vals, roles["by_value"], roles["published"])
    note = "" if choice else "not chosen yet: run dvc repro select"
    if choice is not None and roles["chosen"] is None:
        note = "chosen from an earlier plan: run dvc repro select"
    return summary | {"source": (choice or {}).get("source"), "note": note}, surface


def _roles(surface: list[dict[str, Any]], n_planned: int, choice: dict[str, Any] | None) -> dict[str, str | None]:
    """Return the configuration of each role; None if there is none."""
    known = {row["config_id"] for row in surface}
    roles: dict[str, str | None] = dict.fromkeys(ROLES)
    for role, name in (("chosen", "config_id"), ("by_rank", "by_rank")):
        config = (choice or {}).get(name)
        roles[role] = config if config in known else None
    roles["published"] = next((row["config_id"] for row in surface if row["is_published"]), None)
    for role, name in (("by_value", "val"), ("best_on_test", "test")):
        order = [(row[name], row["is_published"], row["config_id"]) for row in surface if row[f"n_{name}"] == n_planned]
        roles[role] = max(order)[-1] if order else None
    return roles


def _values(rows: pd.DataFrame, column: str) -> dict[str, Value]:
    values = {}
    for config, part in rows.groupby("config_id", sort=False):
        known = part[part[column].notna()]
        by_seed = known.groupby("seed")[column].mean()
        mean = number(known[column].mean()) if len(known) else None
        values[str(config)] = Value(len(known), mean, _error(by_seed), by_seed)
    return values


_NONE = Value(0, None, None, pd.Series(dtype=float))


def _error(by_seed: pd.Series[float]) -> float | None:
    return float(by_seed.std(ddof=1) / np.sqrt(len(by_seed))) if len(by_seed) > 1 else None


def _difference(values: dict[str, Value], first: str | None, second: str | None) -> tuple[float | None, float | None]:
    """Compute first minus second, and its standard error over the seeds that both have."""
    sides = [values.get(name or "", _NONE) for name in (first, second)]
    if sides[0].mean is None or sides[1].mean is None:
        return None, None
    return sides[0].mean - sides[1].mean, _error((sides[0].by_seed - sides[1].by_seed).dropna())


def _with_all_columns(row: dict[str, Any]) -> dict[str, Any]:
    counts = {name: 0 for name, kind in SWEEPS.items() if kind == "int"}
    return {name: row.get(name, counts.get(name)) for name in SWEEPS}


def _tuned(paths: Sequence[Path], again: str, *besides: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the validation and test rows of a sweep."""
    key = ("config_id", "cell", "seed", "trial_id")
    val = read_frame(paths[0], (*key, "params", "is_published", "auc_val_pu", *besides), again)
    return val, read_frame(paths[1], (*key, "auc"), again)
