"""ROC curves in a few hundred bytes, from which other metrics than the AUC can be computed without the scores."""

from __future__ import annotations

import zlib
from base64 import b85decode, b85encode

import numpy as np
from numpy.typing import NDArray

from puoc.records import Array

POINTS = 1001
_SCALE = 65535  # a true-positive rate is kept as a 16-bit integer: to 8e-6


def roc_curve(positive: Array, negative: Array) -> NDArray[np.float64]:
    """Compute the true-positive rate at ``POINTS`` equally spaced false-positive rates from 0 to 1.

    The curve of tied scores is the straight line between the thresholds above and below them, so the area under the
    exact curve is the AUC.

    Parameters
    ----------
    positive, negative : (n,) and (m,) finite scores; higher = more likely positive. Neither is empty.
    """
    thresholds = np.unique(np.concatenate([positive, negative]))[::-1]
    # rates of scores that reach each threshold
    tpr, fpr = (
        1 - np.searchsorted(np.sort(scores), thresholds, side="left") / len(scores) for scores in (positive, negative)
    )
    grid = np.linspace(0, 1, POINTS)
    fpr, tpr = np.concatenate([[0.0], fpr]), np.concatenate([[0.0], tpr])
    # at a false-positive rate with several true-positive rates the highest one counts, as thresholds may be chosen so
    last = np.append(fpr[1:] != fpr[:-1], True)
    return np.asarray(np.interp(grid, fpr[last], tpr[last]), dtype=np.float64)


def encode(curve: NDArray[np.float64]) -> str:
    """Return a curve as a short text: its steps as 16-bit integers, compressed, in base 85."""
    levels = np.rint(np.asarray(curve) * _SCALE).astype(np.int64)
    steps = np.diff(levels, prepend=0).astype("<u2")
    return b85encode(zlib.compress(steps.tobytes(), 9)).decode()


def decode(text: str) -> NDArray[np.float64]:
    """Return the curve of a text, (POINTS,), each rate to 8e-6.

    Raises
    ------
    ValueError : the text is no curve.
    """
    try:
        steps = np.frombuffer(zlib.decompress(b85decode(text)), dtype="<u2")
    except (ValueError, zlib.error) as error:
        raise ValueError(f"not a ROC curve, or damaged ({error})") from error
    if len(steps) != POINTS:
        raise ValueError(f"got a ROC curve of {len(steps)} points, expected {POINTS}")
    return np.cumsum(steps.astype(np.float64)) / _SCALE
