"""What training and test rows share: rows of equal content, texts equal in their normal form, near-duplicate pictures.

Pictures are near-duplicates where their grey thumbnails of 8 x 8 correlate by at least .98. That finds pictures saved
again, resized, brightened or with noise; not shifted, cropped or mirrored ones (docs/own-data.md has the rates).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from puoc.datasets.texts import normal_form
from puoc.own import Pair, RawTable, Rows
from puoc.own.pictures import RawPictures
from puoc.own.preparing import NumberColumn, TablePreparing
from puoc.own.texts import RawTexts

NEAR = 0.98  # least correlation of thumbnails
_SIDE = 8
_PAIRS = 1 << 24  # compared at once
_EXAMPLES = 3

Keys = NDArray[np.int64]


class Overlap(NamedTuple):
    """Rows of one file that another one has too."""

    what: str  # equal rows, equal texts, near-duplicate pictures
    where: str
    other: str
    rows: int  # of ``where`` that have a companion
    of: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        share = f"{self.rows} of {self.of} rows of {self.where}"
        return f"{self.what}: {share} are in {self.other} too, such as {'; '.join(self.examples)}"


class Audit(NamedTuple):
    """Overlap that makes a test worthless, and what is worth knowing otherwise."""

    leaks: list[Overlap]  # between training and test rows
    notes: list[Overlap]  # between labelled and unlabelled rows

    @property
    def marks(self) -> tuple[str, ...]:
        """What stands on everything that was made in spite of the leaks."""
        return tuple(f"overlap allowed: {leak.rows} of {leak.of} test rows ({leak.what})" for leak in self.leaks)


def audit(pair: Pair) -> Audit:
    """Compare a user's files with each other."""
    parts = [rows for rows in (pair.positives, pair.held, pair.unlabelled, pair.test) if rows is not None]
    keys, what = _keys(parts, pair)
    named = {id(part): key for part, key in zip(parts, keys, strict=True)}

    def shared(rows: Rows, other: Rows) -> list[Overlap]:
        equal = _companions(named[id(rows)], named[id(other)])
        found = [_overlap(what, rows, other, equal)]
        if isinstance(rows.raw, RawPictures):
            near = np.where(equal >= 0, -1, _nearest(rows.X, other.X))
            found.append(_overlap("near-duplicate pictures", rows, other, near))
        return [one for one in found if one.rows]

    training = [part for part in parts if part is not pair.test]
    leaks = [] if pair.test is None else [one for part in training for one in shared(pair.test, part)]
    notes = [] if pair.unlabelled is None else shared(pair.positives, pair.unlabelled)
    return Audit(leaks, notes)


def _keys(parts: Sequence[Rows], pair: Pair) -> tuple[list[Keys], str]:
    """Numbers (n,) of each part's rows: equal numbers mean equal content."""
    raws: list[Any] = [part.raw for part in parts]
    if isinstance(raws[0], RawTexts):
        whole, what = (
            pd.factorize(pd.Series([normal_form(text) for raw in raws for text in raw.texts]))[0],
            "equal texts",
        )
    elif isinstance(raws[0], RawTable):
        assert isinstance(pair.preparing, TablePreparing)
        whole, what = _of_tables(raws, pair.preparing), "equal rows"
    else:
        contents = [row.tobytes() for part in parts for row in part.X]
        whole, what = pd.factorize(pd.Series(contents))[0], "equal pictures"
    ends = np.cumsum([len(part) for part in parts])[:-1]
    return list(np.split(np.asarray(whole, dtype=np.int64), ends)), what


def _of_tables(tables: Sequence[RawTable], preparing: TablePreparing) -> Keys:
    found = np.zeros(sum(map(len, tables)), dtype=np.int64)
    for column in preparing.columns:
        if isinstance(column, NumberColumn):
            cells: Any = np.concatenate([table.numbers(column.name, preparing.missing) for table in tables]) + 0.0
        else:
            cells = [text for table in tables for text in table.texts(column.name, preparing.missing).to_pylist()]
            cells = pd.Series(cells, dtype=object)
        codes, values = pd.factorize(cells, use_na_sentinel=False)
        found = pd.factorize(found * len(values) + codes)[0]  # both are below the number of rows
    return found


def thumbnails(X: NDArray[Any]) -> NDArray[np.float32]:
    """Pictures (n, channels, height, width) uint8 as (n, 64) of mean 0 and length 1; zeros where all is one colour."""
    from PIL import Image

    found = np.empty((len(X), _SIDE * _SIDE), dtype=np.float32)
    for row, picture in zip(found, X, strict=True):
        plain = picture[0] if len(picture) == 1 else picture.transpose(1, 2, 0)
        small = Image.fromarray(plain).convert("L").resize((_SIDE, _SIDE), Image.Resampling.BOX)
        row[:] = np.asarray(small, dtype=np.float32).ravel()
    found -= found.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return np.where(lengths > _SIDE, found / np.maximum(lengths, 1), 0).astype(np.float32)  # one grey level a pixel


def _nearest(X: NDArray[Any], others: NDArray[Any]) -> Keys:
    """For each picture the place of the likest one among the others, -1 where none is near."""
    a, b = thumbnails(X), thumbnails(others)
    found = np.full(len(a), -1, dtype=np.int64)
    step = max(1, _PAIRS // max(1, len(b)))
    for start in range(0, len(a), step):
        likeness = a[start : start + step] @ b.T
        best = likeness.argmax(axis=1)
        near = likeness[np.arange(len(best)), best] >= NEAR
        found[start : start + step] = np.where(near, best, -1)
    return found


def _companions(keys: Keys, others: Keys) -> Keys:
    """For each key the place of the first equal one among the others, -1 where there is none."""
    known, first = np.unique(others, return_index=True)
    places = np.searchsorted(known, keys).clip(max=len(known) - 1)
    found: Keys = np.where(known[places] == keys, first[places], -1)
    return found


def _overlap(what: str, rows: Rows, other: Rows, companions: Keys) -> Overlap:
    shared = np.flatnonzero(companions >= 0)
    examples = tuple(f"{_named(rows, int(i))} = {_named(other, int(companions[i]))}" for i in shared[:_EXAMPLES])
    return Overlap(what, rows.where, other.where, len(shared), len(rows), examples)


def _named(rows: Rows, index: int) -> str:
    """A row as a person finds it."""
    raw: Any = rows.raw
    if isinstance(raw, RawPictures):
        return raw.paths[index].name
    number = int(rows.numbers[index])
    if isinstance(raw, RawTexts):
        text = raw.texts[index]
        return f"row {number} {text if len(text) <= 60 else text[:57] + '...'!r}"
    return f"row {number}"
