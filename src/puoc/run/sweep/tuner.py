"""Rounds of Ray Tune, until no configuration is missing from the ledger or the budget is spent.

The actors of a round end with it, so no worker runs for ever. The next round computes what the ledger lacks. Ray's
files of a round are deleted after it.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from puoc.plan.bind import bind
from puoc.records import Fit, FitResult, Params, content_id
from puoc.run.executors.encode_features import encode
from puoc.run.executors.local import WorkerDied
from puoc.run.executors.process_lifetime import session
from puoc.run.result_rows import row
from puoc.run.runner import Progress, Runner
from puoc.run.sweep.budget import Budget
from puoc.run.sweep.gpu_packing import Packing, ran_out_of_memory
from puoc.run.sweep.request import Sweep
from puoc.run.sweep.status import SweepStatus, sweep_status
from puoc.store.claims import A_DAY, is_held
from puoc.store.ledger import Ledger
from puoc.store.plan_files import read_compute
from puoc.store.provenance import git_state
from puoc.store.result_rows import ResultRow

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

    Search = tuple[BaseStorage, dict[str, float]]  # the study's storage, and known values by configuration

_MAX_CONFIGS_PER_ACTOR = 50  # then the actor is replaced, because libraries leak memory over many fits
_MAX_ROUNDS_WITHOUT_OUTCOME = 3

# keeps Ray Tune from writing its own logs, handling Ctrl-C and changing the working directory
_TUNE = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_AUTO_CALLBACK_SYNCER": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "3600",
    "TUNE_WARN_INSUFFICENT_RESOURCE_THRESHOLD_S": "3600",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
}


class Outcome(NamedTuple):
    """Outcome of a sweep: numbers of configurations."""

    ok: int  # computed now, by this run or by another in the meantime
    known: int  # in the ledger before
    failed: int
    stopped: int  # by successive halving
    remaining: int  # not computed because the budget is spent
    stopped_by: str | None  # reason why the sweep ended early, if it did


class Tuner:
    """Runs one sweep on the connected cluster.

    Parameters
    ----------
    packing : number of trials that run in parallel, and their resources.
    on_rows : called with the rows of a configuration when it has an outcome.
    on_progress : called often with the state, counted in configurations.

    Raises
    ------
    ValueError, OSError : as ``Runner.run``, from any trial; records that were written stay.
    """

    def __init__(
        self,
        root: Path,
        sweep: Sweep,
        packing: Packing,
        budget: Budget,
        started: float,
        on_rows: Callable[[Sequence[ResultRow]], None] = lambda _: None,
        on_progress: Callable[[Progress], None] = lambda _: None,
    ):
        os.environ.update(_TUNE)
        self.root, self.sweep, self.packing, self.budget = root.resolve(), sweep, packing, budget
        self.deadline = started + budget.seconds if budget.seconds is not None else None
        self.on_rows, self.on_progress = on_rows, on_progress
        settings = read_compute(root)
        self.settings = settings.model_copy(update={"device": "cuda"}) if packing.gpus else settings
        self.session = session()
        self.ledger = Ledger(self.root / "ledger")
        self.folder = self.root / "work" / "ray" / content_id(self.session)[:12]
        self.marker = self.folder / "sweep"  # a node that does not see it has another folder
        self.n_known = 0  # known configurations when the sweep began
        self.total: int | None = None  # configurations that this run shall compute, if their number is known
        self.seen: dict[str, bool] = {}  # configurations with an outcome in this run: whether each succeeded
        self.stopped: set[str] = set()  # configurations that successive halving stopped
        self.short_of_memory: dict[
            str, Params
        ] = {}  # configurations of the round for which a GPU's memory was too small
        self.last_error = ""

    @property
    def runner(self) -> Runner:
        """Return a runner of this session, which finds missing fits."""
        runner = Runner(self.root, self.settings)
        runner.session = self.session
        return runner

    def run(self) -> Outcome:
        """Compute the missing configurations and return the outcome of the sweep."""
        _clear(self.folder.parent)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.marker.write_text(self.session, encoding="utf-8")
            return self._search() if self.sweep.parts is not None else self._grid()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    # a grid

    def _grid(self) -> Outcome:
        status = sweep_status(self.runner, self.sweep)
        self.n_known, self.total, n_without_outcome = len(status.done), len(status.missing), 0
        self._prepare(status)
        while missing := [name for name in status.missing if name not in self.stopped]:
            left = self._left(status.n_configs - len(missing))
            if left == 0 or not self._round(missing[:left]):
                return self._outcome(sweep_status(self.runner, self.sweep), "the budget is spent")
            status = self._after_round(sweep_status(self.runner, self.sweep))
            has_progress = len(set(status.missing) - self.stopped) < len(missing)
            n_without_outcome = 0 if has_progress else n_without_outcome + 1
            if n_without_outcome == _MAX_ROUNDS_WITHOUT_OUTCOME:
                raise ValueError(
                    f"{len(missing)} configurations get no outcome: {self.last_error or 'no reason is known'}"
                )
        return self._outcome(status, None)

    def _outcome(self, status: SweepStatus, stopped_by: str | None) -> Outcome:
        stopped = len(self.stopped & set(status.missing))
        done = len(status.done) - self.n_known
        return Outcome(done, self.n_known, len(status.failed), stopped, len(status.missing) - stopped, stopped_by)

    # a search

    def _search(self) -> Outcome:
        """Run the listed configurations, then rounds of suggestions that share one study."""
        from optuna.storages import InMemoryStorage

        from puoc.run.sweep import tpe as search

        listed = self._grid()
        if listed.stopped_by:
            return listed
        evaluated, storage = search.evaluated_configs(self.sweep, self.ledger), InMemoryStorage()
        known = [config for config in evaluated if search.is_in_sweep(self.sweep, config.params)]
        search.replay(storage, self.sweep.parts or [], known)
        values = {content_id(config.params)[:8]: config.val for config in known}
        self.n_known = max(search.count_configs(self.sweep, evaluated) - sum(self.seen.values()), 0)
        limit = self.budget.configurations
        self.total = None if limit is None else max(limit - self.n_known, 0)
        while (left := self._left(self.n_known + len(self.seen))) > 0:
            before = len(self.seen)
            if not self._round([], left, (storage, values)):
                return self._search_outcome("the budget is spent")
            if self._retry_short_of_memory(storage, values):
                continue
            if len(self.seen) == before:  # the space has no more configurations
                break
        return self._search_outcome(None)

    def _retry_short_of_memory(self, storage: BaseStorage, values: dict[str, float]) -> bool:
        """Queue suggestions that ran out of a GPU's memory for another try; return whether any were queued."""
        import optuna

        from puoc.run.sweep.tpe import STUDY, suggestion_of

        parts = self.sweep.parts or []
        suggestions = {name: suggestion_of(params, parts) for name, params in self.short_of_memory.items()}
        if not suggestions or not self._halve():
            return False
        study = optuna.load_study(study_name=STUDY, storage=storage)
        for name, suggestion in suggestions.items():
            if suggestion is not None:
                study.enqueue_trial(suggestion[0])
                del self.seen[name]
                values.pop(name, None)
        return True

    def _search_outcome(self, stopped_by: str | None) -> Outcome:
        failed = sum(not ok for ok in self.seen.values())
        ok = len(self.seen) - failed - len(self.stopped)
        remaining = max((self.total or 0) - len(self.seen), 0)
        return Outcome(ok, self.n_known, failed, len(self.stopped), remaining, stopped_by)

    # rounds

    def _left(self, n_done: int) -> int:
        """Return the largest number of configurations for the next round; it is small until GPU memory is measured."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            return 0
        max_configs = self.packing.at_once * (_MAX_CONFIGS_PER_ACTOR if self.packing.is_measured else 1)
        limit = self.budget.configurations
        return max_configs if limit is None else max(min(max_configs, limit - n_done), 0)

    def _prepare(self, status: SweepStatus) -> None:
        """Check the data and compute the features of frozen encoders, which all trials need."""
        fits = [status.example] if status.example is not None else []
        self.runner.check_data(fits)

        def report(wanted: int, done: int, what: str) -> None:
            self.on_progress(Progress(wanted, done, 0, 0, what=what))

        encode(self.root / "work", fits, self.packing.cpus, report)

    def _round(self, config_ids: list[str], n: int = 0, search: Search | None = None) -> bool:
        """Run listed configurations, or ``n`` suggested ones. Return False if the time is spent."""
        from puoc.run.sweep.rounds import Round, TimeIsUp

        self.short_of_memory.clear()
        try:
            Round(self).run(config_ids, n, search)
        except TimeIsUp:
            return False
        return True

    def _after_round(self, status: SweepStatus) -> SweepStatus:
        """Start another session with half as many trials on a GPU if a fit ran out of memory; return the status."""
        if self.packing.gpus and self._ran_out_of_memory(status.fit_ids) and self._halve():
            return sweep_status(self.runner, self.sweep)
        return status

    def _halve(self) -> bool:
        if not self.packing.halve():
            return False
        self.session += ", half as many on a GPU"
        return True

    def _ran_out_of_memory(self, fit_ids: Iterable[str]) -> bool:
        """Check whether any of the fits ran out of a GPU's memory in this session."""
        results = [entry.result for fit_id in fit_ids if (entry := self.ledger.get(fit_id)) is not None]
        return any(result.session == self.session and ran_out_of_memory(result.reason) for result in results)

    def record_outcome(self, params: Params, is_ok: bool, was_stopped: bool = False) -> None:
        """Store a configuration's outcome and pass on its rows."""
        plan, name = self.sweep.plan_of(params), content_id(params)[:8]
        self.seen[name] = is_ok
        if not is_ok and self.packing.gpus and self._ran_out_of_memory(self._fits(params)):
            self.short_of_memory[name] = params
        if was_stopped:
            self.stopped.add(name)
        else:
            ledger = self.ledger
            self.on_rows([row(plan, planned, ledger.get(planned.trial.fit.id), ledger) for planned in bind(plan)])

    def record_dead_actor(self, params: Params, error: str) -> None:
        """Record as failed the fits that were running when a trial's actor died twice; its other fits stay missing."""
        self.last_error = error
        for fit in self._fits(params).values():
            claim = self.ledger.claim_path(fit.id)
            if claim.exists() and not is_held(claim) and not self.ledger.is_final(fit.id):
                git = git_state(self.root)
                reason = str(WorkerDied(None))
                self.ledger.put(FitResult(fit=fit, status="failed", reason=reason, git=git, session=self.session))

    def _fits(self, params: Params) -> dict[str, Fit]:
        """Return the fits of a configuration and of its rungs by their ids."""
        rungs = [params | {"epochs": rung} for rung in self.sweep.rungs]
        plans = [self.sweep.plan_of(config) for config in (params, *rungs)]
        return {planned.trial.fit.id: planned.trial.fit for plan in plans for planned in bind(plan)}


def _clear(folder: Path) -> None:
    """Remove the files that killed sweeps left a day ago or earlier."""
    for path in folder.glob("*"):
        if time.time() - path.stat().st_mtime > A_DAY:
            shutil.rmtree(path, ignore_errors=True)
