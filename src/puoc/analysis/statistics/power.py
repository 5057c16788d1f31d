"""The power of the paired signed-rank test for a number of seeds, and the number of seeds for a power.

Differences are assumed normal with a given standardised effect (mean over standard deviation), which is the usual
planning assumption. The test is the exact one. Power is simulated with fixed draws that all numbers of seeds share.
"""

from __future__ import annotations

from functools import cache
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from puoc.analysis.statistics.signed_rank import null_rank_sums, smallest_p

#: Largest number of seeds that is considered.
MAX_SEEDS = 200
_DRAWS = 16_000
_STEPS = 3


def power(n: int, effect: float, comparisons: int = 1, level: float = 0.05) -> float:
    """Compute the probability that the two-sided test of ``n`` pairs rejects at ``level / comparisons``.

    That level is the first step of Holm's adjustment. The probability therefore applies to the only true difference of
    a family, and is a lower bound if other tests are rejected too.

    Parameters
    ----------
    n : pairs, such as seeds; above ``MAX_SEEDS`` the power of ``MAX_SEEDS`` is returned.
    effect : mean difference over the standard deviation of differences, without unit.
    comparisons : tests of the family.
    level : of the family, in (0, 1).

    Returns
    -------
    Probability in [0, 1], simulated with 16,000 draws that do not change.

    Raises
    ------
    ValueError : n or comparisons below 1, an effect that is not finite, or a level outside (0, 1).

    Source: ours; the test is that of Wilcoxon (1945), the first step that of Holm (1979).

    Examples
    --------
    >>> from puoc import power
    >>> power(5, effect=2.0), power(10, effect=2.0) > 0.99
    (0.0, True)
    """
    numbers = all(isinstance(value, Real) for value in (n, comparisons, effect, level))
    if not numbers or n < 1 or comparisons < 1 or not np.isfinite(effect) or not 0 < level < 1:
        raise ValueError(
            f"got n={n!r}, comparisons={comparisons!r}, effect={effect!r}, level={level!r}; expected n and comparisons "
            "of at least 1, a finite effect and a level between 0 and 1"
        )
    n = min(n, MAX_SEEDS)
    bound = _largest_low_sum(n, level / comparisons)
    if bound < 0:
        return 0.0
    sums = _rank_sums(n, round(float(effect), 6))
    total = n * (n + 1) / 2
    return float(((sums <= bound) | (sums >= total - bound)).mean())


def seeds_for_power(effect: float, wanted: float = 0.8, comparisons: int = 1, level: float = 0.05) -> int | None:
    """Return the smallest number of pairs with this power; None if ``MAX_SEEDS`` are not enough.

    Parameters
    ----------
    effect, comparisons, level : as for ``power``.
    wanted : power in (0, 1).

    Returns
    -------
    The number of pairs, or None.

    Raises
    ------
    ValueError : see ``power``; or a power outside (0, 1).

    Source: ours, as ``power``.

    Examples
    --------
    >>> from puoc import seeds_for_power
    >>> seeds_for_power(effect=2.0)
    6
    """
    if not 0 < wanted < 1:
        raise ValueError(f"got a power of {wanted}, expected a number between 0 and 1")
    low = seeds_to_reject(comparisons, level)
    high = low
    while power(high, effect, comparisons, level) < wanted:
        if high == MAX_SEEDS:
            return None
        low, high = high + 1, min(2 * high, MAX_SEEDS)
    while low < high:
        middle = (low + high) // 2
        if power(middle, effect, comparisons, level) >= wanted:
            high = middle
        else:
            low = middle + 1
    # the steps of the exact level may let fewer pairs have the power that a few more have not
    fewest = seeds_to_reject(comparisons, level)
    return min(n for n in range(max(fewest, low - _STEPS), low + 1) if power(n, effect, comparisons, level) >= wanted)


def seeds_to_reject(comparisons: int = 1, level: float = 0.05) -> int:
    """Return the fewest pairs n that can reject after Holm: 2^(1-n) times the comparisons is below the level."""
    n = 1
    while smallest_p(n) * comparisons >= level:
        n += 1
    return n


@cache
def _largest_low_sum(n: int, level: float) -> int:
    """Return the largest rank sum with a two-sided exact p below the level; -1 if there is none."""
    below = np.cumsum(null_rank_sums(n))
    return int((2 * below < level).sum()) - 1


@cache
def _rank_sums(n: int, effect: float) -> NDArray[np.float64]:
    # the first pairs of a draw are the same for every n
    differences = np.random.default_rng(0).standard_normal((n, _DRAWS)).T + effect
    order = np.argsort(np.abs(differences), axis=1)  # normal numbers are not tied
    sums: NDArray[np.float64] = np.take_along_axis(differences > 0, order, axis=1) @ np.arange(1.0, n + 1)
    return sums
