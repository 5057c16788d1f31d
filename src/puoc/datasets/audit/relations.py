"""Two columns that say which file a row is from only together: an exact relation that holds in one file alone.

Two columns can each be alike in both files while one file has ``a + b = 100`` in all rows and the other has not. A
learner of both columns finds that, but it also finds each class that differs in two columns at once, so that its AUC
cannot tell a file from a class. An exact relation can: no sampling gives it, and a class that had it would show it in
the positives of U too. The search is therefore for relations that hold in all rows of one group. If they hold in no
row of the other one, no class in both explains them: equal columns; a constant difference, factor, sum or product;
equal or complementary digits after the point; two signs that agree.

All pairs of columns are compared on at most ``ROWS`` rows of each group. That chance gives a relation to any pair must
be less likely than ``_CHANCE``, after Bonferroni's correction over all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]

ROWS: Final = 400  # of a group that are compared
COLUMNS: Final = 2_000  # that are compared with each other

_LEAST: Final = 20  # rows of a group in which both columns are present
_LARGEST: Final = 1e100  # sums of squares of such values are far from the limit of float64
_VALUES: Final = 10  # different values of a column of numbers, and
_USUAL: Final = 0.5  # largest share of one value, so that a relation says something
_EXACT: Final = 1e-5  # below 1 in correlation, which allows for rounding
_OTHER: Final = 0.05  # difference of the correlations of both groups
_SCREEN: Final = 0.02  # below 1 in the screened correlation of columns with missing values
NONE: Final = 0.02  # share of the other group up to which a relation does not hold there
_SOME: Final = 0.5  # share up to which U may hold positives with the relation
_SIGNS: Final = 0.96  # agreement of two signs, -1 to 1
_TURNED: Final = 0.5  # difference of the agreements of both groups
_UNLIKE: Final = 0.3  # correlation of the sizes, above which signs agree since the columns are correlated
_CHANCE: Final = 1e-4  # that any pair has a relation by chance
_SIGNED: Final = 500  # columns whose signs are compared
_BLOCK: Final = 256  # columns that are compared with all others at once


class Sample(NamedTuple):
    """The same rows of each column of two groups; NaN where missing."""

    name: str
    first: Values  # (n,) numbers, or hashes of categories
    second: Values  # (m,)
    is_number: bool


class Relation(NamedTuple):
    """A relation of a column to one before it, as a sentence that follows the later column's name."""

    name: str  # the later one of both columns
    text: str
    in_first: bool  # True if it holds in the first group, False for the second one
    other: float  # share of the other group's rows in which it holds; of categories, beyond chance


class _Kind(NamedTuple):
    """A form of the numbers in which a relation is linear."""

    change: Callable[[Values], Values]
    words: Callable[[str, float, float], str]  # by the name of the other column, slope and intercept


def relations(samples: Sequence[Sample]) -> list[Relation]:
    """Return the relations of pairs of columns that hold in one group alone, at most one for each column."""
    numbers = [sample for sample in samples if sample.is_number][:COLUMNS]
    found: dict[str, Relation] = {}
    for relation in (*_of_numbers(numbers), *_of_categories([one for one in samples if not one.is_number])):
        found.setdefault(relation.name, relation)
    return list(found.values())


def _of_numbers(samples: Sequence[Sample]) -> Iterator[Relation]:
    if len(samples) < 2:
        return
    names = [sample.name for sample in samples]
    groups = [_squarable(np.stack([getattr(sample, group) for sample in samples])) for group in ("first", "second")]
    for kind in _KINDS:
        changed = [kind.change(X) for X in groups]
        use = [_varied(X) for X in changed]
        for at in (0, 1):
            for i, j in _linear(changed[at], changed[1 - at], use[at]):
                if (held := _holds(changed[at][[i, j]], changed[1 - at][[i, j]], len(names))) is not None:
                    slope, intercept, other = held
                    yield Relation(names[j], kind.words(names[i], slope, intercept), at == 0, other)
    yield from _of_signs(names[:_SIGNED], [X[:_SIGNED] for X in groups])


def _squarable(X: Values) -> Values:
    """Return values (d, n) with those missing whose squares are near the limit of float64."""
    found: Values = np.where(np.abs(X) < _LARGEST, X, np.nan)
    return found


def _identity(X: Values) -> Values:
    return X


def _logarithm(X: Values) -> Values:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((np.nan_to_num(X, nan=1.0) > 0).all(axis=1, keepdims=True), np.log(np.abs(X)), np.nan)


