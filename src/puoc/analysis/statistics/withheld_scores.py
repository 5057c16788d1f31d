"""Scores of withheld rows as a short text in the record of a fit: what criteria without negative labels are made of."""

from __future__ import annotations

import zlib
from base64 import b85decode, b85encode
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.records import Array

_COUNTS = 2  # of P and of U, before the scores


class WithheldScores(NamedTuple):
    """Scores of withheld labelled positives (n,) and of withheld unlabelled rows (m,), float64."""

    positive: NDArray[np.float64]
    unlabelled: NDArray[np.float64]


def encode(positive: Array, unlabelled: Array) -> str:
    """Return the scores of both sides as a text: 64-bit floats, compressed, in base 85. All scores are finite."""
    values = np.concatenate([[len(positive), len(unlabelled)], positive, unlabelled]).astype("<f8")
    return b85encode(zlib.compress(values.tobytes(), 9)).decode()


def decode(text: str) -> WithheldScores:
    """Return the scores of a text.

    Raises
    ------
    ValueError : the text has no such scores.
    """
    try:
        values = np.frombuffer(zlib.decompress(b85decode(text)), dtype="<f8").astype(np.float64)
        n, m = (int(count) for count in values[:_COUNTS])
    except (ValueError, OverflowError, zlib.error) as error:
        raise ValueError(f"not the scores of withheld rows, or damaged ({error})") from error
    if len(values) != _COUNTS + n + m or min(n, m) < 1 or not np.isfinite(values).all():
        raise ValueError("not the scores of withheld rows, or damaged: the counts do not match the scores")
    return WithheldScores(values[_COUNTS : _COUNTS + n], values[_COUNTS + n :])
