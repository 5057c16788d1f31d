"""New runs in one transaction: the rows of MLflow's tables that its API would write, many runs at a time.

MLflow's API opens about 14 transactions for a run with a model. In a store on this machine, or in a database, the same
rows are inserted here through MLflow's own table definitions. A test compares all tables with those that the API
writes. Runs on a server, changes of runs that exist, and versions of MLflow that the test has not seen use the API.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlflow.entities import Metric
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    from puoc.reporting.tracking.store import Store

COMPARED = "3.17."  # versions of MLflow whose tables the test has compared
_RUNS = 200  # runs in a transaction
_JOURNAL = ".batch"  # file in mlruns/: the ids of the runs whose files exist, while their rows may not

Rows = dict[str, list[dict[str, Any]]]  # by the name of a class of MLflow's tables


@dataclass
class NewRun:
    """A finished run that the store does not have yet.

    Parameters
    ----------
    id : of the run, from ``Batch.new_id``.
    experiment : id of its experiment.
    status : FINISHED or FAILED.
    """

    id: str
    experiment: str
    name: str
    status: str
    tags: Mapping[str, str]
    params: Mapping[str, str]
    metrics: Sequence[Metric]
    started: int = field(default_factory=lambda: _now())  # milliseconds


class Batch:
    """Collects new runs and their models, and writes them in transactions. Use it under the store's lock.

    Parameters
    ----------
    store : an opened store for which ``sql_store`` is not None.
    """

    def __init__(self, store: Store, sql: SqlAlchemyStore):
        self._client, self._sql = store.client, sql
        self._journal = store.artifacts.parent / _JOURNAL
        self._locations: dict[str, str] = {}  # of artifacts, by the id of the experiment
        self._rows: Rows = defaultdict(list)

    @staticmethod
    def new_id() -> str:
        """Return the id of a new run, as MLflow makes it."""
        return uuid.uuid4().hex

    def folder(self, experiment: str, run: str) -> Path:
        """Return the folder of a run's artifacts, which is not made yet.

        It is noted first, so that it is removed later if this process ends before the rows are written.
        """
        return self._noted(run, self._place(experiment, run))

    def add(self, run: NewRun) -> None:
        """Add a run; full batches are written.

        Raises
        ------
        mlflow.exceptions.MlflowException : MLflow does not accept a name or a value.
        """
        from mlflow.entities import Param, RunTag
        from mlflow.utils.validation import _validate_batch_log_data

        tags = [RunTag(key, text) for key, text in (run.tags | {"mlflow.runName": run.name}).items()]  # type: ignore[operator]
        params = [Param(key, text) for key, text in run.params.items()]
        metrics, params, tags = _validate_batch_log_data(list(run.metrics), params, tags)  # type: ignore[no-untyped-call]
        rows, key = self._rows, {"run_uuid": run.id}
        rows["SqlRun"].append(self._run_row(run))
        rows["SqlTag"] += [key | {"key": tag.key, "value": tag.value} for tag in tags]
        rows["SqlParam"] += [key | {"key": param.key, "value": param.value} for param in params]
        logged = [key | self._metric_row(metric) for metric in metrics]
        rows["SqlMetric"] += logged
        latest = {row["key"]: row for row in sorted(logged, key=lambda row: (row["step"], row["timestamp"]))}
        rows["SqlLatestMetric"] += latest.values()
        rows["SqlLoggedModelMetric"] += [
            {
                "model_id": metric.model_id,
                "metric_name": metric.key,
                "metric_timestamp_ms": metric.timestamp,
                "metric_step": metric.step,
                "metric_value": metric.value,
                "experiment_id": int(run.experiment),
                "run_id": run.id,
            }
            for metric in metrics
            if metric.model_id is not None
        ]
        if len(rows["SqlRun"]) >= _RUNS:
            self.write()

    def add_model(
        self, experiment: str, run: str, name: str, tags: Mapping[str, str], params: Mapping[str, str]
    ) -> tuple[str, Path]:
        """Add a model as the output of a new run; return its id and the folder for its files, which is not made yet."""
        model, now, rows = f"m-{uuid.uuid4().hex}", _now(), self._rows
        place = self._place(experiment, "models", model)
        of_model = {"model_id": model, "experiment_id": int(experiment)}
        rows["SqlLoggedModel"].append(
            of_model
            | {
                "name": name,
                "artifact_location": place,
                "creation_timestamp_ms": now,
                "last_updated_timestamp_ms": now,
                "model_type": None,
                "status": _ready(),
                "lifecycle_stage": "active",
                "source_run_id": run,
            }
        )
        rows["SqlLoggedModelTag"] += [of_model | {"tag_key": k, "tag_value": v} for k, v in tags.items()]
        rows["SqlLoggedModelParam"] += [of_model | {"param_key": k, "param_value": v} for k, v in params.items()]
        rows["SqlInput"].append(
            {
                "input_uuid": uuid.uuid4().hex,
                "source_type": "RUN_OUTPUT",
                "source_id": run,
                "destination_type": "MODEL_OUTPUT",
                "destination_id": model,
                "step": 0,
            }
        )
        return model, self._noted(run, place)

    def write(self) -> None:
        """Write what was added, in one transaction."""
        from mlflow.store.tracking.dbmodels import models as tables
        from sqlalchemy import insert

        rows, self._rows = self._rows, defaultdict(list)
        if rows:
            first = ("SqlRun", "SqlLoggedModel")  # other rows refer to these
            with self._sql.ManagedSessionMaker(read_only=False) as session:
                for name in (*first, *(name for name in rows if name not in first)):
                    if rows[name]:
                        session.execute(insert(getattr(tables, name)), rows[name])
        self._journal.unlink(missing_ok=True)

    def remove_lost(self, stored: Container[str]) -> None:
        """Remove files of an earlier batch that was interrupted before its rows were written.

        Parameters
        ----------
        stored : ids of all runs of the store.
        """
        if not self._journal.is_file():
            return
        for line in self._journal.read_text().splitlines():
            run, _, folder = line.partition(" ")
            if run not in stored:
                shutil.rmtree(Path(folder).parent, ignore_errors=True)
        self._journal.unlink()

    def _place(self, experiment: str, *ids: str) -> str:
        """Return the address of the artifacts of a run or model, as MLflow forms it."""
        from mlflow.utils.uri import append_to_uri_path

        if experiment not in self._locations:
            self._locations[experiment] = str(self._client.get_experiment(experiment).artifact_location)
        where = self._locations[experiment]
        return str(append_to_uri_path(where, *ids, "artifacts"))  # type: ignore[no-untyped-call]

    def _noted(self, run: str, place: str) -> Path:
        from mlflow.utils.file_utils import local_file_uri_to_path

        folder = Path(local_file_uri_to_path(place))  # type: ignore[no-untyped-call]
        with self._journal.open("a") as lines:
            lines.write(f"{run} {folder}\n")
        return folder

    def _run_row(self, run: NewRun) -> dict[str, Any]:
        return {
            "run_uuid": run.id,
            "name": run.name,
            "source_type": "UNKNOWN",
            "source_name": "",
            "entry_point_name": "",
            "user_id": "unknown",
            "status": run.status,
            "start_time": run.started,
            "end_time": _now(),
            "deleted_time": None,
            "source_version": "",
            "lifecycle_stage": "active",
            "artifact_uri": self._place(run.experiment, run.id),
            "experiment_id": int(run.experiment),
        }

    def _metric_row(self, metric: Metric) -> dict[str, Any]:
        is_nan, value = self._sql.sanitize_metric_value(metric.value)
        row = {"key": metric.key, "value": value, "timestamp": metric.timestamp, "step": metric.step}
        return row | {"is_nan": is_nan}


def sql_store(store: Store) -> SqlAlchemyStore | None:
    """Return MLflow's store below the client, if its tables can be written directly; else None."""
    import mlflow
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    sql = None if store.is_server else store.client._tracking_client.store
    return sql if isinstance(sql, SqlAlchemyStore) and mlflow.__version__.startswith(COMPARED) else None


def _ready() -> int:
    from mlflow.entities import LoggedModelStatus

    return int(LoggedModelStatus.READY.to_int())


def _now() -> int:
    return int(time.time() * 1000)
