"""Metrics of probabilities, of the methods whose scores estimate p(y=1 | x) in U.

The share of positives of the test rows may differ from that of U. The error of that counts as an error of the method.
"""

from __future__ import annotations

import numpy as np

from puoc.analysis.metrics import metric
from puoc.analysis.metrics.counts import Floats, Scores
from puoc.records import Params

BINS = 10
#: Methods whose score is the log-odds of a positive if they are trained with the logistic loss.
_LOGITS = frozenset({"nnpu", "upu", "nnpu_boosting"})
#: Methods whose score is a probability, up to rounding and to the breaking of ties.
_SHARES = frozenset({"pu_trees", "dedpul"})


def probabilities_of(method: str, params: Params, scores: Floats) -> Floats | None:
    """Return estimates of p(y=1 | x), (n,), from scores (n,); None if the scores of the method are no such estimates.

    A logit counts where the loss is a proper one, the logistic loss: the score of the sigmoid loss is none.
    """
    if method in _SHARES:
        return np.clip(scores, 0, 1)
    if method in _LOGITS and params.get("surrogate", "logistic") == "logistic":
        half = np.tanh(np.asarray(scores, dtype=np.float64) / 2)  # the logistic function without an overflow
        return np.asarray((1 + half) / 2, dtype=np.float64)
    return None


def _labels(scores: Scores) -> Floats:
    return np.concatenate([np.ones(len(scores.positive)), np.zeros(len(scores.negative))])


@metric("Brier, 1950; scikit-learn's brier_score_loss", higher_is_better=False)
def brier(scores: Scores) -> float | None:
    """The mean squared difference of probability and class; empty for methods whose scores are no probabilities."""
    if scores.probabilities is None:
        return None
    return float(((scores.probabilities - _labels(scores)) ** 2).mean())


@metric("Naeini et al., 2015", higher_is_better=False)
def calibration_error(scores: Scores) -> float | None:
    """The mean absolute difference of probability and share of positives over 10 bins of equal width."""
    if scores.probabilities is None:
        return None
    place = np.minimum((scores.probabilities * BINS).astype(np.int64), BINS - 1)
    gap = np.bincount(place, scores.probabilities - _labels(scores), minlength=BINS)
    return float(np.abs(gap).sum() / scores.n)
