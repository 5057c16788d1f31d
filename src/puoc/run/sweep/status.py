"""Status of a sweep: the configurations that are in the ledger, that failed, and that are missing."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from puoc.plan.bind import bind
from puoc.plan.forecast.costs import Forecast
from puoc.records import Fit, TestSet
from puoc.run.runner import Runner
from puoc.run.sweep.request import Sweep


class SweepStatus(NamedTuple):
    """Status of a sweep's listed configurations, by their ids."""

    done: list[str]
    failed: list[str]  # a fit failed, and this run does not try it again
    missing: list[str]
    fit_ids: list[str]  # fits of all configurations, each once
    n_missing: int  # fits to be trained, or scored on more test sets, each once
    seconds: float  # forecast for the missing fits on one worker, as far as costs are known
    example: Fit | None  # a missing fit; all fits share its dataset and encoder

    @property
    def n_configs(self) -> int:
        """Count the listed configurations."""
        return len(self.done) + len(self.failed) + len(self.missing)


def sweep_status(runner: Runner, sweep: Sweep, forecast: Forecast | None = None) -> SweepStatus:
    """Compare the listed configurations with the ledger. Only ids of fits are kept, since a sweep may have thousands.

    Parameters
    ----------
    forecast : gives ``seconds``, which is 0 without it.
    """
    status, fit_ids = SweepStatus([], [], [], [], 0, 0.0, None), dict[str, None]()
    missing, counted, seconds, example = set[str](), set[str](), 0.0, None
    scoring = sweep.plan.scoring_digest
    for config_id, trials in groupby(bind(sweep.plan), lambda planned: str(planned.config.config_id)):
        fits, tests, states = dict[str, Fit](), dict[str, set[TestSet]](), set[str]()
        for planned in trials:
            fit_id = planned.trial.fit.id  # an id is a hash of the whole fit, so it is computed only once
            fits.setdefault(fit_id, planned.trial.fit)
            state = "done" if planned.skip is not None else _state(runner, fit_id, planned.trial.id, scoring)
            states.add(state)
            if state == "missing":
                tests.setdefault(fit_id, set()).add(planned.trial.test)
        fit_ids |= dict.fromkeys(fits)
        missing |= set(tests)
        if forecast is not None:
            seconds += _seconds((fits[fit_id] for fit_id in tests), tests, runner, forecast, counted)
        (status.missing if tests else status.failed if "failed" in states else status.done).append(config_id)
        example = example or next((fits[fit_id] for fit_id in tests), None)
    return status._replace(fit_ids=list(fit_ids), n_missing=len(missing), seconds=seconds, example=example)


def _state(runner: Runner, fit_id: str, trial_id: str, scoring: str) -> str:
    """Return whether a trial is done, failed or missing. The method must apply to its data."""
    if runner.ledger.has(fit_id, trial_id, scoring):
        return "done"
    return "missing" if runner.is_missing(fit_id, [trial_id], scoring) else "failed"


def _seconds(
    fits: Iterable[Fit], tests: dict[str, set[TestSet]], runner: Runner, forecast: Forecast, counted: set[str]
) -> float:
    """Return the seconds of fits that are not in the ledger and of the fits that they need; each counts once."""
    total = 0.0
    for fit in fits:
        if fit.id not in counted and not runner.ledger.is_final(fit.id):
            counted.add(fit.id)
            total += forecast.seconds(fit, tests.get(fit.id, ()))
            total += _seconds(fit.needs(), {}, runner, forecast, counted)
    return total
