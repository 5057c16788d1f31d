"""One configuration, answered in the process that calls: all its fits by the runner, its value from the ledger."""

from __future__ import annotations

from math import nan
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from puoc.plan.bind import PlannedTrial, bind
from puoc.run.runner import Runner
from puoc.store.ledger import Entry, Ledger
from puoc.store.plans import ComputeSpec, SweepPlan


class Answer(NamedTuple):
    """What became of a configuration."""

    val: float  # mean AUC of withheld P against withheld U over cells and seeds; NaN where one is missing
    ok: int  # fits that this process computed
    known: int  # fits that another process computed meanwhile
    failed: int  # fits that have a failed attempt and no record


def answer(root: Path, settings: ComputeSpec, session: str, plan: SweepPlan) -> Answer:
    """Compute what the ledger lacks of a plan with one configuration, waiting for what others compute.

    Raises
    ------
    OSError, ValueError : as ``Runner.run``.
    """
    asked = list(bind(plan))
    runner = Runner(root, settings, inline=True)
    runner.session = session
    counts = runner.run(plan, asked)
    val = value(asked, runner.ledger, plan.scoring_digest)
    return Answer(val, counts["ok"], counts["known"], failures(asked, runner.ledger))


def value(asked: list[PlannedTrial], ledger: Ledger, scoring: str) -> float:
    """Mean validation value of a configuration's fits, by this scoring code; NaN where one has none."""
    trials = {one.trial.fit.id: one.trial.id for one in asked}
    found = [_value(ledger.get(fit_id), trial_id, scoring) for fit_id, trial_id in trials.items()]
    values = [value for value in found if value is not None]
    return fmean(values) if values and len(values) == len(trials) else nan


def _value(entry: Entry | None, trial_id: str, scoring: str) -> float | None:
    if entry is None or entry.result.status != "ok":
        return None
    scored = entry.scored(trial_id, scoring)
    return None if scored is None else entry.auc_val_pu(scored)


def failures(asked: list[PlannedTrial], ledger: Ledger) -> int:
    """How many fits of a configuration failed and have no record."""
    fits = {one.trial.fit.id for one in asked if one.skip is None}
    return sum(not ledger.is_final(fit_id) and ledger.attempts(fit_id) > 0 for fit_id in fits)
