"""Jobs of a run with a budget, and the choice of the next one: the first of the order that fits in the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from puoc.plan.forecast.costs import Estimate, Forecast
from puoc.run.executors.job import Job


class Features(NamedTuple):
    """Features of a frozen encoder for a dataset, which are computed once."""

    dataset: str
    encoding_id: str


@dataclass(eq=False)
class Task:
    """A job that was not started yet or was not finished."""

    job: Job
    estimates: tuple[Estimate | None, ...]  # of each fit of the job
    features: frozenset[Features] = frozenset()
    not_before: float = 0.0  # time of the clock: another process computes it
    needs: list[Task] = field(default_factory=list)
    needed_by: list[Task] = field(default_factory=list)
    open: bool = True  # a fit of the job has no outcome yet


class TaskQueue:
    """Tasks in their order.

    Parameters
    ----------
    forecast : gives the seconds of a task.
    feature_seconds : seconds of features that are missing; None: no cost is known.
    rest : the seconds that are left of the budget.
    clock : the time that ``Task.not_before`` refers to.
    """

    def __init__(
        self,
        tasks: Iterable[Task],
        forecast: Forecast,
        feature_seconds: dict[Features, float | None],
        rest: Callable[[], float],
        clock: Callable[[], float],
    ):
        self.waiting, self.running = list(tasks), dict[int, Task]()
        self.forecast, self.feature_seconds, self.rest, self.clock = forecast, feature_seconds, rest, clock
        self.features_due: Task | None = None  # this task is the next one, as soon as its features are there
        self._nothing_fits = False  # until a job ends, since the rest only decreases

    def next(self) -> Job | None:
        """Return the job to start now; None if there is none at present, or if features have to be computed first.

        This is the first task whose forecast seconds fit in the rest, with all that is needed to finish one of its
        fits. A task of unknown cost is started if no other task fits.
        """
        if self.features_due is not None or self._nothing_fits:
            return None
        rest, first_unknown, others_fit, later = self.rest(), None, False, False
        for task in self.waiting if rest > 0 else ():
            seconds, is_ready = self.seconds_to_finish(task), self._is_ready(task)
            if seconds is not None and seconds <= rest:
                if is_ready:
                    return self._start(task)
                others_fit = True
            elif seconds is None and is_ready:
                first_unknown = first_unknown or task
            elif seconds is None:
                later = True
        if first_unknown is None or others_fit:
            self._nothing_fits = not (others_fit or later)
            return None
        return self._start(first_unknown)

    def _start(self, task: Task) -> Job | None:
        if task.features & self.feature_seconds.keys():
            self.features_due = task
            return None
        self.waiting.remove(task)
        self.running[id(task.job)] = task
        return task.job

    def _is_ready(self, task: Task) -> bool:
        return task.not_before <= self.clock() and not any(need.open for need in task.needs)

    def has_features(self, features: Iterable[Features]) -> None:
        """Note that features were computed."""
        for known in features:
            self.feature_seconds.pop(known, None)
        self.features_due, self._nothing_fits = None, False

    def ended(self, job: Job) -> Task:
        """Take a job off the running ones, and return its task."""
        task = self.running.pop(id(job))
        task.open, self._nothing_fits = False, False
        return task

    def withdraw(self, task: Task) -> None:
        """Take a task off that cannot be computed."""
        self.waiting.remove(task)
        task.open, self._nothing_fits = False, False

    def again(self, task: Task, jobs: Iterable[Job], not_before: float) -> None:
        """Put parts of a task back, in front of the others, to be started at a later time."""
        estimates = {fit.id: estimate for fit, estimate in zip(task.job.fits, task.estimates, strict=True)}
        parts = [
            Task(job, tuple(estimates[fit.id] for fit in job.fits), task.features, not_before, task.needs)
            for job in jobs
        ]
        for part in parts:
            part.needed_by = task.needed_by
        for dependent in task.needed_by:
            dependent.needs += parts
        for need in task.needs:
            need.needed_by += parts
        self.waiting[:0] = parts

    def waits(self) -> bool:
        """Return True if a task that fits in the rest may be started later."""
        rest = self.rest()
        return rest > 0 and any(
            task.not_before > 0 and ((seconds := self.seconds_to_finish(task)) is None or seconds <= rest)
            for task in self.waiting
        )

    # seconds

    def seconds(self, task: Task) -> float | None:
        """Return the seconds of a task alone; None if they are unknown."""
        total = 0.0
        for estimate in task.estimates:
            seconds = self.forecast.seconds_of(estimate)
            if seconds is None:
                return None
            total += seconds
        for features in task.features & self.feature_seconds.keys():
            seconds = self.feature_seconds[features]
            if seconds is None:
                return None
            total += seconds
        return total

    def seconds_to_finish(self, task: Task) -> float | None:
        """Return the seconds until the cheapest job that the task is computed for is done; None if unknown."""
        known = [seconds for goal in _goals(task) if (seconds := self._with_needs(goal)) is not None]
        return min(known, default=None)

    def _with_needs(self, goal: Task) -> float | None:
        total = 0.0
        for task in _open_needs(goal):
            seconds = self.seconds(task)
            if seconds is None:
                return None
            total += seconds
        return total


def _goals(task: Task) -> Iterator[Task]:
    """Yield the tasks that a task is computed for: those above it that no other task needs, or itself."""
    above = [other for other in task.needed_by if other.open]
    if not above:
        yield task
    for other in above:
        yield from _goals(other)


def _open_needs(task: Task) -> set[Task]:
    """Return a task and the tasks that it needs and that are not finished."""
    found = {task}
    for need in task.needs:
        if need.open:
            found |= _open_needs(need)
    return found
