"""A run that the store has, with the fields that the writer compares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from puoc.reporting.tracking.notes import NOTE, is_edited
from puoc.reporting.tracking.project_trials import Key
from puoc.reporting.tracking.run_specs import ID_TAGS, LAYOUT, LAYOUT_TAG

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Metric

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

    @property
    def key(self) -> Key:
        """Return the experiment and the id of the trial, cell or sweep."""
        return self.experiment, self.tags[ID_TAGS[self.tags["kind"]]]  # type: ignore[index]

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


def is_older(stored: StoredRun) -> bool:
    """Check whether a run was written in an older layout."""
    return stored.tags.get(LAYOUT_TAG) != str(LAYOUT)


def without_edited_note(stored: StoredRun, tags: dict[str, str]) -> dict[str, str]:
    """Return the tags without a description if a user has edited that of the run."""
    return {key: text for key, text in tags.items() if key != NOTE} if is_edited(stored.tags.get(NOTE)) else tags
