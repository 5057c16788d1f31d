"""Train and score, in one way for the benchmark and for user data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from puoc.methods.training import from_params
from puoc.methods.training.estimator import Compute, Encoder, Estimator, PriorEstimator, PUSample
from puoc.records import Array, Params
from puoc.registry import ENCODERS, METHODS, PRIORS

CHUNK = 4096  # rows that are encoded and scored at once
_CPU = Compute()


def train(name: str, params: Params, samples: Sequence[PUSample], compute: Compute = _CPU) -> list[Estimator]:
    """Train one copy of a method or an encoder per sample, as lanes.

    Parameters
    ----------
    samples : of equal shapes; for an encoder without ``alpha``.

    Raises
    ------
    ValueError : the hyperparameters are wrong, or a sample does not suit the method.
    FloatingPointError, RuntimeError, numpy.linalg.LinAlgError : the training found no solution.
    """
    made: Estimator = from_params.make(ENCODERS if name in ENCODERS else METHODS, name, params)
    return made.fit_lanes(samples, compute)


def train_encoder(name: str, params: Params, sample: PUSample, compute: Compute = _CPU) -> Encoder:
    """Train an encoder on one sample. Errors as ``train``."""
    [encoder] = train(name, params, [sample], compute)
    assert isinstance(encoder, Encoder)
    return encoder


def estimate_prior(name: str, params: Params, sample: PUSample) -> float:
    """Estimate the class prior alpha = p(y=1 | s=0) of a sample, in [0, 1]. Errors as ``PriorEstimator.estimate``."""
    made: PriorEstimator = from_params.make(PRIORS, name, params)
    return made.estimate(sample)


def score_in_chunks(estimator: Estimator, n: int, encoded: Callable[[slice], Array]) -> Array:
    """Score n rows, shape (n,), without holding more than ``CHUNK`` of them in memory.

    Parameters
    ----------
    encoded : returns the rows of a slice as the method sees them.
    """
    slices = (slice(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK))
    return np.concatenate([np.empty(0, np.float32), *(estimator.decision_function(encoded(part)) for part in slices)])
