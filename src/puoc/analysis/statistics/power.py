"""What a number of seeds can show: the power of the paired signed-rank test, and the seeds a power needs.

Differences are taken as normal with a given standardised effect (mean over standard deviation), the usual planning
assumption; the test is the exact one. Simulated with fixed draws that are shared by all numbers of seeds.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from puoc.analysis.statistics.signed_rank import midranks, null_rank_sums, smallest_p

#: Most seeds that are considered.
MOST_SEEDS = 200
_DRAWS = 4000


def power(n: int, effect: float, comparisons: int = 1, level: float = 0.05) -> float:
    """Chance that the two-sided test of ``n`` pairs rejects at ``level / comparisons``.

    That level is the first step of Holm's adjustment: the chance is that of a family's only true difference, a lower
    bound where others are rejected too.

    Parameters
    ----------
    effect : mean difference over the standard deviation of differences.

    Raises
    ------
    ValueError : n or comparisons below 1, an effect that is not finite, or a level outside (0, 1).
    """
    if n < 1 or comparisons < 1 or not np.isfinite(effect) or not 0 < level < 1:
        raise ValueError(
            f"got n={n}, comparisons={comparisons}, effect={effect}, level={level}; n and comparisons of at least 1, a "
            "finite effect and a level between 0 and 1 expected"
        )
    n = min(n, MOST_SEEDS)
    bound = _largest_low_sum(n, level / comparisons)
    if bound < 0:
        return 0.0
    sums = _rank_sums(n, round(float(effect), 6))
    total = n * (n + 1) / 2
    return float(((sums <= bound) | (sums >= total - bound)).mean())


def seeds_for_power(effect: float, wanted: float = 0.8, comparisons: int = 1, level: float = 0.05) -> int | None:
    """The fewest pairs with this power; None where ``MOST_SEEDS`` are not enough.

    Raises
    ------
    ValueError : see ``power``; or a power outside (0, 1).
    """
    if not 0 < wanted < 1:
        raise ValueError(f"got a power of {wanted}, a number between 0 and 1 expected")
    low, high = seeds_to_reject(comparisons, level), MOST_SEEDS
    if power(high, effect, comparisons, level) < wanted:
        return None
    while low < high:  # power grows with n but for steps of the exact level: the answer is checked from below
        middle = (low + high) // 2
        if power(middle, effect, comparisons, level) >= wanted:
            high = middle
        else:
            low = middle + 1
    return low


def seeds_to_reject(comparisons: int = 1, level: float = 0.05) -> int:
    """The fewest pairs that can reject at all after Holm: 2^(1-n) times the comparisons below the level."""
    n = 1
    while smallest_p(n) * comparisons >= level:
        n += 1
    return n


@cache
def _largest_low_sum(n: int, level: float) -> int:
    """The largest rank sum whose two-sided exact p is below the level; -1 if none is."""
    below = np.cumsum(null_rank_sums(n))
    return int((2 * below < level).sum()) - 1


@cache
def _normals() -> NDArray[np.float64]:
    return np.random.default_rng(0).standard_normal((_DRAWS, MOST_SEEDS))


@cache
def _rank_sums(n: int, effect: float) -> NDArray[np.float64]:
    differences = _normals()[:, :n] + effect
    sums: NDArray[np.float64] = (midranks(np.abs(differences)) * (differences > 0)).sum(axis=1)
    return sums
