"""Tables on disk, each defined by a dataclass: its fields are the columns in their order, with their types.

A field of type ``str``, ``int``, ``float`` or ``bool`` is one column; ``None`` in its type permits an empty value. A
field that is a dataclass itself stands for the columns of that class, with the name of the field as their prefix. The
metadata ``column`` gives the name of a column that is no name in Python.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar, get_args, get_type_hints

import pandas as pd
import pyarrow as pa

from puoc.store.checked_parquet import to_parquet

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_ARROW_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}

Row = TypeVar("Row", bound="DataclassInstance")
#: A value of a frame; an empty one is None or NaN.
Value = str | float | None


class _Field(NamedTuple):
    """A field of a row: the name of its column, or the prefix of its columns."""

    name: str
    column: str
    kind: type
    optional: bool


def column_types(row_type: type[DataclassInstance]) -> dict[str, type]:
    """Return the columns of a table in order, each with its type."""
    types: dict[str, type] = {}
    for field in _fields(row_type):
        inner = column_types(field.kind) if is_dataclass(field.kind) else {}
        types |= {f"{field.column}_{name}": kind for name, kind in inner.items()} or {field.column: field.kind}
    return types


def frame(rows: Sequence[Row], row_type: type[Row]) -> pd.DataFrame:
    """Return rows as a frame with the columns of their type, even if there is no row."""
    table = pa.Table.from_pylist([dict(_values(row)) for row in rows], schema=_schema(row_type))
    return pd.DataFrame(table.to_pandas())


def write_rows(rows: Sequence[Row], row_type: type[Row], path: Path) -> None:
    """Write rows as parquet. Equal rows give equal bytes: no pandas metadata is stored, and NaN becomes null."""
    table = pa.Table.from_pandas(frame(rows, row_type), schema=_schema(row_type), preserve_index=False)
    replace_file(path, to_parquet(table.replace_schema_metadata(None), compression="zstd"))


def rows_of(table: pd.DataFrame, row_type: type[Row]) -> list[Row]:
    """Return the rows of a frame as objects; an empty value, which pandas may show as NaN, becomes None.

    Raises
    ------
    ValueError : a value is empty although the type of its column does not permit that.
    """
    return [_row({str(name): value for name, value in row.items()}, row_type) for row in table.to_dict("records")]


def replace_file(path: Path, content: bytes) -> None:
    """Write content to a path by rename, so that the file is never incomplete, even if the process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def present(value: Value) -> bool:
    """Check whether a value of a frame is not empty."""
    return value is not None and value == value


def number(value: Value) -> float | None:
    """Return a value of a frame as a float, or None if it is empty."""
    return float(value) if value is not None and value == value else None


@cache
def _fields(row_type: type[DataclassInstance]) -> tuple[_Field, ...]:
    hints = get_type_hints(row_type)
    row_fields = []
    for field in fields(row_type):
        parts = get_args(hints[field.name]) or (hints[field.name],)
        column = str(field.metadata.get("column", field.name))
        row_fields.append(_Field(field.name, column, parts[0], optional=type(None) in parts))
    return tuple(row_fields)


def _schema(row_type: type[DataclassInstance]) -> pa.Schema:
    return pa.schema([(name, _ARROW_TYPES[kind]) for name, kind in column_types(row_type).items()])


def _values(row: DataclassInstance) -> Iterator[tuple[str, Value]]:
    for field in _fields(type(row)):
        value = getattr(row, field.name)
        if is_dataclass(field.kind):
            yield from ((f"{field.column}_{name}", inner) for name, inner in _values(value))
        else:
            yield field.column, value


def _row(values: Mapping[str, Value], row_type: type[Row], prefix: str = "") -> Row:
    content: dict[str, object] = {}
    for field in _fields(row_type):
        column = prefix + field.column
        if is_dataclass(field.kind):
            content[field.name] = _row(values, field.kind, f"{column}_")
        elif present(values[column]):
            content[field.name] = field.kind(values[column])
        elif field.optional:
            content[field.name] = None
        else:
            raise ValueError(f"column {column} is empty in a row, {field.kind.__name__} expected")
    build: Callable[..., Row] = row_type
    return build(**content)
