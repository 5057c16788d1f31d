"""Declarations of datasets whose files were not available to the authors of puoc: computed from the user's files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from puoc.datasets.declare.dataset import Dataset, content_digest

T = TypeVar("T")


class Facts(NamedTuple):
    """Declarations of a dataset that are computed from its arrays."""

    counts: Mapping[str, tuple[int, ...]]
    digest: str


class OfTheFiles(Generic[T]):
    """A class attribute computed from the files of ``data/<name>``, or ``otherwise`` if some of them are missing.

    A plan can therefore be made before the files are there. A plan made afterwards contains their digest.
    """

    def __init__(self, take: Callable[[Facts], T], otherwise: T) -> None:
        self.take, self.otherwise = take, otherwise

    def __get__(self, _: object, owner: type[Dataset]) -> T:
        """Return the attribute.

        Raises
        ------
        ValueError : the files exist and cannot be read.
        """
        folder = Path("data") / owner.name
        if not all((folder / file.path).is_dir() for file in owner.files):
            return self.otherwise
        state = [(path, path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(folder.rglob("*"))]
        try:
            return self.take(_facts(owner, folder.resolve(), tuple(state)))
        except (OSError, ValueError) as error:
            raise ValueError(f"{folder} cannot be read: {error}; repair the folder or remove it") from error


@cache
def _facts(owner: type[Dataset], folder: Path, state: tuple[tuple[Path, int, int], ...]) -> Facts:
    arrays = owner.load(folder)
    counts = tuple(np.bincount(arrays.y, minlength=len(owner.classes)).tolist())
    return Facts({"all": counts}, content_digest(arrays))
