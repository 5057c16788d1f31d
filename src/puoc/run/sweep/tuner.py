"""Ray Tune under the ledger's rule: rounds of trials, until no configuration is missing or the budget is spent.

A round ends with its actors, so no worker lives for ever, and the next one asks the ledger what is missing. Ray's own
record of a round is deleted after it.
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
from puoc.run.sweep.status import Standing, standing
from puoc.store.claims import A_DAY, is_held
from puoc.store.ledger import Ledger
from puoc.store.plan_files import read_compute
from puoc.store.provenance import git_state
from puoc.store.result_rows import ResultRow

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

    Search = tuple[BaseStorage, dict[str, float]]  # the study's storage, and known values by configuration

_PER_WORKER = 50  # configurations that an actor answers before it is replaced: libraries lose memory over many fits
_ROUNDS_IN_VAIN = 3

# what Ray Tune would do beside running trials: write logs of its own, take Ctrl-C, move into folders
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
    """What a sweep came to, in configurations."""

    ok: int  # answered now, by this run or by another meanwhile
    known: int  # answered before
    failed: int
    stopped: int  # by successive halving
    remaining: int  # left by a spent budget
    stopped_by: str | None  # the budget, where that ended it


class Tuner:
    """Drives one sweep on the connected cluster.

    Parameters
    ----------
    packing : how many trials run at once, and on what.
    on_rows : gets the rows of a configuration when it has an outcome.
    on_progress : called often with the state, in configurations.

    Raises
    ------
    ValueError, OSError : as ``Runner.run``, from any trial; what is recorded stays.
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
        self.n_known = 0  # when the sweep began
        self.total: int | None = None  # configurations that are to get an outcome in this run, where that is known
        self.seen: dict[str, bool] = {}  # configurations with an outcome in this run, and whether it is no failure
        self.stopped: set[str] = set()  # by successive halving
        self.short_of_memory: dict[str, Params] = {}  # configurations of the round that a GPU could not hold
        self.last_error = ""

    @property
    def runner(self) -> Runner:
        """A runner of this session, to ask what is missing."""
        runner = Runner(self.root, self.settings)
        runner.session = self.session
        return runner

    def run(self) -> Outcome:
        """Compute what is missing."""
        _clear(self.folder.parent)
        try:
            return self._search() if self.sweep.parts is not None else self._grid()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    # a grid

    def _grid(self) -> Outcome:
        now = standing(self.runner, self.sweep)
        self.n_known, self.total, in_vain = len(now.done), len(now.missing), 0
        self._prepare(now)
        while missing := [name for name in now.missing if name not in self.stopped]:
            left = self._left(now.n_configs - len(missing))
            if left == 0 or not self._round(missing[:left]):
                return self._outcome(standing(self.runner, self.sweep), "the budget is spent")
            now = self._after_round(standing(self.runner, self.sweep))
            in_vain = 0 if len(set(now.missing) - self.stopped) < len(missing) else in_vain + 1
            if in_vain == _ROUNDS_IN_VAIN:
                raise ValueError(
                    f"{len(missing)} configurations get no outcome: {self.last_error or 'no reason is known'}"
                )
        return self._outcome(now, None)

    def _outcome(self, now: Standing, stopped_by: str | None) -> Outcome:
        stopped = len(self.stopped & set(now.missing))
        done = len(now.done) - self.n_known
        return Outcome(done, self.n_known, len(now.failed), stopped, len(now.missing) - stopped, stopped_by)

    # a search

    def _search(self) -> Outcome:
        """First the listed configurations, then suggestions; each round goes on with the study of all before."""
        from optuna.storages import InMemoryStorage

        from puoc.run.sweep import tpe as search

        listed = self._grid()
        if listed.stopped_by:
            return listed
        answered, storage = search.answered(self.sweep, self.ledger), InMemoryStorage()
        found = [one for one in answered if search.is_asked(self.sweep, one.params)]
        search.replay(storage, self.sweep.parts or [], found)
        values = {content_id(one.params)[:8]: one.val for one in found}
        self.n_known = max(search.count(self.sweep, answered) - sum(self.seen.values()), 0)
        limit = self.budget.configurations
        self.total = None if limit is None else max(limit - self.n_known, 0)
        while (left := self._left(self.n_known + len(self.seen))) > 0:
            before = len(self.seen)
            if not self._round([], left, (storage, values)):
                return self._searched("the budget is spent")
            if self._is_asked_again(storage, values):
                continue
            if len(self.seen) == before:  # the space has no more configurations
                break
        return self._searched(None)

    def _is_asked_again(self, storage: BaseStorage, values: dict[str, float]) -> bool:
        """As ``_after_round``, after suggestions: whether the study is to suggest some again before any others."""
        import optuna

        from puoc.run.sweep.tpe import STUDY, suggestion_of

        given = {name: suggestion_of(params, self.sweep.parts or []) for name, params in self.short_of_memory.items()}
        if not given or not self._halve():
            return False
        study = optuna.load_study(study_name=STUDY, storage=storage)
        for name, suggestion in given.items():
            if suggestion is not None:
                study.enqueue_trial(suggestion[0])
                del self.seen[name]
                values.pop(name, None)
        return True

    def _searched(self, stopped_by: str | None) -> Outcome:
        failed = sum(not ok for ok in self.seen.values())
        ok = len(self.seen) - failed - len(self.stopped)
        remaining = max((self.total or 0) - len(self.seen), 0)
        return Outcome(ok, self.n_known, failed, len(self.stopped), remaining, stopped_by)

    # rounds

    def _left(self, answered: int) -> int:
        """How many configurations the next round may have: few until the GPU's use is measured."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            return 0
        most = self.packing.at_once * (_PER_WORKER if self.packing.is_measured else 1)
        limit = self.budget.configurations
        return most if limit is None else max(min(most, limit - answered), 0)

    def _prepare(self, now: Standing) -> None:
        """What all trials need, before any starts: the data, and features of frozen encoders."""
        fits = [now.example] if now.example is not None else []
        self.runner.check_data(fits)

        def tell(wanted: int, done: int, what: str) -> None:
            self.on_progress(Progress(wanted, done, 0, 0, what=what))

        encode(self.root / "work", fits, self.packing.cpus, tell)

    def _round(self, config_ids: list[str], n: int = 0, search: Search | None = None) -> bool:
        """Run named configurations, or ``n`` suggested ones; False where time ended it."""
        from puoc.run.sweep.rounds import Round, TimeIsUp

        self.short_of_memory.clear()
        try:
            Round(self).run(config_ids, n, search)
        except TimeIsUp:
            return False
        return True

    def _after_round(self, now: Standing) -> Standing:
        """Give another try, with a session of its own, to what ran out of a GPU's memory among too many."""
        if self.packing.gpus and self._ran_out_of_memory(now.fit_ids) and self._halve():
            return standing(self.runner, self.sweep)
        return now

    def _halve(self) -> bool:
        if not self.packing.halve():
            return False
        self.session += ", half as many on a GPU"
        return True

    def _ran_out_of_memory(self, fit_ids: Iterable[str]) -> bool:
        """Whether any of the fits ran out of a GPU's memory in this session."""
        results = [entry.result for fit_id in fit_ids if (entry := self.ledger.get(fit_id)) is not None]
        return any(one.session == self.session and ran_out_of_memory(one.reason) for one in results)

    def has_outcome(self, params: Params, is_ok: bool, was_stopped: bool = False) -> None:
        """Take note of a configuration's outcome and hand on its rows."""
        plan, name = self.sweep.of(params), content_id(params)[:8]
        self.seen[name] = is_ok
        if not is_ok and self.packing.gpus and self._ran_out_of_memory(self._fits(params)):
            self.short_of_memory[name] = params
        if was_stopped:
            self.stopped.add(name)
        else:
            self.on_rows([row(plan, one, self.ledger.get(one.trial.fit.id)) for one in bind(plan)])

    def record_dead_actor(self, params: Params, error: str) -> None:
        """Record the fits that a trial was computing when its actor died, twice, as failed; the rest stays missing."""
        self.last_error = error
        for fit in self._fits(params).values():
            claim = self.ledger.root / fit.id[:2] / f"{fit.id}.claim"
            if claim.exists() and not is_held(claim) and not self.ledger.is_final(fit.id):
                git = git_state(self.root)
                reason = str(WorkerDied(None))
                self.ledger.put(FitResult(fit=fit, status="failed", reason=reason, git=git, session=self.session))

    def _fits(self, params: Params) -> dict[str, Fit]:
        """The fits of a configuration and of its rungs."""
        rungs = [params | {"epochs": rung} for rung in self.sweep.rungs]
        return {one.trial.fit.id: one.trial.fit for given in (params, *rungs) for one in bind(self.sweep.of(given))}


def _clear(folder: Path) -> None:
    """Remove what sweeps that were killed have left, a day ago or earlier."""
    for path in folder.glob("*"):
        if time.time() - path.stat().st_mtime > A_DAY:
            shutil.rmtree(path, ignore_errors=True)
