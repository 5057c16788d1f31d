"""How many negatives U has: an interval for their share, from scores that no row of P and U helped to make.

U is a mixture of positives and a share ``beta = 1 - alpha`` of negatives, so its distribution function of scores obeys
F_U <= (1 - beta) F_P + beta, whatever the negatives are like. Hence beta >= sup_t (F_U(t) - F_P(t)) / (1 - F_P(t)).

The lower bound inverts a test of this inequality whose level is exact at any sizes. The largest F_U that it allows is
that of negatives below all positives; there the statistic's distribution depends on sizes alone and is simulated. Ties
only lower the statistic. The bound holds if P is a random sample of the positives: it may also be above 0 because
labelling is not at random. The upper bound needs an assumption, since negatives may be just like positives.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

PURE: Final = 0.25  # the upper bound assumes that above the highest scored quarter of P
LEAK: Final = 0.02  # there is at most this share of the negatives
LEAST: Final = 10  # scores of P and of U

_SHARES: Final = np.concatenate([np.arange(0, 0.05, 0.005), np.arange(0.05, 0.995, 0.01)])  # candidates of beta
_DRAWS: Final = 4000
_THRESHOLDS: Final = 30
_QUANTILES: Final = 200  # of the mass of the best positives


class Negatives(NamedTuple):
    """What scores say of the share of negatives in U."""

    low: float  # of an interval of beta, at the level
    high: float  # under the assumption
    p: float  # that U has no negatives; shown, not decided on


def share_of_negatives(splits: list[tuple[Array, Array]], level: float = 0.95) -> Negatives:
    """Interval of beta by one or several splits of the same rows into those fitted on and those scored.

    Splits depend on each other; they are put together as ``combined_p`` puts p-values together.

    Parameters
    ----------
    splits : for each, scores (n,) of P and (m,) of U; higher = more likely positive.

    Raises
    ------
    ValueError : fewer than 10 scores of a side, or one that is not finite.
    """
    for f_p, f_u in splits:
        _check(f_p, f_u)
    place, factor = order_of(len(splits))
    error = (1 - level) / 2 / factor
    tests = [_lower(f_p, f_u, error) for f_p, f_u in splits]
    low = sorted((bound for bound, _ in tests), reverse=True)[place]
    high = sorted(_upper(f_p, f_u, error) for f_p, f_u in splits)[place]
    return Negatives(low, max(low, high), combined_p([p for _, p in tests]))


def dkw_bound(f_p: Array, f_u: Array, level: float = 0.95) -> float:
    """The plain lower bound of beta: sup_t (F_U - F_P) / (1 - F_P) at the ends of two Dvoretzky-Kiefer-Wolfowitz bands.

    Each one-sided band has half of the error (1 - level) / 2 (Massart's constant), sqrt(log(2 / error) / (2 n)).
    """
    _check(f_p, f_u)
    at = np.unique(np.concatenate([f_p, f_u]))
    widths = [np.sqrt(np.log(4 / (1 - level)) / (2 * len(f))) for f in (f_p, f_u)]
    F_p, F_u = (np.searchsorted(np.sort(f), at, side="right") / len(f) for f in (f_p, f_u))
    above = 1 - F_p - widths[0]
    gain = F_u - widths[1] - F_p - widths[0]
    return float(np.max(np.where(above > 0, gain / np.where(above > 0, above, 1), 0), initial=0.0))


def order_of(splits: int) -> tuple[int, float]:
    """Which of the ascending p-values counts (its place from 0), and by which factor.

    The k-th smallest of K p-values times K / k is a p-value whatever their dependence (Rueger, 1978). Here k is K / 2,
    rounded up.
    """
    k = -(-splits // 2)
    return k - 1, splits / k


def combined_p(p_values: list[float]) -> float:
    """One p-value of those of several splits; see ``order_of``."""
    place, factor = order_of(len(p_values))
    return min(1.0, factor * sorted(p_values)[place])


def _lower(f_p: Array, f_u: Array, error: float) -> tuple[float, float]:
    """Largest candidate that is rejected, found by halving (the hypotheses are nested), and the p-value of 0."""
    n, m = len(f_p), len(f_u)
    ranks = _ranks(n)
    below = np.searchsorted(np.sort(f_u), np.sort(f_p)[ranks - 1], side="left")  # strictly: ties count for no negatives
    observed = _statistic(below[None], ranks, n, m, _SHARES[:, None])
    rejected, standing = -1, len(_SHARES)
    while standing - rejected > 1:
        middle = (rejected + standing) // 2
        if observed[middle] > _limit(n, m, float(_SHARES[middle]), error):
            rejected = middle
        else:
            standing = middle
    null = _null(n, m, 0.0)
    p = (1 + len(null) - np.searchsorted(null, observed[0], side="left")) / (1 + len(null))
    return float(_SHARES[max(rejected, 0)]), float(p)


def _ranks(n: int) -> NDArray[np.int64]:
    """Which of n ascending scores of P are thresholds: the lowest densely, then spread evenly."""
    low = np.unique(np.geomspace(1, max(n // 4, 1), _THRESHOLDS // 2).astype(np.int64))
    return np.union1d(low, np.linspace(n // 4 + 1, n - n // 10, _THRESHOLDS // 2).astype(np.int64))


def _statistic(below: Array, ranks: Array, n: int, m: int, share: float | Array) -> Array:
    """Largest standardised excess of F_U over (1 - share) F_P + share, over thresholds (last axis)."""
    u = ranks / (n + 1)
    q = share + (1 - share) * u
    variance = q * (1 - q) / m + (1 - share) ** 2 * u * (1 - u) / n
    found: Array = ((below / m - q) / np.sqrt(variance)).max(axis=-1)
    return found


@lru_cache(maxsize=256)
def _null(n: int, m: int, share: float) -> Array:
    """The statistic's distribution (draws,) where all negatives score below all positives."""
    rng, ranks = np.random.default_rng([n, m, round(1000 * share)]), _ranks(n)
    steps = rng.gamma(np.diff(ranks, prepend=0, append=n + 1), size=(_DRAWS, len(ranks) + 1))
    cells = steps / steps.sum(axis=1, keepdims=True) * (1 - share)  # spacings of uniforms: P's mass between thresholds
    cells[:, 0] += share
    below = rng.multinomial(m, cells)[:, :-1].cumsum(axis=1)
    return np.sort(_statistic(below, ranks, n, m, share))


@lru_cache(maxsize=4096)
def _limit(n: int, m: int, share: float, error: float) -> float:
    """Critical value of a candidate."""
    at = min(int(np.ceil((1 - error) * (_DRAWS + 1))), _DRAWS) - 1
    return float(_null(n, m, share)[at])


def _upper(f_p: Array, f_u: Array, error: float) -> float:
    """Largest candidate that the rows of U above the best quarter of P still allow.

    The mass W of the positives above the k-th best of n is Beta(k, n - k + 1), and of m rows of U at most as many as a
    binomial with (1 - beta) W + beta LEAK are there. This tail is the mean over quantiles of W.
    """
    from scipy.special import bdtrc, betaincinv

    n, m = len(f_p), len(f_u)
    threshold = np.sort(f_p)[n - max(round(PURE * n), 1)]
    k, above = np.count_nonzero(f_p >= threshold), np.count_nonzero(f_u >= threshold)
    if k > 2 * max(PURE * n, 1):
        return 1.0  # ties: there is no best quarter
    if above == 0:
        return 1.0
    mass = betaincinv(k, n - k + 1, (np.arange(_QUANTILES) + 0.5) / _QUANTILES)
    shares = np.append(_SHARES, 1.0)
    allowed, refused = -1, len(shares)
    while refused - allowed > 1:
        middle = (allowed + refused) // 2
        if bdtrc(above - 1, m, (1 - shares[middle]) * mass + shares[middle] * LEAK).mean() >= error:
            allowed = middle
        else:
            refused = middle
    return float(shares[min(allowed + 1, len(shares) - 1)])


def _check(f_p: Array, f_u: Array) -> None:
    for name, f in (("P", f_p), ("U", f_u)):
        if len(f) < LEAST:
            raise ValueError(f"got {len(f)} scores of {name}, at least {LEAST} expected: fewer tell nothing")
        if not np.isfinite(f).all():
            raise ValueError(f"got a score of {name} that is not finite")
