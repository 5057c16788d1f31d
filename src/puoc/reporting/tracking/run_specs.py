"""Specifications of the runs that the store should contain, from rows alone.

Runs of trials are below runs of cells, and runs of the cells of a sweep are below the run of the sweep.

A trial that belongs to several tables of a scenario, or to several cells of a table, is one run with several places.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Literal, NamedTuple

from pydantic import JsonValue

from puoc.analysis.metrics import metrics as all_metrics
from puoc.digests import scoring_digest
from puoc.records import JsonObject, content_id
from puoc.reporting.tracking.address import TrackingError
from puoc.reporting.tracking.notes import NOTE, cell_note, sweep_note, trial_note
from puoc.reporting.tracking.places import Place, first_place, one_place, place_tags
from puoc.store.checked_parquet import BY_SWEEP, FROM_LEDGER, read_rows
from puoc.store.result_rows import ResultRow, TestRow, read_results

Key = tuple[str, str]  # experiment; id of the trial, of the cell or of the sweep
Kind = Literal["trial", "cell", "sweep"]

DIGEST = "puoc.digest"  # tag: digest of the specification from which the run was written
LAYOUT = 3  # increased when the layout of runs changes, so that they are written again
LAYOUT_TAG = "puoc.layout"
#: Tag with the id of a run of each kind.
ID_TAGS: dict[Kind, str] = {"trial": "trial_id", "cell": "cell_id", "sweep": "sweep_id"}
MAX_CHARACTERS = 500  # of a parameter or tag; MLflow cuts longer ones silently
_NOTE_CHARACTERS = 4000  # of a description

_IDENTITY = ("method", "dataset", "encoder", "prior", "numerics", "labels", "pos", "neg", "neg_test")
_COUNTS = ("n_pos_lab", "n_pos_unl", "n_neg_unl", "alpha")
_USER_DATA = ("n_unl", "marks")  # of user data only: |U| with unknown classes, and overlap that was allowed
_LABELLING = ("labelling", "setting", "n_noise")  # where they are not the default
#: Columns of the cell that a one-class fit does not have; it serves several cells.
_UNLABELLED = ("neg", "n_pos_unl", "n_neg_unl", "n_unl", "alpha")
#: Metrics by column. MLflow sorts them by name: the AUC comes first, and a prefix ``system/`` has a page of its own.
_METRICS = {
    "auc": "auc",
    "auc_train_pool": "auc_train_pool",
    "auc_val_pu": "auc_val_pu",
    "alpha_hat": "estimated_alpha",
    "fit_seconds": "fit_seconds",
}
_MEMORY = "system/peak_memory_megabytes"
_TRIAL_TAGS = (
    *("fit_id", "encoder_fit_id", "prior_fit_id"),
    *("status", "reason", "attempts", "device", "torch_version", "lane_map", "n_lanes"),
)
_DIGESTS = ("code_digest", "draw_digest", "scoring_digest")
_ORIGINS = ("adopted_from", "imported_from", "computed_by")
_STATUSES = ("ok", "failed", "skipped", "missing")


@dataclass
class RunSpec:
    """Specification of a run."""

    experiment: str
    kind: Kind
    key: str
    name: str
    params: dict[str, str]
    tags: dict[str, str]
    metrics: dict[str, float]
    status: Literal["FINISHED", "FAILED"] = "FINISHED"

    @property
    def digest(self) -> str:
        """Return a digest of all content of the run."""
        return content_id([LAYOUT, self.name, self.params, self.tags, self.metrics, self.status])

    def __post_init__(self) -> None:
        self.tags[LAYOUT_TAG] = str(LAYOUT)


@dataclass
class Trial:
    """A trial in one experiment, with its places."""

    row: ResultRow
    places: dict[str, Place] = field(default_factory=dict)  # by the id of the cell


class Member(NamedTuple):
    """Status and AUCs of one trial of a cell."""

    status: str
    auc: float | None
    val: float | None = None  # label-free criterion


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


def trial_spec(trial: Trial, parent: str | None) -> RunSpec:
    """Return the specification of a trial's run, below the run of its first cell."""
    row = trial.row
    _, place = first_place(trial.places)
    tags = (
        _texts(row, (*_TRIAL_TAGS, *_DIGESTS, *_ORIGINS)) | _described(row, trial.places) | {"trial_id": row.trial_id}
    )
    if parent is not None:
        tags["mlflow.parentRunId"] = parent
    tags[NOTE] = _cut(trial_note(row, place))
    metrics = _stored_metrics(row)
    metrics |= {name: float(value) for key, name in _METRICS.items() if (value := getattr(row, key)) is not None}
    if row.peak_memory is not None:
        metrics[_MEMORY] = row.peak_memory / 1e6
    params = _params(row) | {"seed": str(row.seed)} | _texts(row, ("prior_alpha",))
    if row.kind == "oc":
        params = {key: value for key, value in params.items() if key not in _UNLABELLED}
    name = f"{place.entry} {place.cell} seed {row.seed}"
    status: Literal["FINISHED", "FAILED"] = "FAILED" if row.status == "failed" else "FINISHED"
    return RunSpec(experiment_of(row), "trial", row.trial_id, name, params, tags, metrics, status)


