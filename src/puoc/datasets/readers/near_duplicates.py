"""Near-duplicate pictures: the same picture saved again, resized, brightened or with noise.

Two pictures are near-duplicates if their grey thumbnails of 16 x 16 and of 32 x 32 pixels correlate by at least .95 and
.92, and if the distance of both correlations to 1 is at most .15 of the distance of the tenth most similar picture. The
second condition excludes pictures that resemble many others, such as plain strokes on black. docs/reference/files.md
has the rates of hits and false alarms. Most shifts, crops and mirror images are missed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from puoc.records import Array

_SIDES = (16, 32)
_MIN_CORRELATION = (0.95, 0.92)
_STANDS_OUT = 0.15
_COMPARED = 10  # rank of the picture that a near-duplicate is compared with
_AT_ONCE = 1 << 24  # pairs


def near_duplicates(X: Array, others: Array) -> NDArray[np.int64]:
    """Return for each picture the position of its near-duplicate among the others, or -1.

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
        likeness = [left[start : start + step] @ right.T for left, right in zip(a, b, strict=True)]
        best = likeness[0].argmax(axis=1)
        near = np.ones(len(best), dtype=np.bool_)
        for among, least in zip(likeness, _MIN_CORRELATION, strict=True):
            score, tenth = among[np.arange(len(best)), best], _kth(among, _COMPARED)
            near &= (score >= least) & (1 - score <= _STANDS_OUT * (1 - tenth) + 1e-6)
        found[start : start + step] = np.where(near, best, -1)
    return found


def thumbnails(X: Array, side: int) -> NDArray[np.float32]:
    """Return pictures as (n, side * side), each of mean 0 and length 1; zeros for a picture of one colour."""
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
    """Return the k-th largest value of each row, or the smallest if there are fewer; 0 for a single value."""
    n = likeness.shape[1]
    if n == 1:
        return np.zeros(len(likeness), dtype=np.float32)
    k = min(k, n)
    return -np.partition(-likeness, k - 1, axis=1)[:, k - 1]
