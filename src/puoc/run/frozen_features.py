"""Features of a frozen encoder for every row of a dataset: computed once, in parts, kept as one array.

``<folder>/<key>.npy`` is (n, *shape) float32, and ``<folder>/<key>.json`` says what it is of, with the encoder's
counts; parts of both lie in ``<folder>/<key>/`` until all are there, so a computation that was killed loses the parts
that were under way.
"""

from __future__ import annotations

import shutil
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.prepare.arrays import Prepared
from puoc.records import Array, Encoding, content_id
from puoc.store.atomic import read_json, write_bytes, write_json

_ROWS = 1000  # of a part


class Part(NamedTuple):
    """Rows of a dataset to be encoded."""

    folder: Path  # of all features
    prepared: Path  # the dataset's folder
    digest: str  # its content's
    encoding: Encoding
    start: int


def key(digest: str, encoding: Encoding) -> str:
    """Names the features of a dataset's content."""
    return content_id([digest, encoding.canonical()])


def read(folder: Path, digest: str, encoding: Encoding) -> NDArray[np.float32] | None:
    """The features (n, *shape), mapped from the disk; None where they are not complete."""
    path = folder / f"{key(digest, encoding)}.npy"
    found: NDArray[np.float32] | None = np.load(path, mmap_mode="r", allow_pickle=False) if path.exists() else None
    return found


def missing(folder: Path, prepared: Path, data: Prepared, encoding: Encoding) -> list[Part]:
    """Parts that are still to be computed; none where the features are complete."""
    if read(folder, data.digest, encoding) is not None:
        return []
    parts = [Part(folder, prepared, data.digest, encoding, start) for start in range(0, len(data.y), _ROWS)]
    return [part for part in parts if not (_path(part).exists() and _path(part).with_suffix(".json").exists())]


def compute(part: Part) -> None:
    """Encode one part and write it.

    Raises
    ------
    OSError, ValueError : the encoder or the folder is not in order.
    """
    from puoc.methods.encoders import make
    from puoc.methods.encoders.frozen import Frozen

    data = Prepared.open(part.prepared)
    rows = data.take(np.arange(part.start, min(part.start + _ROWS, len(data.y))))
    encoder = make(part.encoding.name, part.encoding.params)
    write_json(_path(part).with_suffix(".json"), encoder.counts(rows) if isinstance(encoder, Frozen) else {})
    write_bytes(_path(part), _bytes(encoder.encode(rows)))  # last: its presence says that the part is done


def assemble(folder: Path, data: Prepared, encoding: Encoding) -> None:
    """Make one array of the parts."""
    name = key(data.digest, encoding)
    starts = range(0, len(data.y), _ROWS)
    counts = Counter[str]()
    for start in starts:
        counts.update(read_json(folder / name / f"{start}.json"))
    about = {"dataset": data.name, "digest": data.digest, "encoding": encoding.canonical(), "counts": dict(counts)}
    write_json(folder / f"{name}.json", about)
    whole = np.concatenate([np.load(folder / name / f"{start}.npy", allow_pickle=False) for start in starts])
    write_bytes(folder / f"{name}.npy", _bytes(whole))
    shutil.rmtree(folder / name, ignore_errors=True)


def _path(part: Part) -> Path:
    return part.folder / key(part.digest, part.encoding) / f"{part.start}.npy"


def _bytes(array: Array) -> bytes:
    buffer = BytesIO()
    np.save(buffer, array.astype(np.float32, copy=False), allow_pickle=False)
    return buffer.getvalue()
