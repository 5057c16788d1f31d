"""Scoring a user's file with a model file: block by block, so that the file may be larger than the memory."""

from __future__ import annotations

import os
import sys
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from puoc.datasets.readers import How
from puoc.datasets.readers.images import PicturePreparing, list_pictures
from puoc.datasets.readers.preprocess import Block
from puoc.methods.persistence import model_file as modelfile
from puoc.records import Array

_FORMS = {".csv": ",", ".tsv": "\t", ".parquet": None}  # what stands between columns


class Scored(NamedTuple):
    """What is to be said of a file of scores."""

    rows: int
    positive: int | None  # rows that reach the threshold
    notes: list[str]


def score_file(model_path: Path, path: Path, out: Path | None, how: How, at_once: int | None = None) -> Scored:
    """Write ``row, score`` and, where the model has a threshold, a column named after what it rests on.

    Scores do not depend on ``at_once``: rows are regrouped into the blocks of ``model_file.score``.

    Parameters
    ----------
    out : a CSV, TSV or Parquet file, by its suffix; None for CSV on the standard output.
    how : how to read the file.
    at_once : rows read at once.

    Raises
    ------
    ValueError : another suffix, no model file, a model of no own data, or a file that does not fit it.
    """
    _check_form(out)
    for given in (model_path, path):
        if not given.exists():
            raise ValueError(f"{given}: there is no such file or folder")
    if model_path.is_dir():
        raise ValueError(f"{model_path}: a folder; expected a model file that puoc fit made")
    model = modelfile.load(model_path)
    preparing = modelfile.preparing(model.meta)
    if preparing is None:
        raise ValueError(f"{model_path}: it knows no way from a file to its rows; expected one that puoc fit made")
    met: Counter[str] = Counter()
    told: list[str] = []
    names = _names(path) if isinstance(preparing, PicturePreparing) else None
    blocks = preparing.stream(path, how) if at_once is None else preparing.stream(path, how, at_once)
    threshold, marks = model.meta["threshold"], "; ".join(model.meta["marks"])
    rows = positive = 0
    prepared = aligned(_counted(blocks, met, told), modelfile.CHUNK)
    first = list(islice(prepared, 1))  # a file that does not fit is refused before anything is written
    with _writer(out, _schema(names is not None, threshold, marks)) as write:
        for X in chain(first, prepared):
            scores = modelfile.score(model, X)
            columns: dict[str, Any] = {"row": np.arange(rows + 1, rows + len(X) + 1)}
            if names is not None:
                columns["file"] = names[rows : rows + len(X)]
            columns["score"] = scores
            if threshold is not None:
                reached = scores >= threshold["value"]
                columns[column_of(threshold)] = reached
                positive += int(reached.sum())
            if marks:
                columns["marks"] = [marks] * len(X)
            write(columns)
            rows += len(X)
    notes = [*told, *(f"{n} {what}" for what, n in met.items())]
    return Scored(rows, positive if threshold is not None else None, notes)


def _names(folder: Path) -> list[str]:
    """Pictures below a folder by their names in it. Raises ValueError for one that no file of scores can hold."""
    names = [str(picture.relative_to(folder)) for picture in list_pictures(folder).paths]
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(name).decode(errors="backslashreplace")
            raise ValueError(f"{folder}: the name of the picture {shown} is no UTF-8; rename it") from None
    return names


def column_of(threshold: dict[str, Any]) -> str:
    """Names the answers: by what the threshold was set."""
    return f"positive_by_{threshold['by']}_{threshold['asked']:g}"


def aligned(blocks: Iterable[Array], size: int) -> Iterator[Array]:
    """The same rows in blocks of multiples of ``size``, but for the last one."""
    kept: list[Array] = []
    n = 0
    for block in blocks:
        kept.append(block)
        n += len(block)
        if n >= size:
            whole = np.concatenate(kept)
            end = n - n % size
            yield whole[:end]
            kept, n = [whole[end:]], n - end
    if n:
        yield np.concatenate(kept)


def _counted(blocks: Iterable[Block], met: Counter[str], told: list[str]) -> Iterator[Array]:
    for block in blocks:
        met.update(block.findings())
        told.extend(block.notes)
        yield block.X


def _schema(files: bool, threshold: dict[str, Any] | None, marks: str) -> pa.Schema:
    fields = [("row", pa.int64()), *([("file", pa.string())] if files else []), ("score", pa.float64())]
    if threshold is not None:
        fields.append((column_of(threshold), pa.bool_()))
    if marks:
        fields.append(("marks", pa.string()))
    return pa.schema(fields)


def _check_form(out: Path | None) -> None:
    if out is not None and out.suffix.lower() not in _FORMS:
        got = out.suffix or "no suffix"
        raise ValueError(
            f"--out: got {got} ({out}); expected .csv, .tsv or .parquet, which says how scores are written"
        )


@contextmanager
def _writer(out: Path | None, schema: pa.Schema) -> Iterator[Any]:
    """Something to call with columns. A file appears under its name when it is whole."""
    from pyarrow import csv, parquet

    if out is None:
        with csv.CSVWriter(pa.PythonFile(sys.stdout.buffer, "w"), schema) as writer:
            yield lambda columns: writer.write(pa.table(columns, schema))
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.parent / f".{out.name}.{uuid.uuid4().hex[:8]}"
    between = _FORMS[out.suffix.lower()]
    try:
        with (
            parquet.ParquetWriter(temporary, schema)
            if between is None
            else csv.CSVWriter(temporary, schema, write_options=csv.WriteOptions(delimiter=between))
        ) as writer:
            yield lambda columns: writer.write(pa.table(columns, schema))
        temporary.replace(out)
    finally:
        temporary.unlink(missing_ok=True)
