"""Computation of tables within a budget of time: no job starts whose forecast does not fit in the rest.

Jobs that run when the budget ends are finished. The next run continues in the same order.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from puoc.plan.forecast.costs import Forecast
from puoc.plan.forecast.machine_speed import speed_of_machine
from puoc.records import TestSet
from puoc.run.budget_tasks import FrozenFeatures, Remaining, blocked, linked_tasks
from puoc.run.executors.batches import split
from puoc.run.executors.encode_features import encode
from puoc.run.executors.job import Done, Job, compute
from puoc.run.executors.local import LocalExecutor
from puoc.run.executors.requirements import check_device, load_libraries
from puoc.run.runner import WAIT, Runner
from puoc.run.schedule import Group, TableTrials, ordered, sets_to_score
from puoc.run.task_queue import Task, TaskQueue


class BudgetRunner(Runner):
    """Computes the fits of tables that the ledger lacks, cheapest entry first, until a budget is used up."""

    def run_tables(self, tables: Sequence[TableTrials], budget: float) -> tuple[Counter[str], Remaining]:
        """Compute the missing fits of all tables that fit in ``budget`` seconds.

        The time counts from the moment at which the first fit may start.

        Returns
        -------
        Counts as ``Runner.run``, and what was not started.

        Raises
        ------
        OSError, ValueError : as ``Runner.run``.
        """
        here = speed_of_machine(self.root, (), 0).of
        forecast = Forecast(self.ledger, self.settings.device, here)
        tests, scoring = sets_to_score(tables), dict[str, str]()
        for plan, trials in tables:
            for planned in trials:
                if planned.skip is not None:
                    self._skip(planned.trial.fit, planned.skip)
                scoring[planned.trial.fit.id] = plan.scoring_digest
        jobs = self._jobs_in_order(ordered(tables, forecast), tests, scoring)
        if not jobs:
            return Counter(ok=0, failed=0, known=0), Remaining(0, 0.0, 0, None)
        fits = [fit for job in jobs for fit in job.fits]
        self.check_data(fits)
        load_libraries({fit.method for fit in fits})
        check_device(self.settings.device)
        features = FrozenFeatures(self.root / "work", forecast, self.n_workers())
        tasks = linked_tasks(jobs, tests, features, self.ledger)
        deadline = time.monotonic() + budget
        queue = TaskQueue(tasks, forecast, features.seconds, lambda: deadline - time.monotonic(), time.monotonic)
        counts = _Loop(self, queue, len(fits)).run()
        return counts, self._remaining(queue, tests)

    def _jobs_in_order(
        self, groups: Iterable[Group], tests: Mapping[str, Mapping[str, TestSet]], scoring: Mapping[str, str]
    ) -> list[Job]:
        """Return the jobs of missing fits, group by group, and before each group those of the fits that it needs."""
        placed, jobs = set[str](), list[Job]()
        for group in groups:
            digest = scoring[group.fits[0].id]
            missing = {
                fit.id: fit
                for fit in group.fits
                if fit.id not in placed and self.is_missing(fit.id, tests[fit.id], digest)
            }
            for wave in self._waves(missing) if missing else ():
                new = {fit_id: fit for fit_id, fit in wave.items() if fit_id not in placed}
                placed |= new.keys()
                jobs += self._jobs(digest, new, {fit_id: tuple(tests.get(fit_id, {}).values()) for fit_id in new})
        return jobs

    def _remaining(self, queue: TaskQueue, tests: Mapping[str, Mapping[str, TestSet]]) -> Remaining:
        """Return what was not started and was not computed by another process meanwhile."""
        fits, total, unknown, smallest = 0, 0.0, 0, list[float]()
        for task in queue.waiting:
            digest = task.job.scoring_digest
            missing = [fit for fit in task.job.fits if not self._is_recorded(fit.id, tests.get(fit.id, {}), digest)]
            if not missing:
                continue
            fits += len(missing)
            seconds, to_finish = queue.seconds(task), queue.seconds_to_finish(task)
            total += seconds or 0.0
            unknown += len(missing) if seconds is None else 0
            smallest.append(0.0 if to_finish is None else to_finish)
        return Remaining(fits, total, unknown, min(smallest, default=None))

    def _is_recorded(self, fit_id: str, trial_ids: Iterable[str], scoring: str) -> bool:
        return self.ledger.is_final(fit_id) and all(self.ledger.has(fit_id, trial, scoring) for trial in trial_ids)


class _Loop:
    """Runs the tasks of a queue on the worker processes of a runner."""

    def __init__(self, runner: BudgetRunner, queue: TaskQueue, wanted: int):
        self.runner, self.queue, self.wanted = runner, queue, wanted
        self.counts: Counter[str] = Counter(ok=0, failed=0, known=0)
        self.died: Counter[str] = Counter()

    def run(self) -> Counter[str]:
        """Return counts of outcomes, as ``Runner.run``."""
        self._give_up_blocked(list(self.queue.waiting))
        with LocalExecutor(self.runner.n_workers(), compute) as executor:
            while True:
                self._run_jobs(executor)
                if self.queue.features_due is not None:
                    self._encode(self.queue.features_due)
                elif self.queue.waits():
                    self._tick()
                    time.sleep(WAIT)
                else:
                    return self.counts

    def _run_jobs(self, executor: LocalExecutor) -> None:
        for job, outcome in executor.run_from(self.queue.next, self._tick):
            task = self.queue.ended(job)
            again, ended = self.runner.settle(job, outcome, self.died)
            self.queue.again(task, again, time.monotonic() + WAIT)
            for done in ended:
                self._count(done)
            if any(done.status == "failed" for done in ended):
                self._give_up_blocked(task.needed_by)
            self._tick()

    def _encode(self, task: Task) -> None:
        encode(self.runner.root / "work", task.job.fits, self.runner.n_workers(), self.runner.report_features)
        self.queue.has_features(task.features)

    def _give_up_blocked(self, tasks: Iterable[Task]) -> None:
        """Record the fits of waiting tasks as failed that need a fit which failed."""
        waiting = set(self.queue.waiting)
        for task in [task for task in tasks if task in waiting]:
            lost = blocked(task, self.runner.ledger)
            if not lost:
                continue
            self.queue.withdraw(task)
            self.queue.again(task, [part for part in split(task.job) if part.fits[0] not in lost], 0.0)
            for fit in lost:
                self._count(Done(fit.id, "failed", self.runner.give_up(fit)))
            self._give_up_blocked(task.needed_by)

    def _count(self, done: Done) -> None:
        self.counts[done.status] += 1
        if done.status == "failed":
            self.runner.reasons[done.fit_id] = done.reason or "no reason is known"
        entry = self.runner.ledger.get(done.fit_id) if done.status == "ok" else None
        if entry is not None:
            self.queue.forecast.add(entry.result)
        self.runner.on_done([done.fit_id])

    def _tick(self) -> None:
        waiting = (task.job for task in self.queue.waiting if task.not_before > 0)
        self.runner.report(self.wanted, self.counts, waiting)
