"""Verification of files by their declared size and checksum."""

from __future__ import annotations

from hashlib import file_digest, sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from puoc.datasets.declare.content_checked import ReadFile, ReadFolder
from puoc.datasets.declare.dataset import RawFile

DAMAGED = "the source is damaged, or not the version that puoc knows"


class FetchError(ValueError):
    """Raised if a raw file is not available or has another content than declared."""


class Content(NamedTuple):
    """Size and checksum of a file on disk, or of the values that are read from it."""

    size: int
    sha256: str


def hexdigest(path: Path, algorithm: str) -> str:
    """Return the checksum of a file of any size."""
    with path.open("rb") as file:
        return file_digest(file, algorithm).hexdigest()


def check(path: Path, raw: RawFile, advice: str, where: str | None = None) -> None:
    """Raise FetchError unless the file, or the values read from it, have the declared size and sha256."""
    content = _content(path, raw, advice, where or str(path))
    if raw.sha256 and content != Content(raw.size, raw.sha256):
        kind = "values of " if isinstance(raw, ReadFile) else ""
        raise FetchError(
            f"{where or path}: got {kind}{content.size} bytes with sha256 {content.sha256}, expected {raw.size} bytes "
            f"with sha256 {raw.sha256}; {advice}"
        )


def _content(path: Path, raw: RawFile, advice: str, where: str) -> Content:
    if not isinstance(raw, ReadFile):
        return Content(path.stat().st_size, hexdigest(path, "sha256"))
    try:
        values = raw.read(path)
    except MemoryError:  # not a fault of the file
        raise
    except Exception as error:  # a damaged file fails with whatever the library that reads its format raises
        raise FetchError(f"{where} cannot be read: {error or type(error).__name__}; {advice}") from error
    data = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).data
    return Content(data.nbytes, sha256(data).hexdigest())


def is_there(path: Path, raw: RawFile) -> bool:
    """Return True if the declared file or folder exists."""
    return path.is_dir() if isinstance(raw, ReadFolder) else path.is_file()


def is_verified(path: Path, raw: RawFile, replace: bool) -> bool:
    """Return True for a file of the declared content, False if it is missing.

    Raises
    ------
    FetchError : the file has another content and ``replace`` is False.
    """
    if not is_there(path, raw):
        return False
    try:
        check(path, raw, "delete it or run `puoc fetch --replace`")
    except FetchError:
        if replace:
            return False
        raise
    return True