def _fraction(X: Values) -> Values:
    found: Values = np.round(X - np.floor(X), 9)
    return found


def _linear_words(other: str, slope: float, intercept: float) -> str:
    if np.isclose(slope, 1, rtol=1e-4):
        return f"equals column {other!r}" if abs(intercept) < 1e-9 else f"is column {other!r} plus {intercept:.6g}"
    if np.isclose(slope, -1, rtol=1e-4):
        return f"and column {other!r} have the sum {intercept:.6g}"
    shift = "" if abs(intercept) < 1e-2 * abs(slope) else f" plus {intercept:.3g}"
    return f"is column {other!r} times {slope:.3g}{shift}"


def _log_words(other: str, slope: float, intercept: float) -> str:
    if np.isclose(slope, -1, rtol=1e-3):
        return f"and column {other!r} have the product {np.exp(min(intercept, 700)):.6g}"
    return f"is a power of column {other!r}"


def _fraction_words(other: str, slope: float, intercept: float) -> str:
    return (
        f"has the digits after the point of column {other!r}"
        if slope > 0
        else (f"and column {other!r} add up to a whole number")
    )


_KINDS: Final = (_Kind(_identity, _linear_words), _Kind(_logarithm, _log_words), _Kind(_fraction, _fraction_words))


def _varied(X: Values) -> Mask:
    """Return which columns (d, n) have enough values, and no value in most rows."""
    ordered = np.sort(X, axis=1)  # NaN last
    present = np.isfinite(ordered)
    n = present.sum(axis=1)
    new = np.concatenate([present[:, :1], (ordered[:, 1:] != ordered[:, :-1]) & present[:, 1:]], axis=1)
    half = np.maximum((n * _USUAL).astype(np.int64), 1)
    # a value in more than half of the rows would stand at both ends of some window of that length
    frequent = np.zeros(len(X), dtype=np.bool_)
    for at in np.flatnonzero((n >= _LEAST) & (new.sum(axis=1) >= _VALUES)):
        row, width = ordered[at, : n[at]], half[at]
        frequent[at] = bool((row[width:] == row[: n[at] - width]).any())
    found: Mask = (n >= _LEAST) & (new.sum(axis=1) >= _VALUES) & ~frequent
    return found


def _standard(X: Values) -> Values:
    """Return rows (d, n) with mean 0 and length 1; zeros where missing, and in constant rows."""
    present = np.isfinite(X)
    n = np.maximum(present.sum(axis=1, keepdims=True), 1)
    filled = np.where(present, X, 0.0)
    centred = np.where(present, filled - filled.sum(axis=1, keepdims=True) / n, 0.0)
    length = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    found: Values = np.divide(centred, length, out=np.zeros_like(centred), where=length > 0)
    return found


def _linear(X: Values, Y: Values, use: Mask) -> Iterator[tuple[int, int]]:
    """Yield pairs of columns (d, n) whose correlation in X may be 1 or -1, and is another one in Y (d, m)."""
    at = np.flatnonzero(use)
    if len(at) < 2:
        return
    (A, seen), (B, _) = ((_standard(part), np.isfinite(part).astype(np.float64)) for part in (X[at], Y[at]))
    whole = bool(seen.all())
    least = 1 - (_EXACT if whole else _SCREEN)
    for start in range(0, len(at), _BLOCK):
        block = slice(start, start + _BLOCK)
        here, there = A[block] @ A[start:].T, B[block] @ B[start:].T
        if not whole:  # of the rows in which both columns are present
            sizes = (A[block] ** 2 @ seen[start:].T) * (seen[block] @ (A[start:] ** 2).T)
            here = np.divide(here, np.sqrt(sizes), out=np.zeros_like(here), where=sizes > 0)
        rows, columns = np.nonzero(np.triu((np.abs(here) >= least) & (np.abs(here - there) > _OTHER), 1))
        for i, j in zip(rows, columns, strict=True):
            yield int(at[start + i]), int(at[start + j])


