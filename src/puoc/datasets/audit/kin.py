"""Copies of rows within and between groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, combinations_with_replacement
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.audit.grouping import SharedValues
from puoc.datasets.audit.row_groups import SHORT, Group
from puoc.datasets.audit.times import Times
from puoc.records import Record

Hashes = NDArray[np.uint64]

MOST: Final = 200_000  # rows of a group that are compared, evenly spaced
_PARTS: Final = 8  # of the columns; near-equal rows agree in all but one part
_EXAMPLES: Final = 3
_COARSE: Final = np.uint64(40)  # bits of a float64 that near-equal numbers may differ in; 12 of the fraction are left
_SALT: Final = 0x9E3779B97F4A7C15


class Copies(Record):
    """Equal and near-equal rows within a group, or of a group that another one has too."""

    first: Group
    second: Group | None = None  # absent: rows that repeat another one of the first group
    rows: int  # rows of the first group that were compared
    equal: int
    near: int | None = None  # further rows that are near-equal; absent: not compared
    examples: tuple[tuple[int, int], ...] = ()  # numbers of equal, or else near-equal, rows in their files


class Kin(Record):
    """What rows of the groups have to do with each other."""

    what: Literal["rows", "texts", "pictures"]
    near_means: str = ""  # in words; empty: near-equal rows were not looked for
    columns: int = 0  # of a table, that were compared
    copies: tuple[Copies, ...] = ()
    groups: tuple[SharedValues, ...] = ()
    times: tuple[Times, ...] = ()

    @property
    def found(self) -> tuple[Copies, ...]:
        """Return the comparisons that found copies."""
        return tuple(one for one in self.copies if one.equal or one.near)

    def lines(self) -> list[str]:
        """Return a sentence on each finding, apart from the columns that group rows."""
        later = [found.text for times in self.times for found in times.findings if found.differ]
        return [*(in_words(one, self.what) for one in self.found), *later]


def in_words(copies: Copies, what: str) -> str:
    """Return a sentence on copies."""
    where = f"{copies.rows} {what} of {SHORT[copies.first]}"
    equal, near = ("repeat another one", "nearly do")
    if copies.second is not None:
        other = SHORT[copies.second]
        equal, near = f"equal one of {other}", f"nearly equal one of {other}"
    if not copies.equal:
        return f"{copies.near} of {where} {near if copies.second else 'nearly repeat another one'}"
    return f"{copies.equal} of {where} {equal}" + (f", and {copies.near} more {near}" if copies.near else "")


class Contents:
    """Hashes of the rows of one group, to which the columns are given one after the other.

    A row's hash is the sum of the hashes of its cells, so that a column can be taken out again. Of two different rows
    among 200,000, the hashes are equal with a probability of 2e-9. Near-equal rows have the same sum without one of
    eight parts of the columns, with numbers rounded to 12 bits.

    Parameters
    ----------
    n : rows.
    numbers : (n,) numbers of the rows in their file.
    """

    def __init__(self, n: int, numbers: NDArray[np.int64]):
        self.numbers = numbers
        self.exact: Hashes = np.zeros(n, dtype=np.uint64)
        self.parts: Hashes = np.zeros((_PARTS, n), dtype=np.uint64)

    def add_numbers(self, place: int, x: NDArray[np.float64], out: bool = False) -> None:
        """Add a column of numbers (n,), NaN where missing; ``out`` takes it out again."""
        plain = np.where(np.isnan(x), np.nan, x + 0.0)
        coarse = ((plain.view(np.uint64) + (np.uint64(1) << (_COARSE - np.uint64(1)))) >> _COARSE) << _COARSE
        self._add(place, plain.view(np.uint64), coarse, out)

    def add_hashes(self, place: int, hashes: Hashes, out: bool = False) -> None:
        """Add a column of categories by the hashes of their texts (n,)."""
        self._add(place, hashes, hashes, out)

    def _add(self, place: int, exact: Hashes, coarse: Hashes, out: bool) -> None:
        times = np.uint64((2 * place + 1) * _SALT & (2**64 - 1) | 1)
        for total, bits in ((self.exact, exact), (self.parts[place % _PARTS], coarse)):
            cell = _mixed(bits ^ times) * times
            if out:
                np.subtract(total, cell, out=total)
            else:
                np.add(total, cell, out=total)

    @property
    def near(self) -> Hashes:
        """Return the sums without each part, (parts, n)."""
        sums: Hashes = self.parts.sum(axis=0, dtype=np.uint64)[None] - self.parts
        return sums


def _mixed(bits: Hashes) -> Hashes:
    """Return well-mixed 64-bit numbers (the finaliser of splitmix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = bits ^ (bits >> np.uint64(31))
    return mixed


class Keys(NamedTuple):
    """Rows of a group by keys: equal keys mean equal, or near-equal, content."""

    exact: Hashes | NDArray[np.int64]  # (n,)
    near: tuple[Hashes | NDArray[np.int64], ...]  # (n,) each: equal in one of them is near-equal
    numbers: NDArray[np.int64]  # (n,) of the rows in their file


#: By two groups (or one, twice): positions of rows of the first group, and of their companions in the second.
NearPairs = Mapping[tuple[Group, Group], tuple[NDArray[np.int64], NDArray[np.int64]]]


def copies_of(groups: Mapping[Group, Keys], more: NearPairs = MappingProxyType({})) -> tuple[Copies, ...]:
    """Compare each group with itself, and the groups with each other. Test and incoming rows are not compared.

    Parameters
    ----------
    more : further pairs of near-equal rows; of a group with itself, the second row counts.
    """
    found = [_within(group, keys, more.get((group, group))) for group, keys in groups.items()]
    for first, second in combinations(groups, 2):
        if {first, second} == {"test", "incoming"}:
            continue
        if second == "test":  # the test rows are those that suffer
            first, second = second, first
        also = more.get((first, second))
        if also is None and (second, first) in more:
            also = more[second, first][::-1]
        found.append(_between(first, groups[first], second, groups[second], also))
    return tuple(found)


def by_groups(
    groups: Sequence[Group],
    places: Sequence[NDArray[np.int64]],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
) -> NearPairs:
    """Return pairs of rows by their groups.

    Parameters
    ----------
    places : of each group, the positions of the rows that are compared.
    first, second : (pairs,) positions among these rows of all groups together, the smaller one first.
    """
    starts = np.cumsum([0, *map(len, places)])
    of = [np.searchsorted(starts, at, "right") - 1 for at in (first, second)]
    found: dict[tuple[Group, Group], tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
    for i, j in combinations_with_replacement(range(len(groups)), 2):
        here = np.flatnonzero((of[0] == i) & (of[1] == j))
        if len(here):
            a, b = first[here] - starts[i], second[here] - starts[j]
            found[groups[i], groups[j]] = places[i][a], places[j][b]
    return found


def _within(group: Group, keys: Keys, more: tuple[NDArray[np.int64], NDArray[np.int64]] | None) -> Copies:
    equal, pairs = _repeats(keys.exact)
    near = np.zeros(len(equal), dtype=np.bool_)
    if more is not None:
        earlier, later = more
        near[later] = True
        pairs = pairs or [(int(i), int(j)) for i, j in zip(later[:_EXAMPLES], earlier[:_EXAMPLES], strict=True)]
    for part in keys.near:
        again, found = _repeats(part)
        pairs = pairs or [(i, j) for i, j in found if not equal[i]]
        near |= again
    return Copies(
        first=group,
        rows=len(equal),
        equal=int(equal.sum()),
        near=int((near & ~equal).sum()) if keys.near else None,
        examples=tuple((int(keys.numbers[i]), int(keys.numbers[j])) for i, j in pairs),
    )


def _repeats(keys: Hashes | NDArray[np.int64]) -> tuple[NDArray[np.bool_], list[tuple[int, int]]]:
    """Return for each row whether an earlier one has its key, and the first such pairs."""
    order = np.argsort(keys, kind="stable")
    same = np.append(False, keys[order][1:] == keys[order][:-1])
    again = np.zeros(len(keys), dtype=np.bool_)
    again[order[same]] = True
    places = np.flatnonzero(same)[:_EXAMPLES]
    return again, [(int(order[at]), int(order[at - 1])) for at in places]


def _between(
    first: Group,
    keys: Keys,
    second: Group,
    others: Keys,
    more: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
) -> Copies:
    at = companions(keys.exact, others.exact)
    equal = at >= 0
    near = np.full(len(at), -1, dtype=np.int64)
    for part, other in zip(keys.near, others.near, strict=True):
        near = np.where(near >= 0, near, companions(part, other))
    if more is not None:
        here, there = more
        near[here] = np.where(near[here] >= 0, near[here], there)
    near[equal] = -1
    best = at if equal.any() else near
    examples = [(int(keys.numbers[i]), int(others.numbers[best[i]])) for i in np.flatnonzero(best >= 0)[:_EXAMPLES]]
    return Copies(
        first=first,
        second=second,
        rows=len(at),
        equal=int(equal.sum()),
        near=int((near >= 0).sum()) if keys.near else None,
        examples=tuple(examples),
    )


def companions(keys: NDArray[np.generic], others: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return for each key (n,) the position of the first equal one among the others (m,), or -1."""
    if not len(others):
        return np.full(len(keys), -1, dtype=np.int64)
    known, first = np.unique(others, return_index=True)
    places = np.searchsorted(known, keys).clip(max=len(known) - 1)
    return np.where(known[places] == keys, first[places], -1).astype(np.int64)
