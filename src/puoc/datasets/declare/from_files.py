"""Declarations of datasets whose files nobody here has seen: they follow from the files that a user has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from puoc.datasets.declare.dataset import Dataset, content_digest

T = TypeVar("T")


class Facts(NamedTuple):
    """What a dataset declares, taken from its arrays."""

    counts: Mapping[str, tuple[int, ...]]
    digest: str


class OfTheFiles(Generic[T]):
    """A class attribute looked up in the files of ``data/<name>``; ``otherwise`` where they are not all there.

    So a plan can be made before they are. Made anew once they are, it asks with their digest.
    """

    def __init__(self, take: Callable[[Facts], T], otherwise: T) -> None:
        self.take, self.otherwise = take, otherwise

    def __get__(self, _: object, owner: type[Dataset]) -> T:
        """The attribute.

        Raises
        ------
        ValueError : the files are there and cannot be read.
        """
        folder = Path("data") / owner.name
        if not all((folder / file.path).is_dir() for file in owner.files):
            return self.otherwise
        state = [(path, path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(folder.rglob("*"))]
        try:
            return self.take(_facts(owner, folder.resolve(), tuple(state)))
        except (OSError, ValueError) as error:
            raise ValueError(f"{folder} cannot be read: {error}; mend it, or remove it from there") from error


@cache
def _facts(owner: type[Dataset], folder: Path, state: tuple[tuple[Path, int, int], ...]) -> Facts:
    arrays = owner.load(folder)
    counts = tuple(np.bincount(arrays.y, minlength=len(owner.classes)).tolist())
    return Facts({"all": counts}, content_digest(arrays))
