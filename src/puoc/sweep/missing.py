"""What a sweep lacks: which configurations the ledger answers, which failed, which are to be computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
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
    asked: dict[str, list[Asked]]  # trials of every configuration

    @property
    def fits(self) -> dict[str, Fit]:
        """Fits of all configurations."""
        return {one.trial.fit.id: one.trial.fit for asked in self.asked.values() for one in asked}


def settings_of(root: Path) -> dict[str, Any]:
    """The section compute of the plan."""
    found: dict[str, Any] = read_json(root / "work" / "plan" / "compute.json")
    return found


def standing(runner: Runner, sweep: Sweep) -> Standing:
    """Compare the listed configurations with the ledger."""
    found = Standing([], [], [], {})
    for one in bind(sweep.plan):
        found.asked.setdefault(one.config["config_id"], []).append(one)
    for config_id, asked in found.asked.items():
        state = _state(runner, asked)
        (found.missing if state["missing"] else found.failed if state["failed"] else found.done).append(config_id)
    return found


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
