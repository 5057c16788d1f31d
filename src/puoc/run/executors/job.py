"""What a worker does with a job: claim its fits, draw, train as lanes, score, record. Any executor calls this."""

from __future__ import annotations

import errno
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from puoc import scenarios
from puoc.datasets.prepare.arrays import Prepared
from puoc.datasets.user.dataset import PLANNED, Declared
from puoc.methods.persistence import model_file as modelfile
from puoc.methods.training.estimator import Compute, Encoder, Estimator
from puoc.records import Array, Fit, FitResult, TestSet, Trial, TrialResult
from puoc.registry import PRIORS
from puoc.run.auc import auc
from puoc.store.claims import Claim, Heartbeat
from puoc.store.ledger import Ledger, Scored
from puoc.store.provenance import versions

if TYPE_CHECKING:
    from puoc.run.executors.train import Sees

_CHUNK = 4096  # rows encoded and scored at once
#: What ails the disk and not the fit: it would fail every fit and use up its attempts.
_OF_THE_DISK = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE, errno.EFBIG, errno.EMFILE))


class Job(NamedTuple):
    """Fits with equal lane keys, each with the test sets it is asked for."""

    fits: tuple[Fit, ...]
    tests: tuple[tuple[TestSet, ...], ...]
    attempts: tuple[int, ...]  # of each fit, when the run began
    compute: Compute
    keep_models: bool
    ledger: Path
    prepared: Path
    git: dict[str, Any]
    session: str
    scoring_digest: str


class Done(NamedTuple):
    """What became of one fit of a job; ``busy``: somebody else is computing it, ``known``: the ledger has it."""

    fit_id: str
    status: Literal["ok", "failed", "busy", "known"]
    reason: str | None = None


def compute(job: Job) -> list[Done]:
    """Compute what this process can claim of a job. A fit that raises is recorded as failed, with its reason.

    Raises
    ------
    OSError, ValueError : the ledger cannot be written, or a record in it is damaged.
    """
    ledger = Ledger(job.ledger)
    claims: dict[int, Claim] = {}
    done: dict[int, Done] = {}
    for i, fit in enumerate(job.fits):
        held = ledger.claim(fit.id)
        if held is None:
            done[i] = Done(fit.id, "busy")
        else:
            claims[i] = held
    with Heartbeat(list(claims.values())):
        ready = [i for i in claims if not _is_answered(job, i, ledger)]
        done |= {i: Done(job.fits[i].id, "known") for i in claims if i not in ready}
        done |= {i: lost for i in ready if (lost := _failed_elsewhere(job, i, ledger))}
        ready = [i for i in ready if i not in done]
        known = [i for i in ready if ledger.is_final(job.fits[i].id)]
        # an estimate of the prior gains nothing from company, and alone it is kept as soon as it is there
        alone = ready if job.fits[0].method in PRIORS else known
        for group in [*([i] for i in alone), [i for i in ready if i not in alone]]:
            done |= _attempt(job, group, ledger)
    return [done[i] for i in range(len(job.fits))]


def _is_answered(job: Job, i: int, ledger: Ledger) -> bool:
    """True where another process recorded everything between the question and the claim."""
    fit = job.fits[i]
    asked = [Trial(fit=fit, test=test).id for test in job.tests[i]]
    return ledger.is_final(fit.id) and all(ledger.has(fit.id, trial_id, job.scoring_digest) for trial_id in asked)


def _failed_elsewhere(job: Job, i: int, ledger: Ledger) -> Done | None:
    """The failure that another run recorded since this one began: the next attempt is for the next run."""
    fit_id = job.fits[i].id
    if ledger.is_final(fit_id) or ledger.attempts(fit_id) <= job.attempts[i]:
        return None
    entry = ledger.get(fit_id)
    return Done(fit_id, "failed", entry.result.reason if entry else None)


