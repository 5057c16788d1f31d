"""What rows hold that the training rows of a model did not: counted while rows are prepared, and put into words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.readers.training_range import Far, TrainingRange
from puoc.records import Array, Record
from puoc.store.counting import noun

Kind = Literal["constant", "category", "range", "factor", "missing"]
_ORDER: Final = {kind: place for place, kind in enumerate(get_args(Kind))}
_SAMPLE: Final = 1000  # rows from which the factor between new and training values is found
_ROWS: Final = 20  # row numbers that are kept for each column
_VALUES: Final = 3
_LISTED: Final = 5  # columns in a message
_LONGEST: Final = 30  # characters of a value in a message


class Found(NamedTuple):
    """Values of one column and one kind that the training rows did not have, in one block of rows."""

    rows: int  # rows with such a value
    first_rows: tuple[int, ...] = ()  # their numbers in the file, the first ones
    values: tuple[str, ...] = ()  # different ones, the first ones
    far: Far | None = None  # of the kind range


#: By column and kind.
Findings = Mapping[tuple[str, Kind], Found]


class Block(NamedTuple):
    """Prepared rows, with counts of what was met in them."""

    X: Array  # (n, d)
    missing: Mapping[str, int]  # values that were missing, by column
    unseen: Findings  # values that the training rows did not have
    met: Mapping[str, int] = MappingProxyType({})  # other findings, described in words, with their counts
    notes: tuple[str, ...] = ()  # warnings about the file
    differs: NDArray[np.int32] | None = None  # (n,) number of columns with an unseen value; absent: not counted


class Known(NamedTuple):
    """What a model knows about a column of its training rows."""

    training: str | None  # what they had there, in words; absent: no value
    used: bool = True  # False: the model does not see the column
    range: TrainingRange | None = None  # of a column of numbers
    scale: tuple[int, float, float] | None = None  # of it: its place in X, and (a, b) of the raw value a + b X


class ColumnUnseen(Record):
    """Values of one column that the training rows did not have.

    Kinds: ``constant``, another value than the only one of the training rows; ``category``, an unknown category;
    ``range``, a number more than the width of the training range outside of it; ``factor``, all numbers larger or
    smaller by a factor; ``missing``, no value, which no training row lacked.
    """

    column: str
    kind: Kind
    rows: int  # rows concerned
    share: float  # of all rows
    training: str | None  # what the training rows had; absent: no value
    used: bool  # False: the model does not use the column, so that the value changes no score
    noted: bool  # False: as many and as large values as new rows of the same distribution may have
    values: tuple[str, ...] = ()  # different ones, the first ones
    first_rows: tuple[int, ...] = ()  # numbers of the first rows concerned
    factor: float | None = None


class Unseen(Record):
    """What the rows of a file hold that the training rows did not."""

    rows: int
    concerned: int  # rows with at least one such value, those of the kind factor not counted
    columns: tuple[ColumnUnseen, ...]  # those with the most rows first
    missing: dict[str, int]  # missing values by column, where training rows lacked values too
    others: dict[str, int]  # other findings, in words

    @property
    def noted(self) -> list[ColumnUnseen]:
        """Return the columns that are worth a note, each value range once."""
        by_factor = {column.column for column in self.columns if column.kind == "factor"}
        return [one for one in self.columns if one.noted and not (one.kind == "range" and one.column in by_factor)]

    def lines(self, hint: str = "") -> list[str]:
        """Return one line for each of the columns with the most rows, and one for the others.

        Parameters
        ----------
        hint : where to find the others, such as an option.
        """
        plain = _missing_words(self.missing)
        plain += [f"{n} {words}" for words, n in self.others.items()]
        noted = self.noted
        rest = noted[_LISTED:]
        if rest:
            names = ", ".join(repr(column.column) for column in rest[:3]) + (", ..." if len(rest) > 3 else "")
            values = f"{len(rest)} further columns with values that training did not have: {names}"
            plain.append(f"{values}{f' ({hint} lists all)' if hint else ''}")
        return [*map(_words, noted[:_LISTED]), *plain]


class UnseenCounter:
    """Sums up the blocks of a file."""

    def __init__(self, known: Mapping[tuple[str, Kind], Known]):
        self._known = known
        self._found: dict[tuple[str, Kind], Found] = {}
        self._missing: Counter[str] = Counter()
        self._met: Counter[str] = Counter()
        self._head: list[Array] = []
        self._rows = self._concerned = 0

    def add(self, block: Block) -> None:
        """Add a block of rows."""
        for key, found in block.unseen.items():
            before = self._found.get(key)
            self._found[key] = found if before is None else _both(before, found)
        self._missing.update(block.missing)
        self._met.update(block.met)
        if self._rows < _SAMPLE and len(block.X):
            self._head.append(block.X[: _SAMPLE - self._rows])
        self._rows += len(block.X)
        if block.differs is not None:
            self._concerned += int((block.differs > 0).sum())

    def result(self, *, trained_on: bool = False) -> Unseen:
        """Return the sums, with a decision for each column on whether it is worth a note.

        What rows hold that training rows did not is no news of rows that are ``trained_on``, which have no columns.
        """
        missing = {name: n for name, n in self._missing.items() if n and (name, "missing") not in self._found}
        tests = sum(known.range is not None for known in self._known.values())
        columns = []
        if not trained_on:
            columns = [self._column(key, found, tests) for key, found in self._found.items() if found.rows]
            columns += self._factors()
        columns.sort(key=lambda one: (-one.rows, _ORDER[one.kind]))
        others = {words: n for words, n in self._met.items() if n}
        return Unseen(
            rows=self._rows, concerned=self._concerned, columns=tuple(columns), missing=missing, others=others
        )

    def _column(self, key: tuple[str, Kind], found: Found, tests: int) -> ColumnUnseen:
        known = self._known[key]
        noted = True
        if known.range is not None and found.far is not None:
            present = self._rows - self._missing[key[0]]
            noted = known.range.is_noted(found.far, max(present, found.rows), tests)
        return ColumnUnseen(
            column=key[0],
            kind=key[1],
            rows=found.rows,
            share=found.rows / self._rows,
            training=known.training,
            used=known.used,
            noted=noted,
            values=found.values,
            first_rows=found.first_rows,
        )

    def _factors(self) -> list[ColumnUnseen]:
        """Return the columns whose values are larger or smaller than those of training by a factor."""
        if not self._head:
            return []
        X = np.concatenate(self._head)
        columns = []
        for (name, kind), known in self._known.items():
            if kind != "range" or known.range is None or known.scale is None:
                continue
            place, shift, times = known.scale
            factor = known.range.factor(shift + times * X[:, place].astype(np.float64))
            if factor is None:
                continue
            present = self._rows - self._missing[name]
            columns.append(
                ColumnUnseen(
                    column=name,
                    kind="factor",
                    rows=present,
                    share=present / self._rows,
                    training=known.training,
                    used=known.used,
                    noted=True,
                    factor=factor,
                )
            )
        return columns


def unlike(mask: NDArray[np.bool_], numbers: Sequence[int] | None = None, values: Sequence[str] = ()) -> Found:
    """Return the rows (n,) for which a mask is True, with their first numbers and the first different values.

    Parameters
    ----------
    numbers : of those rows, the first ones.
    values : of those rows, the first ones.
    """
    return Found(int(mask.sum()), tuple(numbers or ())[:_ROWS], tuple(dict.fromkeys(values))[:_VALUES])


def first_places(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the positions of the first rows for which a mask is True, as many as a finding keeps."""
    return np.flatnonzero(mask)[:_ROWS]


