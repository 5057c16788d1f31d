"""Whether rows that came in later hold negatives of a new kind, apart from a mere change of alpha.

If V has the positives of P and the negatives of U in any shares, its distribution is (1 - c) P + c U, where c is the
share of negatives in V over that in U. The test asks whether any c >= 0 fits. Scores cut the rows into cells; a fit is
judged by the quadratic form of the differences of the cells' shares, with the covariance that c gives them. Compared
with the chi square of all cells but one, the smallest form keeps its level however badly c is known, as where U has
hardly a negative. A rejection may also mean that the positives changed.
"""

from __future__ import annotations

from statistics import median
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.analysis.reliability_alpha import LEAST, combined_p

Array = NDArray[Any]

_RATIOS: Final = np.concatenate([np.arange(0, 2, 0.1), np.geomspace(2, 50, 10)])  # first candidates of c
_FINE: Final = np.linspace(-0.12, 0.12, 9)
_PER_CELL: Final = 12  # rows of the smallest sample
_CELLS: Final = (4, 10)  # fewest, most


class Shift(NamedTuple):
    """What V is by P and U."""

    p_new: float  # that V is a mixture of P and U
    ratio: float  # c of the best mixture: share of negatives in V over that in U
    ratio_low: float  # interval of c at the level; wide where U has few negatives
    ratio_high: float


def incoming(splits: list[tuple[Array, Array, Array]], level: float = 0.95) -> Shift:
    """Test by one or several splits of the same rows; see ``share_of_negatives`` for how they are put together.

    Parameters
    ----------
    splits : for each, scores of P, U and V: (n,), or (n, 2) to look at two kinds of score together.

    Raises
    ------
    ValueError : fewer than 10 rows of a sample, or a score that is not finite.
    """
    found = [_one([_columns(part, name) for part, name in zip(split, "PUV", strict=True)], level) for split in splits]
    ratio, low, high = (median([one[i] for one in found]) for i in (1, 2, 3))
    return Shift(combined_p([one.p_new for one in found]), ratio, low, high)


def _columns(scores: Array, name: str) -> Array:
    if len(scores) < LEAST:
        raise ValueError(f"got {len(scores)} scores of {name}, at least {LEAST} expected: fewer tell nothing")
    if not np.isfinite(scores).all():
        raise ValueError(f"got a score of {name} that is not finite")
    return scores.reshape(len(scores), -1)


def _one(scores: list[Array], level: float) -> Shift:
    from scipy.special import chdtrc, chdtri

    sizes = [len(of) for of in scores]
    n_cells = int(np.clip(min(sizes) // _PER_CELL, *_CELLS))
    cell = _cells(np.concatenate(scores), n_cells)
    occupied = np.bincount(cell) > 0
    parts = np.split(cell, np.cumsum(sizes)[:-1])
    counts = [np.bincount(of, minlength=len(occupied))[occupied] for of in parts]
    if len(counts[0]) < 3:
        return Shift(1.0, 1.0, 0.0, np.inf)  # two cells: some c fits exactly
    forms = _forms(counts, _RATIOS)
    about = np.maximum(_RATIOS[np.argmin(forms)] * (1 + _FINE) + _FINE, 0)
    ratios = np.concatenate([_RATIOS, about])
    forms = np.concatenate([forms, _forms(counts, about)])
    best = int(np.argmin(forms))
    near = ratios[forms <= forms[best] + chdtri(1, 1 - level)]
    high = np.inf if near.max() >= _RATIOS[-1] else float(near.max())
    return Shift(float(chdtrc(len(counts[0]) - 1, forms[best])), float(ratios[best]), float(near.min()), high)


def _forms(counts: list[Array], ratios: Array) -> Array:
    """Quadratic form of V - (1 - c) P - c U for every c."""
    weights = np.stack([ratios - 1, -ratios, np.ones_like(ratios)])  # (3, c) of P, U, V
    shares = np.stack([count / count.sum() for count in counts])  # (3, cells)
    difference = (weights.T @ shares)[:, :-1]
    covariance = np.zeros((len(ratios), len(counts[0]) - 1, len(counts[0]) - 1))
    for weight, count in zip(weights, counts, strict=True):
        # of rates with half a row more in each cell: an empty cell is not a certain one
        rate = (count + 0.5) / (count.sum() + 0.5 * len(count))
        one = (np.diag(rate) - np.outer(rate, rate))[:-1, :-1] / count.sum()
        covariance += (weight**2)[:, None, None] * one
    solved = np.linalg.solve(covariance, difference[:, :, None])[:, :, 0]
    found: Array = (difference * solved).sum(axis=1)
    return found


def _cells(scores: Array, n: int) -> NDArray[np.int64]:
    """Cell of each row: as many rows in each as ties allow; by the first score, then by the second within its bands."""
    if scores.shape[1] == 1:
        return _bands(scores[:, 0], n)
    bands = max(round(np.sqrt(n)), 2)
    within, first = max(n // bands, 2), _bands(scores[:, 0], bands)
    cell: NDArray[np.int64] = first * within
    for band in range(bands):
        cell[first == band] += _bands(scores[first == band, 1], within)
    return cell


def _bands(values: Array, n: int) -> NDArray[np.int64]:
    """Band of each value, from 0; equal values are in one."""
    if len(values) == 0:
        return np.zeros(0, dtype=np.int64)
    below = np.searchsorted(np.sort(values), values, side="left")
    found: NDArray[np.int64] = (below * n // len(values)).astype(np.int64)
    return found
