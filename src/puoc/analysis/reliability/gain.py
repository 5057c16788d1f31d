"""Interval for the gain of one scorer over another in ranking withheld P above withheld U, without negative labels.

AUC(P, U) = alpha / 2 + (1 - alpha) AUC(P, N), where N are the negatives in U. Of two scorers on the same rows, the
better one for P against U is therefore also better for P against N, where the gain is larger by 1 / (1 - alpha).
Negatives that are not in U are not taken into account.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from puoc.analysis.reliability.alpha import counted_order
from puoc.records import Array


class Gain(NamedTuple):
    """Difference of two AUCs of withheld P against withheld U."""

    gain: float
    low: float  # interval at the level
    high: float
    error: float  # standard error


def gain(
    splits: list[tuple[tuple[Array, Array], tuple[Array, Array]]], level: float = 0.95, *, same_u: bool = False
) -> Gain:
    """Compute the gain of the second scorer over the first (DeLong et al., 1988, for correlated AUCs).

    Parameters
    ----------
    splits : for each split of the rows, scores of P (n,) and U (m,) by the first scorer, then by the second.
        Several splits are combined as in ``share_of_negatives``; the gain is their mean.
    same_u : the rows of U are the same in each split, so their part of the error does not decrease with more splits.
    """
    from scipy.special import ndtri

    place, factor = counted_order(len(splits))
    width, means_and_widths = ndtri(1 - (1 - level) / 2 / factor), []
    differences: list[tuple[Array, Array]] = []
    for (first_p, first_u), (second_p, second_u) in splits:
        first, second = placements(first_p, first_u), placements(second_p, second_u)
        by_p, by_u = second[0] - first[0], second[1] - first[1]
        differences.append((by_p, by_u))
        spread = np.sqrt(by_p.var(ddof=1) / len(by_p) + by_u.var(ddof=1) / len(by_u))
        means_and_widths.append((float(by_p.mean()), float(width * spread)))
    low = sorted((mean - reach for mean, reach in means_and_widths), reverse=True)[place]
    high = sorted(mean + reach for mean, reach in means_and_widths)[place]
    of_p, of_u = ([rows[side] for rows in differences] for side in (0, 1))
    squares = _squared_error(of_p) + (_squared_error([np.mean(of_u, axis=0)]) if same_u else _squared_error(of_u))
    mean = float(np.mean([mean for mean, _ in means_and_widths]))
    return Gain(mean, min(low, high), max(low, high), float(np.sqrt(squares)))


def _squared_error(samples: list[Array]) -> float:
    """Compute the squared standard error of the mean of the means of independent samples."""
    return float(sum(sample.var(ddof=1) / len(sample) for sample in samples)) / len(samples) ** 2


def placements(f_p: Array, f_u: Array) -> tuple[Array, Array]:
    """Compute for each row of P the share of U below it, and for each row of U the share of P above it.

    Ties count half.
    """
    p, u = np.sort(f_p), np.sort(f_u)
    of_p = (np.searchsorted(u, f_p, "left") + np.searchsorted(u, f_p, "right")) / (2 * len(u))
    of_u = 1 - (np.searchsorted(p, f_u, "left") + np.searchsorted(p, f_u, "right")) / (2 * len(p))
    return of_p, of_u
