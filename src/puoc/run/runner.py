"""Computation of the fits that the ledger lacks. Each is computed once, also if several processes need it."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from puoc.datasets.prepare.arrays import Prepared
from puoc.datasets.user.dataset import register_planned
from puoc.plan.bind import PlannedTrial
from puoc.records import Fit, FitResult, JsonObject, TestSet
from puoc.run.executors.batches import Batch, lanes_of, split
from puoc.run.executors.encode_features import encode
from puoc.run.executors.inline import InlineExecutor
from puoc.run.executors.job import Done, Job, compute
from puoc.run.executors.local import LocalExecutor, WorkerDied
from puoc.run.executors.process_lifetime import session
from puoc.run.executors.requirements import check_device, load_libraries
from puoc.store.ledger import Ledger
from puoc.store.plans import ComputeSpec, SweepPlan, TablePlan
from puoc.store.provenance import git_state

WAIT = 0.5  # seconds between two checks of fits that other processes compute


class Progress(NamedTuple):
    """The progress of a run; ``waiting`` counts fits that another process computes."""

    wanted: int  # fits without a record when the run began
    ok: int  # fits with a record now, computed by any process
    failed: int
    waiting: int
    waiting_for: str | None = None
    what: str = "fits"
    running: int | None = None  # if known

    @property
    def remaining(self) -> int:
        """Return the number of fits without an outcome."""
        return self.wanted - self.ok - self.failed


class Runner:
    """Computes the fits of a plan that the ledger lacks.

    Parameters
    ----------
    root : the folder of the project, with ``ledger`` and ``work/prepared``.
    settings : the section ``compute`` of params.yaml (``work/plan/compute.json``).
    on_done : called with the ids of fits when they have a record.
    on_progress : called often with the progress of the run.
    ledger : another folder for the records.
    batches : the batches of some fits, by fit id; the settings decide on those of other fits.
    inline : compute in this process, one job after the other, instead of in worker processes.
    """

    def __init__(
        self,
        root: Path,
        settings: ComputeSpec,
        on_done: Callable[[Sequence[str]], None] = lambda _: None,
        on_progress: Callable[[Progress], None] = lambda _: None,
        ledger: Path | None = None,
        batches: Mapping[str, Batch] | None = None,
        inline: bool = False,
    ):
        register_planned(root)  # user data are not registered yet in a worker of another process
        self.root, self.settings, self.inline = root, settings, inline
        self.ledger = Ledger(ledger or root / "ledger")
        self.batches = batches or {}
        self.on_done, self.on_progress = on_done, on_progress
        self.session = session()
        self.reasons: dict[str, str] = {}  # of fits that failed in this run

    def run(self, plan: TablePlan | SweepPlan, planned_trials: Iterable[PlannedTrial]) -> Counter[str]:
        """Compute the missing fits. Return counts: ``ok`` and ``failed`` by this process, ``known`` by others.

        Raises
        ------
        ValueError : the prepared data are missing or not those of the plan, there is no such device, or a record is
            damaged. Fits that were computed before the error are recorded.
        OSError : the ledger cannot be written.
        """
        wanted: dict[str, Fit] = {}
        scoring = plan.scoring_digest
        tests: dict[str, dict[str, TestSet]] = defaultdict(dict)
        for planned in planned_trials:
            fit = planned.trial.fit
            if planned.skip is not None:
                self._skip(fit, planned.skip)
                continue
            wanted[fit.id] = fit
            tests[fit.id][planned.trial.id] = planned.trial.test
        missing = {fit_id: fit for fit_id, fit in wanted.items() if self.is_missing(fit_id, tests[fit_id], scoring)}
        return self.compute_fits(missing, tests, scoring)

    def compute_fits(
        self, missing: dict[str, Fit], tests: Mapping[str, Mapping[str, TestSet]], scoring: str
    ) -> Counter[str]:
        """Compute fits, by id, with the fits that they need, and score them on test sets, by trial id; see ``run``."""
        counts: Counter[str] = Counter(ok=0, failed=0, known=0)
        if not missing:
            return counts
        waves = self._waves(missing)
        self.check_data(fit for wave in waves for fit in wave.values())
        load_libraries({fit.method for wave in waves for fit in wave.values()})
        check_device(self.settings.device)
        total = sum(map(len, waves))
        encode(
            self.root / "work", (fit for wave in waves for fit in wave.values()), self.n_workers(), self.report_features
        )
        with self._executor() as executor:
            for wave in waves:
                ready = {fit_id: fit for fit_id, fit in wave.items() if not self._missing_need(fit)}
                rest = [fit for fit_id, fit in wave.items() if fit_id not in ready]
                outcomes = [Done(fit.id, "failed", self.give_up(fit)) for fit in rest]
                jobs = self._jobs(scoring, ready, {fit_id: tuple(tests.get(fit_id, {}).values()) for fit_id in ready})
                for done in chain(outcomes, self._drive(executor, jobs, counts, total)):
                    counts[done.status] += 1
                    if done.status == "failed":
                        self.reasons[done.fit_id] = done.reason or "no reason is known"
                    self.on_done([done.fit_id])
        return counts

    def is_missing(self, fit_id: str, trial_ids: Iterable[str], scoring: str) -> bool:
        """Return True if a fit, or its score on one of these test sets by the code ``scoring``, must be computed."""
        if all(self.ledger.has(fit_id, trial_id, scoring) for trial_id in trial_ids):
            return False
        return self.ledger.is_final(fit_id) or self._is_due(fit_id)

    def _waves(self, missing: dict[str, Fit]) -> list[dict[str, Fit]]:
        """Return the fits to compute in waves, so that each fit comes after the fits that it needs."""
        wanted, levels = dict(missing), dict[str, int]()

        def level(fit: Fit) -> int:
            """Return the length of the longest chain of fits that this fit needs, and add those that are due."""
            if fit.id not in levels:
                levels[fit.id] = max((1 + level(need) for need in fit.needs()), default=0)
                if fit.id not in wanted and not self.ledger.is_final(fit.id) and self._is_due(fit.id):
                    wanted[fit.id] = fit
            return levels[fit.id]

        for fit in missing.values():
            level(fit)
        by_level = sorted({levels[fit_id] for fit_id in wanted})
        return [{fit_id: fit for fit_id, fit in wanted.items() if levels[fit_id] == n} for n in by_level]

    def _missing_need(self, fit: Fit) -> Fit | None:
        """Return a fit that this fit needs and that has no final record; None if there is none."""
        return next((need for need in fit.needs() if not self.ledger.is_final(need.id)), None)

    def give_up(self, fit: Fit) -> str:
        """Record a fit that cannot be attempted as failed, and return the reason: that of the fit that it needs."""
        need = self._missing_need(fit)
        entry = self.ledger.get(need.id) if need else None
        reason = f"its {need.method if need else ''} failed: {entry.result.reason if entry else 'no reason is known'}"
        if not self.ledger.is_final(fit.id):
            self.ledger.put(FitResult(fit=fit, status="failed", reason=reason, git=self.git, session=self.session))
        return reason

    def report(self, wanted: int, counts: Counter[str], waiting: Iterable[Job]) -> None:
        """Report the progress of the fits. ``waiting`` are jobs that another process had claimed."""
        holders = [holder for job in waiting if (holder := self.ledger.holder(job.fits[0].id)) is not None]
        n_ok = counts["ok"] + counts["known"]
        # A job without a holder has ended in the other process since it was looked at, so nobody computes it now.
        self.on_progress(Progress(wanted, n_ok, counts["failed"], len(holders), next(iter(holders), None)))

    def report_features(self, wanted: int, done: int, what: str) -> None:
        """Report the progress of the features of a frozen encoder."""
        self.on_progress(Progress(wanted, done, 0, 0, what=what))

    def _executor(self) -> LocalExecutor | InlineExecutor:
        if self.inline:
            return InlineExecutor(compute)
        return LocalExecutor(self.n_workers(), compute)

    def _drive(
        self, executor: LocalExecutor | InlineExecutor, jobs: list[Job], counts: Counter[str], wanted: int
    ) -> Iterator[Done]:
        """Run jobs until every fit has an outcome.

        A fit that another process has claimed is checked again later. A fit whose worker died is run once more.
        """
        died: Counter[str] = Counter()
        while jobs:
            waiting: list[Job] = []

            def tick(waiting: list[Job] = waiting) -> None:
                self.report(wanted, counts, waiting)

            for job, outcome in executor.run(jobs, tick):
                again, ended = self.settle(job, outcome, died)
                waiting += again
                yield from ended
                if not isinstance(outcome, WorkerDied):
                    tick()
            jobs = self._after_waiting(waiting, tick)

    def settle(self, job: Job, outcome: list[Done] | WorkerDied, died: Counter[str]) -> tuple[list[Job], list[Done]]:
        """Return the parts of a job to run again, and the outcomes of the others. ``died`` counts deaths by fit."""
        if not isinstance(outcome, WorkerDied):
            parts = list(zip(split(job), outcome, strict=True))
            again = [part for part, done in parts if done.status == "busy"]
            return again, [done for _, done in parts if done.status != "busy"]
        again, ended, reason = [], [], str(outcome)
        for part in split(job):
            fit = part.fits[0]
            died[fit.id] += 1
            if died[fit.id] < 2:
                again.append(part)
                continue
            self.ledger.put(FitResult(fit=fit, status="failed", reason=reason, git=job.git, session=job.session))
            ended.append(Done(fit.id, "failed", reason))
        return again, ended

    def _after_waiting(self, waiting: list[Job], tick: Callable[[], None]) -> list[Job]:
        """Wait, then return the jobs to run again. If a fit has a record meanwhile, the worker computes nothing."""
        if waiting:
            tick()
            time.sleep(WAIT)
        return waiting

    def _jobs(self, scoring: str, fits: dict[str, Fit], tests: dict[str, tuple[TestSet, ...]]) -> list[Job]:
        return [
            Job(
                fits=tuple(batch),
                tests=tuple(tests[fit.id] for fit in batch),
                attempts=tuple(self.ledger.attempts(fit.id) for fit in batch),
                compute=batch_settings,
                keep_models=self.settings.models == "all",
                ledger=self.ledger.root.resolve(),
                prepared=(self.root / "work" / "prepared").resolve(),
                git=self.git,
                session=self.session,
                scoring_digest=scoring,
            )
            for batch, batch_settings in lanes_of(fits, tests, self.settings, self.n_workers(), self.batches)
        ]

    @cached_property
    def git(self) -> JsonObject:
        """Return the state of the repository when the run began."""
        return git_state(self.root)

    def n_workers(self) -> int:
        """Return the number of worker processes."""
        if self.inline:
            return 1
        workers = self.settings.workers
        return len(os.sched_getaffinity(0)) if workers == "auto" else workers

    def _is_due(self, fit_id: str) -> bool:
        """Return True if a fit may be attempted and did not fail in this session, as for another table that has it."""
        if not self.ledger.may_try(fit_id):
            return False
        last = self.ledger.get(fit_id)
        return last is None or last.result.session != self.session

    def _skip(self, fit: Fit, reason: str) -> None:
        if not self.ledger.is_final(fit.id):
            self.ledger.put(FitResult(fit=fit, status="skipped", reason=reason))

    def check_data(self, fits: Iterable[Fit]) -> None:
        """Check that the prepared data are those of the plan, since every fit would fail otherwise.

        Raises
        ------
        ValueError : prepared data are missing or have another digest than the plan.
        """
        prepared = self.root / "work" / "prepared"
        for name, expected in sorted({(fit.sample.dataset, fit.sample.data_digest) for fit in fits}):
            got = Prepared.open(prepared / name).digest
            if got != expected:
                raise ValueError(
                    f"{prepared / name}: got data {got}; expected {expected}, as planned; run `puoc prepare`"
                )
