"""Parquet files, read in blocks of rows, or in blocks of columns where there are many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from puoc.datasets.readers.csv_dialect import doubled, plain_name
from puoc.datasets.readers.raw_table import AT_ONCE, RawTable, check_there

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

_AT_ONCE_COLUMNS = 64  # of a wide file


def parquet_blocks(path: Path, columns: Sequence[str] | None, if_there: Sequence[str] = ()) -> Iterator[RawTable]:
    """Yield the rows of a file in blocks: the columns of these names, or all. Raises ValueError as ``stream_table``."""
    from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(path, pre_buffer=False)  # a buffer of a whole row group is as large again
        schema = file.schema_arrow  # made anew at each look
        written = [name for name in schema.names if not name.startswith("__index_level_")]
        names = list(map(plain_name, written))
        check_there(path, names, columns)
        needed = set(names if columns is None else columns)
        unread = {name: why for name, why in doubled(names).items() if name in needed}
        for name, own in zip(names, written, strict=True):
            if name in needed and name not in unread and pa.types.is_nested(kind := schema.field(own).type):
                unread[name] = f"holds {_short(str(kind))}; expected numbers, texts or truth values"
        if unread and (columns is not None or set(unread) == needed):
            name, why = next(iter(unread.items()))
            raise ValueError(f"{path}: the column {name!r} {why}")
        used = [own for name, own in zip(names, written, strict=True) if name in needed and name not in unread]
        if columns is not None:
            used += _readable(schema, names, written, set(if_there) - needed)
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


def _readable(schema: pa.Schema, names: Sequence[str], written: Sequence[str], wanted: set[str]) -> list[str]:
    """Return the wanted columns that the file has once, and as plain values."""
    counts = Counter(names)
    found = [own for name, own in zip(names, written, strict=True) if name in wanted and counts[name] == 1]
    return [own for own in found if not pa.types.is_nested(schema.field(own).type)]


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