def _attempt(job: Job, lanes: list[int], ledger: Ledger) -> dict[int, Done]:
    if not lanes:
        return {}
    try:
        record = _answer(job, lanes, ledger)
    except Exception as error:  # the one boundary: whatever a method raises becomes a row with a reason
        if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
            raise
        _compute(job, [job.fits[i] for i in lanes]).forget()
        if len(lanes) > 1:  # one lane must not take its companions along
            apart = [_attempt(job, [i], ledger) for i in lanes]
            return {i: found for part in apart for i, found in part.items()}
        fit, reason = job.fits[lanes[0]], f"{type(error).__name__}: {error}"
        ledger.put(_result(job, fit, "failed", reason=reason))
        return {lanes[0]: Done(fit.id, "failed", reason)}
    record()  # outside: a ledger that cannot be written is no failure of the fit
    return {i: Done(job.fits[i].id, "ok") for i in lanes}


def _answer(job: Job, lanes: list[int], ledger: Ledger) -> Callable[[], object]:
    """Train the lanes, or load the one that is trained already, and score them; what is returned records them."""
    from puoc.run.executors.train import Places, estimate, given, train  # loads torch

    fits = [job.fits[i] for i in lanes]
    data = _open(job.prepared, fits[0].sample)
    draws = [scenarios.draw(data, fit.sample, fit.seed) for fit in fits]
    known = ledger.get(fits[0].id) if len(fits) == 1 else None
    if known is not None and known.result.status == "ok":
        scorer = _known(job, known.result, data, draws[0], ledger)
        val = {"auc_val_pu": _validate(fits[0], data, draws[0], scorer)}
        again = _score(job, lanes[0], data, draws[0], scorer)
        return lambda: [ledger.add_trial(one._replace(result=one.result.model_copy(update=val))) for one in again]
    answers: list[tuple[FitResult, list[Scored], bytes | None]] = []
    compute, started = _compute(job, fits), time.perf_counter()

    def put() -> None:
        for result, scored, model in answers:
            ledger.put(result, scored, model)
        compute.forget()

    places = Places(ledger, job.prepared.parent / "features")
    whats = [given(fit, data, places, job.compute) for fit in fits]
    if fits[0].method in PRIORS:
        alpha_hat = estimate(fits[0], data, draws[0], whats[0])
        found = {"alpha_hat": alpha_hat, "fit_seconds": time.perf_counter() - started}
        answers.append((_result(job, fits[0], "ok", n_lanes=1, lane_map="loop", **found), [], None))
        return put
    fitted = train(fits, data, draws, whats, compute)
    seconds = (time.perf_counter() - started) / len(lanes)
    for i, draw, what, estimator in zip(lanes, draws, whats, fitted, strict=True):
        fit, scorer = job.fits[i], Scorer(estimator, what.sees)
        scored = _score(job, i, data, draw, scorer)
        result = _result(
            job,
            fit,
            "ok",
            auc_val_pu=_validate(fit, data, draw, scorer),
            alpha=what.alpha,
            alpha_hat=estimator.alpha_hat_,
            curve={name: tuple(float(v) for v in values) for name, values in estimator.curve_.items()},
            fit_seconds=seconds,
            n_lanes=len(lanes),
            lane_map=estimator.lane_map_,
        )
        keep = job.keep_models or isinstance(estimator, Encoder)  # nobody could use its record without its model
        model = modelfile.dump(estimator, _meta(job, fit, data, estimator), what.encoder) if keep else None
        answers.append((result, scored, model))
    return put


def _compute(job: Job, fits: list[Fit]) -> Compute:
    folder, lanes = job.prepared.parent / "checkpoints", tuple(fit.id for fit in fits)
    return replace(job.compute, numerics=fits[0].numerics, checkpoints=folder, lanes=lanes)


