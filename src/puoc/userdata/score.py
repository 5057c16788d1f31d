"""Score a user's file with a model file, block by block, so that the file may be larger than the memory."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from puoc.datasets.readers import How
from puoc.datasets.readers.images import PicturePreparing, list_pictures
from puoc.datasets.readers.preprocess import TablePreparing
from puoc.datasets.readers.pu_data import Preparing, counter_of
from puoc.datasets.readers.texts import TextPreparing
from puoc.datasets.readers.unseen import Block, Unseen, UnseenCounter
from puoc.methods.persistence import model_file as modelfile
from puoc.methods.persistence.header import FittedEncoder, Meta, Threshold
from puoc.methods.training.fitting import CHUNK
from puoc.records import Array
from puoc.store import steps
from puoc.store.regular_file import check_regular
from puoc.userdata.kept_columns import KeptColumns
from puoc.userdata.ranking_check import is_of_written_model, warning_of

_BLOCK = 1 << 20  # bytes
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".parquet": None}  # by suffix of the output file

Columns = Mapping[str, Array | Sequence[str] | pa.ChunkedArray]


class Scored(NamedTuple):
    """Counts and notes of a file that was scored."""

    rows: int
    positive: int | None  # rows that reach the threshold
    notes: list[str]
    warning: str | None = None  # of a model that does not rank labelled positives above unlabelled rows
    unseen: Unseen | None = None  # what the rows hold that the training rows did not


def score_file(
    model_path: Path,
    path: Path,
    out: Path | None,
    how: How,
    at_once: int | None = None,
    *,
    unseen: bool = False,
    keep: Sequence[str] = (),
) -> Scored:
    """Write ``row, score`` and, if the model has a threshold, a column named after what the threshold is based on.

    Scores do not depend on ``at_once``: rows are regrouped into the blocks of ``model_file.score``.

    Parameters
    ----------
    out : a CSV, TSV or Parquet file, by its suffix; None for CSV on the standard output.
    how : how to read the file.
    at_once : rows read at once.
    unseen : also write the column ``unseen``, the number of columns in which a row has a value that the training rows
        did not have (see ``puoc.datasets.readers.unseen``).
    keep : columns of a table to write after ``row``, as they are in the file.

    Raises
    ------
    ValueError : another suffix, no model file, a model of no own data, or a file that does not fit it; ``unseen``
        for a model of pictures, of texts or of an older version; or columns to keep as ``KeptColumns``, or of a file
        that is no table.
    """
    _check_suffix(out)
    check_model(model_path)
    if not path.exists():
        raise ValueError(f"{path}: there is no such file or folder")
    model = modelfile.load(model_path)
    preparing = modelfile.preparing(model.meta)
    if preparing is None:
        raise ValueError(f"{model_path}: it knows no way from a file to its rows; expected one that puoc fit made")
    old = isinstance(preparing, TablePreparing) and preparing.watched is None
    if unseen and (old or not isinstance(preparing, TablePreparing)):
        raise ValueError(
            f"--unseen: {model_path} is a model of {preparing.kind}{' of an older version' if old else ''}, which does "
            f"not know the ranges of its training rows; expected a model of a table{'; fit it again' if old else ''}"
        )
    counter = counter_of(preparing)
    notes: list[str] = []
    waiting: list[Array] = []  # numbers of unseen values of the rows that were read and not written
    names = _names(path) if isinstance(preparing, PicturePreparing) else None
    blocks = preparing.stream(path, how) if at_once is None else preparing.stream(path, how, at_once)
    threshold = model.meta.threshold
    rows = positive = 0
    prepared = aligned(_counted(blocks, counter, notes, waiting if unseen else None), CHUNK)
    first = list(islice(prepared, 1))  # a file that does not fit is rejected before anything is written
    total = len(names) if names is not None else _rows_about(path)
    fields = _fields(names is not None, threshold, unseen)
    kept = _kept(preparing, path, how, keep, [name for name, _ in fields])
    with _writer(out, pa.schema([fields[0], *(kept.fields if kept else ()), *fields[1:]])) as write:
        for X in chain(first, prepared):
            scores = modelfile.score(model, X)
            columns: dict[str, Array | Sequence[str] | pa.ChunkedArray] = {
                "row": np.arange(rows + 1, rows + len(X) + 1)
            }
            if kept is not None:
                columns |= kept.take(len(X))
            if names is not None:
                columns["file"] = names[rows : rows + len(X)]
            columns["score"] = scores
            if threshold is not None:
                reached = scores >= threshold.value
                columns[column_of(threshold)] = reached
                positive += int(reached.sum())
            if unseen:
                differs = np.concatenate(waiting)
                columns["unseen"] = differs[: len(X)]
                waiting[:] = [differs[len(X) :]]
            write(columns)
            rows += len(X)
            steps.update(rows, max(total, rows), "rows")
    found = counter.result()
    notes += found.lines("--report FILE")
    if old:
        notes.append(
            "the model is of an older version: columns that were constant in training are not compared, and numbers "
            "far outside of the training rows are found by the scaling alone; a new fit adds both"
        )
    return Scored(rows, positive if threshold is not None else None, notes, _warning(model.meta), found)


def _warning(meta: Meta) -> str | None:
    if meta.ranking is None:
        return None
    encoder = meta.encoder.name if isinstance(meta.encoder, FittedEncoder) else meta.encoder
    return warning_of(meta.ranking, of_written=is_of_written_model(meta.method, encoder, meta.threshold))


def check_model(path: Path) -> None:
    """Raise ValueError if a model file is missing, or is a folder, a pipe or a device."""
    if not path.exists():
        raise ValueError(f"--model: {path}: there is no such file; expected a model file that puoc fit made")
    check_regular(path, "a model file that puoc fit made")
    if path.is_dir():
        raise ValueError(f"--model: {path}: a folder; expected a model file that puoc fit made")


def _names(folder: Path) -> list[str]:
    """Return the names of the pictures below a folder. Raises ValueError for a name that is not UTF-8."""
    names = [str(picture.relative_to(folder)) for picture in list_pictures(folder).paths]
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(name).decode(errors="backslashreplace")
            raise ValueError(f"{folder}: the name of the picture {shown} is not UTF-8; rename it") from None
    return names


def column_of(threshold: Threshold) -> str:
    """Return the name of the column of decisions, after what the threshold is based on."""
    words = {"alpha": "by_alpha", "recall": "at_recall", "false_alarms": "at_false_alarms", "precision": "at_precision"}
    return f"positive_{words[threshold.by]}_{threshold.asked:g}"


def _rows_about(path: Path) -> int:
    """Return about how many rows a file has, for the time that is left: its lines, or what a Parquet file says."""
    if path.suffix.lower() == ".parquet":
        from pyarrow import parquet

        rows: int = parquet.read_metadata(path).num_rows
        return rows
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))


def aligned(blocks: Iterable[Array], size: int) -> Iterator[Array]:
    """Regroup rows into blocks whose sizes are multiples of ``size``, except the last one."""
    pending: list[Array] = []
    n = 0
    for block in blocks:
        pending.append(block)
        n += len(block)
        if n >= size:
            whole = np.concatenate(pending)
            end = n - n % size
            yield whole[:end]
            pending, n = [whole[end:]], n - end
    if n:
        yield np.concatenate(pending)


def _counted(
    blocks: Iterable[Block], counter: UnseenCounter, notes: list[str], waiting: list[Array] | None
) -> Iterator[Array]:
    for block in blocks:
        counter.add(block)
        notes.extend(block.notes)
        if waiting is not None and block.differs is not None:
            waiting.append(block.differs)
        yield block.X


def _fields(files: bool, threshold: Threshold | None, unseen: bool) -> list[tuple[str, pa.DataType]]:
    fields = [("row", pa.int64()), *([("file", pa.string())] if files else []), ("score", pa.float64())]
    if threshold is not None:
        fields.append((column_of(threshold), pa.bool_()))
    if unseen:
        fields.append(("unseen", pa.int32()))
    return fields


def _kept(preparing: Preparing, path: Path, how: How, names: Sequence[str], taken: Sequence[str]) -> KeptColumns | None:
    if not names:
        return None
    if isinstance(preparing, TablePreparing) or (isinstance(preparing, TextPreparing) and preparing.column is not None):
        return KeptColumns(path, how, names, taken)
    has = "pictures, of which 'file' has the names" if isinstance(preparing, PicturePreparing) else "one text a line"
    raise ValueError(f"--keep: {path} has {has}; expected a table. Leave the option out")


def _check_suffix(out: Path | None) -> None:
    if out is not None and out.suffix.lower() not in _DELIMITERS:
        got = out.suffix or "no suffix"
        raise ValueError(
            f"--out: got {got} ({out}); expected .csv, .tsv or .parquet, which says how scores are written"
        )


@contextmanager
def _writer(out: Path | None, schema: pa.Schema) -> Iterator[Callable[[Columns], None]]:
    """Yield a function that writes columns. The file gets its name when it is complete."""
    from pyarrow import csv, parquet

    if out is None:
        with csv.CSVWriter(pa.PythonFile(sys.stdout.buffer, "w"), schema) as writer:
            yield lambda columns: writer.write(pa.table(dict(columns), schema))
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.parent / f".{out.name}.{uuid.uuid4().hex[:8]}"
    delimiter = _DELIMITERS[out.suffix.lower()]
    try:
        with (
            parquet.ParquetWriter(temporary, schema)
            if delimiter is None
            else csv.CSVWriter(temporary, schema, write_options=csv.WriteOptions(delimiter=delimiter))
        ) as writer:
            yield lambda columns: writer.write(pa.table(dict(columns), schema))
        temporary.replace(out)
    finally:
        temporary.unlink(missing_ok=True)
