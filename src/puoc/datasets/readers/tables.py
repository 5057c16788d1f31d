"""Tables of CSV, TSV or Parquet files, read whole or in blocks of rows, with cells as they are written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from puoc.datasets.readers.csv_dialect import Layout, doubled, layout_of, plain_name, shown
from puoc.datasets.readers.csv_lines import Lines
from puoc.datasets.readers.options import How
from puoc.datasets.readers.values import SENTENCE, is_number, numbers_of, sentences, texts_of
from puoc.store.regular_file import check_regular

_MAX_SEARCHED = 1 << 28  # bytes that are searched for an unclosed quotation mark after the parser has failed
_BYTES = 1 << 23  # of delimited text parsed at once
_AT_ONCE_COLUMNS = 64  # of a wide Parquet file
AT_ONCE = 1 << 16  # rows of a block


if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile


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
            " The first line seems to be a row, not the names of the columns. If it is a row, say --no-header; the "
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


def read_table(path: Path, how: How | None = None) -> RawTable:
    """Read a whole file.

    Raises
    ------
    ValueError : the file is missing, no table, has no rows, or can be read in two ways; the message names the options.
    """
    parts = list(stream_table(path, how))
    notes = tuple(note for part in parts for note in part.notes)
    whole = replace(parts[0], cells=pa.concat_tables([part.cells for part in parts]), notes=notes)
    if not len(whole):
        raise ValueError(f"{path}: no row below the names of the columns; expected at least 1.{whole.hint}")
    return whole


def stream_table(
    path: Path, how: How | None = None, columns: Sequence[str] | None = None, at_once: int = AT_ONCE
) -> Iterator[RawTable]:
    """Read a file in blocks, so that it may be larger than the memory. There is at least one block, maybe empty.

    Parameters
    ----------
    columns : the columns to read, in this order; absent: all.
    at_once : maximum number of rows of a block.

    Raises
    ------
    ValueError : as ``read_table``, or a column is missing.
    """
    path, how = Path(path), how or How()
    if path.is_dir():
        advice = "folders are for pictures (of the kind images)"
        raise ValueError(f"{path}: a folder; expected a file (CSV, TSV or Parquet); {advice}")
    check_regular(path, "a file with these rows")
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); expected CSV, TSV or Parquet") from error
    parts = _parquet(path, columns) if start == b"PAR1" else _delimited(path, how, columns)
    for part in parts:
        for first in range(0, max(len(part), 1), at_once):
            notes = () if first else part.notes
            yield replace(part, cells=part.cells.slice(first, at_once), start=part.start + first, notes=notes)


def _delimited(path: Path, how: How, columns: Sequence[str] | None) -> Iterator[RawTable]:
    from pyarrow import csv

    layout = layout_of(path, how, columns)
    _check_there(path, layout.columns, columns)
    unread = {} if columns else doubled(layout.columns)
    lines = Lines(path, layout.encoding, layout.separator)
    try:
        reader = csv.open_csv(
            lines,
            csv.ReadOptions(
                use_threads=False,  # so that an error has the number of its row
                block_size=_BYTES,
                column_names=list(layout.columns),
                skip_rows_after_names=layout.before,
            ),
            csv.ParseOptions(
                delimiter=layout.separator,
                newlines_in_values=True,
                ignore_empty_lines=len(layout.columns) > 1,  # in a single column they are missing values
            ),
            csv.ConvertOptions(
                column_types={name: pa.string() for name in layout.columns},
                include_columns=list(columns or (name for name in layout.columns if name not in unread)),
            ),
        )
        part = RawTable(str(path), reader.schema.empty_table(), layout.decimal, layout.first_line, unread=unread)
        for batch in reader:
            if len(part):
                yield part
            start = part.start + len(part)
            part = replace(part, cells=pa.Table.from_batches([batch]), start=start)
        lines.check_closed()
        yield replace(part, notes=lines.warnings(part.start + len(part), layout.before))
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise _not_parsed(path, layout, lines, error) from error
    finally:
        lines.close()


def _not_parsed(path: Path, layout: Layout, lines: Lines, error: Exception) -> ValueError:
    """Return the error of a file that cannot be parsed: an unclosed quotation mark, or the parser's own message."""
    try:
        lines.check_closed(_MAX_SEARCHED)
    except UnicodeDecodeError:
        pass
    except ValueError as unclosed:
        return unclosed
    reason = " ".join(str(error).replace("CSV parse error: ", "").split())
    reason = reason if len(reason) <= 200 else reason[:197] + "..."  # it ends with the text of the row
    if reason.startswith("Empty CSV") or "Expected or fewer" in reason:
        return ValueError(f"{path}: no row below the names of the columns; expected at least 1")
    return ValueError(
        f"{path}: cannot be parsed as columns separated by {layout.separator!r} ({reason}); the first line is "
        f"{shown(layout.first_line)}. Mend the row, or say another --separator or --encoding"
    )


