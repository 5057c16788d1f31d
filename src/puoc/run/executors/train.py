"""From a fit's question to a fitted estimator: what it is given, the rows it sees, training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from puoc import methods, scenarios
from puoc.datasets.prepare.arrays import Prepared
from puoc.methods import encoders, priors
from puoc.methods.encoders import Encodes
from puoc.methods.persistence import model_file as modelfile
from puoc.methods.priors import class_prior
from puoc.methods.training.estimator import Compute, Encoder, Estimator, PUSample
from puoc.records import Array, Fit, FitResult
from puoc.run.frozen_features import read
from puoc.store.ledger import Ledger


class Places(NamedTuple):
    """Where other fits' answers lie."""

    ledger: Ledger
    features: Path  # of frozen encoders


class Sees(NamedTuple):
    """From row numbers to what a method sees."""

    encoder: Encodes
    features: Array | None  # of all rows of the dataset, where a frozen encoder has computed them

    def __call__(self, data: Prepared, numbers: Array) -> Array:
        """Rows (n, *shape) as the method sees them."""
        if self.features is not None:
            return np.asarray(self.features[numbers])
        return self.encoder.encode(data.take(numbers))


class Given(NamedTuple):
    """What a fit takes from the ledger and from its draw."""

    sees: Sees
    encoder: Encoder | None  # its encoder, where that is more than a reshaping
    alpha: float | None  # class prior


def given(fit: Fit, data: Prepared, places: Places, compute: Compute) -> Given:
    """Look up, or compute from the question, what a fit is given.

    Raises
    ------
    ValueError : the ledger lacks what another fit was to answer, or that has failed.
    """
    encoder, features = _encoder(fit, data, places, compute), None
    frozen = fit.frozen_encoder()
    if frozen is not None:
        features = read(places.features, data.digest, frozen)
    sees = Sees(encoder or encoders.plain(None if fit.encoder is None else str(fit.encoder)), features)
    asked = fit.prior_fit()
    estimate = None if asked is None else _answered(asked, places.ledger).alpha_hat
    return Given(sees, encoder, class_prior(fit.prior, fit.sample, estimate))


def _encoder(fit: Fit, data: Prepared, places: Places, compute: Compute) -> Encoder | None:
    frozen, asked = fit.frozen_encoder(), fit.encoder_fit()
    if frozen is not None:
        return encoders.make(frozen.name, frozen.params)
    if asked is None:
        return None
    path = places.ledger.model_path(_answered(asked, places.ledger))
    if path is not None:
        found = modelfile.load(path).estimator
    else:  # the record was imported, and models do not travel with records
        draw = scenarios.draw(data, asked.sample, asked.seed)
        found = train([asked], data, [draw], [given(asked, data, places, compute)], compute)[0]
    assert isinstance(found, Encoder)
    return found


def _answered(asked: Fit, ledger: Ledger) -> FitResult:
    entry = ledger.get(asked.id)
    if entry is None or entry.result.status != "ok":
        raise ValueError(f"{asked.method} {asked.id} was to be computed before and has no result")
    return entry.result


def train(
    fits: Sequence[Fit], data: Prepared, draws: Sequence[scenarios.Draw], whats: Sequence[Given], compute: Compute
) -> list[Estimator]:
    """Fit one estimator per fit, as lanes: the fits differ in sample and seed alone."""
    samples = [sample_of(*lane) for lane in zip(fits, [data] * len(fits), draws, whats, strict=True)]
    first = fits[0]
    make = encoders.make if first.method in encoders.ENCODERS else methods.make
    return make(first.method, first.params).fit_lanes(samples, compute)


def estimate(fit: Fit, data: Prepared, draw: scenarios.Draw, what: Given) -> float:
    """Estimate the class prior of a fit's sample."""
    return priors.make(fit.method, fit.params).estimate(sample_of(fit, data, draw, what))


def sample_of(fit: Fit, data: Prepared, draw: scenarios.Draw, what: Given) -> PUSample:
    """What the method sees. Under ``labels: oracle`` the true classes of U: the PN reference, no method."""

    def rows(numbers: Array) -> Array:
        return what.sees(data, numbers)

    if fit.labels == "all_positives":
        return PUSample(rows(scenarios.positive_rows(data, fit.sample, fit.seed)), None, None, fit.seed)
    if draw.u is None or not len(draw.u):
        return PUSample(rows(draw.p), None, what.alpha, fit.seed)
    if fit.labels == "oracle":
        return PUSample(rows(np.concatenate([draw.p, draw.u[draw.y_u]])), rows(draw.u[~draw.y_u]), None, fit.seed)
    return PUSample(rows(draw.p), rows(draw.u), what.alpha, fit.seed)
