"""Fitted preparation of one column of a table: a column of numbers or of categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from puoc.datasets.readers.options import Scaling
from puoc.datasets.readers.raw_table import RawTable
from puoc.datasets.readers.training_range import Far, TrainingRange
from puoc.datasets.readers.unseen import Found, Kind, Known, first_places, unlike
from puoc.datasets.readers.values import ANY_TEXT, NotNumbers, number_in
from puoc.records import Array, Record

_FAR = 10  # standard deviations, for a model of an older version, which has no range


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
