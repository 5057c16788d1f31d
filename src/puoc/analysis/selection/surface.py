"""Results of each sweep: its surface, the configuration chosen without negative labels, and the regret of that choice.

The value of a configuration is the mean over cells and seeds. Its standard error is that of the seeds' means, since the
cells of one seed may share rows. A difference of two configurations is paired by seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from puoc.analysis.metrics import DEFAULT
from puoc.analysis.selection.choice_file import SelectedConfig, read_choice
from puoc.analysis.tables.frames import number
from puoc.analysis.tables.metric_tables import as_metric
from puoc.analysis.tables.results import Trials, present_sweep
from puoc.store.checked_parquet import BY_SWEEP, FROM_LEDGER, read_frame
from puoc.store.plan_files import planned_sweep, sweep_names

#: Roles of configurations in a sweep. Tables use the first; the last uses test labels.
ROLES = ("chosen", "published", "by_value", "by_rank", "best_on_test")

NOT_RUN = "not run"
NOT_PLANNED = "params.yaml does not plan it; no table uses it"


@dataclass(frozen=True, kw_only=True)
class RoleResult:
    """The configuration of one role in a sweep; without values if there is none."""

    config_id: str | None = None
    params: str | None = None  # JSON
    val: float | None = None  # AUC of withheld labelled positives against withheld unlabelled rows
    val_se: float | None = None
    test: float | None = None
    test_se: float | None = None
    regret: float | None = None  # test AUC of best_on_test minus its own
    regret_se: float | None = None  # over seeds, paired


@dataclass(frozen=True, kw_only=True)
class SweepRow:
    """One sweep, and the configuration of each role in it."""

    tune: str
    method: str
    scenario: str
    dataset: str
    space: str | None = None
    n_cells: int = 0
    n_seeds: int = 0
    n_configs: int = 0
    n_complete: int = 0  # configurations with a validation value for every cell and seed
    source: str | None = None  # the choice, as described by the stage select
    gain: float | None = None  # by_value - published, in validation
    gain_se: float | None = None  # the criterion's standard error: over seeds, paired
    chosen: RoleResult = RoleResult()
    published: RoleResult = RoleResult()
    by_value: RoleResult = RoleResult()
    by_rank: RoleResult = RoleResult()
    best_on_test: RoleResult = RoleResult()
    note: str

    @property
    def roles(self) -> dict[str, RoleResult]:
        """Return the configuration of each role, in the order of ``ROLES``."""
        results = (self.chosen, self.published, self.by_value, self.by_rank, self.best_on_test)
        return dict(zip(ROLES, results, strict=True))


@dataclass(frozen=True, kw_only=True)
class SurfaceRow:
    """One configuration of a sweep."""

    tune: str
    config_id: str
    params: str  # JSON
    is_published: bool
    n_val: int
    val: float | None
    val_se: float | None
    n_test: int
    test: float | None
    test_se: float | None


class Value(NamedTuple):
    """Value of a configuration by one criterion."""

    n: int  # number of cells and seeds with a value
    mean: float | None
    se: float | None
    by_seed: pd.Series[float]  # means over the cells


def sweeps(
    root: Path, planned_trials: Trials | None = None, metric: str = DEFAULT
) -> tuple[list[SweepRow], list[SurfaceRow]]:
    """Return one row per sweep with a plan or results, and one row per configuration.

    Parameters
    ----------
    planned_trials : ids of the planned trials, by sweep. Rows of other trials belong to an earlier plan, perhaps on
        another dataset. They are left out, and the note counts them. All rows are used if it is None.
    metric : of the test rows.

    Raises
    ------
    ValueError : a results file is damaged or lacks a column.
    """
    sweep_rows: list[SweepRow] = []
    surfaces: list[SurfaceRow] = []
    for name, files in unplanned(root).items():
        val, test = _tuned(files, BY_SWEEP, metric, "method", "scenario", "dataset")
        if len(val):
            method, scenario, dataset = (str(val[key].iloc[0]) for key in ("method", "scenario", "dataset"))
            row = SweepRow(tune=name, method=method, scenario=scenario, dataset=dataset, note="")
            row, surface = summarise_sweep(row, val, test, None)
            sweep_rows.append(replace(row, note=NOT_PLANNED))
            surfaces += surface
    for tune in sweep_names(root):
        plan = planned_sweep(root, tune)
        paths = [root / "results" / "tune" / part / f"{tune}.parquet" for part in ("val", "test")]
        row = SweepRow(
            tune=tune,
            method=plan.entries_by_name[tune].method,
            scenario=plan.scenario,
            dataset=plan.dataset,
            space=plan.space,
            note=NOT_RUN,
        )
        if not all(path.is_file() for path in paths):
            sweep_rows.append(row)
            continue
        val, test, plan_note = present_sweep(*_tuned(paths, FROM_LEDGER, metric), tune, planned_trials)
        if val.empty:
            sweep_rows.append(replace(row, note=plan_note or row.note))
            continue
        path = root / "work" / "configs" / "selected" / "sweeps" / f"{tune}.json"
        is_chosen = path.is_file() and not plan_note  # the stage select chooses among planned rows only
        row, surface = summarise_sweep(row, val, test, read_choice(path) if is_chosen else None)
        sweep_rows.append(replace(row, note=plan_note or row.note))
        surfaces += surface
    return sweep_rows, surfaces


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
    sweep: SweepRow, val: pd.DataFrame, test: pd.DataFrame, choice: SelectedConfig | None
) -> tuple[SweepRow, list[SurfaceRow]]:
    """Return the row of a sweep with its results, and its surface, from its validation and test rows.

    Parameters
    ----------
    sweep : the row without results.
    choice : the choice as written by the stage ``select``; None if there is none.
    """
    n_planned = int(val.groupby("config_id").size().max())
    vals, tests = _values(val, "auc_val_pu"), _values(test, "auc")
    surface = []
    for name, rows in val.groupby("config_id", sort=False):
        of_val, of_test = vals[str(name)], tests.get(str(name), _NONE)
        config = SurfaceRow(
            tune=sweep.tune,
            config_id=str(name),
            params=rows["params"].iloc[0],
            is_published=bool(rows["is_published"].iloc[0]),
            n_val=of_val.n,
            val=of_val.mean,
            val_se=of_val.se,
            n_test=of_test.n,
            test=of_test.mean,
            test_se=of_test.se,
        )
        surface.append(config)
    roles = _roles(surface, n_planned, choice)
    by_id = {config.config_id: config for config in surface}
    best = roles["best_on_test"]

    def result(role: str) -> RoleResult:
        config = roles[role]
        return RoleResult() if config is None else _role_result(by_id[config], *_difference(tests, best, config))

    gain, gain_se = _difference(vals, roles["by_value"], roles["published"])
    note = "" if choice else "not chosen yet: run puoc select"
    if choice is not None and roles["chosen"] is None:
        note = "chosen from an earlier plan: run puoc select"
    row = replace(
        sweep,
        n_cells=val["cell"].nunique(),
        n_seeds=val["seed"].nunique(),
        n_configs=len(surface),
        n_complete=sum(config.n_val == n_planned for config in surface),
        source=choice.source if choice else None,
        gain=gain,
        gain_se=gain_se,
        chosen=result("chosen"),
        published=result("published"),
        by_value=result("by_value"),
        by_rank=result("by_rank"),
        best_on_test=result("best_on_test"),
        note=note,
    )
    return row, surface


def _role_result(config: SurfaceRow, regret: float | None, regret_se: float | None) -> RoleResult:
    return RoleResult(
        config_id=config.config_id,
        params=config.params,
        val=config.val,
        val_se=config.val_se,
        test=config.test,
        test_se=config.test_se,
        regret=regret,
        regret_se=regret_se,
    )


def _roles(surface: list[SurfaceRow], n_planned: int, choice: SelectedConfig | None) -> dict[str, str | None]:
    """Return the configuration of each role; None if there is none."""
    known = {config.config_id for config in surface}
    roles: dict[str, str | None] = dict.fromkeys(ROLES)
    if choice is not None:
        roles["chosen"] = choice.config_id if choice.config_id in known else None
        roles["by_rank"] = choice.by_rank if choice.by_rank in known else None
    roles["published"] = next((config.config_id for config in surface if config.is_published), None)
    by_val = [(row.val, row.is_published, row.config_id) for row in surface if row.n_val == n_planned]
    by_test = [(row.test, row.is_published, row.config_id) for row in surface if row.n_test == n_planned]
    roles["by_value"] = max(by_val)[-1] if by_val else None
    roles["best_on_test"] = max(by_test)[-1] if by_test else None
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


def _tuned(paths: Sequence[Path], again: str, metric: str, *besides: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the validation and test rows of a sweep."""
    key = ("config_id", "cell", "seed", "trial_id")
    val = read_frame(paths[0], (*key, "params", "is_published", "auc_val_pu", *besides), again)
    return val, as_metric(read_frame(paths[1], (*key, "auc"), again), metric)