def _stored_metrics(row: ResultRow) -> dict[str, float]:
    """Return the metrics of the stored scores by name. Those that depend on alpha are no property of a one-class fit.

    Raises
    ------
    TrackingError : a column of metrics is no JSON object of numbers.
    """
    found: dict[str, float] = {}
    for text in filter(None, (row.metrics, row.metrics_val_pu)):
        try:
            found |= {str(name): float(value) for name, value in json.loads(text).items()}
        except (ValueError, TypeError, AttributeError) as error:
            got = f"got the metrics {text[:80]!r}; expected a JSON object of numbers"
            raise TrackingError(f"trial {row.trial_id}: {got}; {FROM_LEDGER}") from error
    known = all_metrics()
    of_cell = {name for name in found if name in known and known[name].needs_alpha} if row.kind == "oc" else set()
    return {name: value for name, value in sorted(found.items()) if name not in of_cell and math.isfinite(value)}


def cell_spec(row: ResultRow, members: Sequence[Member], parent: str | None = None) -> RunSpec:
    """Return the specification of a cell's run: its description from one of its rows, its metrics from its trials."""
    key, place = cell_id(row), place_of(row)
    tags = _described(row, {key: place}) | one_place(place) | {"cell_id": key}
    tags |= _texts(row, ("configs", "config_source", "config_id")) | cell_counts(members)
    tags[NOTE] = _cut(cell_note(row, place))
    if parent is not None:
        tags["mlflow.parentRunId"] = parent
    name = f"{place.entry} {place.cell}"
    if is_sweep(row) and row.config_id is not None:
        name += f" {row.config_id}"
    return RunSpec(experiment_of(row), "cell", key, name, _params(row), tags, cell_metrics(members))


def sweep_key(row: ResultRow) -> Key | None:
    """Return the key of the run of a sweep; None for a row of a table."""
    return (experiment_of(row), row.table) if is_sweep(row) else None


def sweep_spec(rows: Sequence[ResultRow], members: Mapping[str, Sequence[Member]]) -> RunSpec:
    """Return the specification of the run of a sweep.

    Parameters
    ----------
    rows : one row of each cell and configuration.
    members : trials of each configuration, by its id.
    """
    row = rows[0]
    place = place_of(row)._replace(cell="")
    about = _texts(row, ("method", "dataset", "labels")) | {"method_kind": row.kind}
    counts = cell_counts([member for of_config in members.values() for member in of_config])
    tags = about | counts | {"table": row.table, "tables": row.table, "entry": place.entry, "sweep": place.source}
    tags |= {"sweep_id": row.table, "n_configs": str(len(members)), NOTE: _cut(sweep_note(row, place, len(members)))}
    params = _texts(row, ("method", "dataset", "encoder", "prior", "numerics", "labels"))
    values = [fmean(found) for of_config in members.values() if (found := _ok(of_config, "val"))]
    metrics = {"auc_val_pu": max(values)} if values else {}
    return RunSpec(experiment_of(row), "sweep", row.table, f"sweep {row.table}", params, tags, metrics)


def cell_counts(members: Sequence[Member]) -> dict[str, str]:
    """Return the numbers of trials that succeeded, failed and were skipped, as tags: a count is nothing to compare."""
    names = {"ok": "n", "failed": "n_failed", "skipped": "n_skipped"}
    return {name: str(sum(member.status == status for member in members)) for status, name in names.items()}


def cell_metrics(members: Sequence[Member]) -> dict[str, float]:
    """Return means over successful trials: ``auc``, with its standard deviation (ddof 1), and ``auc_val_pu``.

    They have the names that trials use, so that one column of MLflow's table shows both.
    """
    aucs, vals = _ok(members, "auc"), _ok(members, "val")
    metrics = {"auc": fmean(aucs)} if aucs else {}
    if len(aucs) > 1:
        metrics["auc_std"] = stdev(aucs)
    if vals:
        metrics["auc_val_pu"] = fmean(vals)
    return metrics


def _ok(members: Iterable[Member], field_name: Literal["auc", "val"]) -> list[float]:
    found = (getattr(member, field_name) for member in members if member.status == "ok")
    return [value for value in found if value is not None]


def _described(row: ResultRow, places: dict[str, Place]) -> dict[str, str]:
    about = _texts(row, ("method", "dataset", "labels")) | {"method_kind": row.kind}
    return place_tags(places) | about


def _params(row: ResultRow) -> dict[str, str]:
    hyper = {f"params.{re.sub(r'[^A-Za-z0-9_. /-]', '_', key)}": _text(value) for key, value in _hyper(row).items()}
    return _texts(row, (*_IDENTITY, *_COUNTS, *_USER_DATA, *_LABELLING)) | hyper


def _hyper(row: ResultRow) -> JsonObject:
    params = json.loads(row.params)
    if not isinstance(params, dict):
        raise TrackingError(f"trial {row.trial_id}: got params {row.params}; expected a JSON object")
    return params


def _texts(row: ResultRow, keys: Iterable[str]) -> dict[str, str]:
    return {key: _text(value) for key in keys if (value := getattr(row, key)) is not None}


def _text(value: JsonValue) -> str:
    """Return a value as text. A long text is cut and marked; the run's fit.json has the whole value."""
    return _cut(value if isinstance(value, str) else json.dumps(value, sort_keys=True), MAX_CHARACTERS)


def _cut(text: str, most: int = _NOTE_CHARACTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 40]}... (cut; content {content_id(text)})"


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
