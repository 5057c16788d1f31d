"""Effect sizes of paired differences with intervals, and a Bayesian signed-rank test.

Every number depends only on the set of differences, and draws start from a fixed seed. The order of rows therefore
changes no digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from puoc.analysis.statistics.signed_rank import rounded_differences, signed_rank_test

Floats = NDArray[np.float64]

#: Half-width of the region of practical equivalence, in AUC: differences within it do not matter in practice.
ROPE = 0.01
#: Fewest pairs that differ for which an interval of the effect is given; with fewer it is nearly -1 to 1.
PAIRS_FOR_INTERVAL = 5
_SAMPLES = 2000
_DRAWS = 20_000  # of normal differences
_MOST_VALUES = 5_000_000  # pairwise means of all draws
_SEED = 0


def rank_biserial(differences: ArrayLike) -> float:
    """Compute the matched-pairs rank-biserial correlation (Kerby, 2014).

    It is (R+ - R-) / (R+ + R-), in [-1, 1], and 0 if nothing differs.

    Parameters
    ----------
    differences : (n,) of first minus second; a correlation of 1 means that the first is never lower.

    Raises
    ------
    ValueError : as ``signed_rank_test``.
    """
    test = signed_rank_test(differences)
    moved = test.n - test.n_zero
    return 0.0 if test.statistic is None else 4 * test.statistic / (moved * (moved + 1)) - 1


def rank_biserial_interval(differences: ArrayLike, level: float = 0.95) -> tuple[float | None, float | None]:
    """Compute an interval of the correlation in the population, 2 P(d + d' > 0) - 1 for two differences d and d'.

    It inverts the signed-rank statistic, whose distribution is simulated for normal differences with each standardised
    mean. This is the assumption of ``puoc.analysis.statistics.power``. It is None below ``PAIRS_FOR_INTERVAL`` pairs
    that differ. Its coverage is measured in docs/results.md; that of a bootstrap is far below the level.
    """
    from scipy.special import ndtr

    values = rounded_differences(differences)
    n = int((values != 0).sum())
    if n < PAIRS_FOR_INTERVAL:
        return None, None
    effect = rank_biserial(values)
    total = n * (n + 1) // 2
    rank_sum = round((effect + 1) / 2 * total, 6)  # whole or, because of ties, a half
    lows, highs = _standardised_means(n, level)
    ends = lows[int(np.floor(rank_sum))], highs[int(np.ceil(rank_sum))]
    low, high = (float(2 * ndtr(np.sqrt(2) * end) - 1) for end in ends)
    return min(low, effect), max(high, effect)


@lru_cache(maxsize=64)
def _standardised_means(n: int, level: float) -> tuple[Floats, Floats]:
    """Return the ends of the interval of the standardised mean for each rank sum, 0 to n (n + 1) / 2.

    With a mean m, the rank sum of a draw is at least t if m is above minus its t-th largest pairwise mean. So the lower
    end for t is a quantile of that number over draws, and the upper end one of the next number.
    """
    first, second = np.triu_indices(n)
    draws = min(_DRAWS, _MOST_VALUES // len(first))
    normals = np.random.default_rng(_SEED).standard_normal((draws, n)).astype(np.float32)
    crossings = -np.sort((normals[:, first] + normals[:, second]) / 2, axis=1)[:, ::-1]  # ascending: t = 1 first
    lows = np.quantile(crossings, (1 - level) / 2, axis=0)
    highs = np.quantile(crossings, (1 + level) / 2, axis=0)
    return np.concatenate([[-np.inf], lows]), np.concatenate([highs, [np.inf]])


@dataclass(frozen=True)
class Practical:
    """Posterior probabilities that the first is lower by more than the ROPE, practically equal, or higher by more."""

    lower: float
    equal: float
    higher: float


def bayesian_signed_rank(differences: ArrayLike, rope: float = ROPE, prior_strength: float = 0.5) -> Practical:
    """Compute the Bayesian signed-rank test (Benavoli, Corani, Demsar and Zaffalon, 2017, section 4.2).

    The distribution of the differences has a Dirichlet process prior with weight ``prior_strength`` on no difference.
    A sample of its posterior gives the probabilities that the sum of two new differences is below, within or above
    twice the ROPE. The result is how often each of the three is the most probable.

    Raises
    ------
    ValueError : as ``signed_rank_test``, or a negative ROPE.
    """
    if rope < 0:
        raise ValueError(f"rope is {rope}, at least 0 expected")
    values = np.sort(rounded_differences(differences))
    prior_at = int(np.searchsorted(values, 0.0))
    values = np.insert(values, prior_at, 0.0)
    weights, up_to = _dirichlet(len(values) - 1, prior_at, prior_strength)
    # values ascend, so partners whose sum is below a bound come first; rounded, so that .01 + .01 is not above .02
    below = np.searchsorted(values, np.round(-2 * rope - values, 10), side="left")
    not_above = np.searchsorted(values, np.round(2 * rope - values, 10), side="right")
    lower = np.einsum("sj,sj->s", weights, up_to[:, below])
    higher = 1 - np.einsum("sj,sj->s", weights, up_to[:, not_above])
    chances = np.stack([lower, 1 - lower - higher, higher], axis=1)
    # if several are equally probable, as by symmetry when nothing differs, each gets an equal share
    best = np.isclose(chances, chances.max(axis=1, keepdims=True), rtol=0, atol=1e-12)
    shares = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    return Practical(*(float(share) for share in shares))


@lru_cache(maxsize=32)
def _dirichlet(n: int, prior_at: int, prior_strength: float) -> tuple[Floats, Floats]:
    """Draw weights (s, n + 1) of n observations and, at position ``prior_at``, of the prior; return also their sums.

    The second array, (s, n + 2), has the sum of the weights before each position, and their total.
    """
    gen = np.random.default_rng(_SEED)
    observed, prior = gen.standard_exponential((_SAMPLES, n)), gen.standard_gamma(prior_strength, (_SAMPLES, 1))
    drawn = np.concatenate([observed[:, :prior_at], prior, observed[:, prior_at:]], axis=1)
    weights = drawn / drawn.sum(axis=1, keepdims=True)
    return weights, np.concatenate([np.zeros((_SAMPLES, 1)), np.cumsum(weights, axis=1)], axis=1)
