"""Comparison of one column between two groups of rows: AUC with an interval, p-value, adjustment over comparisons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import erfc, exp, sqrt
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_Z: Final = 1.959964  # of a 95 % interval
_FEWEST: Final = 5  # values of a group from which it is compared


class Compared(NamedTuple):
    """Result of a comparison; ``auc`` is P(x > y) + P(x = y) / 2 for x of the first and y of the second group."""

    auc: float
    low: float
    high: float
    says: float
    says_low: float
    says_high: float
    p: float


def of_sorted(x: Numbers, y: Numbers) -> Compared | None:
    """Compare sorted values (n,), (m,) without NaN; None if a group has fewer than five values.

    The p-value is twice the smaller one of a Mann-Whitney test with ties and a Kolmogorov-Smirnov test (both
    asymptotic), since a column can differ in location or in spread. ``says`` is the larger one of the AUC in its better
    direction and of the AUC of the best threshold, (1 + D) / 2.
    """
    n, m = len(x), len(y)
    if min(n, m) < _FEWEST:
        return None
    left, right = np.searchsorted(y, x, "left"), np.searchsorted(y, x, "right")
    auc = float((left.sum() + right.sum()) / (2 * n * m))
    at = np.arange(1, n + 1) / n
    last = np.append(x[1:] != x[:-1], True)
    first = np.append(True, last[:-1])
    above = at[last] - right[last] / m
    below = left[first] / m - (at[first] - 1 / n)
    distance = float(max(above.max(initial=0.0), below.max(initial=0.0)))
    p = min(1.0, 2 * min(_rank_p(auc, _ties(x, y), n, m), _ks_p(distance, n, m)))
    low, high = interval(auc, n, m)
    best = max(auc, 1 - auc)
    by_threshold = (1 + distance) / 2
    says = max(best, by_threshold)
    return Compared(auc, low, high, says, *_of_best(says, n, m), p)


def of_shares(a: int, n: int, b: int, m: int) -> Compared:
    """Compare a yes/no property that a of n and b of m rows have; the p-value is of Fisher's exact test."""
    auc = (1 + a / n - b / m) / 2
    low, high = interval(auc, n, m)
    says = max(auc, 1 - auc)
    return Compared(auc, low, high, says, *_of_best(says, n, m), fisher_p(a, n, b, m))


def of_codes(x: NDArray[np.int64], y: NDArray[np.int64]) -> Compared | None:
    """Compare categories, given as codes from 0 (n,), (m,); None if a group has fewer than five values.

    Each half of the rows is ranked by the shares of the other half, so that many rare categories say nothing by chance.
    The p-value is of a chi-squared test, with categories of fewer than five expected rows together.
    """
    n, m = len(x), len(y)
    if min(n, m) < _FEWEST:
        return None
    k = int(max(x.max(), y.max())) + 1
    halves = [(np.bincount(x[i::2], minlength=k), np.bincount(y[i::2], minlength=k)) for i in (0, 1)]
    aucs = [_auc_of_counts(*halves[i], _odds(*halves[1 - i])) for i in (0, 1)]
    auc = float(np.mean(aucs))
    low, high = interval(auc, n, m)
    counts = np.stack([halves[0][side] + halves[1][side] for side in (0, 1)])
    says = max(auc, 0.5)
    return Compared(auc, low, high, says, *_of_best(says, n, m), _chi_p(counts))


def _odds(a: NDArray[np.int64], b: NDArray[np.int64]) -> Numbers:
    rare_a, rare_b = (a + 0.5) / (a.sum() + 0.5 * len(a)), (b + 0.5) / (b.sum() + 0.5 * len(b))
    found: Numbers = np.log(rare_a) - np.log(rare_b)
    return found


def _auc_of_counts(a: NDArray[np.int64], b: NDArray[np.int64], score: Numbers) -> float:
    _, place = np.unique(score, return_inverse=True)
    wins, others = np.bincount(place.ravel(), a), np.bincount(place.ravel(), b)
    below = np.cumsum(others) - others
    return float((wins * (below + others / 2)).sum() / (a.sum() * b.sum()))


