"""What a sweep lacks: which configurations the ledger answers, which failed, which are to be computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from puoc.bind import Asked, bind
from puoc.files import read_json
from puoc.records import Fit
from puoc.runner import Runner
from puoc.sweep.asking import Sweep


class Standing(NamedTuple):
    """Where a sweep's listed configurations stand; names as in the plan."""

    done: list[str]
    failed: list[str]  # a fit failed and is not tried again by this run
    missing: list[str]
    fit_ids: list[str]  # of all configurations, each once
    n_missing: int  # trials to be computed
    example: Fit | None  # a missing fit; its dataset and encoder are those of all

    @property
    def n_configs(self) -> int:
        """How many configurations are listed."""
        return len(self.done) + len(self.failed) + len(self.missing)


def settings_of(root: Path) -> dict[str, Any]:
    """The section compute of the plan."""
    found: dict[str, Any] = read_json(root / "work" / "plan" / "compute.json")
    return found


def standing(runner: Runner, sweep: Sweep) -> Standing:
    """Compare the listed configurations with the ledger. Of a fit its name is kept: a sweep may have thousands."""
    found, fit_ids = Standing([], [], [], [], 0, None), dict[str, None]()
    n_missing, example = 0, None
    for config_id, trials in groupby(bind(sweep.plan), lambda one: str(one.config["config_id"])):
        asked = list(trials)
        fit_ids |= dict.fromkeys(one.trial.fit.id for one in asked)
        state = _state(runner, asked)
        n_missing += state["missing"]
        (found.missing if state["missing"] else found.failed if state["failed"] else found.done).append(config_id)
        if example is None and state["missing"]:
            example = next(one.trial.fit for one in asked if one.skip is None)
    return found._replace(fit_ids=list(fit_ids), n_missing=n_missing, example=example)


def _state(runner: Runner, asked: Iterable[Asked]) -> Counter[str]:
    """How many trials of a configuration are done, failed or missing. What does not apply is done."""
    counts: Counter[str] = Counter()
    for one in asked:
        fit_id, trial_id = one.trial.fit.id, one.trial.id
        if one.skip is not None or runner.ledger.has(fit_id, trial_id):
            counts["done"] += 1
        elif runner.is_missing(fit_id, [trial_id]):
            counts["missing"] += 1
        else:
            counts["failed"] += 1
    return counts
