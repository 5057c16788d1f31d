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

from puoc.analysis.reliability.alpha import LEAST, combined_p

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


class _Fits(NamedTuple):
    """Of each triple of samples: ``Shift`` as arrays (r,)."""

    p: Array
    ratio: Array
    low: Array
    high: Array


def incoming(splits: list[tuple[Array, Array, Array]], level: float = 0.95) -> Shift:
    """Test by one or several splits of the same rows; see ``share_of_negatives`` for how they are put together.

    Parameters
    ----------
    splits : for each, scores of P, U and V: (n,), or (n, 2) to look at two kinds of score together.

    Raises
    ------
    ValueError : fewer than 10 rows of a sample, or a score that is not finite.
    """
    found = [_fits([part[None] for part in split], level) for split in splits]
    ratio, low, high = (median(float(getattr(one, name)[0]) for one in found) for name in ("ratio", "low", "high"))
    return Shift(combined_p([float(one.p[0]) for one in found]), ratio, low, high)


def new_negatives_p(s_p: Array, s_u: Array, s_v: Array) -> Array:
    """The p-values (r,) of one split each of r data sets of equal sizes, (r, n) or (r, n, 2). Raises as above."""
    return _fits([s_p, s_u, s_v], 0.95).p


def _fits(scores: list[Array], level: float) -> _Fits:
    from scipy.special import chdtrc, chdtri

    for part, name in zip(scores, "PUV", strict=True):
        if part.shape[1] < LEAST:
            raise ValueError(f"got {part.shape[1]} scores of {name}, at least {LEAST} expected: fewer tell nothing")
        if not np.isfinite(part).all():
            raise ValueError(f"got a score of {name} that is not finite")
    sizes = [part.shape[1] for part in scores]
    n_cells = int(np.clip(min(sizes) // _PER_CELL, *_CELLS))
    pooled = np.concatenate([part.reshape(*part.shape[:2], -1) for part in scores], axis=1)
    cell = _cells(pooled, n_cells)
    counts = np.stack([_counted(part, cell.max() + 1) for part in np.split(cell, np.cumsum(sizes)[:-1], axis=1)])
    rows = np.arange(len(cell))
    coarse = np.tile(_RATIOS, (len(cell), 1))
    forms = _forms(counts, coarse)
    best = coarse[rows, np.argmin(forms, axis=1)][:, None]
    fine = np.maximum(best * (1 + _FINE) + _FINE, 0)
    ratios, forms = np.hstack([coarse, fine]), np.hstack([forms, _forms(counts, fine)])
    at = np.argmin(forms, axis=1)
    least = forms[rows, at]
    freedom = (counts.sum(axis=0) > 0).sum(axis=1) - 1
    near = forms <= least[:, None] + chdtri(1, 1 - level)
    low, high = np.where(near, ratios, np.inf).min(axis=1), np.where(near, ratios, 0).max(axis=1)
    # of two cells some c fits exactly, whatever V is
    p = np.where(freedom > 1, chdtrc(np.maximum(freedom, 1), least), 1.0)
    known = freedom > 1
    return _Fits(
        p,
        np.where(known, ratios[rows, at], 1.0),
        np.where(known, low, 0.0),
        np.where(known & (high < _RATIOS[-1]), high, np.inf),
    )


def _counted(cell: NDArray[np.int64], n_cells: int) -> Array:
    """Rows (r, cells) of each cell, from the cell of each row (r, n)."""
    places = cell + np.arange(len(cell))[:, None] * n_cells
    return np.bincount(places.ravel(), minlength=len(cell) * n_cells).reshape(len(cell), n_cells)


def _forms(counts: Array, ratios: Array) -> Array:
    """Quadratic form (r, c) of V - (1 - c) P - c U, for counts (3, r, cells) and every c of ratios (r, c)."""
    weights = np.stack([ratios - 1, -ratios, np.ones_like(ratios)])
    n = counts.sum(axis=2, keepdims=True)
    difference = np.einsum("src,srk->rck", weights, (counts / n)[:, :, :-1])
    # by rates with half a row more in each cell: an empty cell is not a certain one
    rate = ((counts + 0.5) / (n + 0.5 * counts.shape[2]))[:, :, :-1]
    one = (rate[..., None] * np.eye(rate.shape[2]) - rate[..., None] * rate[..., None, :]) / n[..., None]
    covariance = np.einsum("src,srkl->rckl", weights**2, one)
    solved = np.linalg.solve(covariance, difference[..., None])[..., 0]
    found: Array = (difference * solved).sum(axis=2)
    return found


def _cells(scores: Array, n: int) -> NDArray[np.int64]:
    """Cell (r, n) of each row: as many in each as ties allow; by the first score, then by the second in its bands."""
    first = _below(scores[:, :, 0])
    if scores.shape[2] == 1:
        return np.asarray(first * n // scores.shape[1])
    bands = max(round(np.sqrt(n)), 2)
    within = max(n // bands, 2)
    band = first * bands // scores.shape[1]
    size = _counted(band, bands)
    start = np.cumsum(size, axis=1) - size
    # rows below in the same band: those below by band and second score, less all of the lower bands
    second = _below(band * scores.shape[1] + _below(scores[:, :, 1])) - np.take_along_axis(start, band, axis=1)
    return np.asarray(band * within + second * within // np.take_along_axis(size, band, axis=1))


def _below(values: Array) -> NDArray[np.int64]:
    """How many values of its row (r, n) are smaller than each."""
    order = np.argsort(values, axis=1)
    ascending = np.take_along_axis(values, order, axis=1)
    place = np.arange(values.shape[1])
    new = np.ones(values.shape, dtype=np.bool_)
    new[:, 1:] = ascending[:, 1:] > ascending[:, :-1]
    found = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(found, order, np.maximum.accumulate(np.where(new, place, 0), axis=1), axis=1)
    return found
