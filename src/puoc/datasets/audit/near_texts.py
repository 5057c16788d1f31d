"""Texts that share most of their pairs of neighbouring words, found by MinHash (Broder, 1997) and compared exactly."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

MOST: Final = 20_000  # texts of a group, evenly spaced
ALIKE: Final = 0.6  # share of the pairs of words of both texts that both have
LEAST_SHARED: Final = 8  # pairs of words

_LONGEST: Final = 2_000  # words of a text that are compared
_LETTERS: Final = 4  # of a sequence, in a text without blanks
_WORDS: Final = 0.1  # blanks per letter from which a text has words
_BANDS: Final = 16
_ROWS: Final = 3  # hashes of a band

Rows = NDArray[np.int64]


def near_texts(texts: Sequence[str], keys: NDArray[np.int64], seed: int = 0) -> tuple[Rows, Rows]:
    """Return pairs of positions of texts that are near-equal, the smaller one first.

    Parameters
    ----------
    texts : in plain form, such as without case.
    keys : (n,) equal for equal texts, which are no pairs.
    """
    shingles = [_shingles(text) for text in texts]
    long = np.array([at for at, of in enumerate(shingles) if len(of) >= LEAST_SHARED], dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    if len(long) < 2:
        return none, none
    flat = np.concatenate([shingles[at] for at in long])
    starts = np.cumsum([0, *(len(shingles[at]) for at in long[:-1])])
    rng = np.random.default_rng(seed)
    pairs: set[tuple[int, int]] = set()
    for _ in range(_BANDS):
        band = np.zeros(len(long), dtype=np.uint64)
        for factor, shift in rng.integers(2**63, size=(_ROWS, 2), dtype=np.uint64):
            mixed = (flat * (factor | np.uint64(1)) + shift) >> np.uint64(20)
            band = band * np.uint64(0x9E3779B97F4A7C15) + np.minimum.reduceat(mixed, starts)
        order = np.argsort(band, kind="stable")
        for step in (1, 2):
            same = np.flatnonzero(band[order[step:]] == band[order[:-step]])
            ends = np.sort(np.stack([long[order[same]], long[order[same + step]]]), axis=0)
            pairs |= set(zip(ends[0].tolist(), ends[1].tolist(), strict=True))
    near = [(i, j) for i, j in sorted(pairs) if keys[i] != keys[j] and _alike(shingles[i], shingles[j])]
    found = np.array(near, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _shingles(text: str) -> NDArray[np.uint64]:
    """Return hashes of the different pairs of words, or of sequences of letters if there are no words."""
    words = text.split()[:_LONGEST]
    if len(words) > _WORDS * len(text):
        parts = {f"{one} {two}" for one, two in pairwise(words)}
    else:
        text = text[:_LONGEST]
        parts = {text[at : at + _LETTERS] for at in range(len(text) - _LETTERS + 1)}
    return np.array(sorted({crc32(part.encode("utf-8", "replace")) for part in parts}), dtype=np.uint64)


def _alike(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> bool:
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared >= LEAST_SHARED and shared >= ALIKE * (len(one) + len(other) - shared)
