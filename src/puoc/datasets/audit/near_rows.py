"""Rows that are near-equal although several of their cells differ: candidates by hashes of random sets of columns.

Each cell becomes a code of 8 bits: the bin of a number, or a hash of a text. Two rows with the same codes in a random
set of columns are a candidate. A set is so large that two random rows hardly ever agree in it, and so small that some
set avoids the cells that differ. Candidates are then compared cell by cell (``agreement``). The time is bounded by the
rows, the columns and the sets, not by the pairs of rows.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_ROWS: Final = 50_000  # of a group, evenly spaced
MOST_COLUMNS: Final = 256  # evenly spaced
LEAST_COLUMNS: Final = 8  # below, rows agree in most columns by chance
CHANGED: Final = 5  # one cell in so many may differ

_BINS: Final = 64  # of a column of numbers, between its quantiles .05 and .95
_COARSE: Final = 3  # bits that the coarse bins lack
_MISSING: Final = 255
_SETS: Final = 32
_BITS: Final = 4  # that a set has beyond those which tell all pairs of rows apart
_MOST_PAIRS: Final = 20_000
_TRIES: Final = 4
_SAMPLE: Final = 2_000
_CROWD: Final = 200  # random rows
_CROWD_COLUMNS: Final = 64
_SEVERAL: Final = 6
_MOSTLY: Final = 0.7  # share of the cells
_OFTEN: Final = 0.05  # share of one value from which equal numbers count as their bin does
_SURE: Final = 20  # bits by which cells agree beyond the number of pairs of rows
_FINEST: Final = 9  # digits after the point, and zeros before it, to which numbers are rounded
_SAME: Final = 5e-4  # relative difference of numbers that are the same to 3 digits
_ROUNDED_TO: Final = 1 / 8  # of the spread of a column; coarser numbers are no sign of a copy
_SMALLEST: Final = 1e-290  # width of a bin by which numbers can be divided

Codes = NDArray[np.uint8]
Numbers = NDArray[np.float64]
Rows = NDArray[np.int64]


class Column(NamedTuple):
    """Codes of a column."""

    name: str
    codes: Codes  # (n,) of all groups, one after the other
    numbers: bool
    spread: float = 0.0  # of numbers: between the quantiles .05 and .95 of P and U
    equal: float = 0.0  # of numbers: -log2 of the probability that two of them are equal; 0 if many are


def code_numbers(name: str, x: Numbers, training: int) -> Column:
    """Return the codes of numbers (n,), NaN where missing, of which the first ``training`` ones give the bins."""
    sample = x[: max(training, 1)][:: 1 + training // _SAMPLE]
    sample = sample[np.isfinite(sample)]
    low, high = np.quantile(sample, (0.05, 0.95)) if len(sample) else (0.0, 0.0)
    if high <= low and len(sample):
        low, high = float(sample.min()), float(sample.max())
    spread = float(high) - float(low)
    width = spread / _BINS
    if not _SMALLEST < width < np.inf:  # also of one value
        width = 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        # round numbers do not lie at the edge of a bin
        bins = np.mod(np.floor((x - low) / width + 0.37), _MISSING)
    codes = np.where(np.isfinite(bins), bins, _MISSING).astype(np.uint8)
    counts = np.unique(sample, return_counts=True)[1]
    pairs = len(sample) * (len(sample) - 1)
    equal = 0.0
    if pairs and counts.max() < _OFTEN * len(sample):
        equal = -float(np.log2(max(np.sum(counts * (counts - 1.0)) / pairs, 1 / _SAMPLE)))
    return Column(name, codes, True, spread, equal)


class Candidates(NamedTuple):
    """Pairs of rows that may be near-equal."""

    first: Rows  # (pairs,) positions among all rows
    second: Rows
    bits: NDArray[np.float32]  # (columns, pairs) -log2 of the probability that a random row has such a cell as well
    needed: float  # sum of the bits of the cells that agree, from which a pair is no chance


def candidates(columns: list[Column], exact: NDArray[np.uint64], seed: int = 0) -> Candidates | None:
    """Return pairs of different rows with the same codes in a random set of columns; None if there is none.

    Parameters
    ----------
    exact : (n,) hashes of the whole rows. Of equal rows, the first one of each group is to be given only.
    """
    n = len(exact)
    if len(columns) < LEAST_COLUMNS or n < 2:
        return None
    rng = np.random.default_rng(seed)
    fine = np.stack([column.codes for column in columns])
    numbers = np.array([column.numbers for column in columns])
    coarse = np.where(numbers[:, None] & (fine != _MISSING), fine >> _COARSE, fine)
    pairs: set[int] = set()
    for number in range(_SETS):
        codes = coarse if number % 2 else fine
        pairs |= set(_equal_in_a_set(codes, n, rng).tolist())
        if len(pairs) > 4 * _MOST_PAIRS:
            break
    if not pairs:
        return None
    first, second = np.divmod(np.array(sorted(pairs), dtype=np.int64), n)
    different = exact[first] != exact[second]
    first, second = first[different], second[different]
    alike = np.zeros(len(first))
    for codes_of, is_number in zip(fine, numbers, strict=True):
        alike += _agree(codes_of[first], codes_of[second], bool(is_number))
    kept = np.flatnonzero(alike >= _MOSTLY * len(columns))
    kept = kept[np.argsort(-alike[kept], kind="stable")][:_MOST_PAIRS]
    if not len(kept):
        return None
    first, second = first[kept], second[kept]
    sample = np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64)
    bits = [_bits(one, bool(is_number), sample)[one[first]] for one, is_number in zip(fine, numbers, strict=True)]
    return Candidates(first, second, np.stack(bits), 2 * float(np.log2(n)) + _SURE)


def _bits(codes: Codes, numbers: bool, sample: Rows) -> NDArray[np.float32]:
    """Return -log2 of the share of rows that agree with a code, (256,).

    Rows agree in a frequent value by chance, such as zero. Of a rare one, they do not.
    """
    share = np.bincount(codes[sample], minlength=256) / len(sample)
    if numbers:
        present = share[:_MISSING]
        share[:_MISSING] = present + np.roll(present, 1) + np.roll(present, -1)
    return -np.log2(np.clip(share, 1 / len(sample), 1.0)).astype(np.float32)


def crowded(columns: list[Column], exact: NDArray[np.uint64], rows: Rows) -> NDArray[np.bool_]:
    """Return for rows (k,) whether several random rows agree with them in most columns.

    Such rows are near-equal by nature, as those of accounts with one post and of mostly empty forms are.

    Parameters
    ----------
    columns, exact : of all rows (n,).
    """
    n = len(exact)
    others = np.linspace(0, n - 1, min(n, _CROWD)).astype(np.int64)
    some = columns[:: 1 + len(columns) // _CROWD_COLUMNS]
    alike = np.zeros((len(rows), len(others)), dtype=np.int16)
    for column in some:
        alike += _agree(column.codes[rows][:, None], column.codes[others][None], column.numbers)
    alike[exact[rows][:, None] == exact[others][None]] = 0
    found: NDArray[np.bool_] = (alike >= _MOSTLY * len(some)).sum(axis=1) >= _SEVERAL
    return found


def _equal_in_a_set(codes: Codes, n: int, rng: np.random.Generator) -> Rows:
    """Return pairs, as first * n + second, of rows with the same codes in a random set of columns."""
    bits, need = 0.0, 2 * float(np.log2(n)) + _BITS
    keys = np.zeros(n, dtype=np.uint64)
    used = tries = 0
    sample = rng.integers(n, size=_SAMPLE)
    for place in rng.permutation(len(codes)):
        if used >= len(codes) * (1 - 1 / CHANGED):
            break
        share = np.bincount(codes[place][sample]) / len(sample)
        own = -float(np.sum(share[share > 0] * np.log2(share[share > 0])))
        if own < 0.3:
            continue
        table = rng.integers(2**63, size=256, dtype=np.uint64)
        keys += table[codes[place]]
        bits, used = bits + own, used + 1
        if bits < need:
            continue
        order = np.argsort(keys, kind="stable")
        same = [np.flatnonzero(keys[order[step:]] == keys[order[:-step]]) for step in (1, 2) if step < n]
        if sum(map(len, same)) <= _MOST_PAIRS:
            found = [np.stack([order[at], order[at + step]]) for step, at in enumerate(same, 1)]
            ends = np.sort(np.concatenate(found, axis=1), axis=0)
            merged: Rows = ends[0] * n + ends[1]
            return merged
        tries += 1
        if tries == _TRIES:
            break
        need = 1.5 * bits
    return np.zeros(0, dtype=np.int64)


def _agree(a: Codes, b: Codes, numbers: bool) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = a == b
    if numbers:
        apart = np.abs(a.astype(np.int16) - b.astype(np.int16))
        same |= ((apart == 1) & (a != _MISSING) & (b != _MISSING)) | (apart == _MISSING - 1)
    return same


def agreement(a: Numbers, b: Numbers, spread: float) -> NDArray[np.bool_]:
    """Return for pairs of numbers (n,) whether they are equal to 3 digits, or one is the other one rounded.

    A number is rounded, or cut off, to a power of ten that is at most an eighth of the column's spread.
    """
    same: NDArray[np.bool_] = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore", over="ignore"):
        same |= np.abs(a - b) <= _SAME * np.minimum(np.abs(a), np.abs(b))
        for digits in range(-_FINEST, _FINEST + 1):
            unit = 10.0**-digits
            if unit > _ROUNDED_TO * spread:
                continue
            near = ~same & (np.abs(a - b) <= unit)
            if not near.any():
                break
            x, y = a[near], b[near]
            same[near] = _is_rounded(x, y, digits) | _is_rounded(y, x, digits)
    return same


def _is_rounded(x: Numbers, y: Numbers, digits: int) -> NDArray[np.bool_]:
    scale = 10.0**digits
    close = 1e-6
    found: NDArray[np.bool_] = (np.abs(np.rint(x * scale) - y * scale) < close) | (
        np.abs(np.trunc(x * scale) - y * scale) < close
    )
    half = np.abs(np.abs(x * scale - y * scale) - 0.5) < close  # a half may be rounded to either side
    whole = np.abs(y * scale - np.rint(y * scale)) < close
    return found | (half & whole)
