"""Draws of the rows of samples, test sets and train pools.

A draw depends only on the description of the sample and on the seed. Counts are exact. P is drawn from the stream
(dataset, pos, holdout, seed), U from the same with neg, so every U has the same P. Samples of other sizes and shares
are prefixes of the same streams. Rows of equal content are never on two sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.prepare.arrays import Prepared
from puoc.records import Classes, Sample, TestSet, canonical_json

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Draw:
    """Row numbers of one draw. Their order does not depend on their class."""

    p: Rows  # labelled positives
    u: Rows  # unlabelled rows; empty for a sample without U
    y_u: Mask  # true labels of u, for the oracle and for tests only
    p_held: Rows  # withheld from P; empty unless holdout > 0
    u_held: Rows  # withheld from U


class Split(NamedTuple):
    """Rows of the two sides, ascending. No content is on both."""

    train: Rows
    test: Rows


def stream(*key: object) -> np.random.Generator:
    """Return the generator of a key (texts, numbers, lists): equal keys give equal streams on every machine."""
    digest = blake2b(canonical_json(list(key)).encode(), digest_size=32).digest()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(int.from_bytes(digest, "big"))))


def count_of(share: float, n: int) -> int:
    """Return ``share * n`` as a whole number, half rounded up, computed from the decimal text, so .05 of 50 is 3."""
    return int((Decimal(str(share)) * n).to_integral_value(ROUND_HALF_UP))


def train_count(n: int) -> int:
    """Return the number of training rows of a class without a standard split: 4 of 5, rounded down."""
    return 4 * n // 5


def split_rows(prepared: Prepared, seed: int) -> Split:
    """Return train and test rows: the standard split, or 4:1 per seed, stratified by class and grouped by content.

    With a standard split all test rows are used, and training rows of equal content are left out. In a drawn split a
    class has ``train_count`` training rows, unless its duplicates make that impossible.
    """
    if prepared.split is not None:
        is_test = prepared.split == 1
        is_train = ~is_test & ~np.isin(prepared.group, prepared.group[is_test])
    else:
        is_train = _drawn_train_side(prepared, seed)
        is_test = ~is_train
    return Split(np.flatnonzero(is_train), np.flatnonzero(is_test))


def _drawn_train_side(prepared: Prepared, seed: int) -> Mask:
    y, group = prepared.y, prepared.group
    n_classes = len(prepared.meta.classes)
    order = stream("split", prepared.name, seed).permutation(len(y))
    quota = np.array([train_count(n) for n in np.bincount(y, minlength=n_classes).tolist()])
    # A group of several rows goes to the side of its first row, as a whole; unique rows then fill up each class.
    size = np.bincount(group, minlength=len(y))[group]
    by_rank = _rank_in_class(y, order) < quota[y]
    is_train = np.where(size > 1, by_rank[group], False)
    quota = quota - np.bincount(y[is_train], minlength=n_classes)
    single = order[size[order] == 1]
    rank = _rank_in_class(y[single], np.arange(len(single)))
    is_train[single] = rank < quota[y[single]]
    return is_train


def _rank_in_class(y: NDArray[np.int64], order: Rows) -> Rows:
    """Return for each row the number of rows of its class that precede it in ``order``."""
    rank = np.empty(len(y), dtype=np.int64)
    for number in np.unique(y):
        members = order[y[order] == number]
        rank[members] = np.arange(len(members))
    return rank


def draw(prepared: Prepared, sample: Sample, seed: int) -> Draw:
    """Draw rows of P and U, exact in number and disjoint by content.

    ``holdout`` withholds its share of the rows of P, and of the positives and of the negatives of U, so that the kept U
    has the sample's alpha. A withheld row that equals a kept row is not used.

    Raises
    ------
    ValueError : the sample belongs to other data, the dataset has too few rows, or no or all rows would be withheld.
    """
    _check_same_data(prepared, sample)
    train = split_rows(prepared, seed).train
    key = (prepared.name, sample.pos, sample.holdout, seed)
    positives = _ordered(prepared, _of_classes(prepared, train, sample.pos), stream("P", *key))
    in_p = _first(prepared, positives, sample.n_pos_lab, "labelled positives")
    p, p_held = _withhold(in_p, sample.holdout)
    if sample.neg is None or sample.n_pos_unl is None or sample.n_neg_unl is None:
        empty = np.empty(0, dtype=np.int64)
        p_held = _withheld(prepared, p, p_held, sample.holdout, "P")
        return Draw(p, empty, np.empty(0, dtype=np.bool_), p_held, empty)
    key_u = (*key, sample.neg)
    rest = train[~np.isin(prepared.group[train], prepared.group[in_p])]
    unl_pos = _ordered(prepared, _of_classes(prepared, rest, sample.pos), stream("U positives", *key_u))
    unl_neg = _ordered(prepared, _of_classes(prepared, rest, sample.neg), stream("U negatives", *key_u))
    pos, pos_held = _withhold(_first(prepared, unl_pos, sample.n_pos_unl, "unlabelled positives"), sample.holdout)
    neg, neg_held = _withhold(_first(prepared, unl_neg, sample.n_neg_unl, "unlabelled negatives"), sample.holdout)
    order = stream("U order", *key_u).permutation(len(pos) + len(neg))
    u, u_held = np.concatenate([pos, neg])[order], np.concatenate([pos_held, neg_held])
    u_held = u_held[stream("U held order", *key_u).permutation(len(u_held))]
    p_held = _withheld(prepared, p, p_held, sample.holdout, "P")
    u_held = _withheld(prepared, u, u_held, sample.holdout, "U")
    return Draw(p, u, order < len(pos), p_held, u_held)


def test_rows(prepared: Prepared, test: TestSet, seed: int) -> tuple[Rows, Mask]:
    """Return all test rows of the classes, and a mask of the positive ones."""
    rows = _of_classes(prepared, split_rows(prepared, seed).test, (*test.pos, *test.neg))
    return rows, np.isin(prepared.y[rows], test.pos)


def positive_rows(prepared: Prepared, sample: Sample, seed: int) -> Rows:
    """Return all training rows of the sample's positive classes, which are known only in a benchmark."""
    _check_same_data(prepared, sample)
    return _of_classes(prepared, split_rows(prepared, seed).train, sample.pos)