class Scorer(NamedTuple):
    """A fitted estimator, and how it sees rows."""

    estimator: Estimator
    sees: Sees

    def __call__(self, data: Prepared, rows: Array) -> Array:
        """Scores of rows by number, (n,), in chunks."""
        parts = [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
        found: Array = np.concatenate([self.estimator.decision_function(self.sees(data, part)) for part in parts])
        return found


def _known(job: Job, result: FitResult, data: Prepared, draw: scenarios.Draw, ledger: Ledger) -> Scorer:
    """The model of a record, trained again where it was not kept."""
    from puoc.run.executors.train import Places, Sees, given, train

    path = ledger.model_path(result)
    if path is not None:
        model = modelfile.load(path)
        return Scorer(model.estimator, Sees(model.encoder, None))
    what = given(result.fit, data, Places(ledger, job.prepared.parent / "features"), job.compute)
    estimator = train([result.fit], data, [draw], [what], _compute(job, [result.fit]))[0]
    return Scorer(estimator, what.sees)


def _score(job: Job, i: int, data: Prepared, draw: scenarios.Draw, scorer: Scorer) -> list[Scored]:
    fit, found = job.fits[i], []
    for test in job.tests[i]:
        rows, y = scenarios.test_rows(data, test, fit.seed)
        scenarios.check_disjoint(data, draw, rows)
        trial = Trial(fit=fit, test=test)
        if not test.neg:  # own data without a test file: the fit is done, and there is nothing to score
            result = TrialResult(
                trial_id=trial.id, fit_id=fit.id, test=test, n_pos=0, n_neg=0, scoring_digest=job.scoring_digest
            )
            found.append(Scored(result, np.empty(0)))
            continue
        positive, negative = (scorer(data, rows[y == side]) for side in (True, False))
        result = TrialResult(
            trial_id=trial.id,
            fit_id=fit.id,
            test=test,
            auc=auc(positive, negative, "test rows"),
            auc_train_pool=_train_pool(fit, test, data, scorer),
            n_pos=len(positive),
            n_neg=len(negative),
            scoring_digest=job.scoring_digest,
        )
        found.append(Scored(result, np.concatenate([positive, negative])))
    return found


def _train_pool(fit: Fit, test: TestSet, data: Prepared, scorer: Scorer) -> float | None:
    """AUC on the training pool; None for own data, whose training rows have no known negatives."""
    if fit.sample.unknown_u:
        return None
    pool, y = scenarios.train_pool_rows(data, fit.sample, test, fit.seed)
    scores = scorer(data, pool)
    return auc(scores[y], scores[~y], "training pool")


def _validate(fit: Fit, data: Prepared, draw: scenarios.Draw, scorer: Scorer) -> float | None:
    """AUC of withheld labelled positives against withheld unlabelled rows: needs no negative label."""
    if not fit.sample.holdout or not len(draw.u_held):
        return None
    return auc(scorer(data, draw.p_held), scorer(data, draw.u_held), "withheld rows")


@cache
def _open_folder(folder: Path) -> Prepared:
    return Prepared.open(folder)


def _open(prepared: Path, sample: Any) -> Prepared:
    data = _open_folder(prepared / sample.dataset)
    if data.digest != sample.data_digest:
        raise ValueError(f"{prepared / sample.dataset} holds {data.digest}, the fit asks {sample.data_digest}")
    return data


def _of_own(job: Job, fit: Fit) -> dict[str, Any]:
    """What lets a model of own data score their owner's files, and the marks on its scores."""
    path = job.prepared.parents[1] / PLANNED / f"{fit.sample.dataset}.json"
    if not fit.sample.unknown_u or not path.exists():
        return {}
    declared = Declared.model_validate_json(path.read_bytes())
    # a plan made meanwhile may be of other files
    same = (declared.digest, declared.reading) == (fit.sample.data_digest, fit.sample.reading)
    return {"prepared": declared.preparing, "marks": declared.marks} if same else {}


def _meta(job: Job, fit: Fit, data: Prepared, estimator: Estimator) -> dict[str, Any]:
    return {
        **_of_own(job, fit),
        "method": fit.method,
        "params": fit.params,
        "encoder": fit.encoder if isinstance(fit.encoder, str) else None,  # a fitted one comes with its arrays
        "numerics": fit.numerics,
        "shape": data.shape,
        "dtype": str(data.X.dtype),
        "scale": data.meta.scale,
        "versions": versions(),
        "contains_training_rows": estimator.keeps_training_rows,
        "about": {"fit_id": fit.id, "dataset": fit.sample.dataset, "pos": fit.sample.pos, "seed": fit.seed},
    }


def _result(job: Job, fit: Fit, status: Literal["ok", "failed"], **found: Any) -> FitResult:
    return FitResult(
        fit=fit,
        status=status,
        device=job.compute.device,
        versions=versions(),
        git=job.git,
        session=job.session,
        peak_memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        **found,
    )
