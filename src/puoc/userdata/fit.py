"""One fit to a user's own data: what ``puoc fit`` does with what was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from puoc import methods
from puoc.datasets.readers import Pair
from puoc.datasets.readers.pu_data import Rows
from puoc.methods import encoders, priors
from puoc.methods.encoders import Encodes
from puoc.methods.persistence import model_file as modelfile
from puoc.methods.training.estimator import Encoder, Estimator, PUSample
from puoc.records import Array, Record
from puoc.registry import METHODS, PRIORS
from puoc.run.auc import auc
from puoc.scenarios.drawing.draws import count_of
from puoc.store.provenance import versions
from puoc.userdata import preflight as beforehand
from puoc.userdata.settings import Part, Settings, packaged_methods

_LEAST = 0.001  # share of either class that an estimated prior leaves, as in the benchmark


class Threshold(Record):
    """From which score on a row is called positive, and what that rests on."""

    by: str  # alpha, or false_alarm_rate
    asked: float  # the share of U to be called positive, or the rate of positives to be missed at most
    value: float  # a row is called positive from this score on
    rows: int  # scored for it: unlabelled ones, or withheld positives
    share: float  # of those rows that it calls positive


class Wanted(NamedTuple):
    """What is asked of the scores."""

    by_alpha: bool = False
    false_alarms: float | None = None


class Fitted(NamedTuple):
    """A model and what is to be said of it."""

    content: bytes  # of the model file
    notes: list[str]
    test_auc: float | None


def check(pair: Pair, asked: Settings, wanted: Wanted) -> None:
    """Refuse beforehand what cannot be fitted to these rows.

    Raises
    ------
    ValueError : the method or the estimator of the prior does not take these rows or so few of them, unlabelled rows
        are needed and not there, or too few positives are withheld.
    """
    seen = _check_inputs(asked, pair.preparing.inputs)
    encoded = beforehand.learns_from_u(asked.encoder)
    if pair.unlabelled is None and (METHODS[asked.method].kind != "oc" or wanted.by_alpha or encoded):
        why = f" for --encoder {asked.encoder.name}" if encoded and isinstance(asked.encoder, Part) else ""
        raise ValueError(f"{asked.method}: unlabelled rows are needed{why}; give them by --unlabelled FILE")
    if isinstance(asked.prior, Part) and seen not in PRIORS[asked.prior.name].inputs:
        taken = " or ".join(sorted(PRIORS[asked.prior.name].inputs))
        raise ValueError(f"--prior: {asked.prior.name} takes {taken} rows, and these are {seen} rows; give a number")
    if wanted.false_alarms is not None:
        _rank(wanted.false_alarms, 0 if pair.held is None else len(pair.held))
    encoder = asked.encoder if isinstance(asked.encoder, Part) else _plain_encoder(asked, pair)
    n_u = 0 if pair.unlabelled is None else len(pair.unlabelled)
    beforehand.check_rows(asked, encoder, pair.preparing.shape, len(pair.positives), n_u)


def _rank(rate: float, withheld: int) -> int:
    """Which of the withheld positives, by ascending score, the threshold is.

    All ranks of a new positive among m withheld ones are equally likely: P(below their k-th) is k / (m + 1).
    """
    k = int(np.floor(rate * (withheld + 1) + 1e-9))
    if k < 1:
        needed = int(np.ceil(1 / rate)) - 1
        raise ValueError(
            f"--false-alarms: a rate of {rate:g} needs {needed} withheld positives at least, and {withheld} were "
            "withheld; withhold more by --withhold, or ask for a higher rate"
        )
    return k


def _check_inputs(asked: Settings, inputs: str) -> str:
    """Refuse a method that does not take the data's rows, and say which ones do; else the rows that it sees."""
    name = asked.encoder.name if isinstance(asked.encoder, Part) else asked.encoder
    seen = encoders.inputs_of(None if name == "flatten" and inputs == "vector" else name, inputs)
    taken = methods.inputs_of(asked.method, asked.params)
    if seen not in taken:
        fitting = ", ".join(name for name, params in packaged_methods() if seen in methods.inputs_of(name, params))
        also = " Or make vectors of them: --encoder flatten." if seen == "image" and "vector" in taken else ""
        raise ValueError(
            f"--method: {asked.method} takes {' or '.join(sorted(taken))} rows, and these are {seen} rows. What fits "
            f"them: {fitting}.{also}"
        )
    return seen


def fit(
    pair: Pair,
    asked: Settings,
    *,
    seed: int = 0,
    wanted: Wanted | None = None,
    marks: tuple[str, ...] = (),
) -> Fitted:
    """Fit a method to what was read, and write the model.

    Raises
    ------
    ValueError : as ``check``, or the loss did not stay finite.
    """
    wanted = wanted or Wanted()
    cls = METHODS[asked.method]
    check(pair, asked, wanted)
    X_p, X_u = _scaled(pair, pair.positives), None if pair.unlabelled is None else _scaled(pair, pair.unlabelled)
    with _without_solution("--encoder"):
        encoder, fitted_encoder = _encoder(asked, pair, X_p, X_u, seed)
        seen_p, seen_u = encoder.encode(X_p), None if X_u is None else encoder.encode(X_u)
    with _without_solution("--prior"):
        alpha, said = _alpha(asked, seen_p, seen_u, seed)
    estimator = methods.make(asked.method, asked.params)
    with _without_solution(f"--method {asked.method}"):
        estimator.fit(
            seen_p, None if cls.kind == "oc" else seen_u, alpha=alpha if cls.kind != "oc" else None, seed=seed
        )

    def scores(rows: Rows) -> Array:
        return modelfile.score_rows(estimator, encoder, rows.X, pair.preparing.dtype, pair.preparing.scale)

    threshold = _threshold(pair, wanted, alpha, scores)
    test_auc = None
    if pair.test is not None and pair.test.positive is not None:
        found = scores(pair.test)
        test_auc = auc(found[pair.test.positive], found[~pair.test.positive], pair.test.where)
    meta = _meta(pair, asked, estimator, seed, alpha, threshold, marks)
    notes = [*said, *_said_of(threshold)]
    if estimator.keeps_training_rows:
        notes.append("the model holds training rows, or what was computed of each: think before you hand it on")
    return Fitted(modelfile.dump(estimator, meta, fitted_encoder), notes, test_auc)


