"""Trials of a project: the rows of its results, and which of them are one trial in an experiment of MLflow."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from puoc.digests import scoring_digest
from puoc.records import content_id
from puoc.reporting.tracking.address import TrackingError
from puoc.reporting.tracking.places import Place
from puoc.store.checked_parquet import BY_SWEEP, FROM_LEDGER, read_rows
from puoc.store.result_rows import ResultRow, TestRow, read_results

Key = tuple[str, str]  # experiment; id of the trial, of the cell or of the sweep

_STATUSES = ("ok", "failed", "skipped", "missing")


@dataclass
class Trial:
    """A trial in one experiment, with its places."""

    row: ResultRow
    places: dict[str, Place] = field(default_factory=dict)  # by the id of the cell


def is_sweep(row: ResultRow) -> bool:
    """Check whether a row belongs to a sweep. Rows of tables may have the id of a configuration too."""
    return row.configs == "sweep"


def experiment_of(row: ResultRow) -> str:
    """Return the experiment of a row: its scenario, with a separate experiment for sweeps, which have many runs."""
    return f"tune/{row.scenario}" if is_sweep(row) else row.scenario


def place_of(row: ResultRow) -> Place:
    """Return the place of a row."""
    return Place(f"{'tune' if is_sweep(row) else 'tables'}/{row.table}", row.entry, row.cell)


def cell_id(row: ResultRow) -> str:
    """Return the id of an entry with its configuration in a cell of a table or sweep."""
    identity = [*place_of(row), json.loads(row.params), row.encoder, row.prior, row.numerics, row.labels]
    return content_id([experiment_of(row), identity])[:16]


def read_results_of_project(root: Path) -> tuple[list[ResultRow], frozenset[str]]:
    """Return the rows of planned tables and of all sweeps, as far as they have results, and their sources.

    Raises
    ------
    ValueError : a results file is damaged or lacks the columns that name a row.
    """
    rows: list[ResultRow] = []
    sources = set()
    for path in sorted((root / "work" / "plan" / "tables").glob("*.json")):
        results = root / "results" / "tables" / f"{path.stem}.parquet"
        if results.is_file():
            rows += read_results(results)
            sources.add(f"tables/{path.stem}")
    # also sweeps that are no longer in the section tune, and unplanned ones, whose names contain a hyphen
    for folder in (root / "results" / "tune", root / "results" / "sweeps"):
        for path in sorted((folder / "val").glob("*.parquet")):
            rows += [replace(row, table=path.stem) for row in _tuned(folder, path.stem)]
            sources.add(f"tune/{path.stem}")
    return rows, frozenset(sources)


def _tuned(folder: Path, name: str) -> list[ResultRow]:
    """Return the validation rows of a sweep with their test AUCs."""
    source = BY_SWEEP if folder.name == "sweeps" else FROM_LEDGER
    rows = read_results(folder / "val" / f"{name}.parquet", source)
    path = folder / "test" / f"{name}.parquet"
    tested = {row.trial_id: row for row in read_rows(path, TestRow, source)} if path.is_file() else {}
    return [_with_test(row, tested.get(row.trial_id)) for row in rows]


def _with_test(row: ResultRow, test: TestRow | None) -> ResultRow:
    if test is None:
        return row
    return replace(row, auc=test.auc, auc_train_pool=test.auc_train_pool, metrics=test.metrics)


def rows_with_outcome(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """Return the rows that have an outcome. Raises TrackingError for a row with an unknown status."""
    return [row for row in map(_checked, rows) if row.status != "missing"]


def trials(rows: Iterable[ResultRow]) -> dict[Key, Trial]:
    """Return the trials of rows with an outcome, by experiment and id.

    Tables with the same trial may have been written before and after a retry; the later outcome is used.
    """
    trials_by_key: dict[Key, Trial] = {}
    scoring = scoring_digest()
    for row in rows:
        trial = trials_by_key.setdefault((experiment_of(row), row.trial_id), Trial(row))
        trial.places[cell_id(row)] = place_of(row)
        if _recency(row, scoring) > _recency(trial.row, scoring):
            trial.row = row
    return trials_by_key


def _recency(row: ResultRow, scoring: str) -> tuple[bool, bool, int]:
    """Return a sort key: rows scored by the present code come last, then rows that did not fail, then more attempts."""
    return row.scoring_digest == scoring, row.status != "failed", row.attempts


def _checked(row: ResultRow) -> ResultRow:
    """Return the row with None for each number that is not finite. Raises TrackingError for an unknown status."""
    if row.status not in _STATUSES:
        raise TrackingError(f"trial {row.trial_id}: status {row.status!r}, one of {', '.join(_STATUSES)} expected")
    return replace(
        row,
        alpha=_finite(row.alpha),
        prior_alpha=_finite(row.prior_alpha),
        alpha_hat=_finite(row.alpha_hat),
        auc=_finite(row.auc),
        auc_train_pool=_finite(row.auc_train_pool),
        auc_val_pu=_finite(row.auc_val_pu),
        fit_seconds=_finite(row.fit_seconds),
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
