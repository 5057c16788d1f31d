"""A run that the store has, with the fields that the writer compares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from puoc.reporting.tracking.run_specs import Key

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Run

_MOST = 1000  # items that MLflow accepts in a batch


@dataclass
class StoredRun:
    """A run in the store, with the fields that the writer compares."""

    run_id: str
    experiment: str  # name
    status: str
    tags: dict[str, str] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run, experiment: str) -> StoredRun:
        """Convert a run of MLflow."""
        data = run.data
        return cls(run.info.run_id, experiment, run.info.status, dict(data.tags), dict(data.params), dict(data.metrics))

    @property
    def key(self) -> Key:
        """Return the experiment and the id of the trial or cell."""
        return self.experiment, self.tags["trial_id" if self.tags["kind"] == "trial" else "cell_id"]

    def log(self, client: MlflowClient, params: dict[str, str], tags: dict[str, str], metrics: list[Metric]) -> None:
        """Write parameters, tags and metrics to the store, in as few requests as MLflow allows."""
        from mlflow.entities import Param, RunTag

        first = _MOST - len(params) - len(tags)
        for start in range(first, len(metrics), _MOST):
            client.log_batch(self.run_id, metrics=metrics[start : start + _MOST])
        client.log_batch(
            self.run_id,
            metrics=metrics[:first],
            params=[Param(key, text) for key, text in params.items()],
            tags=[RunTag(key, text) for key, text in tags.items()],
        )
        self.params |= params
        self.tags |= tags
