"""All runs of a store, from the tables of its database where these are known, else by MLflow's API.

MLflow's API makes an object of each tag, param and metric, which takes most of the time where there are many runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from puoc.reporting.tracking.batch import sql_store
from puoc.reporting.tracking.store import Store

if TYPE_CHECKING:
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore


class FoundRun(NamedTuple):
    """A run of the store, which may be deleted."""

    run_id: str
    experiment_id: str
    status: str
    start_time: int  # milliseconds
    is_deleted: bool
    tags: dict[str, str]
    params: dict[str, str]
    metrics: dict[str, float]  # the last value of each


def all_runs(store: Store, experiments: Sequence[str]) -> list[FoundRun]:
    """Return every run of these experiments (ids), the oldest first.

    Raises
    ------
    mlflow.exceptions.MlflowException, sqlalchemy.exc.SQLAlchemyError : the store cannot be read.
    """
    sql = sql_store(store)
    found = _by_api(store, experiments) if sql is None else _by_tables(sql, experiments)
    return sorted(found, key=lambda run: (run.start_time, run.run_id))


def _by_api(store: Store, experiments: Sequence[str]) -> Iterator[FoundRun]:
    for run in store.runs(list(experiments)):
        info, data = run.info, run.data
        yield FoundRun(
            info.run_id,
            info.experiment_id,
            info.status,
            info.start_time,
            info.lifecycle_stage == "deleted",
            dict(data.tags),
            dict(data.params),
            dict(data.metrics),
        )


def _by_tables(sql: SqlAlchemyStore, experiments: Sequence[str]) -> Iterator[FoundRun]:
    from mlflow.store.tracking.dbmodels import models as tables
    from sqlalchemy import select

    run, metric = tables.SqlRun, tables.SqlLatestMetric
    ids = [int(experiment) for experiment in experiments]
    heads: Any = select(run.run_uuid, run.experiment_id, run.status, run.start_time, run.lifecycle_stage)
    of_runs: Any = select(run.run_uuid).where(run.experiment_id.in_(ids))
    with sql.ManagedSessionMaker(read_only=True) as session:
        found = {
            row[0]: FoundRun(row[0], str(row[1]), row[2], row[3], row[4] == "deleted", {}, {}, {})
            for row in session.execute(heads.where(run.experiment_id.in_(ids)))
        }
        for table, part in ((tables.SqlTag, "tags"), (tables.SqlParam, "params")):
            texts = select(table.run_uuid, table.key, table.value).where(table.run_uuid.in_(of_runs))
            for run_id, key, text in session.execute(texts):
                if run_id in found:  # somebody may have added a run in the meantime
                    getattr(found[run_id], part)[key] = text
        values = select(metric.run_uuid, metric.key, metric.value, metric.is_nan)
        for run_id, key, value, is_nan in session.execute(values.where(metric.run_uuid.in_(of_runs))):
            if run_id in found:
                found[run_id].metrics[key] = float("nan") if is_nan else value
    yield from found.values()
