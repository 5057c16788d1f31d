"""One round of Ray Tune: a number of configurations, on actors that end with the round."""

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
from puoc.run.sweep.ray_nodes import versions_here
from puoc.run.sweep.request import epochs_of
from puoc.run.sweep.tpe import STUDY, params_of, suggest
from puoc.run.sweep.trainable import EPOCHS, REFUSED, USED, VALUE, Configuration, StepResult, Task

if TYPE_CHECKING:
    from optuna import Trial as OptunaTrial
    from optuna.storages import BaseStorage
    from ray.tune.experiment import Trial as RayTrial

    from puoc.run.sweep.request import Sweep
    from puoc.run.sweep.tuner import Search, Tuner

_MAX_KNOWN_SUGGESTIONS = 20  # suggestions of known configurations in a row, after which the space is exhausted
_REDUCTION_FACTOR = 3  # one in three configurations continues after a rung


class TimeIsUp(BaseException):
    """Raised when the budget of time is spent. It is no ``Exception``, for which Ray Tune would wait for its trials."""


class TrialError(BaseException):
    """Raised for an error of a trial that is not caused by its configuration."""

    def __init__(self, message: str, is_storage: bool):
        super().__init__(message)
        self.is_storage = is_storage


class Round:
    """Runs configurations and reports their outcomes to the tuner."""

    def __init__(self, tuner: Tuner):
        self.tuner = tuner

    def run(self, config_ids: list[str], n: int, search: Search | None) -> None:
        """Run listed configurations, or ``n`` that a search suggests.

        Parameters
        ----------
        search : the study's storage, and known values by configuration.

        Raises
        ------
        TimeIsUp : the budget of time is spent.
        ValueError, OSError : an error that all trials would meet.
        """
        try:
            self._fit(config_ids, n, search)
        except TrialError as error:
            raise (OSError if error.is_storage else ValueError)(str(error)) from None

    def _fit(self, config_ids: list[str], n: int, search: Search | None) -> None:
        owner, packing, sweep = self.tuner, self.tuner.packing, self.tuner.sweep
        listed = {config.config_id: config.params for config in sweep.configs}
        task = Task(
            owner.root,
            owner.settings,
            owner.session,
            sweep,
            {key: listed[key] for key in config_ids},
            owner.marker,
            versions_here(),
        )
        tuner_options: dict[str, object] = {"param_space": {"config_id": tune.grid_search(config_ids)}}
        tune_config: dict[str, object] = {"max_concurrent_trials": packing.at_once}
        if search is not None:
            tuner_options = {}
            suggesting = Suggesting(self.tuner, *search)
            tune_config = {"search_alg": ConcurrencyLimiter(suggesting, packing.at_once), "num_samples": n}
        if sweep.rungs:
            first = sweep.rungs[0]
            tune_config["scheduler"] = ASHAScheduler(
                EPOCHS,
                VALUE,
                "max",
                max_t=first * _REDUCTION_FACTOR**2 + 8,
                grace_period=first,
                reduction_factor=_REDUCTION_FACTOR,
            )
        name = uuid.uuid4().hex[:12]
        logging.getLogger("ray").setLevel(logging.CRITICAL)  # puoc reports each error itself, once
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tune.Tuner(
                tune.with_resources(tune.with_parameters(Configuration, task=task), packing.resources),
                tune_config=tune.TuneConfig(reuse_actors=True, **tune_config),
                run_config=tune.RunConfig(
                    name=name,
                    storage_path=str(owner.folder),
                    callbacks=[Watch(owner, task, len(config_ids) or n)],
                    failure_config=tune.FailureConfig(max_failures=1),  # retry once on another actor if the actor died
                    checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
                    verbose=0,
                ),
                **tuner_options,
            ).fit()


