"""A run that the store has, with the fields that the writer compares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from puoc.reporting.tracking.run_specs import Key

if TYPE_CHECKING:
    from mlflow.entities import Run


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
