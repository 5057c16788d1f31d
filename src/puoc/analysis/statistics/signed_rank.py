"""Wilcoxon's signed-rank test (Wilcoxon, 1945), exact with ties and zeros, and the Hodges-Lehmann shift.

Common implementations switch from the exact distribution to an approximation if ranks are tied. Here the null
distribution uses the observed midranks: every sign pattern over them is equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from puoc.records import Array

Alternative = Literal["two-sided", "greater", "less"]

#: Up to this many non-zero differences, the null distribution is exact; above, the normal approximation is used.
EXACT_UP_TO = 500
#: Fewest pairs with a 95 % interval of the shift: the first n with 2^-n <= 0.025.
PAIRS_FOR_INTERVAL = 6
_DIGITS = 10  # differences that agree to these digits are equal: further digits depend on the order of summation


@dataclass(frozen=True)
class SignedRank:
    """Outcome of one test."""

    n: int  # pairs
    n_zero: int  # pairs without a difference; dropped before ranking
    n_ties: int  # non-zero differences that share their size with another
    statistic: float | None  # sum of the ranks of positive differences; None if all are zero
    p: float
    method: str  # exact, normal, none
    note: str  # empty without remarks


def signed_rank_test(differences: ArrayLike, alternative: Alternative = "two-sided") -> SignedRank:
    """Test whether paired differences are symmetric about zero.

    Parameters
    ----------
    differences : (n,) of first minus second, any unit; rounded to 10 digits before ranking.
    alternative : ``greater`` tests whether the first is larger.

    Returns
    -------
    A ``SignedRank``: ``p`` in (0, 1], ``statistic`` (sum of the ranks of positive differences), ``n``, ``method``.

    Raises
    ------
    ValueError : no pair, more than one axis, text, or a value that is not finite.

    Source: Wilcoxon (1945), Individual Comparisons by Ranking Methods.

    Examples
    --------
    >>> from puoc import wilcoxon_exact
    >>> wilcoxon_exact([0.02, 0.01, 0.03, 0.02, 0.01]).p
    0.0625
    """
    rounded = rounded_differences(differences)
    moved = rounded[rounded != 0]
    n, n_zero = len(rounded), len(rounded) - len(moved)
    if len(moved) == 0:
        return SignedRank(n, n_zero, 0, None, 1.0, "none", "all differences are zero")
    doubled, n_ties = _doubled_midranks(np.abs(moved))
    observed = int(doubled[moved > 0].sum())
    if len(moved) <= EXACT_UP_TO:
        p, method = _exact_p(doubled, observed, alternative), "exact"
    else:
        p, method = _normal_p(doubled, observed, alternative), "normal"
    return SignedRank(n, n_zero, n_ties, observed / 2, p, method, _note(n, n_zero, n_ties))


def shift_with_interval(differences: ArrayLike, level: float = 0.95) -> tuple[float, float | None, float | None]:
    """Compute the Hodges-Lehmann estimate, the median of all pairwise means, with a distribution-free interval.

    The interval inverts the signed-rank test (Hollander, Wolfe and Chicken, 2014, section 3.3). It is None if n pairs
    cannot reach the level: below ``PAIRS_FOR_INTERVAL`` at 0.95.

    Raises
    ------
    ValueError : as ``signed_rank_test``.
    """
    values = rounded_differences(differences)
    n = len(values)
    first, second = np.triu_indices(n)
    walsh = np.sort((values[first] + values[second]) / 2)
    outside = _rank_sums_outside(n, (1 - level) / 2)
    low, high = (None, None) if outside == 0 else (float(walsh[outside - 1]), float(walsh[-outside]))
    return float(np.median(walsh)), low, high


def smallest_p(n: int) -> float:
    """Return the smallest two-sided p of n pairs: 2^(1-n) with all signs equal, or that of the approximation."""
    return signed_rank_test(np.arange(1, n + 1)).p if n > EXACT_UP_TO else min(1.0, 2.0 ** (1 - n))


def rounded_differences(differences: ArrayLike) -> NDArray[np.float64]:
    """Round differences to the 10 digits to which they are ranked.

    Raises
    ------
    ValueError : as ``signed_rank_test``.
    """
    return np.round(finite_values(differences), _DIGITS)


def midranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks from 1 along the last axis; equal values share their mean rank."""
    from scipy.stats import rankdata

    ranks: NDArray[np.float64] = rankdata(values, axis=-1)
    return ranks


def null_rank_sums(n: int) -> NDArray[np.float64]:
    """Compute the probability of each sum of positive ranks, 0 to n(n+1)/2, of n untied pairs under the null."""
    return _chances_of_sums(np.arange(1, n + 1))


def finite_values(values: ArrayLike) -> NDArray[np.float64]:
    """Return one row of finite numbers as float64. Raises ValueError for anything else."""
    array: Array = np.asarray(values)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"got an array of shape {array.shape}, expected at least one value along one axis")
    if array.dtype.kind not in "fiu":
        raise ValueError(f"got values of type {array.dtype}, expected numbers")
    n_invalid = int((~np.isfinite(array)).sum())
    if n_invalid:
        raise ValueError(f"{n_invalid} of {len(array)} values are not finite; leave such pairs out and report that")
    return array.astype(np.float64)


def _doubled_midranks(sizes: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """Return twice the midrank of each size, which is an integer even for ties, and the number of tied sizes."""
    _, group, count = np.unique(sizes, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    doubled = (2 * last - count + 1)[group]
    return doubled.astype(np.int64), int(count[count > 1].sum())


def _chances_of_sums(ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compute the probability of each sum of the ranks with a plus, if every sign pattern is equally likely."""
    chances = np.zeros(int(ranks.sum()) + 1)
    chances[0] = 1.0
    for rank in ranks:
        chances /= 2
        chances[rank:] += chances[:-rank].copy()
    return chances


def _exact_p(doubled: NDArray[np.int64], observed: int, alternative: Alternative) -> float:
    chances = _chances_of_sums(doubled)
    greater, less = min(1.0, float(chances[observed:].sum())), min(1.0, float(chances[: observed + 1].sum()))
    # the distribution is symmetric about half the rank total, with ties too
    return {"greater": greater, "less": less, "two-sided": min(1.0, 2 * min(greater, less))}[alternative]


def _normal_p(doubled: NDArray[np.int64], observed: int, alternative: Alternative) -> float:
    """Compute p by the normal distribution with the mean and variance of the observed ranks under random signs."""
    from scipy.special import ndtr

    ranks = doubled / 2
    z = (observed / 2 - ranks.sum() / 2) / (np.sqrt(np.square(ranks).sum()) / 2)
    return float({"greater": ndtr(-z), "less": ndtr(z), "two-sided": 2 * ndtr(-abs(z))}[alternative])


def _rank_sums_outside(n: int, tail: float) -> int:
    """Return how many of the smallest rank sums (and of the largest) together have at most this probability."""
    if n <= EXACT_UP_TO:
        below = np.cumsum(null_rank_sums(n))
        return int((below <= tail).sum())
    from scipy.stats import norm

    spread = (n * (n + 1) * (2 * n + 1) / 24) ** 0.5
    return max(0, int(n * (n + 1) / 4 + norm.ppf(tail) * spread))


def _note(n: int, n_zero: int, n_ties: int) -> str:
    remarks = []
    if n == 1:
        remarks.append("one pair: no test can reject")
    if n_zero:
        remarks.append(f"{n_zero} of {n} differences are zero and dropped")
    if n_ties:
        remarks.append(f"{n_ties} differences are tied and share midranks")
    return "; ".join(remarks)