class Watch(tune.Callback):  # type: ignore[misc]
    """Callback that reports outcomes and progress, and stops the round at an interrupt or at the end of the budget."""

    def __init__(self, owner: Tuner, task: Task, n_configs: int):
        self.owner, self.task = owner, task
        self.n_before = len(owner.seen)
        self.n_configs = n_configs

    def __getstate__(self) -> dict[str, object]:
        return {}  # Ray Tune would store this to restore a run; puoc continues from the ledger instead

    def on_step_begin(self, iteration: int, trials: list[RayTrial], **info: object) -> None:
        """Stop at an interrupt or when the time is spent, and report progress."""
        raise_if_interrupted()
        if self.owner.deadline is not None and time.monotonic() > self.owner.deadline:
            raise TimeIsUp
        self._report(sum(trial.status == "RUNNING" for trial in trials))

    def on_trial_complete(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: object) -> None:
        """Record the outcome of a trial; raise TrialError for an error that all trials would meet."""
        result: StepResult = trial.last_result or StepResult()
        if reason := result.get(REFUSED):
            raise TrialError(reason, result["is_storage"])
        self.owner.packing.measure(result.get(USED, 0.0))
        params, is_ok = self._params(trial), result.get("failed", 0) == 0
        self.owner.record_outcome(params, is_ok, is_ok and _was_stopped(self.owner.sweep, params, result))

    def on_trial_error(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: object) -> None:
        """Record a failed trial: its actor died twice, or puoc raised an unexpected error."""
        params = self._params(trial)
        self.owner.record_dead_actor(params, str(trial.get_error() or ""))
        self.owner.record_outcome(params, is_ok=False)

    def _params(self, trial: RayTrial) -> Params:
        listed = self.task.listed.get(trial.config.get("config_id", ""))
        return listed if listed is not None else params_of(trial.config, self.owner.sweep)

    def _report(self, running: int) -> None:
        seen = self.owner.seen
        failed = sum(not ok for ok in seen.values())
        total = self.owner.total or self.n_before + self.n_configs
        self.owner.on_progress(
            Progress(max(total, len(seen)), len(seen) - failed, failed, 0, what="configurations", running=running)
        )


class Suggesting(OptunaSearch):  # type: ignore[misc]
    """Ray Tune's Optuna search. It suggests no configuration twice: the study gets known values at once."""

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
            sampler=optuna.samplers.TPESampler(seed=len(values)),  # another seed when a study continues
        )

    def __getstate__(self) -> dict[str, object]:
        return {}  # see Watch.__getstate__

    def save(self, checkpoint_path: str) -> None:
        """Write an empty file: the study is replayed from the ledger, not from a checkpoint."""
        Path(checkpoint_path).touch()

    def suggest(self, trial_id: str) -> Params | str | None:
        """Suggest a configuration without a known value; return FINISHED if there seem to be no more."""
        for _ in range(_MAX_KNOWN_SUGGESTIONS):
            config: Params = super().suggest(trial_id)
            name = content_id(params_of(config, self._owner.sweep))[:8]
            if name not in self._values and name not in self._names.values():
                self._names[trial_id] = name
                return config
            # a configuration that halving stopped has no value; the study already has it as pruned
            self._tell(self._ot_trials.pop(trial_id), nan if name in self._owner.stopped else self._values.get(name))
        finished: str = self.FINISHED
        return finished

    def on_trial_complete(self, trial_id: str, result: StepResult | None = None, error: bool = False) -> None:
        """Pass the outcome to the study.

        A configuration without a value is a failed trial of the study. A configuration that halving stopped is a
        pruned trial, because its value comes from fewer epochs than were suggested.
        """
        trial, step_result = self._ot_trials.pop(trial_id), result or StepResult()
        value, params = step_result.get(VALUE, nan), params_of(trial.params, self._owner.sweep)
        rung = step_result.get(EPOCHS) if _was_stopped(self._owner.sweep, params, step_result) else None
        self._tell(trial, value, rung)
        self._values[self._names.pop(trial_id)] = value

    def on_trial_result(self, trial_id: str, result: StepResult) -> None:
        """Ignore the value of a rung: it is not the value of the configuration."""

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
    """Check whether a configuration ended before its last epoch, by successive halving or by a failure."""
    return bool(sweep.rungs) and result.get(EPOCHS, 0) < epochs_of(params)
