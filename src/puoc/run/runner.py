"""Fits in, results out: what is missing in the ledger is computed, once, whoever else asks for it at the same time."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from puoc.datasets.prepare.arrays import Prepared
from puoc.datasets.user.dataset import register_planned
from puoc.plan.bind import PlannedTrial
from puoc.records import Fit, FitResult, TestSet
from puoc.run.executors.batches import Batch, lanes_of, split
from puoc.run.executors.encode_features import encode
from puoc.run.executors.inline import InlineExecutor
from puoc.run.executors.job import Done, Job, compute
from puoc.run.executors.local import LocalExecutor, WorkerDied
from puoc.run.executors.process_lifetime import session
from puoc.store.ledger import Ledger
from puoc.store.plans import ComputeSpec, SweepPlan, TablePlan
from puoc.store.provenance import git_state

_WAIT = 0.5  # seconds between two looks at a fit that somebody else computes


class Progress(NamedTuple):
    """Where a run stands; ``waiting`` counts fits that another process computes."""

    wanted: int  # fits without a record when the run began
    ok: int  # with one now, whoever computed it
    failed: int
    waiting: int
    waiting_for: str | None = None
    what: str = "fits"
    running: int | None = None  # where that is known

    @property
    def remaining(self) -> int:
        """Fits without an outcome."""
        return self.wanted - self.ok - self.failed


class Runner:
    """Answers questions from the ledger, computing what it lacks.

    Parameters
    ----------
    root : the project's folder; ``ledger`` and ``work/prepared`` lie below it.
    settings : the section ``compute`` of params.yaml (``work/plan/compute.json``).
    on_done : called with the ids of fits that have just got a record.
    on_progress : called often with the state of the run.
    ledger : another folder for the records.
    batches : by fit id, for fits whose batch is fixed; the settings decide on others.
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
        register_planned(root)  # an actor of another process knows no own data yet
        self.root, self.settings, self.inline = root, settings, inline
        self.ledger = Ledger(ledger or root / "ledger")
        self.batches = batches or {}
        self.on_done, self.on_progress = on_done, on_progress
        self.session = session()
        self.reasons: dict[str, str] = {}  # of fits that failed in this run

    def run(self, plan: TablePlan | SweepPlan, asked: Iterable[PlannedTrial]) -> Counter[str]:
        """Compute what is missing; counts of fits computed here as ``ok`` and ``failed``, elsewhere as ``known``.

        Raises
        ------
        ValueError : the prepared data are missing or not those of the plan, there is no such device, or a record is
            damaged. Nothing was computed then, or what was is recorded.
        OSError : the ledger cannot be written.
        """
        wanted: dict[str, Fit] = {}
        scoring = plan.scoring_digest
        tests: dict[str, dict[str, TestSet]] = defaultdict(dict)
        for one in asked:
            fit = one.trial.fit
            if one.skip is not None:
                self._skip(fit, one.skip)
                continue
            wanted[fit.id] = fit
            tests[fit.id][one.trial.id] = one.trial.test
        missing = {fit_id: fit for fit_id, fit in wanted.items() if self.is_missing(fit_id, tests[fit_id], scoring)}
        return self.compute_fits(missing, tests, scoring)

    def compute_fits(
        self, missing: dict[str, Fit], tests: Mapping[str, Mapping[str, TestSet]], scoring: str
    ) -> Counter[str]:
        """Compute fits by id and what they need, and score them on test sets by trial id; see ``run``."""
        counts: Counter[str] = Counter(ok=0, failed=0, known=0)
        if not missing:
            return counts
        waves = self._waves(missing)
        self.check_data(fit for wave in waves for fit in wave.values())
        self._load_libraries({fit.method for wave in waves for fit in wave.values()})
        self._check_device()
        total = sum(map(len, waves))
        encode(self.root / "work", (fit for wave in waves for fit in wave.values()), self._n_workers(), self._encoded)
        with self._executor() as executor:
            for wave in waves:
                able = {fit_id: fit for fit_id, fit in wave.items() if not self._lacks(fit)}
                rest = [fit for fit_id, fit in wave.items() if fit_id not in able]
                outcomes = [Done(fit.id, "failed", self._give_up(fit)) for fit in rest]
                jobs = self._jobs(scoring, able, {fit_id: tuple(tests.get(fit_id, {}).values()) for fit_id in able})
                for done in chain(outcomes, self._drive(executor, jobs, counts, total)):
                    counts[done.status] += 1
                    if done.status == "failed":
                        self.reasons[done.fit_id] = done.reason or "no reason is known"
                    self.on_done([done.fit_id])
        return counts

    def is_missing(self, fit_id: str, trial_ids: Iterable[str], scoring: str) -> bool:
        """Whether a fit, or its score on one of these test sets by the code ``scoring``, is to be computed now."""
        if all(self.ledger.has(fit_id, trial_id, scoring) for trial_id in trial_ids):
            return False
        return self.ledger.is_final(fit_id) or self._is_due(fit_id)

    def _waves(self, missing: dict[str, Fit]) -> list[dict[str, Fit]]:
        """What is to be computed, every fit after those whose answers it takes."""
        wanted, levels = dict(missing), dict[str, int]()

        def level(fit: Fit) -> int:
            """How many fits have to be computed one after the other before this one can be."""
            if fit.id not in levels:
                levels[fit.id] = max((1 + level(need) for need in fit.needs()), default=0)
                if fit.id not in wanted and not self.ledger.is_final(fit.id) and self._is_due(fit.id):
                    wanted[fit.id] = fit
            return levels[fit.id]

        for fit in missing.values():
            level(fit)
        by_level = sorted({levels[fit_id] for fit_id in wanted})
        return [{fit_id: fit for fit_id, fit in wanted.items() if levels[fit_id] == one} for one in by_level]

    def _lacks(self, fit: Fit) -> Fit | None:
        """A fit whose answer this one takes and that has none."""
        return next((need for need in fit.needs() if not self.ledger.is_final(need.id)), None)

    def _give_up(self, fit: Fit) -> str:
        """Record a fit that cannot be tried as failed, with the reason of what it lacks."""
        need = self._lacks(fit)
        entry = self.ledger.get(need.id) if need else None
        reason = f"its {need.method if need else ''} failed: {entry.result.reason if entry else 'no reason is known'}"
        if not self.ledger.is_final(fit.id):
            self.ledger.put(
                FitResult(fit=fit, status="failed", reason=reason, git=git_state(self.root), session=self.session)
            )
        return reason

    def _encoded(self, wanted: int, done: int, what: str) -> None:
        self.on_progress(Progress(wanted, done, 0, 0, what=what))

    def _executor(self) -> LocalExecutor | InlineExecutor:
        if self.inline:
            return InlineExecutor(compute)
        return LocalExecutor(self._n_workers(), compute)

    def _drive(
        self, executor: LocalExecutor | InlineExecutor, jobs: list[Job], counts: Counter[str], wanted: int
    ) -> Iterator[Done]:
        """Run jobs until every fit has an outcome; one held elsewhere is looked at again, a dead worker's once more."""
        died: Counter[str] = Counter()
        while jobs:
            waiting: list[Job] = []

            def tick(waiting: list[Job] = waiting) -> None:
                holders = (self.ledger.holder(job.fits[0].id) for job in waiting)  # the first may be done by now
                whom = next((holder for holder in holders if holder is not None), None)
                answered = counts["ok"] + counts["known"]
                self.on_progress(Progress(wanted, answered, counts["failed"], len(waiting), whom))

            for job, outcome in executor.run(jobs, tick):
                if isinstance(outcome, WorkerDied):
                    for part in split(job):
                        fit = part.fits[0]
                        died[fit.id] += 1
                        if died[fit.id] < 2:
                            waiting.append(part)
                        else:
                            reason = str(outcome)
                            failed = FitResult(
                                fit=fit, status="failed", reason=reason, git=job.git, session=job.session
                            )
                            self.ledger.put(failed)
                            yield Done(fit.id, "failed", reason)
                    continue
                for part, done in zip(split(job), outcome, strict=True):
                    if done.status == "busy":
                        waiting.append(part)
                    else:
                        yield done
                tick()
            jobs = self._after_waiting(waiting, tick)

    def _after_waiting(self, waiting: list[Job], tick: Callable[[], None]) -> list[Job]:
        """Fits to try again. A record that came meanwhile is found by the worker, which then computes nothing."""
        if waiting:
            tick()
            time.sleep(_WAIT)
        return waiting

    def _jobs(self, scoring: str, fits: dict[str, Fit], tests: dict[str, tuple[TestSet, ...]]) -> list[Job]:
        git = git_state(self.root)
        return [
            Job(
                fits=tuple(batch),
                tests=tuple(tests[fit.id] for fit in batch),
                attempts=tuple(self.ledger.attempts(fit.id) for fit in batch),
                compute=how,
                keep_models=self.settings.models == "all",
                ledger=self.ledger.root.resolve(),
                prepared=(self.root / "work" / "prepared").resolve(),
                git=git,
                session=self.session,
                scoring_digest=scoring,
            )
            for batch, how in lanes_of(fits, tests, self.settings, self._n_workers(), self.batches)
        ]

    def _n_workers(self) -> int:
        if self.inline:
            return 1
        workers = self.settings.workers
        return len(os.sched_getaffinity(0)) if workers == "auto" else workers

    def _is_due(self, fit_id: str) -> bool:
        """A fit that two tables share and that failed for the first is not tried again for the second right away."""
        if not self.ledger.may_try(fit_id):
            return False
        last = self.ledger.get(fit_id)
        return last is None or last.result.session != self.session

    def _skip(self, fit: Fit, reason: str) -> None:
        if not self.ledger.is_final(fit.id):
            self.ledger.put(FitResult(fit=fit, status="skipped", reason=reason))

    def check_data(self, fits: Iterable[Fit]) -> None:
        """Refuse what would fail every fit and use up its attempts: data that are missing or not the plan's."""
        prepared = self.root / "work" / "prepared"
        for name, expected in sorted({(fit.sample.dataset, fit.sample.data_digest) for fit in fits}):
            got = Prepared.open(prepared / name).digest
            if got != expected:
                raise ValueError(f"{prepared / name} holds data {got}, the plan asks {expected}; run `puoc prepare`")

    def _check_device(self) -> None:
        import torch

        device = self.settings.device
        if device == "cpu":
            return
        os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # else asking makes CUDA unusable after a fork
        there = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if int(device.partition(":")[2] or 0) >= there:
            raise ValueError(f"compute.device: got {device}; expected cpu, or one of the {there} CUDA devices here")

    @staticmethod
    def _load_libraries(names: Iterable[str]) -> None:
        """Import what fits need before workers are forked: once for all, and not within a fit's seconds."""
        import torch  # noqa: F401

        from puoc import methods
        from puoc.methods import encoders, priors
        from puoc.methods.training.estimator import Estimator, PriorEstimator

        known: dict[str, type[Estimator | PriorEstimator]] = {**methods.METHODS, **encoders.ENCODERS, **priors.PRIORS}
        for library in sorted({library for name in names for library in known[name].libraries}):
            import_module(library)
