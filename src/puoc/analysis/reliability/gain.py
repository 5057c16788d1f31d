"""What one scorer gains over another by its ranking of withheld P above withheld U: an interval without any label.

AUC(P, U) = alpha / 2 + (1 - alpha) AUC(P, N), for U's own negatives N: of two scorers on the same rows the better one
by P against U is the better one by P against N, and the gain there is larger by 1 / (1 - alpha). Other negatives it
cannot see.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.analysis.reliability.alpha import order_of

Array = NDArray[Any]


class Gain(NamedTuple):
    """Difference of two AUCs of withheld P against withheld U."""

    gain: float
    low: float  # interval at the level
    high: float
    error: float  # standard error


def gain(
    splits: list[tuple[tuple[Array, Array], tuple[Array, Array]]], level: float = 0.95, *, same_u: bool = False
) -> Gain:
    """Gain of the second scorer over the first (DeLong et al., 1988, for correlated AUCs).

    Parameters
    ----------
    splits : for each split of the rows, scores of P (n,) and U (m,) by the first scorer, then by the second.
        Several are put together as in ``share_of_negatives``; the gain is their mean.
    same_u : the rows of U are the same in each split, so their part of the error does not shrink by the splits.
    """
    from scipy.special import ndtri

    place, factor = order_of(len(splits))
    width, found = ndtri(1 - (1 - level) / 2 / factor), []
    differences: list[tuple[Array, Array]] = []
    for (one_p, one_u), (other_p, other_u) in splits:
        one, other = placements(one_p, one_u), placements(other_p, other_u)
        by_p, by_u = other[0] - one[0], other[1] - one[1]
        differences.append((by_p, by_u))
        spread = np.sqrt(by_p.var(ddof=1) / len(by_p) + by_u.var(ddof=1) / len(by_u))
        found.append((float(by_p.mean()), float(width * spread)))
    low = sorted((mean - reach for mean, reach in found), reverse=True)[place]
    high = sorted(mean + reach for mean, reach in found)[place]
    of_p, of_u = ([rows[side] for rows in differences] for side in (0, 1))
    squares = _of_mean(of_p) + (_of_mean([np.mean(of_u, axis=0)]) if same_u else _of_mean(of_u))
    mean = float(np.mean([mean for mean, _ in found]))
    return Gain(mean, min(low, high), max(low, high), float(np.sqrt(squares)))


def _of_mean(samples: list[Array]) -> float:
    """Squared standard error of the mean of the means of independent samples."""
    return float(sum(sample.var(ddof=1) / len(sample) for sample in samples)) / len(samples) ** 2


def placements(f_p: Array, f_u: Array) -> tuple[Array, Array]:
    """For each row of P the share of U below it, and for each row of U the share of P above it; ties count half."""
    p, u = np.sort(f_p), np.sort(f_u)
    of_p = (np.searchsorted(u, f_p, "left") + np.searchsorted(u, f_p, "right")) / (2 * len(u))
    of_u = 1 - (np.searchsorted(p, f_u, "left") + np.searchsorted(p, f_u, "right")) / (2 * len(p))
    return of_p, of_u
