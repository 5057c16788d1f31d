"""Test whether incoming rows V contain negatives of a new kind, as distinct from a change of alpha.

If V has the positives of P and the negatives of U in any shares, its distribution is (1 - c) P + c U, where c is the
share of negatives in V divided by that in U. The test checks whether any c >= 0 fits. Scores divide the rows into
cells. The fit of a value of c is measured by the quadratic form of the differences of the cells' shares, with their
covariance for this c. The smallest form is compared with the chi-square distribution whose degrees of freedom are the
number of cells minus one. The test keeps its level even if c is poorly determined, for example if U has hardly any
negatives. A rejection may also mean that the positives changed.
"""

from __future__ import annotations

from statistics import median
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.analysis.reliability.alpha import MIN_SCORES, combined_p
from puoc.records import Array

_RATIOS: Final = np.concatenate([np.arange(0, 2, 0.1), np.geomspace(2, 50, 10)])  # coarse candidates of c
_FINE: Final = np.linspace(-0.12, 0.12, 9)
_PER_CELL: Final = 12  # rows of the smallest sample
_CELLS: Final = (4, 10)  # fewest, most


class Shift(NamedTuple):
    """Result of the test of V against mixtures of P and U."""

    p_new: float  # p-value of the hypothesis that V is a mixture of P and U
    ratio: float  # c of the best mixture: share of negatives in V divided by that in U
    ratio_low: float  # interval of c at the level; wide if U has few negatives
    ratio_high: float


class _Fits(NamedTuple):
    """Results for r triples of samples: the fields of ``Shift`` as arrays (r,)."""

    p: Array
    ratio: Array
    low: Array
    high: Array


def incoming(splits: list[tuple[Array, Array, Array]], level: float = 0.95) -> Shift:
    """Test by one or several splits of the same rows, which are combined as in ``share_of_negatives``.

    Parameters
    ----------
    splits : for each split, scores of P, U and V: (n,), or (n, 2) to use two kinds of score together.

    Raises
    ------
    ValueError : fewer than 10 rows of a sample, or a score that is not finite.
    """
    results = [_fits([part[None] for part in split], level) for split in splits]
    ratio, low, high = (median(float(getattr(fits, name)[0]) for fits in results) for name in ("ratio", "low", "high"))
    return Shift(combined_p([float(fits.p[0]) for fits in results]), ratio, low, high)


def _fits(scores: list[Array], level: float) -> _Fits:
    from scipy.special import chdtrc, chdtri

    for part, name in zip(scores, "PUV", strict=True):
        if part.shape[1] < MIN_SCORES:
            raise ValueError(f"got {part.shape[1]} scores of {name}, expected at least {MIN_SCORES}")
        if not np.isfinite(part).all():
            raise ValueError(f"got a score of {name} that is not finite")
    sizes = [part.shape[1] for part in scores]
    n_cells = int(np.clip(min(sizes) // _PER_CELL, *_CELLS))
    pooled = np.concatenate([part.reshape(*part.shape[:2], -1) for part in scores], axis=1)
    cell = _cells(pooled, n_cells)
    counts = np.stack([_rows_per_cell(part, cell.max() + 1) for part in np.split(cell, np.cumsum(sizes)[:-1], axis=1)])
    rows = np.arange(len(cell))
    coarse = np.tile(_RATIOS, (len(cell), 1))
    forms = _forms(counts, coarse)
    best = coarse[rows, np.argmin(forms, axis=1)][:, None]
    fine = np.maximum(best * (1 + _FINE) + _FINE, 0)
    ratios, forms = np.hstack([coarse, fine]), np.hstack([forms, _forms(counts, fine)])
    best_index = np.argmin(forms, axis=1)
    smallest = forms[rows, best_index]
    freedom = (counts.sum(axis=0) > 0).sum(axis=1) - 1
    near = forms <= smallest[:, None] + chdtri(1, 1 - level)
    low, high = np.where(near, ratios, np.inf).min(axis=1), np.where(near, ratios, 0).max(axis=1)
    # with two cells some c always fits exactly
    p = np.where(freedom > 1, chdtrc(np.maximum(freedom, 1), smallest), 1.0)
    known = freedom > 1
    return _Fits(
        p,
        np.where(known, ratios[rows, best_index], 1.0),
        np.where(known, low, 0.0),
        np.where(known & (high < _RATIOS[-1]), high, np.inf),
    )


def _rows_per_cell(cell: NDArray[np.int64], n_cells: int) -> Array:
    """Count the rows of each cell, (r, cells), from the cell of each row, (r, n)."""
    places = cell + np.arange(len(cell))[:, None] * n_cells
    return np.bincount(places.ravel(), minlength=len(cell) * n_cells).reshape(len(cell), n_cells)


def _forms(counts: Array, ratios: Array) -> Array:
    """Compute the quadratic form (r, c) of V - (1 - c) P - c U, for counts (3, r, cells) and ratios (r, c)."""
    weights = np.stack([ratios - 1, -ratios, np.ones_like(ratios)])
    n = counts.sum(axis=2, keepdims=True)
    difference = np.einsum("src,srk->rck", weights, (counts / n)[:, :, :-1])
    # rates with half a row added to each cell, since an empty cell does not have a rate of exactly 0
    rate = ((counts + 0.5) / (n + 0.5 * counts.shape[2]))[:, :, :-1]
    per_row = (rate[..., None] * np.eye(rate.shape[2]) - rate[..., None] * rate[..., None, :]) / n[..., None]
    covariance = np.einsum("src,srkl->rckl", weights**2, per_row)
    solved = np.linalg.solve(covariance, difference[..., None])[..., 0]
    forms: Array = (difference * solved).sum(axis=2)
    return forms


def _cells(scores: Array, n: int) -> NDArray[np.int64]:
    """Assign a cell to each row, (r, n), by the first score, then within its bands by the second.

    The cells are as equal in size as ties allow.
    """
    first = _below(scores[:, :, 0])
    if scores.shape[2] == 1:
        return np.asarray(first * n // scores.shape[1])
    bands = max(round(np.sqrt(n)), 2)
    within = max(n // bands, 2)
    band = first * bands // scores.shape[1]
    size = _rows_per_cell(band, bands)
    start = np.cumsum(size, axis=1) - size
    # rows below in the same band: those below by band and second score, minus all rows of the lower bands
    second = _below(band * scores.shape[1] + _below(scores[:, :, 1])) - np.take_along_axis(start, band, axis=1)
    return np.asarray(band * within + second * within // np.take_along_axis(size, band, axis=1))


def _below(values: Array) -> NDArray[np.int64]:
    """Count, for each value of an array (r, n), the smaller values in its row."""
    order = np.argsort(values, axis=1)
    ascending = np.take_along_axis(values, order, axis=1)
    place = np.arange(values.shape[1])
    new = np.ones(values.shape, dtype=np.bool_)
    new[:, 1:] = ascending[:, 1:] > ascending[:, :-1]
    counts = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(counts, order, np.maximum.accumulate(np.where(new, place, 0), axis=1), axis=1)
    return counts
