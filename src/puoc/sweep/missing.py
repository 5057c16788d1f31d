"""What a sweep lacks: which configurations the ledger answers, which failed, which are to be computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from puoc.bind import Asked, bind
from puoc.files import read_json
from puoc.forecast.costs import Forecast
from puoc.records import Fit, TestSet
from puoc.runner import Runner
from puoc.sweep.asking import Sweep


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


def settings_of(root: Path) -> dict[str, Any]:
    """The section compute of the plan."""
    found: dict[str, Any] = read_json(root / "work" / "plan" / "compute.json")
    return found


def standing(runner: Runner, sweep: Sweep, forecast: Forecast | None = None) -> Standing:
    """Compare the listed configurations with the ledger. Of a fit its name is kept: a sweep may have thousands.

    Parameters
    ----------
    forecast : of ``seconds``, which is 0 without it.
    """
    found, fit_ids = Standing([], [], [], [], 0, 0.0, None), dict[str, None]()
    missing, counted, seconds, example = set[str](), set[str](), 0.0, None
    for config_id, trials in groupby(bind(sweep.plan), lambda one: str(one.config["config_id"])):
        asked = list(trials)
        fit_ids |= dict.fromkeys(one.trial.fit.id for one in asked)
        state = _state(runner, asked, sweep.plan["scoring_digest"])
        tests = _missing(runner, asked, sweep.plan["scoring_digest"])
        missing |= set(tests)
        if forecast is not None:
            fits = (one.trial.fit for one in asked if one.trial.fit.id in tests)
            seconds += _seconds(fits, tests, runner, forecast, counted)
        (found.missing if state["missing"] else found.failed if state["failed"] else found.done).append(config_id)
        if example is None and state["missing"]:
            example = next(one.trial.fit for one in asked if one.skip is None)
    return found._replace(fit_ids=list(fit_ids), n_missing=len(missing), seconds=seconds, example=example)


def _missing(runner: Runner, asked: Iterable[Asked], scoring: str) -> dict[str, set[TestSet]]:
    """Test sets that a configuration's fits are to be scored on, by fit."""
    found: dict[str, set[TestSet]] = {}
    for one in asked:
        if one.skip is None and runner.is_missing(one.trial.fit.id, [one.trial.id], scoring):
            found.setdefault(one.trial.fit.id, set()).add(one.trial.test)
    return found


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


def _state(runner: Runner, asked: Iterable[Asked], scoring: str) -> Counter[str]:
    """How many trials of a configuration are done, failed or missing. What does not apply is done."""
    counts: Counter[str] = Counter()
    for one in asked:
        fit_id, trial_id = one.trial.fit.id, one.trial.id
        if one.skip is not None or runner.ledger.has(fit_id, trial_id, scoring):
            counts["done"] += 1
        elif runner.is_missing(fit_id, [trial_id], scoring):
            counts["missing"] += 1
        else:
            counts["failed"] += 1
    return counts
