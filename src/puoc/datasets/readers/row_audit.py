"""Audit of pictures and texts, which have no columns: how the files were saved, and copies of rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.audit.kin import Copies, Keys, Kin, NearPairs, by_groups, copies_of
from puoc.datasets.audit.near_texts import MOST as MOST_TEXTS
from puoc.datasets.audit.near_texts import near_texts
from puoc.datasets.audit.result import Audited
from puoc.datasets.audit.row_groups import Group
from puoc.datasets.readers.audit_unseen import UnseenRows, unseen_in_rows
from puoc.datasets.readers.file_differences import FileDifferences, between
from puoc.datasets.readers.images import RawPictures, fit_pictures
from puoc.datasets.readers.labelled_parts import joined, labelled_parts
from puoc.datasets.readers.labels import labels_of
from puoc.datasets.readers.near_duplicates import near_duplicates
from puoc.datasets.readers.options import How
from puoc.datasets.readers.pu_data import Pair, Rows
from puoc.datasets.readers.raw_table import RawTable
from puoc.datasets.readers.row_contents import of_pictures, of_texts
from puoc.datasets.readers.side_kin import times_in
from puoc.datasets.readers.tables import read_table
from puoc.datasets.readers.texts import RawTexts
from puoc.datasets.readers.training_files import Paths, Raw, TrainingFiles, plain_rows, read_raw, same_kind
from puoc.datasets.readers.words import same_text
from puoc.records import Array

NEAR_TEXTS: Final = (
    "the same but for numbers, or with three fifths of their pairs of neighbouring words in common, eight at least"
)
NEAR_PICTURES: Final = "the same picture saved again, resized, brightened or with noise; not looked for within a group"
_PIXELS: Final = 32  # to which pictures of any size are brought
_MOST: Final = 5_000  # pictures of a group that are compared, evenly spaced

_DIGITS = re.compile(r"\d+")


class Pictures(NamedTuple):
    """Pictures of a group as arrays of one shape."""

    X: Array  # (n, channels, height, width)
    numbers: NDArray[np.int64]  # (n,) in their folder


class RowAudit(NamedTuple):
    """Audit of pictures or texts."""

    audited: Audited
    differences: tuple[FileDifferences, ...]
    unseen: tuple[UnseenRows, ...]


def audit_rows(files: TrainingFiles, paths: Paths, how: How) -> RowAudit:
    """Audit files of pictures or texts. Raises ValueError for rows of different kinds or a damaged picture."""
    P, U = files.P, files.U
    groups: dict[Group, Raw] = {"P": P} if U is None else {"P": P, "U": U}
    differences = []
    if paths.test is not None and how.text is not None:
        table = read_table(paths.test, how)
        labels_of(table, how, "negative")
        groups["test"] = plain_rows(table.without([str(how.label)]), how)
    elif paths.test is not None:
        parts = labelled_parts(paths.test, how, P.kind)
        same_kind(parts[0], P)
        differences += _between(parts[0], parts[1], how)
        groups["test"] = joined(parts, str(paths.test))
    incoming: Raw | None = None
    if paths.incoming is not None:
        raw = read_raw(paths.incoming, how)
        incoming = raw if isinstance(raw, RawPictures | RawTexts) else plain_rows(raw, how)
        same_kind(incoming, P)
    differences = [*_between(P, U, how), *differences, *_between(U, incoming, how)]
    n_u = 0 if U is None else len(U)
    audited = Audited(n_p=len(P), n_u=n_u, tests=0, columns=(), kin=_kin_of(groups, how))
    return RowAudit(
        audited, tuple(differences), _unseen(groups if incoming is None else groups | {"incoming": incoming}, how)
    )


def _unseen(groups: Mapping[Group, Raw], how: How) -> tuple[UnseenRows, ...]:
    """Return what later rows hold beside the training rows; of many pictures, of evenly spaced ones in a small size."""
    if not any(isinstance(raw, RawPictures) for raw in groups.values()):
        return unseen_in_rows(groups, how)
    small = how.model_copy(update={"pixels": min(how.pixels or _PIXELS, _PIXELS)})
    return unseen_in_rows({group: raw.rows(_mask(len(raw))) for group, raw in groups.items()}, small)


def _between(here: Raw | None, there: Raw | None, how: How) -> list[FileDifferences]:
    if isinstance(here, RawPictures | RawTexts) and isinstance(there, RawPictures | RawTexts):
        return [between(here, there, how)]
    return []


def _kin_of(groups: Mapping[Group, Raw], how: How) -> Kin:
    if texts := {group: raw for group, raw in groups.items() if isinstance(raw, RawTexts)}:
        return kin_of_texts(texts)
    pictures = {group: raw for group, raw in groups.items() if isinstance(raw, RawPictures)}
    small = how.model_copy(update={"pixels": min(how.pixels or _PIXELS, _PIXELS)})
    some = {group: raw.rows(_mask(len(raw))) for group, raw in pictures.items()}
    preparing = fit_pictures(list(some.values()), small)
    return kin_of_pictures({g: Pictures(preparing.apply(raw).X, raw.row_numbers()) for g, raw in some.items()})


def kin_of_pair(pair: Pair, incoming: Rows | None = None) -> Kin | None:
    """Return the copies among the rows of a pair; of a table, as its audit found them, with the times of new rows."""
    given: dict[Group, Rows | None] = {"P": pair.positives, "U": pair.unlabelled, "test": pair.test}
    groups = {group: rows for group, rows in given.items() if rows is not None}
    if texts := {group: rows.raw for group, rows in groups.items() if isinstance(rows.raw, RawTexts)}:
        return kin_of_texts(texts)
    if isinstance(pair.positives.raw, RawPictures):
        masks = {group: _mask(len(rows)) for group, rows in groups.items()}
        return kin_of_pictures({g: Pictures(rows.X[masks[g]], rows.numbers[masks[g]]) for g, rows in groups.items()})
    kin = None if pair.audited is None else pair.audited.kin
    if kin is None or incoming is None:
        return kin
    timed: dict[Group, Rows] = {**groups, "incoming": incoming}
    tables = {group: rows.raw for group, rows in timed.items() if isinstance(rows.raw, RawTable)}
    times = [times_in(one.column, tables, pair.how) or one for one in kin.times]
    return kin.model_copy(update={"times": tuple(times)})


def kin_of_texts(groups: Mapping[Group, RawTexts]) -> Kin:
    """Return the texts that are equal without case, marks and blanks, and those that differ in numbers alone."""
    raws = list(groups.values())
    ends = np.cumsum([len(raw) for raw in raws])[:-1]
    exact, near = (np.split(of_texts(raws, form), ends) for form in (same_text, _without_numbers))
    keys = {
        group: Keys(exact[i], (near[i],), np.asarray(raw.row_numbers()))
        for i, (group, raw) in enumerate(groups.items())
    }
    return Kin(what="texts", near_means=NEAR_TEXTS, copies=copies_of(keys, _near_texts(groups, exact)))


def _near_texts(groups: Mapping[Group, RawTexts], exact: Sequence[NDArray[np.int64]]) -> NearPairs:
    """Return pairs of texts that share most of their words, by their groups; of many texts, of evenly spaced ones."""
    some = [np.linspace(0, len(raw) - 1, min(len(raw), MOST_TEXTS)).astype(np.int64) for raw in groups.values()]
    texts = [same_text(raw.texts[at]) for raw, places in zip(groups.values(), some, strict=True) for at in places]
    first, second = near_texts(texts, np.concatenate([keys[places] for keys, places in zip(exact, some, strict=True)]))
    return by_groups(list(groups), some, first, second)


def kin_of_pictures(groups: Mapping[Group, Pictures]) -> Kin:
    """Return equal pictures, and near-duplicates between groups."""
    ends = np.cumsum([len(found.X) for found in groups.values()])[:-1]
    exact = np.split(of_pictures([found.X for found in groups.values()]), ends)
    keys = {group: Keys(exact[i], (), found.numbers) for i, (group, found) in enumerate(groups.items())}
    copies = tuple(one if one.second is None else _with_near(one, groups, keys) for one in copies_of(keys))
    return Kin(what="pictures", near_means=NEAR_PICTURES, copies=copies)


def _with_near(copies: Copies, groups: Mapping[Group, Pictures], keys: Mapping[Group, Keys]) -> Copies:
    assert copies.second is not None, "two groups are compared"
    here, there = groups[copies.first], groups[copies.second]
    at = near_duplicates(here.X, there.X)
    at[np.isin(keys[copies.first].exact, keys[copies.second].exact)] = -1
    rows = np.flatnonzero(at >= 0)
    pairs = tuple((int(here.numbers[i]), int(there.numbers[at[i]])) for i in rows[:3])
    return copies.model_copy(update={"near": len(rows), "examples": copies.examples or pairs})


def _mask(n: int) -> NDArray[np.bool_]:
    """Return a mask of all rows, or of as many evenly spaced ones as are compared."""
    mask = np.zeros(n, dtype=np.bool_)
    mask[np.linspace(0, n - 1, min(n, _MOST)).astype(np.int64)] = True
    return mask


def _without_numbers(text: str) -> str:
    return _DIGITS.sub("0", same_text(text))