def _parquet(path: Path, columns: Sequence[str] | None) -> Iterator[RawTable]:
    from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(path, pre_buffer=False)  # a buffer of a whole row group is as large again
        schema = file.schema_arrow  # made anew at each look
        written = [name for name in schema.names if not name.startswith("__index_level_")]
        names = list(map(plain_name, written))
        _check_there(path, names, columns)
        needed = set(names if columns is None else columns)
        unread = {name: why for name, why in doubled(names).items() if name in needed}
        for name, own in zip(names, written, strict=True):
            if name in needed and name not in unread and pa.types.is_nested(kind := schema.field(own).type):
                unread[name] = f"holds {_short(str(kind))}; expected numbers, texts or truth values"
        if unread and (columns is not None or set(unread) == needed):
            name, why = next(iter(unread.items()))
            raise ValueError(f"{path}: the column {name!r} {why}")
        used = [own for name, own in zip(names, written, strict=True) if name in needed and name not in unread]
        if columns is None and len(used) > _AT_ONCE_COLUMNS:
            yield RawTable(str(path), _read_wide(file, used), unread=unread)
            return
        start = 0
        for batch in file.iter_batches(AT_ONCE, columns=used):
            yield RawTable(str(path), plain(pa.Table.from_batches([batch])), start=start, unread=unread)
            start += batch.num_rows
        if start == 0:
            yield RawTable(str(path), plain(schema.empty_table().select(used)), unread=unread)
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"{path}: begins as a Parquet file but is none ({error}); write it again") from error


def _read_wide(file: ParquetFile, columns: Sequence[str]) -> pa.Table:
    """Read a file of many columns a few at a time, since reading one takes several times the memory of its cells."""
    blocks = []
    for first in range(0, len(columns), _AT_ONCE_COLUMNS):
        blocks.append(_compact(plain(file.read(columns[first : first + _AT_ONCE_COLUMNS], use_threads=False))))
        pa.default_memory_pool().release_unused()
    names = [name for block in blocks for name in block.column_names]
    return pa.table([column for block in blocks for column in block.columns], names=names)


def _compact(cells: pa.Table) -> pa.Table:
    """Return cells with whole columns of numbers copied, so that the memory that their reading used is free again."""
    for kind in set(cells.schema.types):
        places = [at for at, column in enumerate(cells.columns) if column.type == kind and not column.null_count]
        if pa.types.is_floating(kind) or pa.types.is_integer(kind):
            copy = np.empty((len(places), len(cells)), dtype=kind.to_pandas_dtype())
            for row, at in zip(copy, places, strict=True):
                row[:] = cells.column(at).to_numpy()
                cells = cells.set_column(at, cells.schema.field(at), pa.array(row))
    return cells


def plain(cells: pa.Table) -> pa.Table:
    """Return cells without dictionary and half-precision types, which not every function takes, with plain names."""
    kinds = [pa.field(plain_name(field.name), _plain_kind(field.type)) for field in cells.schema]
    return cells.rename_columns([field.name for field in kinds]).cast(pa.schema(kinds))


def _short(kind: str) -> str:
    return kind if len(kind) <= 60 else kind[:57] + "..."


def _plain_kind(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain_kind(kind.value_type)
    return pa.float32() if pa.types.is_float16(kind) else kind


def _check_there(path: Path, found: Sequence[str], wanted: Sequence[str] | None) -> None:
    there = set(found)
    lacking = [name for name in wanted or () if name not in there]
    if lacking:
        raise ValueError(
            f"{path}: no column {', '.join(map(repr, lacking))}; it has {', '.join(map(repr, found))}, expected the "
            "columns that the model was trained on, under their names"
        )


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
