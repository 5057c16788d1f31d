"""Raw files without an address, and files that are verified by their values because sources encode them differently."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from puoc.datasets.declare.dataset import RawFile


@dataclass(frozen=True, kw_only=True)
class HandedFile(RawFile):
    """A file that a user can or must obtain by hand. ``obtain`` is the advice to show if no source has it."""

    obtain: str = ""


@dataclass(frozen=True, kw_only=True)
class ReadFile(HandedFile):
    """A file whose ``size`` and ``sha256`` are those of the bytes, row by row, of the array that ``read`` returns.

    Blanks, line ends or the compression of a picture then do not matter, but a changed value does. ``read`` may raise
    any kind of error for another file, since the library that reads it depends on the format. An empty ``sha256`` means
    that the content is not known: the file only has to be readable.
    """

    read: Callable[[Path], NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class ReadFolder(ReadFile):
    """A folder of files that belong together; ``path`` is its name, and ``read`` takes the folder."""

    #: maps a source's folder to the files that belong to the dataset, by the name that each file gets
    members: Callable[[Path], Mapping[str, Path]]
