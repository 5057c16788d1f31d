"""One round of Ray Tune: some configurations, on actors that live as long as the round."""

from __future__ import annotations

import logging
import time
import uuid
import warnings
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING

from ray import tune
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search import ConcurrencyLimiter
from ray.tune.search.optuna import OptunaSearch

from puoc.records import Params, content_id
from puoc.run.executors.process_lifetime import raise_if_interrupted
from puoc.run.runner import Progress
from puoc.run.sweep.request import epochs_of
from puoc.run.sweep.tpe import STUDY, params_of, suggest
from puoc.run.sweep.trainable import EPOCHS, REFUSED, USED, VALUE, Configuration, StepResult, Task

if TYPE_CHECKING:
    from optuna import Trial as OptunaTrial
    from optuna.storages import BaseStorage
    from ray.tune.experiment import Trial as RayTrial

    from puoc.run.sweep.request import Sweep
    from puoc.run.sweep.tuner import Search, Tuner

_AGAIN = 20  # suggestions that are known already before the space counts as exhausted
_HALVING = 3  # of three configurations one goes on


class TimeIsUp(BaseException):
    """The budget of time is spent. No ``Exception``: Ray Tune would then wait for its trials to end."""


class Refused(BaseException):
    """What a trial met that is no fault of its configuration."""

    def __init__(self, message: str, is_storage: bool):
        super().__init__(message)
        self.is_storage = is_storage


class Round:
    """Runs configurations and tells the tuner what came of them."""

    def __init__(self, tuner: Tuner):
        self.tuner = tuner

    def run(self, config_ids: list[str], n: int, search: Search | None) -> None:
        """Run named configurations, or ``n`` suggested by a search, a pair of Optuna storage and known values.

        Raises
        ------
        TimeIsUp : the sweep's budget.
        ValueError, OSError : what a trial met that all of them would.
        """
        try:
            self._fit(config_ids, n, search)
        except Refused as refused:
            raise (OSError if refused.is_storage else ValueError)(str(refused)) from None

    def _fit(self, config_ids: list[str], n: int, search: Search | None) -> None:
        owner, packing, sweep = self.tuner, self.tuner.packing, self.tuner.sweep
        listed = {config.config_id: config.params for config in sweep.configs}
        task = Task(owner.root, owner.settings, owner.session, sweep, {key: listed[key] for key in config_ids})
        given: dict[str, object] = {"param_space": {"config_id": tune.grid_search(config_ids)}}
        how: dict[str, object] = {"max_concurrent_trials": packing.at_once}
        if search is not None:
            given = {}
            suggesting = Suggesting(self.tuner, *search)
            how = {"search_alg": ConcurrencyLimiter(suggesting, packing.at_once), "num_samples": n}
        if sweep.rungs:
            first = sweep.rungs[0]
            how["scheduler"] = ASHAScheduler(
                EPOCHS, VALUE, "max", max_t=first * _HALVING**2 + 8, grace_period=first, reduction_factor=_HALVING
            )
        name = uuid.uuid4().hex[:12]
        logging.getLogger("ray").setLevel(logging.CRITICAL)  # what goes wrong is told by us, once
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tune.Tuner(
                tune.with_resources(tune.with_parameters(Configuration, task=task), packing.resources),
                tune_config=tune.TuneConfig(reuse_actors=True, **how),
                run_config=tune.RunConfig(
                    name=name,
                    storage_path=str(owner.folder),
                    callbacks=[Watch(owner, task, len(config_ids) or n)],
                    failure_config=tune.FailureConfig(max_failures=1),  # an actor that died: once more, elsewhere
                    checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
                    verbose=0,
                ),
                **given,
            ).fit()


