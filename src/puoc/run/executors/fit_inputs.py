"""What a fit of the benchmark learns from: its drawn rows, encoded, and its class prior."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from puoc import scenarios
from puoc.datasets.prepare.arrays import Prepared
from puoc.methods import encoders
from puoc.methods.encoders import Encodes
from puoc.methods.persistence import model_file as modelfile
from puoc.methods.priors import class_prior
from puoc.methods.training.estimator import Compute, Encoder, PUSample
from puoc.methods.training.fitting import train_encoder
from puoc.records import Array, Fit, FitResult
from puoc.registry import ENCODERS, METHODS
from puoc.run.executors.frozen_features import read
from puoc.store.ledger import Ledger


class Folders(NamedTuple):
    """Where the results of other fits are."""

    ledger: Ledger
    features: Path  # of frozen encoders


class RowEncoder(NamedTuple):
    """Maps row numbers of a dataset to the rows that a method sees."""

    encoder: Encodes
    features: Array | None  # of all rows of the dataset, if a frozen encoder has computed them

    def __call__(self, data: Prepared, numbers: Array) -> Array:
        """Return rows (n, *shape) as the method sees them."""
        if self.features is not None:
            return np.asarray(self.features[numbers])
        return self.encoder.encode(data.take(numbers))


class FitInputs(NamedTuple):
    """What a fit takes from other fits and from its draw."""

    rows: RowEncoder
    encoder: Encoder | None  # None if the encoder only reshapes rows
    alpha: float | None  # class prior


def resolve_inputs(fit: Fit, data: Prepared, folders: Folders, compute: Compute) -> FitInputs:
    """Load, or compute, what a fit takes from other fits.

    Raises
    ------
    ValueError : the ledger has no result of a fit that this one needs, or that fit has failed.
    """
    encoder, features = _encoder(fit, data, folders, compute), None
    frozen = fit.frozen_encoder()
    if frozen is not None:
        features = read(folders.features, data.digest, frozen)
    rows = RowEncoder(encoder or encoders.plain(None if fit.encoder is None else str(fit.encoder)), features)
    prior_fit = fit.prior_fit()
    estimate = None if prior_fit is None else _result(prior_fit, folders.ledger).alpha_hat
    return FitInputs(rows, encoder, class_prior(fit.prior, fit.sample, estimate))


def _encoder(fit: Fit, data: Prepared, folders: Folders, compute: Compute) -> Encoder | None:
    frozen, encoder_fit = fit.frozen_encoder(), fit.encoder_fit()
    if frozen is not None:
        return encoders.make(frozen.name, frozen.params)
    if encoder_fit is None:
        return None
    path = folders.ledger.model_path(_result(encoder_fit, folders.ledger))
    if path is not None:
        encoder = modelfile.load(path).estimator
        assert isinstance(encoder, Encoder)
        return encoder
    # the record was imported, and an archive of a ledger has no models
    draw = scenarios.draw(data, encoder_fit.sample, encoder_fit.seed)
    sample = sample_of(encoder_fit, data, draw, resolve_inputs(encoder_fit, data, folders, compute))
    return train_encoder(encoder_fit.method, encoder_fit.params, sample, compute)


def _result(fit: Fit, ledger: Ledger) -> FitResult:
    entry = ledger.get(fit.id)
    if entry is None or entry.result.status != "ok":
        raise ValueError(f"{fit.method} {fit.id} must be computed first, and the ledger has no result of it")
    return entry.result


def _learns_from_p_alone(fit: Fit) -> bool:
    """Return True for OC methods and encoders of P whose sample has U only because the rows of P depend on it."""
    if fit.sample.is_plain:
        return False
    if fit.method in ENCODERS:
        return getattr(ENCODERS[fit.method], "learns_from", None) != "training_rows"
    return fit.method in METHODS and METHODS[fit.method].kind == "oc"


def sample_of(fit: Fit, data: Prepared, draw: scenarios.Draw, inputs: FitInputs) -> PUSample:
    """Return the sample that the method learns from.

    With ``labels: oracle`` the sample holds the true classes of P and U: that fit is the PN reference, not a method.
    Nothing else reads the true labels or the propensities of a draw.
    """

    def rows(numbers: Array) -> Array:
        return inputs.rows(data, numbers)

    if fit.labels == "all_positives":
        return PUSample(rows(scenarios.positive_rows(data, fit.sample, fit.seed)), None, None, fit.seed)
    if draw.u is None or not len(draw.u) or _learns_from_p_alone(fit):
        return PUSample(rows(draw.p), None, inputs.alpha, fit.seed)
    if fit.labels == "oracle":
        y_p = draw.y_p if isinstance(draw, scenarios.LabelledDraw) else np.ones(len(draw.p), dtype=np.bool_)
        positives, negatives = (
            np.concatenate([draw.p[side], draw.u[of_u]]) for side, of_u in ((y_p, draw.y_u), (~y_p, ~draw.y_u))
        )
        return PUSample(rows(positives), rows(negatives), None, fit.seed)
    return PUSample(rows(draw.p), rows(draw.u), inputs.alpha, fit.seed)