def _both(one: Found, other: Found) -> Found:
    far = one.far if other.far is None else other.far if one.far is None else one.far.with_more(other.far)
    values = tuple(dict.fromkeys((*one.values, *other.values)))[:_VALUES]
    return Found(one.rows + other.rows, (*one.first_rows, *other.first_rows)[:_ROWS], values, far)


def _missing_words(missing: Mapping[str, int]) -> list[str]:
    """Return one line on the missing values of all columns, those with the most first; none if nothing is missing."""
    most = sorted(missing.items(), key=lambda one: -one[1])
    if len(most) < 2:
        return [f"{n} missing values in {name!r}" for name, n in most]
    shown = ", ".join(f"{n} in {name!r}" for name, n in most[:_LISTED])
    rest = len(most) - _LISTED
    return [f"missing values: {shown}{f' and others in {rest} further columns' if rest > 0 else ''}"]


def _words(found: ColumnUnseen) -> str:
    name, share = repr(found.column), f"({_percent(found.share)})"
    if found.kind == "factor":
        return f"the values of {name} are about {found.factor:,g} times those of training: another unit?"
    if found.kind == "range":
        extent = f"far outside those of training, {found.training}"
        return f"{found.rows} values of {name} {share} {extent}, such as {_some(found)}"
    if found.kind == "category":
        return f"{found.rows} values of {name} that training did not have {share}, such as {_some(found)}"
    if found.kind == "missing":
        return f"{found.rows} missing values in {name} {share}, where training had none"
    known = "no training row has a value" if found.training is None else f"all training rows have {found.training}"
    unused = "" if found.used else "; the model does not use this column"
    has = noun(found.rows, "row has", "rows have")
    return f"{found.rows} {has} {_some(found, ' or another value')} in {name} {share}, where {known}{unused}"


def _some(found: ColumnUnseen, others: str = "") -> str:
    """Return the first values; ``others`` stands for those that were not kept."""
    return ", ".join(map(_short, found.values)) + (others if len(found.values) == _VALUES else "")


def _percent(share: float) -> str:
    return "under 0.1 %" if share < 0.001 else f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 3]}..."
