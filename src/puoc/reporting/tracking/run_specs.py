"""Specifications of the runs that the store should contain, from rows alone.

Runs of trials are below runs of cells, and runs of the cells of a sweep are below the run of the sweep.

A trial that belongs to several tables of a scenario, or to several cells of a table, is one run with several places.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal, NamedTuple

from pydantic import JsonValue

from puoc.analysis.metrics import metrics as all_metrics
from puoc.records import JsonObject, content_id
from puoc.reporting.tracking.address import TrackingError
from puoc.reporting.tracking.notes import NOTE, cell_note, sweep_note, trial_note
from puoc.reporting.tracking.places import Place, first_place, one_place, place_tags
from puoc.reporting.tracking.project_trials import Key, Trial, cell_id, experiment_of, is_sweep, place_of
from puoc.store.checked_parquet import FROM_LEDGER
from puoc.store.result_rows import ResultRow

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


class Member(NamedTuple):
    """Status and AUCs of one trial of a cell."""

    status: str
    auc: float | None
    val: float | None = None  # label-free criterion


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
