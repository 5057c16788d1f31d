"""Runs in one transaction: the rows of MLflow's tables that its API would write, many runs at a time.

MLflow's API opens about 14 transactions for a run with a model. In a store on this machine, or in a database, the same
rows are inserted here through MLflow's own table definitions. A test compares all tables with those that the API
writes. Runs of an older layout are written again in the same way, with their ids. Runs on a server, other changes of
runs that exist, and versions of MLflow that the test has not seen use the API.

The file is longer than others, because the rows of a run go into several tables in one transaction.
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

from puoc.reporting.tracking.datasets import CONTEXT, USED_FOR, UsedDataset

if TYPE_CHECKING:
    from mlflow.entities import Metric
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
    from sqlalchemy.orm import Session

    from puoc.reporting.tracking.store import Store

COMPARED = "3.17."  # versions of MLflow whose tables the test has compared
_RUNS = 200  # runs in a transaction
_JOURNAL = ".batch"  # file in mlruns/: the ids of the runs whose files exist, while their rows may not

Rows = dict[str, list[dict[str, Any]]]  # by the name of a class of MLflow's tables


@dataclass
class NewRun:
    """A finished run that the store does not have yet, or has in an older layout.

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
    dataset: UsedDataset | None = None
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
        self._datasets: dict[str, dict[tuple[str, str], str]] = {}  # ids by name and digest, by experiment
        self._rows: Rows = defaultdict(list)
        self._replaced: list[NewRun] = []

    @staticmethod
    def new_id() -> str:
        """Return the id of a new run, as MLflow makes it."""
        return uuid.uuid4().hex

    def folder(self, experiment: str, run: str) -> Path:
        """Return the folder of a run's artifacts, which is not made yet.

        It is noted first, so that it is removed later if this process ends before the rows are written.
        """
        return self._noted(run, self._place(experiment, run))

    def add(self, run: NewRun, replaces: bool = False) -> None:
        """Add a run; full batches are written.

        Parameters
        ----------
        replaces : the store has a run with this id; its content is deleted, but for its start and its artifacts.

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
        if replaces:
            self._replaced.append(run)
        else:
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
        if run.dataset is not None:
            self._add_input(run, run.dataset)
        if len(rows["SqlRun"]) + len(self._replaced) >= _RUNS:
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

    def artifacts_of(self, experiment: str, run: str) -> Path:
        """Return the folder of the artifacts of a run that exists."""
        from mlflow.utils.file_utils import local_file_uri_to_path

        return Path(local_file_uri_to_path(self._place(experiment, run)))  # type: ignore[no-untyped-call]

    def _add_input(self, run: NewRun, dataset: UsedDataset) -> None:
        known = self._known_datasets(run.experiment)
        key = (dataset.name, dataset.digest)
        if key not in known:
            known[key] = uuid.uuid4().hex
            self._rows["SqlDataset"].append(
                {
                    "dataset_uuid": known[key],
                    "experiment_id": int(run.experiment),
                    "name": dataset.name,
                    "digest": dataset.digest,
                    "dataset_source_type": dataset.source_type,
                    "dataset_source": dataset.source,
                    "dataset_schema": None,
                    "dataset_profile": dataset.profile,
                }
            )
        number = uuid.uuid4().hex
        self._rows["SqlInput"].append(
            {
                "input_uuid": number,
                "source_type": "DATASET",
                "source_id": known[key],
                "destination_type": "RUN",
                "destination_id": run.id,
                "step": 0,
            }
        )
        self._rows["SqlInputTag"].append({"input_uuid": number, "name": CONTEXT, "value": USED_FOR})

    def _known_datasets(self, experiment: str) -> dict[tuple[str, str], str]:
        from mlflow.store.tracking.dbmodels.models import SqlDataset

        if experiment not in self._datasets:
            with self._sql.ManagedSessionMaker(read_only=True) as session:
                found = session.query(SqlDataset).filter(SqlDataset.experiment_id == int(experiment)).all()
                self._datasets[experiment] = {(each.name, each.digest): each.dataset_uuid for each in found}
        return self._datasets[experiment]

    def write(self) -> None:
        """Write what was added, in one transaction."""
        from mlflow.store.tracking.dbmodels import models as tables
        from sqlalchemy import insert

        rows, self._rows = self._rows, defaultdict(list)
        replaced, self._replaced = self._replaced, []
        if rows:
            first = ("SqlRun", "SqlLoggedModel", "SqlDataset", "SqlInput")  # other rows refer to these
            with self._sql.ManagedSessionMaker(read_only=False) as session:
                if replaced:
                    _empty(session, replaced)
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


def _empty(session: Session, runs: Sequence[NewRun]) -> None:
    """Delete the tags, params, metrics and datasets of runs, and set their names and states."""
    from mlflow.store.tracking.dbmodels import models as tables
    from sqlalchemy import bindparam, delete, select, update

    ids = [run.id for run in runs]
    for table in (tables.SqlTag, tables.SqlParam, tables.SqlMetric, tables.SqlLatestMetric):
        session.execute(delete(table).where(table.run_uuid.in_(ids)))
    session.execute(delete(tables.SqlLoggedModelMetric).where(tables.SqlLoggedModelMetric.run_id.in_(ids)))
    link = tables.SqlInput
    of_runs = (link.source_type == "DATASET") & link.destination_id.in_(ids)
    numbers = list(session.scalars(select(link.input_uuid).where(of_runs)))
    session.execute(delete(tables.SqlInputTag).where(tables.SqlInputTag.input_uuid.in_(numbers)))
    session.execute(delete(link).where(of_runs))
    runs_table = tables.SqlRun.__table__
    changed = update(runs_table).where(runs_table.c.run_uuid == bindparam("of")).values(name=bindparam("to"))
    session.connection().execute(
        changed.values(status=bindparam("state")),
        [{"of": run.id, "to": run.name, "state": run.status} for run in runs],
    )


def _ready() -> int:
    from mlflow.entities import LoggedModelStatus

    return int(LoggedModelStatus.READY.to_int())


def _now() -> int:
    return int(time.time() * 1000)
