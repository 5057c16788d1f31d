"""An interval for an AUC that covers with few rows and near 0 and 1, where intervals by a standard error do not."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

_STEPS = 50  # of the bisection: far below the digits that anyone prints


def auc_interval(auc: float, n_pos: int, n_neg: int, level: float = 0.95) -> tuple[float, float]:
    """Return the lower and the upper end of the score interval, each in [0, 1].

    Newcombe, Statistics in Medicine 25 (2006), 559-573, method 5: the ends are the values that lie ``z`` standard
    errors from the AUC, with the variance of Hanley and McNeil at the end itself and both sizes replaced by their mean.

    Parameters
    ----------
    auc : in [0, 1].
    n_pos, n_neg : numbers of scores on both sides, at least 1 each.
    level : confidence.

    Raises
    ------
    ValueError : a side is empty.
    """
    if n_pos < 1 or n_neg < 1:
        raise ValueError(f"an interval needs both sides, got {n_pos} and {n_neg} scores")
    z, mean = NormalDist().inv_cdf((1 + level) / 2), (n_pos + n_neg) / 2 - 1

    def excluded(end: float) -> bool:
        spread = 1 + mean * ((1 - end) / (2 - end) + end / (1 + end))
        return abs(auc - end) > z * sqrt(end * (1 - end) * spread / (n_pos * n_neg))

    ends = []
    for outside in (0.0, 1.0):
        inside = auc
        for _ in range(_STEPS):
            middle = (outside + inside) / 2
            outside, inside = (middle, inside) if excluded(middle) else (outside, middle)
        ends.append(inside)
    return ends[0], ends[1]