def train_pool_rows(prepared: Prepared, sample: Sample, test: TestSet, seed: int) -> tuple[Rows, Mask]:
    """Return all training positives of the sample and as many training negatives of the test set's classes.

    Seven of the authors' scripts score such rows. If there are fewer negatives, all of them are returned.
    """
    positives = positive_rows(prepared, sample, seed)
    train = split_rows(prepared, seed).train
    negatives = _of_classes(prepared, train, test.neg)
    order = stream("train pool", prepared.name, sample.pos, test.neg, seed).permutation(len(negatives))
    rows = np.concatenate([positives, negatives[order[: len(positives)]]])
    return rows, np.arange(len(rows)) < len(positives)


def check_disjoint(prepared: Prepared, drawn: Draw, test: Rows) -> None:
    """Check that no test row has the content of a row of P or U, withheld rows included.

    Raises
    ------
    ValueError : gives the number of test rows that repeat a training row.
    """
    train = np.concatenate([drawn.p, drawn.u, drawn.p_held, drawn.u_held])
    shared = int(np.isin(prepared.group[test], prepared.group[train]).sum())
    if shared:
        raise ValueError(
            f"{prepared.name}: {shared} of {len(test)} test rows have the content of a training row, 0 expected; "
            "draw the test rows with test_rows and the same seed"
        )


def _check_same_data(prepared: Prepared, sample: Sample) -> None:
    got, expected = (prepared.name, prepared.digest), (sample.dataset, sample.data_digest)
    if got != expected:
        raise ValueError(f"the sample is of {expected[0]} with digest {expected[1]}, the data are {got[0]}, {got[1]}")


def _withheld(prepared: Prepared, kept: Rows, held: Rows, holdout: float, of: str) -> Rows:
    """Return the withheld rows that equal no kept row."""
    unseen = held[~np.isin(prepared.group[held], prepared.group[kept])]
    if holdout and not (len(kept) and len(unseen)):
        repeats = f", {len(held) - len(unseen)} of which repeat a kept row" if len(held) > len(unseen) else ""
        raise ValueError(
            f"holdout {holdout} of {len(kept) + len(held)} rows of {of} withholds {len(held)}{repeats}; "
            "at least 1 must be withheld and 1 kept"
        )
    return unseen


def _of_classes(prepared: Prepared, rows: Rows, classes: Classes) -> Rows:
    return rows[np.isin(prepared.y[rows], classes)]


def _ordered(prepared: Prepared, rows: Rows, random: np.random.Generator) -> Rows:
    """Return rows in random order, with equal rows adjacent, so that a prefix cuts at most one group."""
    _, inverse = np.unique(prepared.group[rows], return_inverse=True)
    rank = random.permutation(int(inverse.max(initial=-1)) + 1)
    ordered: Rows = rows[np.argsort(rank[inverse], kind="stable")]
    return ordered


def _first(prepared: Prepared, rows: Rows, n: int, what: str) -> Rows:
    if len(rows) < n:
        raise ValueError(
            f"{prepared.name}: {n} {what} wanted, {len(rows)} available in train beside what is already drawn; "
            "rows of equal content are not used on two sides"
        )
    return rows[:n]


def _withhold(rows: Rows, holdout: float) -> tuple[Rows, Rows]:
    n_kept = len(rows) - count_of(holdout, len(rows))
    return rows[:n_kept], rows[n_kept:]
