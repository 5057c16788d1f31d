"""Which pictures are near-duplicates: the same picture saved again, resized, brightened or with noise.

Two pictures are, if their grey thumbnails of 16 x 16 and of 32 x 32 correlate by at least .95 and .92, and both leave
at most .15 of what the tenth likest other picture leaves to 1: among plain strokes on black many are alike, and none
stands out. What this finds, and what it takes for one by mistake, is in docs/own-data.md. It mostly misses shifts,
crops and mirrors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from puoc.records import Array

_SIDES = (16, 32)
_LEAST = (0.95, 0.92)
_STANDS_OUT = 0.15
_COMPARED = 10  # the tenth likest
_AT_ONCE = 1 << 24  # pairs


def near_duplicates(X: Array, others: Array) -> NDArray[np.int64]:
    """For each picture the place of its near-duplicate among the others, -1 where there is none.

    Parameters
    ----------
    X, others : (n, channels, height, width) and (m, channels, height, width) uint8.
    """
    found = np.full(len(X), -1, dtype=np.int64)
    if not len(others):
        return found
    a, b = ([thumbnails(pictures, side) for side in _SIDES] for pictures in (X, others))
    step = max(1, _AT_ONCE // len(others))
    for start in range(0, len(X), step):
        likeness = [one[start : start + step] @ other.T for one, other in zip(a, b, strict=True)]
        best = likeness[0].argmax(axis=1)
        near = np.ones(len(best), dtype=np.bool_)
        for among, least in zip(likeness, _LEAST, strict=True):
            score, tenth = among[np.arange(len(best)), best], _kth(among, _COMPARED)
            near &= (score >= least) & (1 - score <= _STANDS_OUT * (1 - tenth) + 1e-6)
        found[start : start + step] = np.where(near, best, -1)
    return found


def thumbnails(X: Array, side: int) -> NDArray[np.float32]:
    """Pictures as (n, side * side), each of mean 0 and length 1; zeros where all is of one colour."""
    from PIL.Image import Resampling, fromarray

    found = np.empty((len(X), side * side), dtype=np.float32)
    for row, picture in zip(found, X, strict=True):
        grey = fromarray(picture[0] if len(picture) == 1 else picture.transpose(1, 2, 0)).convert("L")
        how = Resampling.BOX if min(grey.size) >= side else Resampling.BILINEAR
        row[:] = np.asarray(grey.resize((side, side), how), dtype=np.float32).ravel()
    found -= found.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    plain: NDArray[np.float32] = np.where(lengths > side, found / np.maximum(lengths, 1), 0).astype(np.float32)
    return plain


def _kth(likeness: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """The k-th largest of each row, or the least where there are fewer; 0 where there is one alone."""
    n = likeness.shape[1]
    if n == 1:
        return np.zeros(len(likeness), dtype=np.float32)
    k = min(k, n)
    return -np.partition(-likeness, k - 1, axis=1)[:, k - 1]
