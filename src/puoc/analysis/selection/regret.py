"""The regret of choosing a configuration without test labels: published, selected and best-on-test compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from puoc.analysis.metrics import DEFAULT
from puoc.analysis.tables.frames import number, present
from puoc.analysis.tables.metric_tables import as_metric
from puoc.analysis.tables.results import Trials, present_sweep
from puoc.store.checked_parquet import read_frame
from puoc.store.plan_files import read_configs, sweep_names
from puoc.store.plans import Config, EntryPlan, TablePlan


@dataclass(frozen=True, kw_only=True)
class ConfigResult:
    """One configuration of a sweep; without values if there is none."""

    config_id: str | None = None
    params: str | None = None  # JSON
    n: int = 0  # tuning rows with a test AUC
    test_mean: float | None = None
    test_se: float | None = None  # over seeds
    val_mean: float | None = None  # AUC of withheld labelled positives against withheld unlabelled rows
    val_se: float | None = None


@dataclass(frozen=True, kw_only=True)
class ChoiceRow:
    """One sweep, a table that uses its choice, and the published, selected and best-on-test configuration."""

    table: str | None = None  # the table that uses the choice; None if none does
    tune: str
    entry: str
    method: str | None = None
    source: str | None = None  # where the selected values come from, as written by the stage select
    n_configs: int = 0
    n_comparable: int = 0  # configurations with the largest number of test rows; the oracle chooses among these
    published: ConfigResult = ConfigResult()
    selected: ConfigResult = ConfigResult()
    oracle: ConfigResult = ConfigResult()
    regret: float | None = None  # oracle - selected, in test AUC
    regret_se: float | None = None  # over seeds, of the paired difference
    gain: float | None = None  # selected - published
    gain_se: float | None = None
    note: str


_KEY = ["entry", "config_id", "cell", "seed"]
#: Required columns of validation rows and of test rows.
_NEEDED = ([*_KEY, "trial_id", "method", "params", "is_published", "auc_val_pu"], [*_KEY, "trial_id", "auc"])


def choices(
    root: Path, plans: list[TablePlan], planned_trials: Trials | None = None, metric: str = DEFAULT
) -> list[ChoiceRow]:
    """Return one row per planned sweep and table that uses its choice.

    The oracle choice uses test labels and serves only for this comparison.

    Parameters
    ----------
    planned_trials : see ``puoc.analysis.selection.surface.sweeps``.
    metric : by which configurations are compared on test rows.

    Raises
    ------
    ValueError : a results file of a sweep lacks a column, or a configuration has two rows for one (cell, seed).
    """
    used = _selected_configs(root, plans)
    rows = []
    for tune in sweep_names(root):
        paths = [root / "results" / "tune" / part / f"{tune}.parquet" for part in ("val", "test")]
        if not all(path.is_file() for path in paths):
            rows.append(ChoiceRow(tune=tune, entry=tune, note="not run"))
            continue
        val, test = (read_frame(*both) for both in zip(paths, _NEEDED, strict=True))
        _check(val, test, paths)
        test = as_metric(test, metric)
        val, test, plan_note = present_sweep(val, test, tune, planned_trials)
        if val.empty:
            rows.append(ChoiceRow(tune=tune, entry=tune, note=plan_note or "not run"))
        for entry in sorted(val["entry"].unique()):
            of_entry = val[val["entry"] == entry], test[test["entry"] == entry]
            entry_rows = _entry_rows(tune, entry, of_entry, used)
            rows += [replace(row, note="; ".join(filter(None, (plan_note, row.note)))) for row in entry_rows]
    return rows


def _selected_configs(root: Path, plans: list[TablePlan]) -> list[tuple[TablePlan, EntryPlan, Config]]:
    selected = []
    for plan in plans:
        path = root / "work" / "configs" / "selected" / f"{plan.table}.json"
        if path.is_file():
            configs = read_configs(path)
            selected += [(plan, entry, configs[entry.entry]) for entry in plan.entries if entry.entry in configs]
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
) -> list[ChoiceRow]:
    """Return one row per table that uses the choice of this entry, or one row without a table."""
    row = ChoiceRow(tune=tune, entry=entry, method=str(tuned[0]["method"].iloc[0]), note="")
    users = [(plan, chosen) for plan, planned, chosen in used if planned.entry == entry]
    if not users:
        return [_side_by_side(row, tuned, None)]
    return [
        _side_by_side(replace(row, table=plan.table, source=chosen.source), tuned, chosen) for plan, chosen in users
    ]


def _side_by_side(row: ChoiceRow, tuned: tuple[pd.DataFrame, pd.DataFrame], chosen: Config | None) -> ChoiceRow:
    val, test = tuned[0], tuned[1][tuned[1]["auc"].notna()]
    listed = sorted(val.loc[val["is_published"].astype(bool), "config_id"].unique())
    published = listed[0] if listed else None
    notes = [] if published else ["the published configuration was not tuned"]
    notes += [] if chosen else ["no table uses a selected configuration"]
    selected = None if chosen is None else chosen.config_id or published
    counts = test.groupby("config_id").size()
    comparable = sorted(counts.index[counts == counts.max()]) if len(counts) else []
    means = test[test["config_id"].isin(comparable)].groupby("config_id")["auc"].mean()
    oracle = str(means.index[int(np.argmax(means.to_numpy()))]) if len(means) else None
    row = replace(
        row,
        n_configs=int(val["config_id"].nunique()),
        n_comparable=len(comparable),
        published=_of_config(val, test, published),
        selected=_of_config(val, test, selected),
        oracle=_of_config(val, test, oracle),
    )
    for choice, result in (("published", row.published), ("selected", row.selected), ("oracle", row.oracle)):
        if result.config_id is not None and len(counts) and result.n < counts.max():
            notes.append(f"{choice}: {result.n} test rows, others have {int(counts.max())}")
    notes += [] if len(counts) else ["no configuration has a test AUC"]
    regret, regret_se = _difference(test, oracle, selected)
    gain, gain_se = _difference(test, selected, published)
    return replace(row, regret=regret, regret_se=regret_se, gain=gain, gain_se=gain_se, note="; ".join(notes))


def _of_config(val: pd.DataFrame, test: pd.DataFrame, config: str | None) -> ConfigResult:
    if config is None:
        return ConfigResult()
    of_val, of_test = val[val["config_id"] == config], test[test["config_id"] == config]
    params = [text for text in of_val["params"] if present(text)]
    val_mean, val_se = _mean_and_error(of_val, "auc_val_pu")
    test_mean, test_se = _mean_and_error(of_test, "auc")
    return ConfigResult(
        config_id=config,
        params=params[0] if params else None,
        n=len(of_test),
        test_mean=test_mean,
        test_se=test_se,
        val_mean=val_mean,
        val_se=val_se,
    )


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