def interval(auc: float, n: int, m: int) -> tuple[float, float]:
    """Return the 95 % interval of an AUC of n and m rows (Newcombe, 2006, method 5), also if it is 0 or 1."""

    def distance(a: float) -> float:
        extra = (n + m) / 2 - 1
        variance = a * (1 - a) / (n * m) * (1 + extra * ((1 - a) / (2 - a) + a / (1 + a)))
        return abs(auc - a) - _Z * sqrt(max(variance, 0.0))

    return _root(distance, auc, 0.0), _root(distance, auc, 1.0)


def _of_best(says: float, n: int, m: int) -> tuple[float, float]:
    """Return the interval of an AUC that is .5 at least, cut there."""
    low, high = interval(says, n, m)
    return max(0.5, low), high


def _root(distance: Callable[[float], float], inside: float, end: float) -> float:
    """Return where the distance changes its sign between a point inside of the interval and an end of [0, 1]."""
    outside = end
    for _ in range(20):
        middle = (inside + outside) / 2
        if distance(middle) > 0:
            outside = middle
        else:
            inside = middle
    return (inside + outside) / 2


def _ties(x: Numbers, y: Numbers) -> float:
    """Return the sum of t^3 - t over groups of t equal values, of both sides together."""
    both = np.concatenate([x, y])
    both.sort(kind="stable")  # two sorted runs are merged
    ends = np.flatnonzero(np.append(both[1:] != both[:-1], True))
    t = np.diff(ends, prepend=-1).astype(np.float64)
    return float((t**3 - t).sum())


def _rank_p(auc: float, ties: float, n: int, m: int) -> float:
    total = n + m
    variance = (total + 1 - ties / (total * (total - 1))) / (12 * n * m)
    if variance <= 0:
        return 1.0
    return float(erfc(abs(auc - 0.5) / sqrt(2 * variance)))


def _ks_p(distance: float, n: int, m: int) -> float:
    """Return the p-value of a Kolmogorov-Smirnov distance by the limit distribution (Stephens, 1970)."""
    size = sqrt(n * m / (n + m))
    t = (size + 0.12 + 0.11 / size) * distance
    if t < 0.3:  # p is above .9999, and the series converges slowly
        return 1.0
    return float(min(1.0, 2 * sum((-1) ** (k - 1) * exp(-2 * (k * t) ** 2) for k in range(1, 21))))


def fisher_p(a: int, n: int, b: int, m: int) -> float:
    """Return the p-value of equal shares a / n and b / m, two-sided by doubling, of Fisher's exact test."""
    from scipy.special import gammaln

    total = a + b
    low, high = max(0, total - m), min(n, total)
    k = np.arange(low, high + 1)

    def choose(size: int, k: NDArray[np.int64]) -> Numbers:
        found: Numbers = gammaln(size + 1) - gammaln(k + 1) - gammaln(size - k + 1)
        return found

    logs = choose(n, k) + choose(m, total - k)
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    at = a - low
    return float(min(1.0, 2 * min(chances[: at + 1].sum(), chances[at:].sum())))


def _chi_p(counts: NDArray[np.int64]) -> float:
    """Return the p-value of equal shares of categories; counts (2, k)."""
    from scipy.special import chdtrc

    counts = counts[:, counts.sum(axis=0) > 0]
    rows = counts.sum(axis=1, keepdims=True) / counts.sum()
    rare = counts.sum(axis=0) * rows.min() < _FEWEST
    if rare.any():
        counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    if counts.shape[1] < 2:
        return 1.0
    expected = rows * counts.sum(axis=0)
    return float(chdtrc(counts.shape[1] - 1, ((counts - expected) ** 2 / expected).sum()))


def adjusted(p: Sequence[float]) -> list[float]:
    """Return p-values adjusted for the rate of false discoveries (Benjamini and Hochberg, 1995), in their order."""
    found = np.asarray(p, dtype=np.float64)
    order = np.argsort(found)[::-1]
    steps = found[order] * len(found) / np.arange(len(found), 0, -1)
    q = np.empty(len(found))
    q[order] = np.minimum.accumulate(steps)
    return [float(value) for value in q.clip(max=1.0)]
