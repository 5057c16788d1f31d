"""Labelled positives and unlabelled rows of a user, read and prepared in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from puoc.datasets.audit.result import Audited
from puoc.datasets.readers.columns import Column, profile_of, unmet
from puoc.datasets.readers.file_differences import FileDifferences, checked
from puoc.datasets.readers.holdout import Repeats, withhold_contents, withhold_rows
from puoc.datasets.readers.images import PicturePreparing, RawPictures, fit_pictures
from puoc.datasets.readers.labelled_parts import joined, labelled_parts
from puoc.datasets.readers.labels import labels_of
from puoc.datasets.readers.options import How
from puoc.datasets.readers.preprocess import TablePreparing, fit_table
from puoc.datasets.readers.raw_table import RawTable
from puoc.datasets.readers.row_contents import contents_of
from puoc.datasets.readers.tables import read_table
from puoc.datasets.readers.texts import RawTexts, TextPreparing, fit_texts
from puoc.datasets.readers.training_files import (
    Paths,
    Raw,
    TrainingFiles,
    plain_rows,
    read_raw,
    read_training,
    same_kind,
)
from puoc.datasets.readers.unseen import Block, Unseen, UnseenCounter
from puoc.records import Array

#: Fitted preprocessing from a file to rows, as a model file stores it.
Preparing = Annotated[TablePreparing | TextPreparing | PicturePreparing, Field(discriminator="kind")]


@dataclass(frozen=True)
class Rows:
    """Prepared rows of one file or folder."""

    where: str
    X: Array  # (n, *shape): float32, of pictures uint8
    numbers: NDArray[np.int64]  # (n,) row of the file, or position of a picture among the sorted names, from 1
    raw: Raw  # unprepared
    positive: NDArray[np.bool_] | None = None  # (n,) of labelled test rows
    notes: tuple[str, ...] = ()  # findings: missing values, values that training did not have, labels
    unseen: Unseen | None = None  # what these rows hold that the training rows did not

    def __len__(self) -> int:
        return len(self.X)


@dataclass(frozen=True)
class Pair:
    """Training rows of a method, and the labelled test rows if there are any."""

    positives: Rows
    unlabelled: Rows | None
    test: Rows | None
    held: Rows | None  # labelled positives that were withheld from the fit
    preparing: TablePreparing | TextPreparing | PicturePreparing
    how: How
    profile: tuple[Column, ...] = ()  # of a table's columns
    audited: Audited | None = None  # what each column of a table says about the side of a row
    notes: tuple[str, ...] = field(default=())
    differences: tuple[FileDifferences, ...] = ()  # of P and U, and of the parts of the test rows, as they were saved

    def column_notes(self) -> list[str]:
        """Return the columns that are not used, and warnings about the others, with those of the audit."""
        left_out = getattr(self.preparing, "left_out", {})
        doubts = [f"column {c.name!r}: {c.note}" for c in self.profile if c.note and c.read_as != "left out"]
        return [
            *(f"column {name!r} left out: {why or 'as asked'}" for name, why in left_out.items()),
            *doubts,
            *self.remarks(),
        ]

    def remarks(self) -> list[str]:
        """Return the notes of the audit of the columns."""
        return [] if self.audited is None else self.audited.remarks()

    @property
    def marks(self) -> tuple[str, ...]:
        """Return the warnings on every result of these files: differences in how they were saved."""
        return tuple(one.mark() for one in self.differences if one.seen)

    @property
    def X_p(self) -> Array:  # noqa: N802
        """Return the labelled positives (n_p, *shape) as stored; pictures are not divided by ``preparing.scale``."""
        return self.positives.X

    @property
    def X_u(self) -> Array | None:  # noqa: N802
        """Return the unlabelled rows (n_u, *shape), or None."""
        return None if self.unlabelled is None else self.unlabelled.X

    def read(self, path: Path) -> Rows:
        """Read further rows without labels and prepare them as these. Raises ValueError as ``read_pair``."""
        return _rows(self.preparing, read_raw(Path(path), self.how), None, ())


def read_pair(
    positives: Path | None = None,
    unlabelled: Path | None = None,
    how: How | None = None,
    *,
    data: Path | None = None,
    test: Path | None = None,
    from_positives: bool = False,
    withhold: float = 0.0,
    seed: int = 0,
    repeats: Repeats | None = None,
) -> Pair:
    """Read a user's data and fit their preprocessing to the training rows.

    Parameters
    ----------
    positives, unlabelled : two files or folders.
    data : in place of both, a table; its column ``how.label`` marks the labelled positives.
    test : a table with that column; for pictures and texts, a folder with the parts ``positive`` and ``negative``.
    from_positives : fit the preprocessing to the labelled positives alone, as a one-class method requires.
    withhold, seed : share of the positives to withhold, drawn by the seed. The preprocessing is not fitted to them.
    repeats : treatment of equal positives among which some are withheld. Copies stay ``together`` and count once; rows
        that repeat by nature are drawn ``apart``. Absent: many equal positives raise an error.

    Raises
    ------
    ValueError : a file cannot be read, or in two ways; the files do not fit each other; ``how`` has an option that does
        not apply to this kind of rows; a label is given without a labelled file; files were saved in different ways;
        all or no rows would be withheld; or many rows repeat and ``repeats`` is absent.
    """
    how = how or How()
    paths = [None if path is None else Path(path) for path in (positives, unlabelled, data, test)]
    files = read_training(Paths(*paths), how)
    P, U, notes = files.P, files.U, list(files.notes)
    how.check_applicable(P.kind)
    differences = _differences(P, U, how)
    with_u = [] if U is None or from_positives else [U]
    P, withheld, warnings = _withheld(P, with_u, how, withhold, seed, repeats)
    notes += warnings
    training = [P, *with_u]
    preparing, profile = fit_preparing(training, how, one_class=not with_u)
    tested = None
    if test is not None:
        tested, more = _test_rows(preparing, Path(test), how, files)
        differences += more
    return Pair(
        _rows(preparing, P, None, (), trained_on=True),
        None if U is None else _rows(preparing, U, None, (), trained_on=bool(with_u)),
        tested,
        None if withheld is None else _rows(preparing, withheld, None, ()),
        preparing,
        how,
        tuple(profile),
        files.audited,
        (
            *notes,
            *unmet([part for part in training if isinstance(part, RawTable)], how),
            *_note_on_tokens(preparing, how),
            *(note for one in differences for note in (*one.notes, *([one.mark()] if one.seen else []))),
        ),
        tuple(differences),
    )


def pair_of_tables(
    P: RawTable,
    U: RawTable | None,
    how: How,
    *,
    from_positives: bool = False,
    withhold: float = 0.0,
    seed: int = 0,
    repeats: Repeats | None = None,
) -> Pair:
    """Fit the preprocessing to tables that are already in memory; parameters and errors as ``read_pair``.

    The columns are not audited, since the rows come from memory and not from files.
    """
    with_u: list[Raw] = [] if U is None or from_positives else [U]
    rest, held, notes = _withheld(P, with_u, how, withhold, seed, repeats)
    preparing, profile = fit_preparing([rest, *with_u], how, one_class=not with_u)
    return Pair(
        _rows(preparing, rest, None, (), trained_on=True),
        None if U is None else _rows(preparing, U, None, (), trained_on=bool(with_u)),
        None,
        None if held is None else _rows(preparing, held, None, ()),
        preparing,
        how,
        tuple(profile),
        None,
        notes,
    )


def _withheld(
    P: Raw, with_u: Sequence[Raw], how: How, share: float, seed: int, repeats: Repeats | None
) -> tuple[Raw, Raw | None, tuple[str, ...]]:
    """Return the positives to learn from, those withheld (None for a share of 0), and notes."""
    if not share:
        return P, None, ()
    if repeats == "apart":
        return withhold_rows(P, share, seed)
    keys = contents_of(P, fit_preparing([P, *with_u], how, one_class=not with_u)[0])
    return withhold_contents(P, keys, share, seed, repeats)


def _differences(raw: Raw, other: Raw | None, how: How) -> list[FileDifferences]:
    """Compare how the rows of two files were saved. Raises ValueError for a difference that a method can learn."""
    if isinstance(raw, RawPictures | RawTexts) and isinstance(other, RawPictures | RawTexts):
        return [checked(raw, other, how)]
    return []


def _note_on_tokens(preparing: Preparing, how: How) -> tuple[str, ...]:
    """Return a note if sequences of characters were taken in place of words."""
    if how.tokens is not None or not isinstance(preparing, TextPreparing) or preparing.tokens != "characters":
        return ()
    return (
        "texts are represented by sequences of one to three characters, since fewer than half of the training texts "
        "share a word with another one; --tokens words takes words all the same",
    )


def fit_preparing(training: Sequence[Raw], how: How, one_class: bool) -> tuple[Preparing, list[Column]]:
    """Fit the preprocessing to training rows, which are all of one kind; ``one_class``: labelled positives alone.

    Raises
    ------
    ValueError : as ``profile_of``; or pictures of different sizes.
    """
    if tables := [part for part in training if isinstance(part, RawTable)]:
        profile = profile_of(tables, how, one_class=one_class)
        return fit_table(tables, profile, how), profile
    if texts := [part for part in training if isinstance(part, RawTexts)]:
        return fit_texts(texts, how), []
    return fit_pictures([part for part in training if isinstance(part, RawPictures)], how), []


def _test_rows(preparing: Preparing, path: Path, how: How, files: TrainingFiles) -> tuple[Rows, list[FileDifferences]]:
    """Return the labelled test rows, and how the files of positives and negatives differ."""
    if files.test is not None:
        return _rows(preparing, files.test.table, files.test.positive, (files.test_note,)), []
    if isinstance(preparing, TextPreparing) and preparing.column:
        table = read_table(path, how)
        labels = labels_of(table, how, "negative")
        plain = plain_rows(table.without([str(how.label)]), how)
        return _rows(preparing, plain, labels.positive, (labels.note,)), []
    parts = labelled_parts(path, how, preparing.kind)
    positive = np.repeat([True, False], [len(part) for part in parts])
    differences = _differences(parts[0], parts[1], how)
    return _rows(preparing, joined(parts, str(path)), positive, ()), differences


def _rows(
    preparing: Preparing,
    raw: Raw,
    positive: NDArray[np.bool_] | None,
    notes: tuple[str, ...],
    *,
    trained_on: bool = False,
) -> Rows:
    """Return prepared rows; what they hold that training rows did not is no news of rows that are ``trained_on``."""
    same_kind(raw, preparing)
    block = prepared(preparing, raw)
    counter = counter_of(preparing)
    counter.add(block)
    unseen = counter.result(trained_on=trained_on)
    warnings = [f"{raw.where}: {note}" for note in (*block.notes, *unseen.lines())]
    return Rows(raw.where, block.X, raw.row_numbers(), raw, positive, (*notes, *warnings), unseen)


def counter_of(preparing: Preparing) -> UnseenCounter:
    """Return a counter of what rows hold that the training rows did not."""
    return preparing.counter() if isinstance(preparing, TablePreparing) else UnseenCounter({})


def prepared(preparing: Preparing, raw: Raw) -> Block:
    """Prepare rows of the kind that the preprocessing was fitted to. Raises ValueError for rows that do not fit it."""
    if isinstance(preparing, TablePreparing) and isinstance(raw, RawTable):
        return preparing.apply(raw)
    if isinstance(preparing, TextPreparing) and isinstance(raw, RawTexts):
        return preparing.apply(raw)
    assert isinstance(preparing, PicturePreparing), "the kinds are equal"
    assert isinstance(raw, RawPictures), "the kinds are equal"
    return preparing.apply(raw)
