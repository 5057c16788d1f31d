"""Files of results: parquet with a checksum of the whole file, since most flipped bits would be read as other numbers.

A file without a checksum, written by an earlier version or another program, is read if parquet itself finds no damage.
``puoc status`` names such files of results.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from puoc.store.atomic import write_bytes

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from _typeshed import DataclassInstance

FROM_LEDGER = "delete it, and dvc repro writes it again from the ledger"
BY_SWEEP = "delete it, and the same puoc sweep writes it again from the ledger"
BY_COMPARE = "delete it, and puoc compare writes it again"

_KEY = "puoc.sha256"
#: The bytes in parquet's footer before the checksum: the key, a second field that is a text, its length of 64.
_CHECKSUM_MARK = _KEY.encode() + b"\x18\x40"
_PLACEHOLDER = b"0" * 64  # stands in the place of the checksum while it is computed

#: A row: its fields are the columns, and those without a default value must be in a file.
R = TypeVar("R", bound="DataclassInstance")


def to_parquet(table: pa.Table, compression: str = "snappy") -> bytes:
    """Return an Arrow table as the bytes of a file with a checksum of itself; equal tables give equal bytes."""
    import pyarrow.parquet as pq

    sink = BytesIO()
    with pq.ParquetWriter(sink, table.schema, compression=compression) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_KEY: _PLACEHOLDER.decode()})
    content = sink.getvalue()
    start = content.rindex(_CHECKSUM_MARK + _PLACEHOLDER) + len(_CHECKSUM_MARK)
    return content[:start] + sha256(content).hexdigest().encode() + content[start + len(_PLACEHOLDER) :]


def write_rows(
    path: Path, rows: Sequence[R], row_type: type[R], leave_out: Collection[str] = (), compression: str = "snappy"
) -> None:
    """Write rows as parquet, whole or not at all.

    Parameters
    ----------
    leave_out : fields that the file has no column for.
    """
    import pyarrow as pa

    types = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    names = [field.name for field in fields(row_type) if field.name not in leave_out]
    hints = get_type_hints(row_type)
    schema = pa.schema([(name, types[(get_args(hints[name]) or (hints[name],))[0]]) for name in names])
    table = pa.Table.from_pylist([{name: getattr(row, name) for name in names} for row in rows], schema=schema)
    write_bytes(path, to_parquet(table, compression))


def read_rows(path: Path, row_type: type[R], again: str = FROM_LEDGER, first: Iterable[str] = ()) -> list[R]:
    """Read the rows of a file of results. Columns that the type does not have are left out.

    Parameters
    ----------
    again : how the file is written again, for the message.
    first : columns that are checked before the others; a message about these does not name the others.

    Raises
    ------
    ValueError : the file is damaged, lacks a column or has a value of another type; the message names it.
    OSError : the file does not exist or cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = path.read_bytes()  # outside the block below: Arrow raises an OSError for damage too
    with _damage_as_value_error(path, again):
        _check_checksum(content)
        # not pq.read_table, which loads pyarrow.dataset and with it pandas: half a second in every stage
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            table = file.read()
        names, values = list[str](table.schema.names), table.to_pylist()
    needed = [field.name for field in fields(row_type) if field.default is MISSING]
    _check_columns(path, first, names, again)
    _check_columns(path, needed, names, again)
    adapter = TypeAdapter(row_type)
    try:
        return [adapter.validate_python(row) for row in values]
    except ValidationError as error:
        first_error = error.errors(include_url=False)[0]
        where = f"{path}: column {first_error['loc'][0]}"
        raise ValueError(f"{where}: got {first_error['input']!r} ({first_error['msg']}); {again}") from error


def read_frame(path: Path, columns: Iterable[str] = (), again: str = FROM_LEDGER) -> pd.DataFrame:
    """Read the rows of a file of results as a frame. Raises as ``read_rows``.

    Parameters
    ----------
    columns : columns that the file must have.
    again : how the file is written again, for the message.
    """
    import pandas as pd

    content = path.read_bytes()
    with _damage_as_value_error(path, again):
        _check_checksum(content)
        frame = pd.read_parquet(BytesIO(content))
        names = [str(name) for name in frame.columns]
    _check_columns(path, columns, names, again)
    return frame


@contextmanager
def _damage_as_value_error(path: Path, again: str) -> Iterator[None]:
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, ArithmeticError, LookupError, OSError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path}: damaged ({reason}); {again}") from error


def _check_columns(path: Path, columns: Iterable[str], names: list[str], again: str) -> None:
    lacking = [name for name in columns if name not in names]
    if lacking:
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        raise ValueError(f"{path}: no column {', '.join(lacking)} among {shown or 'none'}; {again}")


def has_checksum(path: Path) -> bool:
    """Return True if a file has a checksum; without one, flipped bits may be read as other numbers."""
    return _CHECKSUM_MARK in path.read_bytes()


def _check_checksum(content: bytes) -> None:
    start = content.rfind(_CHECKSUM_MARK) + len(_CHECKSUM_MARK)
    if start < len(_CHECKSUM_MARK):
        return
    end = start + len(_PLACEHOLDER)
    if sha256(content[:start] + _PLACEHOLDER + content[end:]).hexdigest().encode() != content[start:end]:
        raise ValueError("its bytes do not match its checksum")
