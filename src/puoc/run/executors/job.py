"""A job and what a worker does with it: claim its fits, compute them, record the results. Any executor calls this."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Literal, NamedTuple

from puoc.methods.training.estimator import Compute
from puoc.records import Fit, JsonObject, TestSet, Trial
from puoc.registry import PRIORS
from puoc.store.claims import Claim, Heartbeat
from puoc.store.ledger import Ledger

#: Errors of the disk and not of the fit: they would fail every fit and use up its attempts.
_DISK_ERRORS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE, errno.EFBIG, errno.EMFILE))


class Job(NamedTuple):
    """Fits with equal lane keys, each with the test sets that it is scored on."""

    fits: tuple[Fit, ...]
    tests: tuple[tuple[TestSet, ...], ...]
    attempts: tuple[int, ...]  # of each fit, when the run began
    compute: Compute
    keep_models: bool
    ledger: Path
    prepared: Path
    git: JsonObject
    session: str
    scoring_digest: str


class Done(NamedTuple):
    """Outcome of one fit of a job; ``busy``: another process computes it, ``known``: the ledger has it."""

    fit_id: str
    status: Literal["ok", "failed", "busy", "known"]
    reason: str | None = None


def compute(job: Job) -> list[Done]:
    """Compute the fits of a job that this process can claim. A fit that raises is recorded as failed, with its reason.

    Raises
    ------
    OSError, ValueError : the ledger cannot be written, or a record in it is damaged.
    """
    ledger = Ledger(job.ledger)
    claims: dict[int, Claim] = {}
    outcomes: dict[int, Done] = {}
    for i, fit in enumerate(job.fits):
        claim = ledger.claim(fit.id)
        if claim is None:
            outcomes[i] = Done(fit.id, "busy")
        else:
            claims[i] = claim
    with Heartbeat(list(claims.values())):
        open_fits = [i for i in claims if not _is_recorded(job, i, ledger)]
        outcomes |= {i: Done(job.fits[i].id, "known") for i in claims if i not in open_fits}
        outcomes |= {i: failed for i in open_fits if (failed := _failed_elsewhere(job, i, ledger))}
        open_fits = [i for i in open_fits if i not in outcomes]
        trained = [i for i in open_fits if ledger.is_final(job.fits[i].id)]
        # an estimate of the prior gains nothing from lanes, and alone it is recorded as soon as it is there
        single = open_fits if job.fits[0].method in PRIORS else trained
        for lanes in [*([i] for i in single), [i for i in open_fits if i not in single]]:
            outcomes |= _attempt(job, lanes, ledger)
    return [outcomes[i] for i in range(len(job.fits))]


def _is_recorded(job: Job, i: int, ledger: Ledger) -> bool:
    """Check whether another process recorded a fit and its scores before this one claimed it."""
    fit = job.fits[i]
    trial_ids = [Trial(fit=fit, test=test).id for test in job.tests[i]]
    return ledger.is_final(fit.id) and all(ledger.has(fit.id, trial_id, job.scoring_digest) for trial_id in trial_ids)


def _failed_elsewhere(job: Job, i: int, ledger: Ledger) -> Done | None:
    """Return the failure that another run recorded since this one began: the next attempt is for the next run."""
    fit_id = job.fits[i].id
    if ledger.is_final(fit_id) or ledger.attempts(fit_id) <= job.attempts[i]:
        return None
    entry = ledger.get(fit_id)
    return Done(fit_id, "failed", entry.result.reason if entry else None)


def _attempt(job: Job, lanes: list[int], ledger: Ledger) -> dict[int, Done]:
    """Compute claimed fits as lanes and record them. If one of several lanes fails, each is tried alone."""
    from puoc.run.executors.trial import TrialRun  # loads torch

    if not lanes:
        return {}
    run = TrialRun(job, lanes, ledger)
    try:
        outcome = run.fit_and_score()
    except Exception as error:  # the one boundary: any error of a method becomes a row with a reason
        if isinstance(error, OSError) and error.errno in _DISK_ERRORS:
            raise
        run.forget_checkpoints()
        if len(lanes) > 1:
            alone = [_attempt(job, [i], ledger) for i in lanes]
            return {i: done for part in alone for i, done in part.items()}
        reason = f"{type(error).__name__}: {error}"
        run.record_failure(reason)
        return {lanes[0]: Done(job.fits[lanes[0]].id, "failed", reason)}
    run.record(outcome)  # not within try: a ledger that cannot be written is no failure of the fit
    return {i: Done(job.fits[i].id, "ok") for i in lanes}
