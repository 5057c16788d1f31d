"""The files of a user as unprepared rows: labelled positives, unlabelled rows and a labelled test, checked together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from puoc.datasets.audit.result import Audited
from puoc.datasets.readers.columns import check_columns, looked_at
from puoc.datasets.readers.doubts import Doubt
from puoc.datasets.readers.images import RawPictures, list_pictures
from puoc.datasets.readers.labels import labels_of
from puoc.datasets.readers.options import How
from puoc.datasets.readers.raw_table import RawTable, split_rows
from puoc.datasets.readers.side_audit import Labelled, SideAudit
from puoc.datasets.readers.tables import read_table
from puoc.datasets.readers.texts import RawTexts, read_texts, texts_in

Raw = RawTable | RawTexts | RawPictures
T = TypeVar("T", RawTable, RawTexts)


class Paths(NamedTuple):
    """Paths of a user's files, as ``read_pair`` takes them."""

    positives: Path | None = None
    unlabelled: Path | None = None
    data: Path | None = None
    test: Path | None = None
    incoming: Path | None = None  # for an audit alone


class TrainingFiles(NamedTuple):
    """Unprepared rows of a user's files."""

    P: Raw
    U: Raw | None
    test: Labelled | None  # absent: there is none, or it is no table
    test_note: str  # describes how its labels were read
    audited: Audited | None  # of a table
    notes: tuple[str, ...]
    incoming: RawTable | None = None  # of an audit


def read_raw(path: Path, how: How) -> Raw:
    """Read a file or folder. Raises ValueError with the value, the expected one and the option that changes it."""
    kind = how.kind_of(path)
    if not path.exists():
        raise ValueError(f"{path}: there is no such file or folder")
    if kind == "images":
        return list_pictures(path)
    return read_texts(path, how) if kind == "texts" else read_table(path, how)


def read_training(paths: Paths, how: How) -> TrainingFiles:
    """Read the files and check their columns.

    Raises
    ------
    DoubtfulColumns : as ``check_columns``.
    ValueError : a file cannot be read, or in two ways; the files do not fit each other.
    """
    return _read(paths, how, check_columns)


def audit_files(paths: Paths, how: How) -> tuple[TrainingFiles, list[Doubt]]:
    """Read the files, and return them with all doubts about their columns. Raises ValueError as ``read_training``."""
    doubts: list[Doubt] = []

    def checked(files: list[RawTable], how: How, audit: SideAudit) -> Audited:
        _, found, audited = looked_at(files, how, audit)
        doubts.extend(found)
        return audited

    return _read(paths, how, checked), doubts


_Check = Callable[[list[RawTable], How, SideAudit], Audited]


def _read(paths: Paths, how: How, check: _Check) -> TrainingFiles:
    positives, unlabelled, data, test, incoming = paths
    for option, given in (("--label", how.label), ("--positive", how.positive)):
        if given is not None and data is None and test is None:
            raise ValueError(f"{option}: got {given!r}, and without --data or --test nothing has labels")
    if how.kind is not None:
        how.check_applicable(how.kind)
    if data is not None:
        if positives is not None or unlabelled is not None:
            raise ValueError("got one file with labels, and files of positives or unlabelled rows; expected one way")
        return _one_file(data, how, test, incoming, check)
    if positives is None:
        raise ValueError("no labelled positives; expected a file of them, or one file with a label column")
    P = _without_label(read_raw(positives, how), how)
    U = None
    if unlabelled is not None:
        U = _without_label(read_raw(unlabelled, how), how)
        same_kind(U, P)
    tables = [part for part in (P, U) if isinstance(part, RawTable)]
    if not tables:
        return TrainingFiles(P, U, None, "", None, ())
    labelled, note = _labelled_test(test, how)
    later = _incoming(incoming, how)
    audited = check(tables, how, SideAudit(tables, None, labelled, later))
    return TrainingFiles(P, U, labelled, note, audited, (), later)


def _one_file(path: Path, how: How, test: Path | None, incoming: Path | None, check: _Check) -> TrainingFiles:
    """Return the rows with the positive label as P, and the others as U."""
    table = read_table(path, how)
    labels = labels_of(table, how, "unlabelled")
    plain = plain_rows(table.without([str(how.label)]), how)
    if not isinstance(plain, RawTable):
        texts = _named_apart(plain.rows(labels.positive), plain.rows(~labels.positive))
        return TrainingFiles(*texts, None, "", None, (labels.note,))
    labelled, note = _labelled_test(test, how)
    later = _incoming(incoming, how)
    audited = check([plain], how, SideAudit([plain], labels.positive, labelled, later))
    whole = [plain]
    del table, plain
    tables = split_rows(whole, labels.positive)
    return TrainingFiles(*_named_apart(*tables), labelled, note, audited, (labels.note,), later)


def _named_apart(labelled: T, unlabelled: T) -> tuple[T, T]:
    """Return both parts of one file with names that differ, since messages and counts are by name."""
    where = labelled.where
    return replace(labelled, where=f"{where} (labelled)"), replace(unlabelled, where=f"{where} (unlabelled)")


def _labelled_test(path: Path | None, how: How) -> tuple[Labelled | None, str]:
    """Return the rows of a test table, without the label column, and a note on how the labels were read."""
    if path is None:
        return None, ""
    table = read_table(path, how)
    labels = labels_of(table, how, "negative")
    return Labelled(table.without([str(how.label)]), labels.positive), labels.note


def _incoming(path: Path | None, how: How) -> RawTable | None:
    return None if path is None else read_table(path, how)


def plain_rows(table: RawTable, how: How) -> RawTable | RawTexts:
    """Return the rows of a table, or its texts if the options name a column of texts."""
    if how.text is None:
        return table
    return texts_in(table, how.text, how.missing)


def _without_label(raw: Raw, how: How) -> Raw:
    """Return rows without the label column, which two separate files may still have."""
    if isinstance(raw, RawTable) and how.label is not None and how.label in raw.columns:
        return raw.without([how.label])
    return raw


def same_kind(raw: Raw, other: object) -> None:
    """Reject rows of another kind than other rows, or than the training rows of a model."""
    kind = getattr(other, "kind", None)
    if raw.kind != kind:
        where = getattr(other, "where", "the training rows")
        raise ValueError(
            f"{raw.where} is read as {raw.kind}, and {where} as {kind}; expected the same: use --kind table, "
            "images or texts, or give both in one form"
        )