@contextmanager
def _without_solution(option: str) -> Iterator[None]:
    """Turn what a training raises where its numbers come to nothing into a ValueError that names what was trained."""
    try:
        yield
    except FloatingPointError as error:
        raise ValueError(f"{option}: {error}; a smaller lr by --params may help") from error
    except (RuntimeError, np.linalg.LinAlgError) as error:
        raise ValueError(f"{option}: {error}; other --params, or another --prior, may help") from error


def _scaled(pair: Pair, rows: Rows) -> Array:
    found: Array = rows.X.astype(np.float32) / np.float32(pair.preparing.scale)
    return found


def _encoder(asked: Settings, pair: Pair, X_p: Array, X_u: Array | None, seed: int) -> tuple[Encodes, Encoder | None]:
    if isinstance(asked.encoder, Part):
        made = encoders.make(asked.encoder.name, asked.encoder.params)
        sees_u = beforehand.learns_from_u(asked.encoder)
        fitted = made.fit_lanes([PUSample(X_p, X_u if sees_u else None, None, seed)])[0]
        return fitted, fitted
    return encoders.plain(_plain_encoder(asked, pair)), None


def _plain_encoder(asked: Settings, pair: Pair) -> str | None:
    if isinstance(asked.encoder, Part) or (asked.encoder == "flatten" and pair.preparing.inputs == "vector"):
        return None
    return asked.encoder


def _alpha(asked: Settings, X_p: Array, X_u: Array | None, seed: int) -> tuple[float | None, list[str]]:
    """The class prior and how it was had."""
    if asked.prior is None or X_u is None:
        return None, []
    if isinstance(asked.prior, float):
        return asked.prior, [f"class prior {asked.prior:g}: as given"]
    part = asked.prior
    estimate = priors.make(part.name, part.params).estimate(PUSample(X_p, X_u, None, seed))
    alpha = min(max(estimate, _LEAST), 1 - _LEAST)
    how = "" if asked.prior_asked else "; no --prior was given"
    moved = "" if alpha == estimate else f", moved from {estimate:g}"
    return alpha, [f"class prior {alpha:.4g}: estimated by {part.name} from these rows{moved}{how} ({part.source})"]


def _threshold(pair: Pair, wanted: Wanted, alpha: float | None, scores: Callable[[Rows], Array]) -> Threshold | None:
    if wanted.by_alpha:
        assert alpha is not None, "settings give a prior where a threshold rests on it"
        assert pair.unlabelled is not None, "checked before the fit"
        found = np.sort(scores(pair.unlabelled))
        n_positive = min(max(count_of(alpha, len(found)), 1), len(found))
        return _at(found, len(found) - n_positive, "alpha", alpha)
    if wanted.false_alarms is not None:
        assert pair.held is not None, "read with positives withheld"
        found = np.sort(scores(pair.held))
        return _at(found, _rank(wanted.false_alarms, len(found)) - 1, "false_alarm_rate", wanted.false_alarms)
    return None


def _at(ascending: Array, place: int, by: str, asked: float) -> Threshold:
    value = float(ascending[place])
    return Threshold(by=by, asked=asked, value=value, rows=len(ascending), share=float((ascending >= value).mean()))


def _said_of(threshold: Threshold | None) -> list[str]:
    if threshold is None:
        return ["no threshold: the model gives scores (--by-alpha or --false-alarms RATE set one)"]
    what = (
        f"the share alpha = {threshold.asked:.4g} of {threshold.rows} unlabelled rows, of which {threshold.share:.4g}"
        if threshold.by == "alpha"
        else f"a false-alarm rate of {threshold.asked:g} on {threshold.rows} withheld positives, of which "
        f"{threshold.share:.4g}"
    )
    return [f"threshold {threshold.value:.6g}: by {what} reach it"]


def _meta(
    pair: Pair,
    asked: Settings,
    estimator: Estimator,
    seed: int,
    alpha: float | None,
    threshold: Threshold | None,
    marks: tuple[str, ...],
) -> dict[str, Any]:
    preparing = pair.preparing
    about = {
        "seed": seed,
        "source": asked.source,
        "positives": len(pair.positives),
        "unlabelled": 0 if pair.unlabelled is None else len(pair.unlabelled),
        "alpha": alpha,
        "prior": asked.prior if isinstance(asked.prior, float) else asked.prior and asked.prior.name,
        "alpha_hat": estimator.alpha_hat_,
    }
    return {
        "method": asked.method,
        "params": asked.params,
        "encoder": _plain_encoder(asked, pair),
        "shape": preparing.shape,
        "dtype": preparing.dtype,
        "scale": preparing.scale,
        "versions": versions(),
        "contains_training_rows": estimator.keeps_training_rows,
        "about": {name: value for name, value in about.items() if value is not None},
        "prepared": preparing.model_dump(mode="json"),
        "threshold": None if threshold is None else threshold.model_dump(mode="json"),
        "marks": marks,
    }
