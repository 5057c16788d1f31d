"""Compute the fits of one configuration in the calling process, and its validation AUC from the ledger."""

from __future__ import annotations

from math import nan
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from puoc.plan.bind import PlannedTrial, bind
from puoc.run.runner import Runner
from puoc.store.ledger import Ledger
from puoc.store.ledger_records import Entry
from puoc.store.plans import ComputeSpec, SweepPlan


class ConfigOutcome(NamedTuple):
    """Outcome of a configuration."""

    val: float  # mean AUC of withheld P against withheld U over cells and seeds; NaN if one is missing
    ok: int  # fits that this process computed
    known: int  # fits that another process computed meanwhile
    failed: int  # fits that have a failed attempt and no record


def compute_config(root: Path, settings: ComputeSpec, session: str, plan: SweepPlan) -> ConfigOutcome:
    """Compute the fits of a configuration that are not in the ledger; wait for those that other processes compute.

    Parameters
    ----------
    plan : a plan with one configuration.

    Raises
    ------
    OSError, ValueError : as ``Runner.run``.
    """
    planned_trials = list(bind(plan))
    runner = Runner(root, settings, inline=True)
    runner.session = session
    counts = runner.run(plan, planned_trials)
    val = mean_val(planned_trials, runner.ledger, plan.scoring_digest)
    return ConfigOutcome(val, counts["ok"], counts["known"], failures(planned_trials, runner.ledger))


def mean_val(planned_trials: list[PlannedTrial], ledger: Ledger, scoring: str) -> float:
    """Return the mean validation AUC of a configuration's fits by this scoring code; NaN if a fit has none."""
    trials = {planned.trial.fit.id: planned.trial.id for planned in planned_trials}
    aucs = [_val(ledger.get(fit_id), trial_id, scoring) for fit_id, trial_id in trials.items()]
    values = [auc for auc in aucs if auc is not None]
    return fmean(values) if values and len(values) == len(trials) else nan


def _val(entry: Entry | None, trial_id: str, scoring: str) -> float | None:
    if entry is None or entry.result.status != "ok":
        return None
    scored = entry.scored(trial_id, scoring)
    return None if scored is None else entry.auc_val_pu(scored)


def failures(planned_trials: list[PlannedTrial], ledger: Ledger) -> int:
    """Count the fits of a configuration that failed and have no record."""
    fits = {planned.trial.fit.id for planned in planned_trials if planned.skip is None}
    return sum(not ledger.is_final(fit_id) and ledger.attempts(fit_id) > 0 for fit_id in fits)
