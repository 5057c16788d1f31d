"""Fitted preparation of one column of a table: a column of numbers, of categories, or with one value in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import FiniteFloat

from puoc.datasets.readers.options import Scaling
from puoc.datasets.readers.raw_table import RawTable
from puoc.datasets.readers.training_range import Far, TrainingRange
from puoc.datasets.readers.unseen import Found, Kind, Known, first_places, unlike
from puoc.datasets.readers.values import ANY_TEXT, NotNumbers, are_numbers, number_in, numbers_of, texts_of
from puoc.records import Array, Record

_FAR = 10  # standard deviations, for a model of an older version, which has no range
_NEARLY = 1e-6  # relative difference up to which two numbers with decimals are equal; single precision rounds by 6e-8


class Part(NamedTuple):
    """Features of one column, and what was met in it."""

    X: Array  # (n, number of features)
    missing: int  # values that were missing
    unseen: Mapping[Kind, Found]  # values that the training rows did not have
    unlike: NDArray[np.bool_] | None = None  # (n,) the rows with such a value; absent: none


class NumberColumn(Record):
    """A column of numbers: ``(x - minus) / times``, or ``x * times - minus`` if it is scaled to [0, 1]."""

    read_as: Literal["number"] = "number"
    name: str
    fill: float  # for a missing value: the median
    indicator: bool  # True if values were missing in training; a column then marks them
    scaling: Scaling
    minus: float
    times: float
    range: TrainingRange | None = None  # absent in a model of an older version

    @property
    def features(self) -> list[str]:
        """Return the names of the features."""
        return [self.name, f"{self.name} is missing"] if self.indicator else [self.name]

    @property
    def example(self) -> float:
        """Return a value of the column."""
        return self.fill

    def of(self, table: RawTable, missing: Sequence[str]) -> Part:
        """Return the features of the column, (n, 1 or 2) float64."""
        try:
            x = table.numbers(self.name, missing)
        except NotNumbers as error:
            fault = "an infinite value" if error.infinite else "no number"
            raise ValueError(
                f"{table.where}, row {table.row(error.row)}: column {self.name!r} holds {error.value!r}, {fault}; the "
                "model was trained with numbers there. Mend it, or leave it empty if there is no value"
            ) from error
        absent = np.isnan(x)
        x = np.where(absent, self.fill, x)
        unseen, mask = self._unseen(x, absent, table)
        # equal to scikit-learn's values in every bit
        with np.errstate(over="ignore"):
            x = x * self.times - self.minus if self.scaling == "minmax" else (x - self.minus) / self.times
        if len(x) and not max(-x.min(), x.max()) <= np.finfo(np.float32).max:
            large = np.flatnonzero(~(np.abs(x) <= np.finfo(np.float32).max))
            raise ValueError(
                f"{table.where}, row {table.row(int(large[0]))}: column {self.name!r} holds a number too large for "
                "single precision; expected numbers of the size of those that the model was trained on"
            )
        parts = [x, absent.astype(np.float64)] if self.indicator else [x]
        return Part(np.stack(parts, axis=1), int(absent.sum()), unseen, mask)

    def _unseen(
        self, x: NDArray[np.float64], absent: NDArray[np.bool_], table: RawTable
    ) -> tuple[dict[Kind, Found], NDArray[np.bool_] | None]:
        unseen: dict[Kind, Found] = {}
        masks = []
        low, high = self._limits
        if len(x) and (x.min() < low or x.max() > high):
            mask = (x < low) | (x > high)
            places = first_places(mask)
            found = unlike(mask, [table.row(int(place)) for place in places], [f"{x[place]:.6g}" for place in places])
            far = Far(int((x < low).sum()), int((x > high).sum()), float(x.min()), float(x.max()))
            unseen["range"] = found._replace(far=far)
            masks.append(mask)
        if not self.indicator and absent.any():
            unseen["missing"] = unlike(absent, [table.row(int(place)) for place in first_places(absent)])
            masks.append(absent)
        return unseen, np.logical_or.reduce(masks) if masks else None

    @property
    def _limits(self) -> tuple[float, float]:
        """Return the smallest and the largest value that is not far outside those of training."""
        if self.range is not None:
            return self.range.limits
        low, high = self._extent
        return (low - (high - low), high + (high - low)) if self.scaling == "minmax" else (low, high)

    @property
    def _extent(self) -> tuple[float, float]:
        if self.range is not None:
            return self.range.quantiles[0], self.range.quantiles[-1]
        if self.scaling == "minmax":
            return self.minus / self.times, (self.minus + 1) / self.times
        return self.minus - _FAR * self.times, self.minus + _FAR * self.times

    def known(self, place: int) -> dict[Kind, Known]:
        """Return what is known of the training values, by kind. ``place`` : of the first feature in X."""
        low, high = self._extent
        scale = (self.minus / self.times, 1 / self.times) if self.scaling == "minmax" else (self.minus, self.times)
        extent = f"{low:.6g} to {high:.6g}"
        return {"range": Known(extent, range=self.range, scale=(place, *scale)), "missing": Known("no missing value")}


class CategoryColumn(Record):
    """A column of categories."""

    read_as: Literal["category"] = "category"
    name: str
    values: tuple[str, ...]  # of the training rows, sorted
    indicator: bool  # True if values were missing in training

    @property
    def features(self) -> list[str]:
        """Return the names of the features."""
        return [f"{self.name}={value}" for value in self.values] + (
            [f"{self.name} is missing"] if self.indicator else []
        )

    @property
    def example(self) -> str:
        """Return a value of the column."""
        return self.values[0]

    @property
    def texts_as_values(self) -> tuple[str, ...]:
        """Return the texts for a missing value that are categories here, as ``texts_of`` takes them."""
        return tuple(text for text in ANY_TEXT if any(value.lower() == text for value in self.values))

    def of(self, table: RawTable, missing: Sequence[str]) -> Part:
        """Return the features of the column, (n, number of values) float64, each 0 or 1."""
        marks = self.texts_as_values
        cells = texts = table.texts(self.name, missing, marks)
        if len(marks) == 1 and not self.indicator:  # pandas takes NA for missing; an empty cell of a file is no null
            was_null = pc.is_null(table.head(self.name, len(table)), nan_is_null=True)
        else:
            was_null = None
        absent = np.asarray(pc.is_null(cells), dtype=np.bool_)
        known = pa.array(self.values, pa.string())
        if table.holds_numbers(self.name):  # another program may have read 01 or 1.0 of a text file as a number
            cells, known = pc.cast(cells, pa.float64()), self._as_numbers(table.where)
        places = pc.index_in(cells, known, skip_nulls=True)
        codes = np.array(pc.fill_null(places, len(self.values)), dtype=np.int64)
        if was_null is not None:
            read_as_missing = absent & np.asarray(was_null, dtype=np.bool_)
            codes[read_as_missing] = [value.lower() for value in self.values].index(marks[0])
            absent = absent & ~read_as_missing
        hot = np.zeros((len(codes), len(self.values) + 1))
        hot[np.arange(len(codes)), codes] = 1
        hot[:, -1] = absent
        unseen: dict[Kind, Found] = {}
        other = codes == len(self.values)  # unknown, or missing
        n_missing = int(absent.sum())
        if other.sum() > n_missing:
            unknown = other & ~absent
            first = first_places(unknown)
            numbers = [table.row(int(place)) for place in first]
            unseen["category"] = unlike(unknown, numbers, [str(texts[int(place)]) for place in first])
        if n_missing and not self.indicator:
            unseen["missing"] = unlike(absent, [table.row(int(place)) for place in first_places(absent)])
        differs = None if not unseen else other if not self.indicator else other & ~absent
        return Part(hot if self.indicator else hot[:, :-1], n_missing, unseen, differs)

    def known(self, place: int) -> dict[Kind, Known]:
        """Return what is known of the training values, by kind."""
        n = len(self.values)
        return {"category": Known(f"{n} different values"), "missing": Known("no missing value")}

    def _as_numbers(self, where: str) -> pa.Array:
        """Return the categories as numbers, null where a category is no number."""
        categories: dict[float, str] = {}
        for value in self.values:
            number = number_in(value.replace(",", "."))
            if number is None:
                continue
            if number in categories:
                raise ValueError(
                    f"{where}: column {self.name!r} holds numbers, and the categories {categories[number]!r} and "
                    f"{value!r} of the training rows are one number; expected texts, as by "
                    "pandas.read_csv(..., dtype=str)"
                )
            categories[number] = value
        numbers = {value: number for number, value in categories.items()}
        return pa.array([numbers.get(value) for value in self.values], pa.float64())


class FixedColumn(Record):
    """A column with one value in all training rows, or with none. The feature says whether a row has this value.

    The training rows give no scale on which to measure how far another value is, so that any other value differs by 1,
    as another category does.
    """

    read_as: Literal["constant"] = "constant"
    name: str
    value: str | None = None  # absent: all training rows lack a value
    number: FiniteFloat | None = None  # the value, if it is a number; cells are then compared as numbers
    indicator: bool = False  # True if some training rows have the value and the others none

    @property
    def features(self) -> list[str]:
        """Return the names of the features."""
        lacks = f"{self.name} is missing"
        return [lacks] if self.value is None else [f"{self.name}={self.value}", *([lacks] if self.indicator else [])]

    @property
    def example(self) -> float | str | None:
        """Return the value of the column."""
        return self.value if self.number is None else self.number

    def of(self, table: RawTable, missing: Sequence[str]) -> Part:
        """Return the features of the column, (n, 1 or 2) float64, each 0 or 1."""
        equal, absent = self._compared(table, missing)
        other = ~equal & ~absent
        unseen: dict[Kind, Found] = {}
        if other.any():
            first = first_places(other)
            cells = texts_of(table.head(self.name, len(table)).take(pa.array(first)), missing, self._marks)
            numbers = [table.row(int(place)) for place in first]
            unseen["constant"] = unlike(other, numbers, [str(cell) for cell in cells.to_pylist()])
        n_missing = 0 if self.value is None else int(absent.sum())
        lacks_anew = n_missing > 0 and not self.indicator
        if lacks_anew:
            unseen["missing"] = unlike(absent, [table.row(int(place)) for place in first_places(absent)])
        parts = [equal, absent] if self.indicator else [equal]
        differs = None if not unseen else ~equal if lacks_anew else other
        return Part(np.stack(parts, axis=1).astype(np.float64), n_missing, unseen, differs)

    @property
    def _marks(self) -> tuple[str, ...]:
        """Return the text for a missing value that is the value here, as ``texts_of`` takes it."""
        return tuple(text for text in ANY_TEXT if self.value is not None and self.value.lower() == text)

    def _compared(self, table: RawTable, missing: Sequence[str]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return two masks (n,): the rows with the value of the training rows, and the rows without a value.

        Most columns are as in training or hold numbers, which needs no texts.
        """
        cells = table.head(self.name, len(table))
        alike = np.ones(len(cells), dtype=np.bool_), np.zeros(len(cells), dtype=np.bool_)
        if self.value is None:
            if cells.null_count == len(cells) or _all_equal(cells, ""):
                return alike[0], alike[0]
        elif not missing and _all_equal(cells, self.value):
            return alike
        elif self.number is not None:
            with suppress(NotNumbers):
                x = table.numbers(self.name, missing)
                return self._is(x, self.number), np.isnan(x)
        texts = table.texts(self.name, missing, self._marks)
        absent = np.asarray(pc.is_null(texts), dtype=np.bool_)
        return absent if self.value is None else self._equal(texts, table), absent

    def cells(self, table: RawTable, missing: Sequence[str]) -> Array:
        """Return the cells as texts (n,), equal where the values are; None where missing."""
        texts = table.texts(self.name, missing, self._marks)
        if self.value is None:
            return np.array(texts.to_pylist(), dtype=object)
        equal = pa.array(self._equal(texts, table))
        return np.array(pc.if_else(equal, pa.scalar(self.value), texts).to_pylist(), dtype=object)

    def _equal(self, cells: pa.Array, table: RawTable) -> NDArray[np.bool_]:
        """Return a mask (n,) of the texts that are the value, or the same number."""
        number = self.number
        if number is None:
            if not table.holds_numbers(self.name):
                return np.asarray(pc.fill_null(pc.equal(cells, self.value), False), dtype=np.bool_)
            number = number_in(str(self.value).replace(",", "."))  # another program may have read 01 as a number
            if number is None:
                return np.zeros(len(cells), dtype=np.bool_)
        decimal = "." if table.holds_numbers(self.name) else table.decimal
        numeric = pc.if_else(pa.array(are_numbers(cells, decimal)), cells, pa.scalar(None, pa.string()))
        try:
            x = numbers_of(numeric, decimal)
        except NotNumbers:  # one is too large for a float64
            x = np.array([np.nan if cell is None else float(cell.replace(",", ".")) for cell in numeric.to_pylist()])
        return self._is(x, number)

    def _is(self, x: NDArray[np.float64], number: float) -> NDArray[np.bool_]:
        tolerance = 0 if number == round(number) else _NEARLY * abs(number)
        return np.asarray(np.abs(x - number) <= tolerance, dtype=np.bool_)

    def known(self, place: int) -> dict[Kind, Known]:
        """Return what is known of the training values, by kind."""
        return {"constant": Known(self.value), "missing": Known("no missing value")}


def _all_equal(cells: pa.Array, text: str) -> bool:
    """Return True for a column of texts that are all equal to one."""
    return bool(pa.types.is_string(cells.type) and pc.all(pc.equal(cells, text), skip_nulls=False).as_py())
