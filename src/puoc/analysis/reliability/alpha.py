"""Interval for the share of negatives in U, from scores of rows of P and U that the scorer was not fitted on.

U is a mixture of positives and a share ``beta = 1 - alpha`` of negatives. Its distribution function of scores therefore
obeys F_U <= (1 - beta) F_P + beta for any negatives. Hence beta >= sup_t (F_U(t) - F_P(t)) / (1 - F_P(t)).

The lower bound inverts a test of this inequality, whose level is exact for all sample sizes. The largest F_U under the
inequality has all negatives below all positives. In this case the distribution of the statistic depends only on the
sample sizes, and it is simulated. Ties only lower the statistic. The bound is valid if P is a random sample of the
positives; it may also be above 0 because labelling is not at random. The upper bound needs an assumption, since
negatives may have the same scores as positives.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.records import Array

PURE: Final = 0.25  # the upper bound assumes that above the threshold of the highest-scored quarter of P
LEAK: Final = 0.02  # there is at most this share of the negatives
MIN_SCORES: Final = 10  # of P and of U

_SHARES: Final = np.concatenate([np.arange(0, 0.05, 0.005), np.arange(0.05, 0.995, 0.01)])  # candidates of beta
_DRAWS: Final = 4000
_THRESHOLDS: Final = 30
_QUANTILES: Final = 200  # of the mass of the best positives


class Negatives(NamedTuple):
    """Estimates of the share of negatives in U."""

    low: float  # lower end of the interval of beta, at the level
    high: float  # upper end, under the assumption
    p: float  # of the hypothesis that U has no negatives; shown, but not used in decisions


def share_of_negatives(splits: list[tuple[Array, Array]], level: float = 0.95) -> Negatives:
    """Compute an interval of beta from one or several splits of the same rows into fitted and scored rows.

    Splits depend on each other. Their bounds are combined like the p-values in ``combined_p``.

    Parameters
    ----------
    splits : for each split, scores (n,) of P and (m,) of U; higher = more likely positive.

    Raises
    ------
    ValueError : fewer than 10 scores of a side, or one that is not finite.
    """
    for f_p, f_u in splits:
        _check(f_p, f_u)
    place, factor = counted_order(len(splits))
    error = (1 - level) / 2 / factor
    tests = [_lower(f_p, f_u, error) for f_p, f_u in splits]
    low = sorted((bound for bound, _ in tests), reverse=True)[place]
    high = sorted(_upper(f_p, f_u, error) for f_p, f_u in splits)[place]
    return Negatives(low, max(low, high), combined_p([p for _, p in tests]))


def counted_order(splits: int) -> tuple[int, float]:
    """Return which of the ascending p-values counts (its position from 0), and its factor.

    The k-th smallest of K p-values times K / k is a p-value under any dependence (Rueger, 1978). Here k is K / 2,
    rounded up.
    """
    k = -(-splits // 2)
    return k - 1, splits / k


def combined_p(p_values: list[float]) -> float:
    """Combine the p-values of several splits into one; see ``counted_order``."""
    place, factor = counted_order(len(p_values))
    return min(1.0, factor * sorted(p_values)[place])


def _lower(f_p: Array, f_u: Array, error: float) -> tuple[float, float]:
    """Find the largest rejected candidate by bisection (the hypotheses are nested), and the p-value of beta = 0."""
    n, m = len(f_p), len(f_u)
    ranks = _ranks(n)
    below = np.searchsorted(np.sort(f_u), np.sort(f_p)[ranks - 1], side="left")  # strictly: ties count for no negatives
    observed = _statistic(below[None], ranks, n, m, _SHARES[:, None])
    rejected, accepted = -1, len(_SHARES)
    while accepted - rejected > 1:
        middle = (rejected + accepted) // 2
        if observed[middle] > _limit(n, m, float(_SHARES[middle]), error):
            rejected = middle
        else:
            accepted = middle
    null = _null(n, m, 0.0)
    p = (1 + len(null) - np.searchsorted(null, observed[0], side="left")) / (1 + len(null))
    return float(_SHARES[max(rejected, 0)]), float(p)


def _ranks(n: int) -> NDArray[np.int64]:
    """Return the ranks, among n ascending scores of P, that are thresholds: dense for low scores, then even."""
    low = np.unique(np.geomspace(1, max(n // 4, 1), _THRESHOLDS // 2).astype(np.int64))
    return np.union1d(low, np.linspace(n // 4 + 1, n - n // 10, _THRESHOLDS // 2).astype(np.int64))


def _statistic(below: Array, ranks: Array, n: int, m: int, share: float | Array) -> Array:
    """Compute the largest standardised excess of F_U over (1 - share) F_P + share, over thresholds (last axis)."""
    u = ranks / (n + 1)
    q = share + (1 - share) * u
    variance = q * (1 - q) / m + (1 - share) ** 2 * u * (1 - u) / n
    statistic: Array = ((below / m - q) / np.sqrt(variance)).max(axis=-1)
    return statistic


@lru_cache(maxsize=256)
def _null(n: int, m: int, share: float) -> Array:
    """Simulate the distribution of the statistic, (draws,), if all negatives score below all positives."""
    rng, ranks = np.random.default_rng([n, m, round(1000 * share)]), _ranks(n)
    steps = rng.gamma(np.diff(ranks, prepend=0, append=n + 1), size=(_DRAWS, len(ranks) + 1))
    cells = steps / steps.sum(axis=1, keepdims=True) * (1 - share)  # uniform spacings: the mass of P between thresholds
    cells[:, 0] += share
    below = rng.multinomial(m, cells)[:, :-1].cumsum(axis=1)
    return np.sort(_statistic(below, ranks, n, m, share))


@lru_cache(maxsize=4096)
def _limit(n: int, m: int, share: float, error: float) -> float:
    """Return the critical value of a candidate."""
    position = min(int(np.ceil((1 - error) * (_DRAWS + 1))), _DRAWS) - 1
    return float(_null(n, m, share)[position])


def _upper(f_p: Array, f_u: Array, error: float) -> float:
    """Find the largest candidate that is not rejected by the rows of U above the threshold of the best quarter of P.

    The mass W of the positives above the k-th best of n is Beta(k, n - k + 1). The number of the m rows of U above it
    is at most binomial with probability (1 - beta) W + beta LEAK. Its tail is averaged over quantiles of W.
    """
    from scipy.special import bdtrc, betaincinv

    n, m = len(f_p), len(f_u)
    threshold = np.sort(f_p)[n - max(round(PURE * n), 1)]
    k, above = np.count_nonzero(f_p >= threshold), np.count_nonzero(f_u >= threshold)
    if k > 2 * max(PURE * n, 1):
        return 1.0  # because of ties there is no best quarter
    if above == 0:
        return 1.0
    mass = betaincinv(k, n - k + 1, (np.arange(_QUANTILES) + 0.5) / _QUANTILES)
    shares = np.append(_SHARES, 1.0)
    allowed, rejected = -1, len(shares)
    while rejected - allowed > 1:
        middle = (allowed + rejected) // 2
        if bdtrc(above - 1, m, (1 - shares[middle]) * mass + shares[middle] * LEAK).mean() >= error:
            allowed = middle
        else:
            rejected = middle
    return float(shares[min(allowed + 1, len(shares) - 1)])


def _check(f_p: Array, f_u: Array) -> None:
    for name, f in (("P", f_p), ("U", f_u)):
        if len(f) < MIN_SCORES:
            raise ValueError(f"got {len(f)} scores of {name}, expected at least {MIN_SCORES}")
        if not np.isfinite(f).all():
            raise ValueError(f"got a score of {name} that is not finite")
