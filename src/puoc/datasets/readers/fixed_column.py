"""Fitted preparation of a column that has one value in all training rows, or none."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import FiniteFloat

from puoc.datasets.readers.prepared_columns import Part
from puoc.datasets.readers.raw_table import RawTable
from puoc.datasets.readers.unseen import Found, Kind, Known, first_places, unlike
from puoc.datasets.readers.values import ANY_TEXT, NotNumbers, are_numbers, number_in, numbers_of, texts_of
from puoc.records import Array, Record

_NEARLY = 1e-6  # relative difference up to which two numbers with decimals are equal; single precision rounds by 6e-8


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
