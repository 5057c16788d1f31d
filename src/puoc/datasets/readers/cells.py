"""The cells of one column in the files of a user, as texts or numbers, each read at most once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from puoc.datasets.readers.options import How
from puoc.datasets.readers.raw_table import RawTable
from puoc.datasets.readers.values import ANY_TEXT, NotNumbers, are_numbers, numbers_of, texts_of, written
from puoc.store.counting import quoted

_EXACT = 2**53  # whole numbers up to here are float64
_DOUBTFUL = ("na", "none", "null")  # texts for a missing value that may also be a category
_HEAD = 200  # rows by which a column of many rows is screened


class Facts(TypedDict):
    """Fields of a column's profile that do not depend on how it is read."""

    name: str
    missing: int
    distinct: int
    first: tuple[str, ...]


class Cells:
    """Cells of a column by file. A column of a numeric type is not written as texts, which takes most of the time."""

    def __init__(self, tables: Sequence[RawTable], name: str, how: How):
        self.tables, self.name, self.how = tables, name, how
        kinds = {table.type_of(name) for table in tables}
        category = name in how.category
        self._typed = not category and len(kinds) == 1 and all(_exact(table, name) for table in tables)
        self._values = ANY_TEXT if category else ()
        self._numbers: list[NDArray[np.float64]] | None = None
        self._tried = False

    @cached_property
    def texts(self) -> list[pa.Array]:
        """Return the cells of each file as texts, null where missing. Raises ValueError as ``RawTable.texts``."""
        return [table.texts(self.name, self.how.missing, self._values) for table in self.tables]

    def varies(self) -> bool:
        """Return True if the first cells of some file differ, so that the column is not one value in each file."""
        heads = [table.head(self.name, _HEAD) for table in self.tables]
        return any(len(pc.unique(head if self._typed else self._texts_of(head))) > 1 for head in heads)

    def _texts_of(self, cells: pa.Array) -> pa.Array:
        return texts_of(cells, self.how.missing, self._values)

    def numbers(self) -> list[NDArray[np.float64]] | None:
        """Return the cells of each file as numbers, NaN where missing; None if some are no finite numbers."""
        if not self._tried:
            self._tried = True
            try:
                self._numbers = [self._numbers_in(at) for at in range(len(self.tables))]
            except NotNumbers:
                self._numbers = None
        return self._numbers

    def typed_numbers(self) -> list[NDArray[np.float64]] | None:
        """Return the numbers of each file if the column has a numeric type."""
        return self.numbers() if self._typed else None

    def measured(self) -> list[NDArray[np.float64]] | None:
        """Return the numbers of each file if the column has a numeric type, or texts that are different plain numbers.

        Their texts, which take most of the time to look at, have nothing to say then.
        """
        if self._typed:
            return self.numbers()
        if self._values or self.how.missing or any(table.decimal != "." for table in self.tables):
            return None
        found = self.numbers()
        if found is None or self._with_texts:
            return None
        present = np.concatenate([x[~np.isnan(x)] for x in found])
        return found if len(present) and present.min() < present.max() else None

    @property
    def _with_texts(self) -> bool:
        """Return True if the texts have been looked at, as they are of cells that are no plain numbers."""
        return "texts" in self.__dict__

    def _numbers_in(self, at: int) -> NDArray[np.float64]:
        table = self.tables[at]
        if self._typed:
            return table.numbers(self.name, self.how.missing)
        if not self._with_texts and not self._values and not self.how.missing and table.decimal == ".":
            plain = table.plain_numbers(self.name)
            if plain is not None:
                return plain
        if not are_numbers(self.texts[at].slice(0, _HEAD), table.decimal).all():
            raise NotNumbers(0, "")
        return numbers_of(self.texts[at], table.decimal)

    @property
    def may_be_padded(self) -> bool:
        """Return True unless the column has a numeric type, which keeps no leading zeros."""
        return not self._typed

    @cached_property
    def missing(self) -> list[int]:
        """Return the number of missing cells of each file."""
        numbers = self.typed_numbers()
        if numbers is not None:
            return [int(np.isnan(x).sum()) for x in numbers]
        return [int(part.null_count) for part in self.texts]

    def facts(self) -> Facts:
        """Return the counts and the first values of the column. Raises ValueError as ``texts``."""
        numbers = self.typed_numbers()
        if numbers is not None:
            x = np.concatenate(numbers)
            distinct, found = _different(x[~np.isnan(x)])
            values = written(found).to_pylist()
            return {"name": self.name, "missing": sum(self.missing), "distinct": distinct, "first": tuple(values)}
        found = pc.unique(pc.drop_null(pa.chunked_array(self.texts, pa.string())))
        first = tuple(str(value) for value in found[:3])
        return {"name": self.name, "missing": sum(self.missing), "distinct": len(found), "first": first}

    def said_missing(self) -> str:
        """Return a warning if cells with a text such as ``NA`` count as missing in a column that may mean it."""
        if self.name in self.how.category:
            return ""
        marks = [table.texts(self.name, self.how.missing, _DOUBTFUL) for table in self.tables]
        found = [mark.filter(pc.is_null(part)) for mark, part in zip(marks, self.texts, strict=True)]
        present = pc.drop_null(pa.chunked_array(found, pa.string()))
        if not len(present):
            return ""
        texts = " or ".join(map(quoted, pc.unique(present).to_pylist()[:3]))
        keeps = f"--category {self.name!r} keeps such texts as categories"
        return f"{texts} in {len(present)} cells is read as missing; {keeps}"


def _different(x: NDArray[np.float64]) -> tuple[int, pa.Array]:
    """Return the number of different values of x (n,), and the first three of them."""
    bits = np.sort(x.view(np.int64))  # sorting takes less time than a hash table of different numbers
    count = int(np.count_nonzero(bits[1:] != bits[:-1])) + 1 if len(x) else 0
    for size in (_HEAD, len(x)):
        first = pc.unique(pa.array(x[:size]))
        if len(first) >= min(count, 3):
            break
    return count, first.slice(0, 3)


def _exact(table: RawTable, name: str) -> bool:
    """Return True for a column of a numeric type of which every value is a float64."""
    kind = table.type_of(name)
    if pa.types.is_integer(kind):
        ends = pc.min_max(table.cells.column(table.places[name])).as_py()
        return ends["min"] is None or max(-ends["min"], ends["max"]) <= _EXACT
    return bool(pa.types.is_floating(kind))
