"""Class prior alpha = p(y=1 | s=0) of a method, the share of positives among the unlabelled rows."""

from __future__ import annotations

from puoc.methods.training import from_params as making
from puoc.methods.training.estimator import PriorEstimator
from puoc.records import Params, Prior, Sample
from puoc.registry import PRIORS
from puoc.scenarios.drawing.draws import count_of

__all__ = ["KINDS", "PRIORS", "class_prior", "make", "normalise"]


#: ``true``: the share in the drawn rows, known only in a benchmark. ``fixed``: a given number.
KINDS = ("true", "fixed")
_LEAST = 0.001  # minimum share of each class in an estimate


def make(name: str, params: Params) -> PriorEstimator:
    """Make an estimator of the class prior with its hyperparameters. Raises ValueError as ``making.make``."""
    made: PriorEstimator = making.make(PRIORS, name, params)
    return made


def normalise(name: str, params: Params) -> Params:
    """Return validated hyperparameters as plain JSON types, as ``making.normalise``. Raises ValueError as ``make``."""
    return making.normalise(PRIORS, name, params)


def class_prior(prior: Prior | None, sample: Sample, estimate: float | None = None) -> float | None:
    """Return the class prior of a method; None for a method that takes none.

    Parameters
    ----------
    estimate : result of the fit that estimates the prior. It is clipped to [.001, .999]: a risk weighs P by alpha and
        the negatives by 1 - alpha, and neither weight may be 0.

    Raises
    ------
    ValueError : an unknown kind of prior, or a missing estimate.
    """
    if prior is None:
        return None
    if prior.kind == "true":
        return _kept_alpha(sample)
    if prior.kind == "fixed":
        return prior.value
    if prior.params is None:
        raise ValueError(f"prior: got {prior.kind!r}; expected one of {', '.join(KINDS)} or an estimator")
    if estimate is None:
        raise ValueError(f"prior: {prior.kind} gave no estimate of alpha; a method needs one, or true, or fixed")
    return min(max(estimate, _LEAST), 1 - _LEAST)


def _kept_alpha(sample: Sample) -> float | None:
    """Return the share of positives in U without ``holdout``, which withholds a share of each class."""
    if sample.n_pos_unl is None or sample.n_neg_unl is None:
        return None
    positives, negatives = (n - count_of(sample.holdout, n) for n in (sample.n_pos_unl, sample.n_neg_unl))
    return positives / (positives + negatives) if positives + negatives else None
