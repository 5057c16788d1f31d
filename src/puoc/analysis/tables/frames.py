"""Typed tables on disk: one fixed column order and type, no index, replaced in one step."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from puoc.store.checked_parquet import to_parquet

_TYPES = {"text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}

#: Column name to ``text``, ``int``, ``float`` or ``bool``.
Columns = Mapping[str, str]


def frame(rows: Sequence[Mapping[str, Any]], columns: Columns) -> pd.DataFrame:
    """Return rows as a frame with exactly these columns, typed even if there is no row. An absent value is null."""
    schema = pa.schema([(name, _TYPES[kind]) for name, kind in columns.items()])
    return pd.DataFrame(pa.Table.from_pylist([dict(row) for row in rows], schema=schema).to_pandas())


def write_frame(table: pd.DataFrame, columns: Columns, path: Path) -> None:
    """Write a frame as parquet. Equal rows give equal bytes: no pandas metadata is stored, and NaN becomes null."""
    schema = pa.schema([(name, _TYPES[kind]) for name, kind in columns.items()])
    content = pa.Table.from_pandas(table, schema=schema, preserve_index=False).replace_schema_metadata(None)
    replace_file(path, to_parquet(content, compression="zstd"))


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


def present(value: Any) -> bool:
    """Check whether a cell of a frame has a value, which is neither None, NaN nor pandas' NA."""
    return not bool(pd.isna(value))


def number(value: Any) -> float | None:
    """Return a cell of a frame as a float, or None if it is empty."""
    return float(value) if present(value) else None


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame, each as a dictionary by column name."""
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
