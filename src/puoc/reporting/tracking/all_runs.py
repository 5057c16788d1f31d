"""All runs of a store, from the tables of its database where these are known, else by MLflow's API.

MLflow's API makes an object of each tag, param and metric, which takes most of the time where there are many runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from puoc.reporting.tracking.batch import sql_store
from puoc.reporting.tracking.store import Store
from puoc.reporting.tracking.stored_run import StoredRun

if TYPE_CHECKING:
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore


class FoundRun(NamedTuple):
    """A run of the store, which may be deleted or be a user's own."""

    stored: StoredRun
    start_time: int  # milliseconds
    is_deleted: bool


def all_runs(store: Store, experiments: Mapping[str, str]) -> list[FoundRun]:
    """Return every run of these experiments (names by id), the oldest first.

    Raises
    ------
    mlflow.exceptions.MlflowException, sqlalchemy.exc.SQLAlchemyError : the store cannot be read.
    """
    sql = sql_store(store)
    found = _by_api(store, experiments) if sql is None else _by_tables(sql, experiments)
    return sorted(found, key=lambda run: (run.start_time, run.stored.run_id))


def _by_api(store: Store, experiments: Mapping[str, str]) -> Iterator[FoundRun]:
    for run in store.runs(list(experiments)):
        info, data = run.info, run.data
        name, texts = experiments[info.experiment_id], (dict(data.tags), dict(data.params))
        stored = StoredRun(info.run_id, name, info.status, *texts, dict(data.metrics))
        yield FoundRun(stored, info.start_time, info.lifecycle_stage == "deleted")


def _by_tables(sql: SqlAlchemyStore, experiments: Mapping[str, str]) -> Iterator[FoundRun]:
    from mlflow.store.tracking.dbmodels import models as tables
    from sqlalchemy import select

    run, metric = tables.SqlRun, tables.SqlLatestMetric
    ids = [int(experiment) for experiment in experiments]
    heads: Any = select(run.run_uuid, run.experiment_id, run.status, run.start_time, run.lifecycle_stage)
    of_runs: Any = select(run.run_uuid).where(run.experiment_id.in_(ids))
    with sql.ManagedSessionMaker(read_only=True) as session:
        found = {
            run_id: FoundRun(StoredRun(run_id, experiments[str(experiment)], status), started, stage == "deleted")
            for run_id, experiment, status, started, stage in session.execute(heads.where(run.experiment_id.in_(ids)))
        }
        for table, part in ((tables.SqlTag, "tags"), (tables.SqlParam, "params")):
            texts = select(table.run_uuid, table.key, table.value).where(table.run_uuid.in_(of_runs))
            for run_id, key, text in session.execute(texts):
                if run_id in found:  # somebody may have added a run in the meantime
                    getattr(found[run_id].stored, part)[key] = text
        values = select(metric.run_uuid, metric.key, metric.value, metric.is_nan)
        for run_id, key, value, is_nan in session.execute(values.where(metric.run_uuid.in_(of_runs))):
            if run_id in found:
                found[run_id].stored.metrics[key] = float("nan") if is_nan else value
    yield from found.values()
