"""Rows of a file with cells as they are written, before anything is made of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from puoc.datasets.readers.csv_dialect import shown
from puoc.datasets.readers.values import SENTENCE, is_number, numbers_of, plain_numbers, sentences, texts_of

AT_ONCE = 1 << 16  # rows of a block


@dataclass(frozen=True)
class RawTable:
    """Rows of a file: texts of a text file, typed columns of a Parquet file."""

    kind: ClassVar[Literal["table"]] = "table"
    where: str  # names the file in errors
    cells: pa.Table
    decimal: str = "."
    first_line: str = ""  # of a text file
    start: int = 0  # rows of the file before these
    numbers_in_file: NDArray[np.int64] | None = None  # (n,) from 1; absent: all from ``start`` on
    notes: tuple[str, ...] = ()  # warnings about the file; the part with the first row has them
    unread: Mapping[str, str] = field(default_factory=dict)  # columns that were not read, with the reason

    def __len__(self) -> int:
        return int(self.cells.num_rows)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns in the order of the file."""
        return tuple(self.cells.column_names)

    @cached_property
    def places(self) -> dict[str, int]:
        """Return the position of every column by its name."""
        return {name: place for place, name in enumerate(self.columns)}

    def texts(self, column: str, missing: Sequence[str] = (), values: Collection[str] = ()) -> pa.Array:
        """Return the cells of a column as texts, null where missing, as ``texts_of``.

        Raises
        ------
        ValueError : the cells cannot be texts.
        """
        try:
            return texts_of(self._cells(column), missing, values)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError) as error:
            reason = str(error).splitlines()[0]
            raise ValueError(
                f"{self.where}: column {column!r} holds {self.cells.column(self.places[column]).type} values, of which "
                f"one cannot be read ({reason}); expected numbers, texts or truth values: write it as one of these, or "
                "leave the column out"
            ) from error

    def numbers(self, column: str, missing: Sequence[str] = ()) -> NDArray[np.float64]:
        """Return the cells of a column as float64 (n,), NaN where missing. Raises NotNumbers."""
        return numbers_of(self._cells(column), self.decimal, missing)

    def plain_numbers(self, column: str) -> NDArray[np.float64] | None:
        """Return texts of a column as float64 (n,) if all are numbers without blanks, or empty; else None."""
        cells = self._cells(column)
        return plain_numbers(cells) if pa.types.is_string(cells.type) else None

    def head(self, column: str, n: int) -> pa.Array:
        """Return the first cells of a column as they are in the file."""
        return _whole(self.cells.column(self.places[column]).slice(0, n))

    def type_of(self, column: str) -> pa.DataType:
        """Return the type of a column, which is a text in a text file."""
        return self.cells.column(self.places[column]).type

    def holds_numbers(self, column: str) -> bool:
        """Return True for a column of a numeric type."""
        return is_number(self.type_of(column))

    def _cells(self, column: str) -> pa.Array:
        return _whole(self.cells.column(self.places[column]))

    def row(self, index: int) -> int:
        """Return the number of a row in the file, counted from 1 below the header."""
        return self.start + index + 1 if self.numbers_in_file is None else int(self.numbers_in_file[index])

    def row_numbers(self) -> NDArray[np.int64]:
        """Return the number of every row, (n,)."""
        if self.numbers_in_file is not None:
            return self.numbers_in_file
        return np.arange(self.start + 1, self.start + len(self) + 1)

    def rows(self, mask: NDArray[np.bool_]) -> RawTable:
        """Return the rows for which a mask (n,) is True."""
        kept = self.row_numbers()[np.asarray(mask, dtype=np.bool_)]
        notes = self.notes if np.any(mask[:1]) else ()
        return replace(self, cells=self.cells.filter(pa.array(mask)), numbers_in_file=kept, notes=notes)

    def without(self, columns: Sequence[str]) -> RawTable:
        """Return the table without these columns."""
        left = set(columns)
        unread = {name: why for name, why in self.unread.items() if name not in left}
        return replace(self, cells=self.cells.select([n for n in self.columns if n not in left]), unread=unread)

    @property
    def hint(self) -> str:
        """Return a sentence with the first line of a text file, for an error message."""
        return f" The first line of {self.where} is {shown(self.first_line)}." if self.first_line else ""

    @property
    def header_hint(self) -> str:
        """Return a sentence for a text file whose first line seems to be a row.

        One of its names is also a cell below it, or is a text of several words as most cells below it are.
        """
        if not self.first_line or self.columns[:1] == ("column1",):  # it has these names with --no-header
            return ""
        if not any(_like_cells(name, self.cells.column(name)) for name in self.columns if name):
            return ""
        return (
            " The first line seems to be a row, not the names of the columns. If it is a row, use --no-header; the "
            "columns are then named column1, column2 and so on."
        )


def _like_cells(name: str, cells: pa.ChunkedArray) -> bool:
    """Return True if the name of a column is also one of its cells, or a text of several words as most of them are."""
    if pc.any(pc.equal(cells, name)).as_py():
        return True
    return SENTENCE.match(name) is not None and sentences(cells)


def split_rows(only: list[RawTable], mask: NDArray[np.bool_]) -> tuple[RawTable, RawTable]:
    """Return the rows of a table for which a mask (n,) is True, and the others.

    The table is taken out of its list, and its columns are freed one after the other, so that no two copies of a wide
    table are in the memory.
    """
    whole = only.pop()
    empty = whole.rows(np.zeros(len(whole), dtype=np.bool_))
    numbers, kept = whole.row_numbers(), (pa.array(mask), pa.array(~mask))
    notes = [whole.notes if side[:1].any() else () for side in (mask, ~mask)]
    columns = whole.cells.columns[::-1]
    del whole
    parts: tuple[list[pa.ChunkedArray], list[pa.ChunkedArray]] = ([], [])
    while columns:
        column = columns.pop()
        for part, side in zip(parts, kept, strict=True):
            part.append(column.filter(side))
        del column
    pa.default_memory_pool().release_unused()
    P, U = (
        replace(empty, cells=pa.table(part, schema=empty.cells.schema), numbers_in_file=numbers[side], notes=note)
        for part, side, note in zip(parts, (mask, ~mask), notes, strict=True)
    )
    return P, U


def check_there(path: Path, found: Sequence[str], wanted: Sequence[str] | None) -> None:
    """Check that a file has the wanted columns; absent: any. Raises ValueError with those that it lacks."""
    there = set(found)
    lacking = [name for name in wanted or () if name not in there]
    if lacking:
        raise ValueError(
            f"{path}: no column {', '.join(map(repr, lacking))}; it has {', '.join(map(repr, found))}, expected the "
            "columns that the model was trained on, under their names"
        )


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
