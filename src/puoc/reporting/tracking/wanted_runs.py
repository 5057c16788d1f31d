"""What the store ought to hold, worked out from rows alone: the runs of trials and, above them, those of cells.

A trial that several tables of a scenario ask, or several cells of one table, is one run with several places.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Literal, NamedTuple

from pydantic import JsonValue

from puoc.digests import scoring_digest
from puoc.records import JsonObject, content_id
from puoc.reporting.tracking.address import TrackingError
from puoc.store.checked_parquet import BY_SWEEP, FROM_LEDGER, read_rows
from puoc.store.result_rows import ResultRow, TestRow, read_results

Key = tuple[str, str]  # experiment; id of the trial or of the cell

DIGEST = "puoc.digest"  # tag: content of what was wanted when the run was written
LAYOUT = 1  # counted up when runs are laid out differently, so that they are written anew
_PLACES_LENGTH = 6000  # characters of a tag with places: MLflow's databases take 8,000
_MORE = "more"  # among the places of a tag: in how many others they go on
LONGEST = 500  # characters of a parameter or tag; MLflow cuts longer ones in silence

_QUESTION = ("method", "dataset", "encoder", "prior", "numerics", "labels", "pos", "neg", "neg_test")
_COUNTS = ("n_pos_lab", "n_pos_unl", "n_neg_unl", "alpha")
_OWN = ("n_unl", "marks")  # of own data alone: |U| where nobody knows its classes, and overlap that was allowed
#: Of the cell: an OC fit has none and serves several cells.
_UNLABELLED = ("neg", "n_pos_unl", "n_neg_unl", "n_unl", "alpha")
_METRICS = ("auc", "auc_train_pool", "auc_val_pu", "alpha_hat", "fit_seconds", "peak_memory", "attempts")
_TRIAL_TAGS = (
    *("fit_id", "encoder_fit_id", "prior_fit_id"),
    *("status", "reason", "device", "torch_version", "lane_map", "n_lanes"),
)
_DIGESTS = ("code_digest", "draw_digest", "scoring_digest")
_ADOPTED = "adopted_from"
_STATUSES = ("ok", "failed", "skipped", "missing")


class Place(NamedTuple):
    """Where a trial stands: which table or sweep asks it, in which row and column."""

    source: str  # tables/<table> or tune/<method>
    entry: str
    cell: str


@dataclass
class Wanted:
    """A run as it ought to be."""

    experiment: str
    kind: Literal["trial", "cell"]
    key: str
    name: str
    params: dict[str, str]
    tags: dict[str, str]
    metrics: dict[str, float]
    status: Literal["FINISHED", "FAILED"] = "FINISHED"

    @property
    def digest(self) -> str:
        """Changes when anything about the run does."""
        return content_id([LAYOUT, self.name, self.params, self.tags, self.metrics, self.status])


@dataclass
class Trial:
    """A trial as one experiment asks it."""

    row: ResultRow
    places: dict[str, Place] = field(default_factory=dict)  # by the id of the cell


class Member(NamedTuple):
    """What a cell needs to know of one of its trials."""

    status: str
    auc: float | None
    val: float | None = None  # label-free criterion


def is_sweep(row: ResultRow) -> bool:
    """Whether a row belongs to a sweep. A table's row may carry the id of the configuration chosen for it, too."""
    return row.configs == "sweep"


def experiment_of(row: ResultRow) -> str:
    """The scenario; sweeps apart, so that a table's runs are not drowned in them."""
    return f"tune/{row.scenario}" if is_sweep(row) else row.scenario


def place_of(row: ResultRow) -> Place:
    """Where the row stands."""
    return Place(f"{'tune' if is_sweep(row) else 'tables'}/{row.table}", row.entry, row.cell)


def cell_id(row: ResultRow) -> str:
    """Names an entry with its configuration in a cell of a table or sweep."""
    asked = [*place_of(row), json.loads(row.params), row.encoder, row.prior, row.numerics, row.labels]
    return content_id([experiment_of(row), asked])[:16]


