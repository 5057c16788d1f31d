"""Whether a file is the declared one."""

from __future__ import annotations

from hashlib import file_digest, sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from puoc.datasets.declare.content_checked import ReadFile, ReadFolder
from puoc.datasets.declare.dataset import RawFile

DAMAGED = "the source is damaged, or not the version that puoc knows"


class FetchError(ValueError):
    """A raw file could not be had, or is not what it should be."""


class Found(NamedTuple):
    """What a file on disk really is, or what is read from it."""

    size: int
    sha256: str


def hexdigest(path: Path, algorithm: str) -> str:
    """Checksum of a file of any size."""
    with path.open("rb") as file:
        return file_digest(file, algorithm).hexdigest()


def check(path: Path, raw: RawFile, advice: str, where: str | None = None) -> None:
    """Raise a FetchError unless the file, or what is read from it, has the declared size and sha256."""
    found = _found(path, raw, advice, where or str(path))
    if raw.sha256 and found != Found(raw.size, raw.sha256):
        what = "values of " if isinstance(raw, ReadFile) else ""
        raise FetchError(
            f"{where or path}: got {what}{found.size} bytes with sha256 {found.sha256}, expected {raw.size} bytes with "
            f"sha256 {raw.sha256}; {advice}"
        )


def _found(path: Path, raw: RawFile, advice: str, where: str) -> Found:
    if not isinstance(raw, ReadFile):
        return Found(path.stat().st_size, hexdigest(path, "sha256"))
    try:
        values = raw.read(path)
    except MemoryError:  # says nothing of the file
        raise
    except Exception as error:  # a damaged file fails with whatever the library that reads its format raises
        raise FetchError(f"{where} cannot be read: {error or type(error).__name__}; {advice}") from error
    content = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).data
    return Found(content.nbytes, sha256(content).hexdigest())


def is_there(path: Path, raw: RawFile) -> bool:
    """Whether there is such a file, or such a folder where one is declared."""
    return path.is_dir() if isinstance(raw, ReadFolder) else path.is_file()


def is_verified(path: Path, raw: RawFile, replace: bool) -> bool:
    """Whether the file is there and right; wrong is an error unless it may be replaced."""
    if not is_there(path, raw):
        return False
    try:
        check(path, raw, "delete it or run `puoc fetch --replace`")
    except FetchError:
        if replace:
            return False
        raise
    return True