class Watch(tune.Callback):  # type: ignore[misc]
    """Follows a round: outcomes, progress, the budget of time, interruptions."""

    def __init__(self, owner: Tuner, task: Task, wanted: int):
        self.owner, self.task = owner, task
        self.before = len(owner.seen)
        self.wanted = wanted

    def __getstate__(self) -> dict[str, object]:
        return {}  # Ray Tune keeps what it would need to restore a run; ours starts again from the ledger

    def on_step_begin(self, iteration: int, trials: list[RayTrial], **info: object) -> None:
        """See ``tune.Callback``."""
        raise_if_interrupted()
        if self.owner.deadline is not None and time.monotonic() > self.owner.deadline:
            raise TimeIsUp
        self._tell(sum(trial.status == "RUNNING" for trial in trials))

    def on_trial_complete(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: object) -> None:
        """See ``tune.Callback``."""
        result: StepResult = trial.last_result or StepResult()
        if reason := result.get(REFUSED):
            raise Refused(reason, result["is_storage"])
        self.owner.packing.measure(result.get(USED, 0.0))
        params, is_ok = self._params(trial), result.get("failed", 0) == 0
        self.owner.has_outcome(params, is_ok, is_ok and _was_stopped(self.owner.sweep, params, result))

    def on_trial_error(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: object) -> None:
        """See ``tune.Callback``: its actor died twice, or the trial met a fault of puoc's own."""
        params = self._params(trial)
        self.owner.record_dead_actor(params, str(trial.get_error() or ""))
        self.owner.has_outcome(params, is_ok=False)

    def _params(self, trial: RayTrial) -> Params:
        named = self.task.listed.get(trial.config.get("config_id", ""))
        return named if named is not None else params_of(trial.config, self.owner.sweep)

    def _tell(self, running: int) -> None:
        seen = self.owner.seen
        failed = sum(not ok for ok in seen.values())
        total = self.owner.total or self.before + self.wanted
        self.owner.on_progress(
            Progress(max(total, len(seen)), len(seen) - failed, failed, 0, what="configurations", running=running)
        )


class Suggesting(OptunaSearch):  # type: ignore[misc]
    """Ray Tune's Optuna search, which suggests no configuration twice: what is known is told to the study at once."""

    def __init__(self, owner: Tuner, storage: BaseStorage, values: dict[str, float]):
        import optuna

        self._owner, self._values = owner, values
        self._names: dict[str, str] = {}
        parts = owner.sweep.parts or []
        super().__init__(
            lambda trial: suggest(trial, parts),
            metric=VALUE,
            mode="max",
            study_name=STUDY,
            storage=storage,
            sampler=optuna.samplers.TPESampler(seed=len(values)),  # another one for a study that goes on
        )

    def __getstate__(self) -> dict[str, object]:
        return {}  # as the one of Watch

    def save(self, checkpoint_path: str) -> None:
        """See ``Searcher``: the study is made again from the ledger."""
        Path(checkpoint_path).touch()

    def suggest(self, trial_id: str) -> Params | str | None:
        """See ``Searcher``."""
        for _ in range(_AGAIN):
            config: Params = super().suggest(trial_id)
            name = content_id(params_of(config, self._owner.sweep))[:8]
            if name not in self._values and name not in self._names.values():
                self._names[trial_id] = name
                return config
            # what halving stopped has no value of its own, and was told as stopped with its rung's
            self._tell(self._ot_trials.pop(trial_id), nan if name in self._owner.stopped else self._values.get(name))
        finished: str = self.FINISHED
        return finished

    def on_trial_complete(self, trial_id: str, result: StepResult | None = None, error: bool = False) -> None:
        """See ``Searcher``. A configuration without a value is a failed trial of the study, one that halving stopped
        a pruned one: its value is that of fewer epochs than were suggested."""
        trial, given = self._ot_trials.pop(trial_id), result or StepResult()
        value, params = given.get(VALUE, nan), params_of(trial.params, self._owner.sweep)
        rung = given.get(EPOCHS) if _was_stopped(self._owner.sweep, params, given) else None
        self._tell(trial, value, rung)
        self._values[self._names.pop(trial_id)] = value

    def on_trial_result(self, trial_id: str, result: StepResult) -> None:
        """See ``Searcher``: a rung's value is not the configuration's."""

    def _tell(self, trial: OptunaTrial, value: float | None, rung: int | None = None) -> None:
        from optuna.trial import TrialState

        if value is None or isnan(value):
            self._ot_study.tell(trial, state=TrialState.FAIL)
        elif rung is not None:
            trial.report(value, rung)
            self._ot_study.tell(trial, state=TrialState.PRUNED)
        else:
            self._ot_study.tell(trial, value)


def _was_stopped(sweep: Sweep, params: Params, result: StepResult) -> bool:
    """Whether successive halving ended a configuration before its last epoch; one that failed may look like it."""
    return bool(sweep.rungs) and result.get(EPOCHS, 0) < epochs_of(params)