def read_asked(root: Path) -> tuple[list[ResultRow], frozenset[str]]:
    """Rows of planned tables that have results, and of all sweeps that have, and the sources that have them.

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
    # also of a section tune that is gone, and of `puoc sweep` with a space or search of its own: no plan has a hyphen
    for folder in (root / "results" / "tune", root / "results" / "sweeps"):
        for path in sorted((folder / "val").glob("*.parquet")):
            rows += [replace(row, table=path.stem) for row in _tuned(folder, path.stem)]
            sources.add(f"tune/{path.stem}")
    return rows, frozenset(sources)


def _tuned(folder: Path, name: str) -> list[ResultRow]:
    """Validation rows of a sweep with their test AUCs."""
    again = BY_SWEEP if folder.name == "sweeps" else FROM_LEDGER
    found = read_results(folder / "val" / f"{name}.parquet", again)
    path = folder / "test" / f"{name}.parquet"
    tested = {row.trial_id: row for row in read_rows(path, TestRow, again)} if path.is_file() else {}
    return [
        replace(row, auc=test.auc, auc_train_pool=test.auc_train_pool) if (test := tested.get(row.trial_id)) else row
        for row in found
    ]


def answered(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """The rows that have an outcome, of plain values. Raises TrackingError for a row that is none."""
    return [row for row in map(_checked, rows) if row.status != "missing"]


def trials(rows: Iterable[ResultRow]) -> dict[Key, Trial]:
    """Trials of answered rows by experiment and id.

    Tables that ask the same trial may have been written before and after it was tried again: the later answer stands.
    """
    found: dict[Key, Trial] = {}
    scoring = scoring_digest()
    for row in rows:
        trial = found.setdefault((experiment_of(row), row.trial_id), Trial(row))
        trial.places[cell_id(row)] = place_of(row)
        if _recency(row, scoring) > _recency(trial.row, scoring):
            trial.row = row
    return found


def _recency(row: ResultRow, scoring: str) -> tuple[bool, bool, int]:
    """By the scoring code of now first: what it could not score has no number of it either."""
    return row.scoring_digest == scoring, row.status != "failed", row.attempts


def first_place(places: dict[str, Place]) -> tuple[str, Place]:
    """The place that stands for a trial with several, whatever the order in which they came."""
    return min(places.items(), key=lambda item: (item[1], item[0]))


def wanted_trial(trial: Trial, parent: str | None) -> Wanted:
    """The run of a trial below the run of its (first) cell."""
    row = trial.row
    _, place = first_place(trial.places)
    tags = _texts(row, (*_TRIAL_TAGS, *_DIGESTS, _ADOPTED)) | _described(row, trial.places) | {"trial_id": row.trial_id}
    if parent is not None:
        tags["mlflow.parentRunId"] = parent
    metrics = {key: float(value) for key in _METRICS if (value := getattr(row, key)) is not None}
    params = _params(row) | {"seed": str(row.seed)} | _texts(row, ("prior_alpha",))
    if row.kind == "oc":
        params = {key: value for key, value in params.items() if key not in _UNLABELLED}
    name = f"{place.entry} {place.cell} seed {row.seed}"
    status: Literal["FINISHED", "FAILED"] = "FAILED" if row.status == "failed" else "FINISHED"
    return Wanted(experiment_of(row), "trial", row.trial_id, name, params, tags, metrics, status)


def wanted_cell(row: ResultRow, members: Sequence[Member]) -> Wanted:
    """The run of a cell: one of its rows says what it is, its trials how it came out."""
    key, place = cell_id(row), place_of(row)
    tags = _described(row, {key: place}) | {"cell_id": key} | _texts(row, ("configs", "config_source", "config_id"))
    name = f"{place.entry} {place.cell}"
    return Wanted(experiment_of(row), "cell", key, name, _params(row), tags, cell_metrics(members))


def cell_metrics(members: Sequence[Member]) -> dict[str, float]:
    """Mean and standard deviation (ddof 1) of the test AUC over the trials that came out well, and the counts.

    Without any test AUC, the mean of the label-free criterion under a name of its own.
    """
    aucs = [member.auc for member in members if member.status == "ok" and member.auc is not None]
    found = {"n": float(len(aucs))}
    for status in ("failed", "skipped"):
        found[f"n_{status}"] = float(sum(member.status == status for member in members))
    if aucs:
        found["mean"] = fmean(aucs)
    if len(aucs) > 1:
        found["std"] = stdev(aucs)
    vals = [member.val for member in members if member.status == "ok" and member.val is not None]
    if vals and not aucs:
        found["mean_auc_val_pu"] = fmean(vals)
    return found


def pack_places(places: dict[str, Place]) -> dict[str, str]:
    """Tags that say where a trial stands; as many as they need, since MLflow cuts a long one off."""
    parts: list[JsonObject] = [{}]
    length = 0
    for key, place in sorted(places.items()):
        length += len(json.dumps([key, *place]))
        if length > _PLACES_LENGTH:
            parts.append({})
            length = 0
        parts[-1][key] = list(place)
    more = {f"places.{i}": json.dumps(part, separators=(",", ":")) for i, part in enumerate(parts[1:], start=1)}
    if more:
        parts[0][_MORE] = [len(more)]  # a run that had more of them once keeps their tags
    first = json.dumps(parts[0], separators=(",", ":"))
    sources = sorted({place.source for place in places.values()})
    tables = ",".join(s.split("/", 1)[1] for s in sources)
    return {"places": first, **more, "tables": tables, "sweep": sources[0]}


def unpack_places(tags: dict[str, str]) -> dict[str, Place]:
    """The places from a run's tags."""
    found: dict[str, list[str]] = json.loads(tags.get("places", "{}"))
    (n,) = found.pop(_MORE, ["0"])
    for i in range(1, int(n) + 1):
        found |= json.loads(tags[f"places.{i}"])
    return {key: Place(*place) for key, place in found.items()}


def _described(row: ResultRow, places: dict[str, Place]) -> dict[str, str]:
    _, place = first_place(places)
    known = {"entry": place.entry, "cell": place.cell, "table": place.source.split("/", 1)[1]}
    return pack_places(places) | known | _texts(row, ("method", "dataset", "labels")) | {"method_kind": row.kind}


def _params(row: ResultRow) -> dict[str, str]:
    hyper = {f"params.{re.sub(r'[^A-Za-z0-9_. /-]', '_', key)}": _text(value) for key, value in _hyper(row).items()}
    return _texts(row, (*_QUESTION, *_COUNTS, *_OWN)) | hyper


def _hyper(row: ResultRow) -> JsonObject:
    found = json.loads(row.params)
    if not isinstance(found, dict):
        raise TrackingError(f"trial {row.trial_id}: params are {row.params}, a JSON object expected")
    return found


def _texts(row: ResultRow, keys: Iterable[str]) -> dict[str, str]:
    return {key: _text(value) for key in keys if (value := getattr(row, key)) is not None}


def _text(value: JsonValue) -> str:
    """A value as text, cut with a mark where it is long; whole values lie in the run's fit.json."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 40]}... (cut; content {content_id(text)})"


def _checked(row: ResultRow) -> ResultRow:
    """A row with None for each number that is not finite. Raises TrackingError for an unknown status."""
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
