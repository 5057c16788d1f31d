"""Variances that are moderated by those of similar samples (Smyth 2004, as limma computes them).

A spread over few seeds is itself uncertain. If the columns of a table have similar spreads for one method, each spread
can be estimated from all of them. The model: the true variances follow a scaled inverse chi-squared distribution with
``df_prior`` degrees of freedom and location ``prior``. Both are estimated from the sample variances by the moments of
their logarithms. The moderated variance is the mean of the prior and the sample variance, weighted by their degrees of
freedom; a t interval with it has ``df + df_prior`` degrees of freedom.

Source: G. K. Smyth, Linear models and empirical Bayes methods for assessing differential expression in microarray
experiments, Statistical Applications in Genetics and Molecular Biology 3 (2004), sections 3 and 6.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, isinf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: A variance below this share of the median counts as this share: AUCs of 1 in all seeds have no spread.
_MIN_SHARE_OF_MEDIAN = 1e-5
_STEPS = 50  # of Newton's method, which needs under 10
_ACCURACY = 1e-10


class Moderated(NamedTuple):
    """Moderated variances of a set of samples."""

    variances: NDArray[np.float64]  # (k,)
    df: NDArray[np.float64]  # (k,) degrees of freedom of each, at most the sum over all samples
    prior: float  # location of the true variances
    df_prior: float  # inf if the samples do not differ more than by chance


def moderated_variances(variances: Sequence[float], df: Sequence[float]) -> Moderated | None:
    """Estimate the variances of k samples together.

    Parameters
    ----------
    variances : sample variances, 0 or more; the value of a sample with ``df`` 0 is not used.
    df : degrees of freedom of each, n - 1. A sample with 0 gets the prior alone.

    Returns
    -------
    None if fewer than two samples have a positive variance, since nothing can be learned from the others then.

    Raises
    ------
    ValueError : lengths differ, or a value is negative or not finite.
    """
    s2, d = np.asarray(variances, dtype=np.float64), np.asarray(df, dtype=np.float64)
    if s2.shape != d.shape or s2.ndim != 1:
        raise ValueError(f"got {s2.shape} variances and {d.shape} degrees of freedom, expected two rows of one length")
    s2 = np.where(d > 0, s2, 0.0)
    if not (np.isfinite(s2).all() and np.isfinite(d).all() and (s2 >= 0).all() and (d >= 0).all()):
        raise ValueError("expected finite variances and degrees of freedom that are 0 or more")
    used = d > 0
    if (s2[used] > 0).sum() < 2:
        return None
    prior, df_prior = _fit_prior(s2[used], d[used])
    own_share = np.zeros(len(d)) if isinf(df_prior) else d / (df_prior + d)
    return Moderated((1 - own_share) * prior + own_share * s2, np.minimum(d + df_prior, d.sum()), prior, df_prior)


def _fit_prior(s2: NDArray[np.float64], d: NDArray[np.float64]) -> tuple[float, float]:
    """Return location and degrees of freedom of the true variances, by the moments of log sample variances."""
    from scipy.special import digamma, polygamma  # scipy takes long to import

    floored = np.maximum(s2, _MIN_SHARE_OF_MEDIAN * np.median(s2[s2 > 0]))
    centred = np.log(floored) - digamma(d / 2) + np.log(d / 2)
    mean = float(centred.mean())
    excess = float(centred.var(ddof=1) - polygamma(1, d / 2).mean())
    if excess <= 0:
        return exp(mean), inf
    df_prior = 2 * inverse_trigamma(excess)
    return exp(mean + float(digamma(df_prior / 2)) - log(df_prior / 2)), df_prior


def inverse_trigamma(value: float) -> float:
    """Solve trigamma(y) = value for y > 0 by Newton's method on 1 / trigamma, which is convex (Smyth 2004, appendix).

    Raises
    ------
    ValueError : the value is not positive.
    """
    from scipy.special import polygamma

    if not value > 0:
        raise ValueError(f"got {value}, expected a positive value of the trigamma function")
    y = 0.5 + 1 / value
    for _ in range(_STEPS):
        trigamma = float(polygamma(1, y))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, y))
        y += step
        if -step / y < _ACCURACY:
            break
    return y
