"""Test rows of pictures or texts, which are read from the parts ``positive`` and ``negative`` of a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from puoc.datasets.readers.images import RawPictures
from puoc.datasets.readers.options import How
from puoc.datasets.readers.texts import RawTexts
from puoc.datasets.readers.training_files import (
    Raw,
    read_raw,
    same_kind,
)

#: Fitted preprocessing from a file to rows, as a model file stores it.


def labelled_parts(path: Path, how: How, kind: str) -> list[Raw]:
    """Read the parts positive and negative of test rows of pictures or texts. Raises ValueError as ``read_pair``."""
    for option, value in (("--label", how.label), ("--positive", how.positive)):
        if value is not None:
            raise ValueError(
                f"{option}: got {value!r}, and the test rows of {kind} are read from the parts positive and "
                f"negative of {path}, which have no columns; expected no {option}, or a table for --test and for the "
                "others"
            )
    suffix = "" if how.kind_of(path / "positive") == "images" or (path / "positive").is_dir() else ".txt"
    parts = [read_raw(path / f"{name}{suffix}", how) for name in ("positive", "negative")]
    same_kind(parts[1], parts[0])
    return parts


def joined(parts: Sequence[Raw], where: str) -> RawPictures | RawTexts:
    """Return pictures or texts of several files as one."""
    notes = tuple(note for part in parts for note in part.notes)
    if pictures := [part for part in parts if isinstance(part, RawPictures)]:
        return RawPictures(where, [path for part in pictures for path in part.paths], notes=notes)
    texts = [text for part in parts if isinstance(part, RawTexts) for text in part.texts]
    return RawTexts(where, texts, notes=notes)
