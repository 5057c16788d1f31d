"""Tasks of a run with a budget: jobs in the order of their groups, each after the jobs that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from puoc.plan.forecast.costs import Estimate, Forecast, estimate
from puoc.records import Encoding, Fit, TestSet
from puoc.run.executors import frozen_features
from puoc.run.executors.job import Job
from puoc.run.schedule import feature_seconds
from puoc.run.task_queue import Features, Task
from puoc.store.ledger import Ledger


class Remaining(NamedTuple):
    """What a run with a budget did not start."""

    fits: int
    seconds: float  # forecast computing time of those whose cost is known
    unknown: int  # fits of unknown cost
    next_seconds: float | None  # a budget that is longer starts another fit; None: any budget does, or nothing remains


class FrozenFeatures:
    """Features of frozen encoders that are not computed yet, and their seconds on a number of workers."""

    def __init__(self, work: Path, forecast: Forecast, n_workers: int):
        self.work, self.forecast, self.n_workers = work, forecast, n_workers
        self.seconds: dict[Features, float | None] = {}
        self._known: set[Features] = set()

    def missing(self, fit: Fit) -> frozenset[Features]:
        """Return the features that a fit needs and that are not computed yet."""
        encoding = fit.frozen_encoder()
        if encoding is None:
            return frozenset()
        features = Features(fit.sample.dataset, encoding.id)
        if features not in self._known | self.seconds.keys():
            self._add(features, fit.sample.data_digest, encoding)
        return frozenset({features} & self.seconds.keys())

    def _add(self, features: Features, digest: str, encoding: Encoding) -> None:
        if frozen_features.read(self.work / "features", digest, encoding) is not None:
            self._known.add(features)
            return
        seconds = feature_seconds(encoding, features.dataset, self.forecast)
        self.seconds[features] = None if seconds is None else seconds / self.n_workers


def linked_tasks(
    jobs: Sequence[Job], tests: Mapping[str, Mapping[str, TestSet]], features: FrozenFeatures, ledger: Ledger
) -> list[Task]:
    """Return a task for each job. Tasks refer to the tasks of the fits that they need."""
    tasks, by_fit = list[Task](), dict[str, Task]()
    for job in jobs:
        estimates = tuple(_estimate(fit, tests.get(fit.id, {}), ledger) for fit in job.fits)
        tasks.append(Task(job, estimates, frozenset().union(*map(features.missing, job.fits))))
        by_fit |= {fit.id: tasks[-1] for fit in job.fits}
    for task in tasks:
        needs = {id(need): need for fit in task.job.fits for n in fit.needs() if (need := by_fit.get(n.id))}
        task.needs = list(needs.values())
        for need in task.needs:
            need.needed_by.append(task)
    return tasks


def _estimate(fit: Fit, tests: Mapping[str, TestSet], ledger: Ledger) -> Estimate | None:
    """Return the work of a fit. A model that the ledger kept is only scored."""
    work = estimate(fit, tests.values())
    entry = ledger.get(fit.id) if work is not None and ledger.is_final(fit.id) else None
    kept = entry is not None and ledger.model_path(entry.result) is not None
    return work._replace(units=0.0) if work is not None and kept else work


def blocked(task: Task, ledger: Ledger) -> list[Fit]:
    """Return the fits of a task that need a fit without a record that no open task computes."""
    open_fits = {fit.id for need in task.needs if need.open for fit in need.job.fits}
    return [
        fit
        for fit in task.job.fits
        if any(need.id not in open_fits and not ledger.is_final(need.id) for need in fit.needs())
    ]
