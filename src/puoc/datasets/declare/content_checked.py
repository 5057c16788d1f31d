"""Raw files that no address gives, and such as are known by what is read from them: sources write it differently."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from puoc.datasets.declare.dataset import RawFile


@dataclass(frozen=True, kw_only=True)
class HandedFile(RawFile):
    """A file that may be had by hand alone, or by hand too: ``obtain`` is said where it is nowhere."""

    obtain: str = ""


@dataclass(frozen=True, kw_only=True)
class ReadFile(HandedFile):
    """A file whose ``size`` and ``sha256`` are those of the array that ``read`` gives: its bytes, row by row.

    Blanks, line ends or a picture's compression do not matter then, a changed value does. ``read`` may raise any kind
    of error where the file is another one: what reads it differs by format. An empty ``sha256`` is that of a file that
    nobody here has seen: it has to be readable, no more.
    """

    read: Callable[[Path], NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class ReadFolder(ReadFile):
    """A folder of files that belong together; ``path`` is its name, and ``read`` is given the folder."""

    #: the files that belong to it in a source's folder, by the name that each gets
    members: Callable[[Path], Mapping[str, Path]]
