"""The trials of claimed fits: load the data, fit, score, record."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from puoc import scenarios
from puoc.analysis.statistics import withheld_scores
from puoc.analysis.statistics.auc import auc
from puoc.analysis.statistics.roc import encode, roc_curve
from puoc.datasets.prepare.arrays import Prepared
from puoc.datasets.user.dataset import PLANNED, Declared
from puoc.methods.persistence import model_file as modelfile
from puoc.methods.training.estimator import Compute, Encoder, Estimator
from puoc.methods.training.fitting import estimate_prior, score_in_chunks, train
from puoc.records import Array, Fit, FitResult, Sample, TestSet, Trial, TrialResult
from puoc.registry import PRIORS
from puoc.run.executors.fit_inputs import FitInputs, Folders, RowEncoder, resolve_inputs, sample_of
from puoc.store.ledger import Ledger
from puoc.store.ledger_records import Scored
from puoc.store.provenance import machine, versions

if TYPE_CHECKING:
    from puoc.run.executors.job import Job


class Outcome(NamedTuple):
    """Result of one fit with its scores, ready to record."""

    result: FitResult
    scored: list[Scored]
    model: bytes | None = None  # the model file, if it is kept
    is_new: bool = True  # False: the ledger has the result, and only scores are added


class Scorer(NamedTuple):
    """A fitted estimator with the rows that it sees."""

    estimator: Estimator
    rows: RowEncoder

    def __call__(self, data: Prepared, numbers: Array) -> Array:
        """Return scores (n,) of rows by number."""
        return score_in_chunks(self.estimator, len(numbers), lambda part: self.rows(data, numbers[part]))


class TrialRun:
    """Claimed fits of a job that are trained as lanes, on one dataset.

    Parameters
    ----------
    lanes : positions of the fits in the job.
    """

    def __init__(self, job: Job, lanes: list[int], ledger: Ledger):
        self.job, self.ledger = job, ledger
        self.fits, self.tests = [job.fits[i] for i in lanes], [job.tests[i] for i in lanes]
        self.folders = Folders(ledger, job.prepared.parent / "features")

    def fit_and_score(self) -> list[Outcome]:
        """Fit and score; a fit that the ledger has is only scored. Nothing is recorded yet."""
        fits = self.fits
        data = _load(self.job.prepared, fits[0].sample)
        draws = [scenarios.draw(data, fit.sample, fit.seed) for fit in fits]
        entry = self.ledger.get(fits[0].id) if len(fits) == 1 else None
        if entry is not None and entry.result.status == "ok":
            return [self._score_again(entry.result, data, draws[0])]
        started = time.perf_counter()
        inputs = [resolve_inputs(fit, data, self.folders, self.job.compute) for fit in fits]
        samples = [sample_of(fit, data, draw, given) for fit, draw, given in zip(fits, draws, inputs, strict=True)]
        if fits[0].method in PRIORS:
            alpha_hat = estimate_prior(fits[0].method, fits[0].params, samples[0])
            seconds = time.perf_counter() - started
            result = self._result(fits[0]).model_copy(
                update={"alpha_hat": alpha_hat, "fit_seconds": seconds, "n_lanes": 1, "lane_map": "loop"}
            )
            return [Outcome(result, [])]
        estimators = train(fits[0].method, fits[0].params, samples, self._compute(fits))
        seconds = (time.perf_counter() - started) / len(fits)
        return [
            self._score_new(lane, data, draw, given, estimator, seconds)
            for lane, (draw, given, estimator) in enumerate(zip(draws, inputs, estimators, strict=True))
        ]

    def record(self, outcomes: Sequence[Outcome]) -> None:
        """Write the results to the ledger. Raises OSError as the ledger."""
        for outcome in outcomes:
            if outcome.is_new:
                self.ledger.put(outcome.result, outcome.scored, outcome.model)
            else:
                for scored in outcome.scored:
                    self.ledger.add_trial(scored)
        self.forget_checkpoints()

    def record_failure(self, reason: str) -> None:
        """Write that the one fit of this run failed."""
        failed = {"status": "failed", "reason": reason}
        self.ledger.put(self._result(self.fits[0]).model_copy(update=failed))

    def forget_checkpoints(self) -> None:
        """Remove the checkpoints of these lanes."""
        self._compute(self.fits).forget()

    def _compute(self, fits: Sequence[Fit]) -> Compute:
        folder, lanes = self.job.prepared.parent / "checkpoints", tuple(fit.id for fit in fits)
        return replace(self.job.compute, numerics=fits[0].numerics, checkpoints=folder, lanes=lanes)

    def _score_new(
        self,
        lane: int,
        data: Prepared,
        draw: scenarios.Draw,
        inputs: FitInputs,
        estimator: Estimator,
        seconds: float,
    ) -> Outcome:
        fit, scorer = self.fits[lane], Scorer(estimator, inputs.rows)
        scored = self._score(lane, data, draw, scorer)
        validated = _validate(fit, data, draw, scorer)
        result = self._result(fit).model_copy(
            update={
                "auc_val_pu": validated and validated.auc,
                "withheld": validated and validated.scores,
                "alpha": inputs.alpha,
                "alpha_hat": estimator.alpha_hat_,
                "curve": {name: tuple(float(v) for v in values) for name, values in estimator.curve_.items()},
                "fit_seconds": seconds,
                "n_lanes": len(self.fits),
                "lane_map": estimator.lane_map_,
            }
        )
        # an encoder's record is useless without its model
        keep = self.job.keep_models or isinstance(estimator, Encoder)
        model = modelfile.dump(estimator, self._meta(fit, data, estimator), inputs.encoder) if keep else None
        return Outcome(result, scored, model)

    def _score_again(self, result: FitResult, data: Prepared, draw: scenarios.Draw) -> Outcome:
        scorer = self._recorded_scorer(result, data, draw)
        validated = _validate(result.fit, data, draw, scorer)
        val = {"auc_val_pu": validated and validated.auc}
        scored = self._score(0, data, draw, scorer)
        scored = [one._replace(result=one.result.model_copy(update=val)) for one in scored]
        return Outcome(result, scored, is_new=False)

    def _recorded_scorer(self, result: FitResult, data: Prepared, draw: scenarios.Draw) -> Scorer:
        """Return the model of a record; it is trained again if it was not kept."""
        path, fit = self.ledger.model_path(result), result.fit
        if path is not None:
            model = modelfile.load(path)
            return Scorer(model.estimator, RowEncoder(model.encoder, None))
        inputs = resolve_inputs(fit, data, self.folders, self.job.compute)
        [estimator] = train(fit.method, fit.params, [sample_of(fit, data, draw, inputs)], self._compute([fit]))
        return Scorer(estimator, inputs.rows)

    def _score(self, lane: int, data: Prepared, draw: scenarios.Draw, scorer: Scorer) -> list[Scored]:
        fit, all_scored = self.fits[lane], []
        for test in self.tests[lane]:
            numbers, y = scenarios.test_rows(data, test, fit.seed)
            scenarios.check_disjoint(data, draw, numbers)
            trial = Trial(fit=fit, test=test)
            if not test.neg:  # user data without a test file: there is nothing to score
                result = TrialResult(
                    trial_id=trial.id,
                    fit_id=fit.id,
                    test=test,
                    n_pos=0,
                    n_neg=0,
                    scoring_digest=self.job.scoring_digest,
                )
                all_scored.append(Scored(result, np.empty(0)))
                continue
            positive, negative = (scorer(data, numbers[y == side]) for side in (True, False))
            result = TrialResult(
                trial_id=trial.id,
                fit_id=fit.id,
                test=test,
                auc=auc(positive, negative, "test rows"),
                auc_train_pool=_train_pool(fit, test, data, scorer),
                n_pos=len(positive),
                n_neg=len(negative),
                scoring_digest=self.job.scoring_digest,
                roc=encode(roc_curve(positive, negative)),
            )
            all_scored.append(Scored(result, np.concatenate([positive, negative])))
        return all_scored

    def _result(self, fit: Fit) -> FitResult:
        """Return a result with what all outcomes of this run share."""
        return FitResult(
            fit=fit,
            status="ok",
            device=self.job.compute.device,
            versions=versions(),
            machine=machine(),
            git=self.job.git,
            session=self.job.session,
            peak_memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        )

    def _meta(self, fit: Fit, data: Prepared, estimator: Estimator) -> modelfile.Meta:
        declared = self._declared(fit)
        return modelfile.Meta(
            method=fit.method,
            params=fit.params,
            encoder=fit.encoder if isinstance(fit.encoder, str) else None,  # a fitted one comes with its arrays
            numerics=fit.numerics,
            shape=data.shape,
            dtype=str(data.X.dtype),
            scale=data.meta.scale,
            versions=versions(),
            contains_training_rows=estimator.keeps_training_rows,
            about={"fit_id": fit.id, "dataset": fit.sample.dataset, "pos": list(fit.sample.pos), "seed": fit.seed},
            prepared=declared.preparing if declared else None,
            marks=tuple(declared.marks) if declared else (),
        )

    def _declared(self, fit: Fit) -> Declared | None:
        """Return the declaration of user data, whose model then scores files as they are; None for other data."""
        path = self.job.prepared.parents[1] / PLANNED / f"{fit.sample.dataset}.json"
        if not fit.sample.unknown_u or not path.exists():
            return None
        declared = Declared.model_validate_json(path.read_bytes())
        # a plan made since then may be of other files
        same = (declared.digest, declared.reading) == (fit.sample.data_digest, fit.sample.reading)
        return declared if same else None


def _train_pool(fit: Fit, test: TestSet, data: Prepared, scorer: Scorer) -> float | None:
    """Return the AUC on the training pool; None for user data, whose training rows have no known negatives."""
    if fit.sample.unknown_u:
        return None
    pool, y = scenarios.train_pool_rows(data, fit.sample, test, fit.seed)
    scores = scorer(data, pool)
    return auc(scores[y], scores[~y], "training pool")


class _Validated(NamedTuple):
    """Scores of the withheld rows as text, and the AUC of P against U."""

    auc: float
    scores: str


def _validate(fit: Fit, data: Prepared, draw: scenarios.Draw, scorer: Scorer) -> _Validated | None:
    """Score withheld labelled positives and withheld unlabelled rows. It needs no negative label."""
    if not fit.sample.holdout or not len(draw.u_held):
        return None
    positive, unlabelled = scorer(data, draw.p_held), scorer(data, draw.u_held)
    return _Validated(auc(positive, unlabelled, "withheld rows"), withheld_scores.encode(positive, unlabelled))


@cache
def _open_folder(folder: Path) -> Prepared:
    return Prepared.open(folder)


def _load(prepared: Path, sample: Sample) -> Prepared:
    data = _open_folder(prepared / sample.dataset)
    if data.digest != sample.data_digest:
        raise ValueError(f"{prepared / sample.dataset} holds {data.digest}, the fit needs {sample.data_digest}")
    return data
