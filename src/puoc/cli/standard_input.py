"""Rows from the standard input, for ``puoc score -``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PARQUET = b"PAR1"  # the first bytes of such a file


@contextmanager
def file_or_standard_input(path: Path, model: Path) -> Iterator[Path]:
    """Yield the path; for ``-``, yield a temporary file with what the standard input holds.

    The rows are read more than once, for their layout and for their values, which a stream does not allow.

    Parameters
    ----------
    model : a model of texts gets a text a line; another one gets a table (CSV or Parquet).

    Raises
    ------
    ValueError : the standard input is a terminal, or empty, or the model file is not one.
    """
    if str(path) != "-":
        yield path
        return
    if sys.stdin.isatty():
        raise ValueError("-: got a terminal; expected rows on the standard input, such as: cat rows.csv | puoc score -")
    from puoc.methods.persistence.model_file import read_meta
    from puoc.store.temporary import temporary_folder
    from puoc.userdata.score import check_model

    check_model(model)
    is_text = (read_meta(model).prepared or {}).get("kind") == "texts"
    with temporary_folder("stdin") as folder:
        first = sys.stdin.buffer.read(len(_PARQUET))
        if not first:
            raise ValueError("-: got an empty standard input; expected the rows to score")
        suffix = ".parquet" if first == _PARQUET else ".txt" if is_text else ".csv"
        copy = folder / f"standard-input{suffix}"
        with copy.open("wb") as file:
            file.write(first)
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield copy
