"""Whether a file is the declared one."""

from __future__ import annotations

from hashlib import file_digest
from pathlib import Path
from typing import NamedTuple

from puoc.datasets.dataset import RawFile

DAMAGED = "the source is damaged, or not the version that puoc knows"


class FetchError(ValueError):
    """A raw file could not be had, or is not what it should be."""


class Found(NamedTuple):
    """What a file on disk really is."""

    size: int
    sha256: str


def hexdigest(path: Path, algorithm: str) -> str:
    """Checksum of a file of any size."""
    with path.open("rb") as file:
        return file_digest(file, algorithm).hexdigest()


def check(path: Path, raw: RawFile, advice: str, where: str | None = None) -> None:
    """Raise a FetchError unless the file has the declared size and sha256."""
    size = path.stat().st_size
    sha256 = hexdigest(path, "sha256")
    if Found(size, sha256) != Found(raw.size, raw.sha256):
        raise FetchError(
            f"{where or path}: got {size} bytes with sha256 {sha256}, expected {raw.size} bytes with sha256 "
            f"{raw.sha256}; {advice}"
        )


def is_verified(path: Path, raw: RawFile, replace: bool) -> bool:
    """Whether the file is there and right; wrong is an error unless it may be replaced."""
    if not path.is_file():
        return False
    try:
        check(path, raw, "delete it or run `puoc fetch --replace`")
    except FetchError:
        if replace:
            return False
        raise
    return True
