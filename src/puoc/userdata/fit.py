"""Fit one method to user data that was read: the work of ``puoc fit``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc import methods
from puoc.datasets.prepare import FetchError
from puoc.datasets.prepare.weights import weights_file
from puoc.datasets.readers import Pair
from puoc.datasets.readers.pu_data import Rows
from puoc.methods import encoders
from puoc.methods.encoders import Encodes
from puoc.methods.persistence import model_file as modelfile
from puoc.methods.persistence.header import Meta, Ranking, Threshold
from puoc.methods.training.estimator import Encoder, Estimator, PUSample
from puoc.methods.training.fitting import estimate_prior, train, train_encoder
from puoc.records import Array, JsonObject
from puoc.registry import METHODS, PRIORS
from puoc.store.provenance import versions
from puoc.store.steps import begin
from puoc.userdata import preflight, ranking_check
from puoc.userdata.kept_apart import kept_apart, learns_from_u, taken
from puoc.userdata.settings import Part, Settings, packaged_methods
from puoc.userdata.tested import auc_of_test
from puoc.userdata.thresholds import ThresholdRule, check_rule, notes_on, threshold_of

_MIN_SHARE = 0.001  # of either class, to which an estimated prior is moved, as in the benchmark


class Fitted(NamedTuple):
    """A model and notes on it."""

    content: bytes  # of the model file
    notes: list[str]
    test_auc: float | None
    warning: str | None = None  # of a model that does not rank labelled positives above unlabelled rows
    test_notes: tuple[str, ...] = ()


def check(pair: Pair, settings: Settings, rule: ThresholdRule) -> None:
    """Check that a method can be fitted to these rows, before any work is done.

    Raises
    ------
    ValueError : the method or the estimator of the prior does not take these rows or so few of them, unlabelled rows
        are needed and not there, or too few positives are withheld.
    """
    settings = settings.for_inputs(pair.preparing.inputs)
    seen = _check_inputs(settings, pair.preparing.inputs)
    encoded = preflight.learns_from_u(settings.encoder)
    if pair.unlabelled is None and (learns_from_u(settings) or rule.by_alpha or rule.flags):
        purpose = f" for --encoder {settings.encoder.name}" if encoded and isinstance(settings.encoder, Part) else ""
        purpose = purpose or (" for --false-alarms and --precision" if rule.flags else "")
        raise ValueError(f"{settings.method}: unlabelled rows are needed{purpose}; give them by --unlabelled FILE")
    if isinstance(settings.prior, Part) and seen not in PRIORS[settings.prior.name].inputs:
        taken = " or ".join(sorted(PRIORS[settings.prior.name].inputs))
        raise ValueError(f"--prior: {settings.prior.name} takes {taken} rows, and these are {seen} rows; give a number")
    apart = None if pair.unlabelled is None else kept_apart(pair, settings, rule, 0)
    check_rule(rule, 0 if pair.held is None else len(pair.held), 0 if apart is None else len(apart.new))
    encoder = settings.encoder if isinstance(settings.encoder, Part) else _plain_encoder(settings, pair)
    n_u = 0 if apart is None else len(apart.learned)
    _check_weights(settings)
    preflight.check_rows(settings, encoder, pair.preparing.shape, len(pair.positives), n_u)


def _check_inputs(settings: Settings, inputs: str) -> str:
    """Return the kind of rows that the method sees. Raises ValueError, with the methods that fit, for another kind."""
    name = _encoder_name(settings)
    seen = encoders.inputs_of(None if name == "flatten" and inputs == "vector" else name, inputs)
    taken = methods.inputs_of(settings.method, settings.params)
    if seen not in taken:
        fitting = ", ".join(name for name, params in packaged_methods() if seen in methods.inputs_of(name, params))
        also = (
            " Or make vectors of them: --encoder imagenet, or --encoder flatten."
            if seen == "image" and "vector" in taken
            else ""
        )
        raise ValueError(
            f"--method: {settings.method} takes {' or '.join(sorted(taken))} rows, and these are {seen} rows. "
            f"What fits them: {fitting}.{also}"
        )
    return seen


def _check_weights(settings: Settings) -> None:
    """Fetch the weights of a pretrained encoder. Raises ValueError, with what else to do, if they cannot be had."""
    part = settings.encoder
    if not isinstance(part, Part) or part.name != "imagenet":
        return
    network, weights = str(part.params["network"]), str(part.params["weights"])
    try:
        weights_file(network, weights)
    except FetchError as error:
        raise ValueError(
            f"--encoder: imagenet needs the weights of {network} trained on ImageNet, which are not here: {error}. "
            f"Without them, pass --encoder flatten with {settings.method}, or a --method that takes images"
        ) from error


def fit(
    pair: Pair,
    settings: Settings,
    *,
    seed: int = 0,
    rule: ThresholdRule | None = None,
    marks: tuple[str, ...] = (),
    check_ranking: bool = True,
    overlapping: NDArray[np.bool_] | None = None,
    about: JsonObject | None = None,
) -> Fitted:
    """Fit a method to the rows that were read, and return the model file.

    Parameters
    ----------
    check_ranking : also check that the method ranks positives above unlabelled rows (``ranking_check``). The model
        stays the same.
    overlapping : (n,) of the test rows, those that are also training rows.
    about : further notes for the header of the model file.

    Raises
    ------
    ValueError : as ``check``, or the loss did not stay finite.
    """
    rule, settings = rule or ThresholdRule(), settings.for_inputs(pair.preparing.inputs)
    check(pair, settings, rule)
    new_u = pair.unlabelled
    if rule.flags and pair.unlabelled is not None:
        learned, new = kept_apart(pair, settings, rule, seed)
        new_u, pair = taken(pair.unlabelled, new), replace(pair, unlabelled=taken(pair.unlabelled, learned))
    X_p, X_u = _as_seen(pair, pair.X_p), None if pair.X_u is None else _as_seen(pair, pair.X_u)
    name = _encoder_name(settings)
    begin(f"encoder {name}" if name else "preparing the rows")
    with _without_solution("--encoder"):
        encoder, fitted_encoder = _encoder(settings, pair, X_p, X_u, seed)
        seen_p, seen_u = encoder.encode(X_p), None if X_u is None else encoder.encode(X_u)
    if isinstance(settings.prior, Part):
        begin(f"class prior by {settings.prior.name}")
    with _without_solution("--prior"):
        alpha, prior_notes = _alpha(settings, seen_p, seen_u, seed)
    begin(f"fitting {settings.method}")
    with _without_solution(f"--method {settings.method}"):
        estimator = _train(settings, seen_p, seen_u, alpha, seed)

    def scores(rows: Rows) -> Array:
        return modelfile.score_rows(estimator, encoder, rows.X, pair.preparing.dtype, pair.preparing.scale)

    begin("scoring")
    threshold = threshold_of(replace(pair, unlabelled=new_u), rule, alpha, scores)
    test = None
    if pair.test is not None and pair.test.positive is not None:
        test = auc_of_test(scores(pair.test), pair.test.positive, pair.test.where, overlapping)
    notes = [*prior_notes, *notes_on(threshold, alpha, 0 if new_u is None else len(new_u))]
    ranking = _ranking(pair, settings, alpha, scores, seed) if check_ranking else "as asked"
    notes.append(
        f"ranking not checked: {ranking}"
        if isinstance(ranking, str)
        else f"ranking of positives that were not learned from: {ranking_check.described(ranking)}"
    )
    found = None if isinstance(ranking, str) else ranking
    meta = _meta(pair, settings, estimator, seed, alpha, threshold, found, marks)
    if about:
        meta = meta.model_copy(update={"about": meta.about | about})
    if estimator.keeps_training_rows:
        notes.append("the model contains training rows, or values computed from them: share it as you would share them")
    return Fitted(
        modelfile.dump(estimator, meta, fitted_encoder),
        notes,
        test_auc=test and test.interval.auc,
        test_notes=test.notes if test else (),
        warning=None
        if found is None
        else ranking_check.warning_of(
            found,
            of_written=ranking_check.is_of_written_model(settings.method, _encoder_name(settings), threshold),
            test=test and test.interval,
        ),
    )


def _train(settings: Settings, X_p: Array, X_u: Array | None, alpha: float | None, seed: int) -> Estimator:
    one_class = METHODS[settings.method].kind == "oc"
    sample = PUSample(X_p, None, None, seed) if one_class else PUSample(X_p, X_u, alpha, seed)
    [estimator] = train(settings.method, settings.params, [sample])
    return estimator


def _ranking(
    pair: Pair, settings: Settings, alpha: float | None, scores: Callable[[Rows], Array], seed: int
) -> Ranking | str:
    """Return how the method ranks positives, by the model itself if it saw no such rows; or why that is unknown."""
    if pair.unlabelled is None:
        return "there are no unlabelled rows; give some by --unlabelled FILE"
    if pair.held is not None and not learns_from_u(settings):
        return ranking_check.seen_by_nothing(scores(pair.held), scores(pair.unlabelled))

    halves = iter((1, 2))

    def fitted(P: Array, U: Array) -> Callable[[Array], Array]:
        begin(f"checking the ranking by {settings.method} on half {next(halves)} of 2")
        X_p, X_u = _as_seen(pair, P), _as_seen(pair, U)
        encoder, _ = _encoder(settings, pair, X_p, X_u, seed)
        estimator = _train(settings, encoder.encode(X_p), encoder.encode(X_u), alpha, seed)
        return lambda X: modelfile.score_rows(estimator, encoder, X, pair.preparing.dtype, pair.preparing.scale)

    return ranking_check.cross_fitted(pair.positives.X, pair.unlabelled.X, fitted, seed)


@contextmanager
def _without_solution(option: str) -> Iterator[None]:
    """Turn the errors of a training without a finite solution into a ValueError that names what was trained."""
    try:
        yield
    except FloatingPointError as error:
        cause = str(error).removesuffix("; a smaller lr may help")  # the option is named here
        raise ValueError(f"{option}: {cause}; a smaller lr by --params may help") from error
    except (RuntimeError, np.linalg.LinAlgError) as error:
        raise ValueError(f"{option}: {error}; other --params, or another --prior, may help") from error


def _as_seen(pair: Pair, X: Array) -> Array:
    return np.asarray(X.astype(np.float32) / np.float32(pair.preparing.scale))


def _encoder(
    settings: Settings, pair: Pair, X_p: Array, X_u: Array | None, seed: int
) -> tuple[Encodes, Encoder | None]:
    if isinstance(settings.encoder, Part):
        sees_u = preflight.learns_from_u(settings.encoder)
        sample = PUSample(X_p, X_u if sees_u else None, None, seed)
        encoder = train_encoder(settings.encoder.name, settings.encoder.params, sample)
        return encoder, encoder
    return encoders.plain(_plain_encoder(settings, pair)), None


def _encoder_name(settings: Settings) -> str | None:
    return settings.encoder.name if isinstance(settings.encoder, Part) else settings.encoder


def _plain_encoder(settings: Settings, pair: Pair) -> str | None:
    if isinstance(settings.encoder, Part) or (settings.encoder == "flatten" and pair.preparing.inputs == "vector"):
        return None
    return settings.encoder


def _alpha(settings: Settings, X_p: Array, X_u: Array | None, seed: int) -> tuple[float | None, list[str]]:
    """Return the class prior, and a note on where it comes from."""
    if settings.prior is None or X_u is None:
        return None, []
    if isinstance(settings.prior, float):
        return settings.prior, [f"class prior {settings.prior:g}: as given"]
    part = settings.prior
    estimate = estimate_prior(part.name, part.params, PUSample(X_p, X_u, None, seed))
    alpha = min(max(estimate, _MIN_SHARE), 1 - _MIN_SHARE)
    how = "" if settings.prior_asked else "; no --prior was given"
    moved = "" if alpha == estimate else f", moved from {estimate:g}"
    return alpha, [f"class prior {alpha:.4g}: estimated by {part.name} from these rows{moved}{how} ({part.source})"]


def _meta(
    pair: Pair,
    settings: Settings,
    estimator: Estimator,
    seed: int,
    alpha: float | None,
    threshold: Threshold | None,
    ranking: Ranking | None,
    marks: tuple[str, ...],
) -> Meta:
    preparing = pair.preparing
    about = {
        "seed": seed,
        "source": settings.source,
        "positives": len(pair.positives),
        "unlabelled": 0 if pair.unlabelled is None else len(pair.unlabelled),
        "alpha": alpha,
        "prior": settings.prior if isinstance(settings.prior, float) else settings.prior and settings.prior.name,
        "alpha_hat": estimator.alpha_hat_,
    }
    return Meta(
        method=settings.method,
        params=settings.params,
        encoder=_plain_encoder(settings, pair),
        shape=preparing.shape,
        dtype=preparing.dtype,
        scale=preparing.scale,
        versions=versions(),
        contains_training_rows=estimator.keeps_training_rows,
        about={name: value for name, value in about.items() if value is not None},
        prepared=preparing.model_dump(mode="json"),
        threshold=threshold,
        ranking=ranking,
        marks=marks,
    )