def _holds(X: Values, Y: Values, columns: int) -> tuple[float, float, float] | None:
    """Return slope, intercept and share of Y (2, m) with the relation of X (2, n); None if there is none."""
    a, b = X[:, np.isfinite(X).all(axis=0)]
    c, d = Y[:, np.isfinite(Y).all(axis=0)]
    if min(len(a), len(c)) < _LEAST or not a.std() or not b.std():
        return None
    usual = max(float(np.unique(part, return_counts=True)[1].max()) / len(a) for part in (a, b))
    if np.log(columns**2 / 2) + len(a) * np.log(usual) > np.log(_CHANCE):
        return None
    if abs(np.corrcoef(a, b)[0, 1]) < 1 - _EXACT:
        return None
    slope = float(np.corrcoef(a, b)[0, 1] * b.std() / a.std())
    intercept = float(b.mean() - slope * a.mean())
    tolerance = 2 * float(np.abs(b - slope * a - intercept).max()) + 1e-9 * float(b.std())
    other = float(np.mean(np.abs(d - slope * c - intercept) <= tolerance))
    return (slope, intercept, other) if other <= _SOME else None


def _of_signs(names: Sequence[str], groups: Sequence[Values]) -> Iterator[Relation]:
    """Yield pairs whose signs agree, or disagree, in one group alone; of positive numbers, about the middle."""
    both = np.concatenate(groups, axis=1)
    below = np.nanmean(both < 0, axis=1)
    usable = np.array([*map(_varied, groups)]).all(axis=0) & (below < 1)
    at = np.flatnonzero(usable)
    if len(at) < 2:
        return
    signed = (below[at] > 0.1) & (below[at] < 0.9)
    middle = np.where(signed, 0.0, np.nanmedian(both[at], axis=1))[:, None]
    deviations = [X[at] - middle for X in groups]
    signs = [np.nan_to_num(np.sign(D)) for D in deviations]
    least = max(_LEAST, np.log2(len(at) ** 2 / _CHANCE))  # rows from which chance gives no pair equal signs
    counts = [np.abs(S) @ np.abs(S).T for S in signs]
    agree = [np.divide(S @ S.T, n, out=np.zeros_like(n), where=n > 0) for S, n in zip(signs, counts, strict=True)]
    enough = np.minimum(*counts) >= least
    for first in (True, False):
        here, there = agree if first else agree[::-1]
        sizes = _standard(np.abs(deviations[0 if first else 1]))
        apart = (np.abs(here) >= _SIGNS) & (np.abs(here - there) >= _TURNED) & enough
        for i, j in zip(*np.nonzero(np.triu(apart & (np.abs(sizes @ sizes.T) <= _UNLIKE), 1)), strict=True):
            about = "equal" if here[i, j] > 0 else "opposite"
            what = "signs" if signed[i] and signed[j] else "signs, about their middles,"
            share = float(1 + there[i, j] * np.sign(here[i, j])) / 2
            yield Relation(names[at[j]], f"and column {names[at[i]]!r} have {about} {what}", first, _rest(share))


def _rest(share: float) -> float:
    """Return a share, or 0 if it is as small as that of the other group without its relation may be."""
    return 0.0 if share <= (1 - _SIGNS) / 2 else share


def _of_categories(samples: Sequence[Sample]) -> Iterator[Relation]:
    """Yield pairs of columns of categories that are equal in all rows of one group, and by chance in the other."""
    for j, later in enumerate(samples[:_BLOCK]):
        for earlier in samples[:j]:
            for at, group in enumerate(("first", "second")):
                a, b = getattr(earlier, group), getattr(later, group)
                c, d = ((earlier.second, later.second), (earlier.first, later.first))[at]
                if _equal(a, b, c, d, len(samples)):
                    yield Relation(later.name, f"equals column {earlier.name!r}", at == 0, 0.0)


def _equal(a: Values, b: Values, c: Values, d: Values, columns: int) -> bool:
    """Return True if all values a, b (n,) are equal, and of c, d (m,) no more than chance makes equal."""
    here, there = np.isfinite(a) & np.isfinite(b), np.isfinite(c) & np.isfinite(d)
    if min(here.sum(), there.sum()) < _LEAST or (a[here] != b[here]).any():
        return False
    shares = np.unique(a[here], return_counts=True)[1] / here.sum()
    if len(shares) < 4 or np.log(columns**2 / 2) + here.sum() * np.log((shares**2).sum()) > np.log(_CHANCE):
        return False
    c, d = c[there], d[there]
    values = np.union1d(c, d)
    chance = float(sum(np.mean(c == value) * np.mean(d == value) for value in values))
    return bool(np.mean(c == d) <= chance + 2 * (chance * (1 - chance) / len(c)) ** 0.5 + NONE)
