"""What a sweep lacks: which configurations the ledger answers, which failed, which are to be computed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from puoc.plan.bind import bind
from puoc.plan.forecast.costs import Forecast
from puoc.records import Fit, TestSet
from puoc.run.runner import Runner
from puoc.run.sweep.request import Sweep


class Standing(NamedTuple):
    """Where a sweep's listed configurations stand; names as in the plan."""

    done: list[str]
    failed: list[str]  # a fit failed and is not tried again by this run
    missing: list[str]
    fit_ids: list[str]  # of all configurations, each once
    n_missing: int  # fits to be computed, or to be asked for more scores, each once
    seconds: float  # that those will take one after the other, as far as costs are known
    example: Fit | None  # a missing fit; its dataset and encoder are those of all

    @property
    def n_configs(self) -> int:
        """How many configurations are listed."""
        return len(self.done) + len(self.failed) + len(self.missing)


def standing(runner: Runner, sweep: Sweep, forecast: Forecast | None = None) -> Standing:
    """Compare the listed configurations with the ledger. Of a fit its name is kept: a sweep may have thousands.

    Parameters
    ----------
    forecast : of ``seconds``, which is 0 without it.
    """
    found, fit_ids = Standing([], [], [], [], 0, 0.0, None), dict[str, None]()
    missing, counted, seconds, example = set[str](), set[str](), 0.0, None
    scoring = sweep.plan.scoring_digest
    for config_id, trials in groupby(bind(sweep.plan), lambda planned: str(planned.config.config_id)):
        fits, tests, states = dict[str, Fit](), dict[str, set[TestSet]](), set[str]()
        for one in trials:  # a name is a hash of all that is asked, so each is made once
            fit_id = one.trial.fit.id
            fits.setdefault(fit_id, one.trial.fit)
            state = "done" if one.skip is not None else _state(runner, fit_id, one.trial.id, scoring)
            states.add(state)
            if state == "missing":
                tests.setdefault(fit_id, set()).add(one.trial.test)
        fit_ids |= dict.fromkeys(fits)
        missing |= set(tests)
        if forecast is not None:
            seconds += _seconds((fits[fit_id] for fit_id in tests), tests, runner, forecast, counted)
        (found.missing if tests else found.failed if "failed" in states else found.done).append(config_id)
        example = example or next((fits[fit_id] for fit_id in tests), None)
    return found._replace(fit_ids=list(fit_ids), n_missing=len(missing), seconds=seconds, example=example)


def _state(runner: Runner, fit_id: str, trial_id: str, scoring: str) -> str:
    """Whether a trial that applies is done, failed or missing."""
    if runner.ledger.has(fit_id, trial_id, scoring):
        return "done"
    return "missing" if runner.is_missing(fit_id, [trial_id], scoring) else "failed"


def _seconds(
    fits: Iterable[Fit], tests: dict[str, set[TestSet]], runner: Runner, forecast: Forecast, counted: set[str]
) -> float:
    """Of fits that are to be trained, with those whose answers they take; each is counted once."""
    total = 0.0
    for fit in fits:
        if fit.id not in counted and not runner.ledger.is_final(fit.id):
            counted.add(fit.id)
            total += forecast.seconds(fit, tests.get(fit.id, ()))
            total += _seconds(fit.needs(), {}, runner, forecast, counted)
    return total
