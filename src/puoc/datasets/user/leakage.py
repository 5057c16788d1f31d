"""Overlap between files, in particular of test and training rows: equal rows, equal texts, near-duplicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.readers import Pair, RawTable, Rows
from puoc.datasets.readers.images import RawPictures
from puoc.datasets.readers.near_duplicates import near_duplicates
from puoc.datasets.readers.preprocess import TablePreparing
from puoc.datasets.readers.row_contents import ALIKE, Keys, of_pictures, of_tables, of_texts, repeated
from puoc.datasets.readers.texts import RawTexts
from puoc.datasets.readers.words import same_text

_EXAMPLES = 3
_SUPPOSED_AUC = 0.9  # before a fit; a lower AUC has a wider interval


class Overlap(NamedTuple):
    """Rows of one file that another file also contains."""

    what: str  # equal rows, equal texts, near-duplicate pictures
    where: str
    other: str
    rows: NDArray[np.int64]  # positions in ``where`` of the rows that the other file contains
    of: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        share = f"{len(self.rows)} of {self.of} rows of {self.where}"
        return f"{self.what}: {share} are in {self.other} too, such as {'; '.join(self.examples)}"


class Effect(NamedTuple):
    """Bound of what overlapping test rows can do to the AUC, beside what chance does to it."""

    pairs: float  # share of the pairs of a positive and a negative with an overlapping row: the AUC moves by no more
    half_width: float  # of a 95 % interval of the AUC of so many rows

    @property
    def small(self) -> bool:
        """Return True if the bound is at most a quarter of the half-width."""
        return self.pairs <= self.half_width / 4

    def __str__(self) -> str:
        return (
            f"the overlap can move the AUC by at most {self.pairs:.2g}; chance moves the AUC of so many rows by "
            f"{self.half_width:.2g}"
        )


def half_width(auc: float, n_pos: int, n_neg: int) -> float:
    """Return half of the width of a 95 % interval of an AUC (Hanley and McNeil, 1982)."""
    q_pos, q_neg = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    variance = auc * (1 - auc) + (n_pos - 1) * (q_pos - auc**2) + (n_neg - 1) * (q_neg - auc**2)
    return float(1.96 * np.sqrt(max(variance, 0.0) / (n_pos * n_neg)))


def effect_of(overlapping: NDArray[np.bool_], positive: NDArray[np.bool_]) -> Effect:
    """Return what overlapping test rows can do to the AUC.

    Parameters
    ----------
    overlapping, positive : (n,) masks of the test rows.
    """
    n_pos, n_neg = int(positive.sum()), int((~positive).sum())
    apart = (1 - (overlapping & positive).sum() / n_pos) * (1 - (overlapping & ~positive).sum() / n_neg)
    return Effect(float(1 - apart), half_width(_SUPPOSED_AUC, n_pos, n_neg))


class Audit(NamedTuple):
    """Overlap that invalidates a test, and other overlap that is reported."""

    leaks: list[Overlap]  # between training and test rows
    notes: list[Overlap]  # between labelled and unlabelled rows
    shared: int = 0  # test rows that are also in training
    of: int = 0
    withheld_in_p: tuple[Overlap, ...] = ()  # between the withheld positives and the training positives
    withheld_in_u: tuple[Overlap, ...] = ()
    repeats: tuple[str, ...] = ()  # of training rows, where many repeat
    overlapping: NDArray[np.bool_] | None = None  # (n,) of the test rows
    effect: Effect | None = None  # of the overlap; None without one

    @property
    def refused(self) -> bool:
        """Return True if the overlap can move the AUC by more than a small part of its interval."""
        return self.effect is not None and not self.effect.small

    @property
    def marks(self) -> tuple[str, ...]:
        """Return the warning on a test number that was computed in spite of an overlap that is not small."""
        return (f"overlap allowed: {self.shared} of {self.of} test rows are in training",) if self.refused else ()


def _repeats(kind: str, counts: Mapping[str, tuple[int, int]]) -> tuple[str, ...]:
    """Return one warning on all files of which many rows repeat another one.

    Parameters
    ----------
    counts : by file, the rows that repeat another one, and all rows.
    """
    many = [f"{n} of {of} rows of {where}" for where, (n, of) in counts.items() if n >= ALIKE * of]
    if not many:
        return ()
    return (f"{kind}: {' and '.join(many)} repeat another one. If they are copies, an estimated class prior is off",)


def audit(pair: Pair) -> Audit:
    """Compare the files of a user with each other."""
    parts = [rows for rows in (pair.positives, pair.held, pair.unlabelled, pair.test) if rows is not None]
    keys, kind = _keys(parts, pair)
    named = {id(part): key for part, key in zip(parts, keys, strict=True)}

    def shared(rows: Rows, other: Rows) -> list[Overlap]:
        equal = _companions(named[id(rows)], named[id(other)])
        overlaps = [_overlap(kind, rows, other, equal)]
        if isinstance(rows.raw, RawPictures):
            near = np.where(equal >= 0, -1, near_duplicates(rows.X, other.X))
            overlaps.append(_overlap("near-duplicate pictures", rows, other, near))
        return [overlap for overlap in overlaps if len(overlap.rows)]

    def withheld(other: Rows | None) -> tuple[Overlap, ...]:
        if pair.held is None or other is None:
            return ()
        return tuple(
            overlap._replace(where=f"{overlap.where} that are withheld") for overlap in shared(pair.held, other)
        )

    leaks: list[Overlap] = []
    if pair.test is not None:
        leaks = [overlap for part in parts if part is not pair.test for overlap in shared(pair.test, part)]
    overlapping = None if pair.test is None else np.zeros(len(pair.test), dtype=np.bool_)
    for leak in leaks:
        assert overlapping is not None, "a leak is of test rows"
        overlapping[leak.rows] = True
    effect = None
    if leaks and overlapping is not None and pair.test is not None and pair.test.positive is not None:
        effect = effect_of(overlapping, pair.test.positive)
    return Audit(
        leaks,
        [] if pair.unlabelled is None else shared(pair.positives, pair.unlabelled),
        0 if overlapping is None else int(overlapping.sum()),
        0 if pair.test is None else len(pair.test),
        withheld(pair.positives),
        withheld(pair.unlabelled),
        _repeats(
            kind,
            {
                rows.where: (repeated(named[id(rows)]), len(rows))
                for rows in (pair.positives, pair.unlabelled)
                if rows is not None
            },
        ),
        overlapping,
        effect,
    )


def _keys(parts: Sequence[Rows], pair: Pair) -> tuple[list[Keys], str]:
    """Number the rows of each part, so that equal numbers mean equal content, and return the kind of equality."""
    if texts := [part.raw for part in parts if isinstance(part.raw, RawTexts)]:
        whole, what = of_texts(texts, same_text), "equal texts"
    elif tables := [part.raw for part in parts if isinstance(part.raw, RawTable)]:
        assert isinstance(pair.preparing, TablePreparing)
        whole, what = of_tables(tables, pair.preparing), "equal rows"
    else:
        whole, what = of_pictures([part.X for part in parts]), "equal pictures"
    ends = np.cumsum([len(part) for part in parts])[:-1]
    return list(np.split(np.asarray(whole, dtype=np.int64), ends)), what


def _companions(keys: Keys, others: Keys) -> Keys:
    """Return for each key the position of the first equal one among the others, or -1."""
    known, first = np.unique(others, return_index=True)
    places = np.searchsorted(known, keys).clip(max=len(known) - 1)
    companions: Keys = np.where(known[places] == keys, first[places], -1)
    return companions


def _overlap(what: str, rows: Rows, other: Rows, companions: Keys) -> Overlap:
    shared = np.flatnonzero(companions >= 0)
    examples = tuple(f"{_named(rows, int(i))} = {_named(other, int(companions[i]))}" for i in shared[:_EXAMPLES])
    return Overlap(what, rows.where, other.where, shared, len(rows), examples)


def _named(rows: Rows, index: int) -> str:
    """Describe a row by its number in the file or by the name of a picture."""
    raw = rows.raw
    if isinstance(raw, RawPictures):
        return raw.paths[index].name
    number = int(rows.numbers[index])
    if isinstance(raw, RawTexts):
        text = raw.texts[index]
        return f"row {number} {text if len(text) <= 60 else text[:57] + '...'!r}"
    return f"row {number}"
