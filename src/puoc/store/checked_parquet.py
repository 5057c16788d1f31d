"""Files of results: parquet with a checksum of the whole file, since most flipped bits would be read as other numbers.

A file without one, of an earlier version or another program, is read as far as parquet itself sees no damage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas as pd

FROM_LEDGER = "delete it, and dvc repro writes it again from the ledger"
BY_SWEEP = "delete it, and the same puoc sweep writes it again from the ledger"
BY_COMPARE = "delete it, and puoc compare writes it again"

_KEY = "puoc.sha256"
#: As parquet's footer has the key: text that ends, a second field that is a text, its length of 64.
_SEAL = _KEY.encode() + b"\x18\x40"
_OPEN = b"0" * 64  # in the place of the checksum while it is computed

T = TypeVar("T")


def to_parquet(table: Any, compression: str = "snappy") -> bytes:
    """An Arrow table as the bytes of a file with a checksum of itself; equal tables give equal bytes."""
    import pyarrow.parquet as pq

    sink = BytesIO()
    with pq.ParquetWriter(sink, table.schema, compression=compression) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_KEY: _OPEN.decode()})
    content = sink.getvalue()
    at = content.rindex(_SEAL + _OPEN) + len(_SEAL)
    return content[:at] + sha256(content).hexdigest().encode() + content[at + len(_OPEN) :]


def read_rows(path: Path, columns: Iterable[str] = (), again: str = FROM_LEDGER) -> list[dict[str, Any]]:
    """Rows of a file of results.

    Parameters
    ----------
    columns : the file must have them.
    again : how it is written again, for the message.

    Raises
    ------
    ValueError : the file is damaged or lacks a column; the message names it.
    OSError : it is not there or cannot be read.
    """
    return _read(path, columns, again, _rows)


def read_frame(path: Path, columns: Iterable[str] = (), again: str = FROM_LEDGER) -> pd.DataFrame:
    """The same as a frame. Parameters and errors as ``read_rows``."""
    return _read(path, columns, again, _frame)


def _read(path: Path, columns: Iterable[str], again: str, parse: Callable[[bytes], tuple[list[str], T]]) -> T:
    from pyarrow import ArrowException

    content = path.read_bytes()  # apart: what Arrow says of damage is an OSError too
    try:
        _check_seal(content)
        names, found = parse(content)
    except (ArrowException, ArithmeticError, LookupError, OSError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path}: damaged ({reason}); {again}") from error
    lacking = [name for name in columns if name not in names]
    if lacking:
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        raise ValueError(f"{path}: no column {', '.join(lacking)} among {shown or 'none'}; {again}")
    return found


def _check_seal(content: bytes) -> None:
    at = content.rfind(_SEAL) + len(_SEAL)
    if at < len(_SEAL):
        return
    given, rest = content[at : at + len(_OPEN)], content[at + len(_OPEN) :]
    if sha256(content[:at] + _OPEN + rest).hexdigest().encode() != given:
        raise ValueError("not the bytes that were written, by its checksum")


def _rows(content: bytes) -> tuple[list[str], list[dict[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # not pq.read_table, which loads pyarrow.dataset and with it pandas: half a second in every stage
    with pq.ParquetFile(pa.BufferReader(content)) as file:
        table = file.read()
    return table.schema.names, table.to_pylist()


def _frame(content: bytes) -> tuple[list[str], pd.DataFrame]:
    import pandas as pd

    frame = pd.read_parquet(BytesIO(content))
    return [str(name) for name in frame.columns], frame
