"""Declaration of a dataset: everything a plan needs before any file is downloaded, and a reader of the raw files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Inputs = Literal["image", "vector", "sequence", "text"]  # text: bytes, see puoc.datasets.declare.texts


@dataclass(frozen=True)
class RawFile:
    """One file exactly as its source distributes it, and where to obtain it."""

    path: str  # below data/<dataset>/, with forward slashes
    size: int  # bytes
    sha256: str
    package: tuple[str, str] | None = None  # (installed package, file inside it)
    url: str | None = None


class Arrays(NamedTuple):
    """A dataset as arrays, in the order of its source."""

    X: NDArray[Any]  # (n, *shape) as stored; X / scale is in [0, 1]
    y: NDArray[np.int64]  # (n,) class numbers
    split: NDArray[np.uint8] | None = None  # (n,) 0 train, 1 test; None if the source has no standard split


def content_digest(arrays: Arrays) -> str:
    """Return 32 hexadecimal digits: blake2b over type, shape and little-endian bytes of X, y and split."""
    digest = blake2b(digest_size=16)
    for part in arrays:
        if part is None:
            digest.update(b"none;")
            continue
        plain = np.ascontiguousarray(part, dtype=part.dtype.newbyteorder("<"))
        digest.update(f"{plain.dtype.str}{plain.shape};".encode())
        digest.update(plain.tobytes())
    return digest.hexdigest()


class Dataset(ABC):
    """Base class of all datasets: declarations and ``load``. One file with one subclass adds a dataset."""

    name: ClassVar[str]  # set by @dataset
    inputs: ClassVar[Inputs]
    shape: ClassVar[tuple[int, ...]]  # of one row
    classes: ClassVar[tuple[str, ...]]  # names; the class number is the position
    counts: ClassVar[Mapping[str, tuple[int, ...]]]  # rows per class: {"all": ...} or {"train": ..., "test": ...}
    digest: ClassVar[str]  # content_digest of the arrays
    scale: ClassVar[float]  # divisor that maps stored values to [0, 1]; 1 for texts
    files: ClassVar[tuple[RawFile, ...]]
    licence: ClassVar[str]
    citation: ClassVar[str]

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> Arrays:
        """Read the verified raw files in ``folder`` (data/<name>/)."""
