"""Samples and test sets of cells, and the rows that cells need. ``draws`` finds the rows of a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from puoc.records import Classes, Sample, TestSet
from puoc.scenarios.drawing.draws import count_of, stream, train_count
from puoc.scenarios.drawing.labelling import check_labelled_counts
from puoc.store.cells import Cell, Choice, pool


def chosen_classes(classes: Classes | Choice, seed: int, dataset: str) -> Classes:
    """Return the classes that a seed chooses, or the fixed ones, sorted."""
    if not isinstance(classes, Choice):
        return tuple(sorted(classes))
    order = stream("classes", dataset, classes.of, seed).permutation(len(classes.of))
    return tuple(sorted(classes.of[position] for position in order[classes.start : classes.stop]))


def sample_and_test(
    cell: Cell, seed: int, dataset: str, data_digest: str, holdout: float = 0.0
) -> tuple[Sample, TestSet]:
    """Return the sample and the test set of one seed. The choice of classes depends only on these and the cell.

    Parameters
    ----------
    holdout : share that a sweep withholds; 0: the share of the cell.
    """
    pos, neg, neg_test = (
        chosen_classes(classes, seed, dataset) for classes in (cell.pos, cell.neg, cell.neg_test or cell.neg)
    )
    sample = Sample(
        dataset=dataset,
        data_digest=data_digest,
        pos=pos,
        neg=neg,
        holdout=holdout or cell.holdout or 0.0,
        n_pos_lab=cell.n_pos_lab,
        n_pos_unl=cell.n_pos_unl,
        n_neg_unl=cell.n_neg_unl,
        unknown_u=cell.unknown_u,
        reading=cell.reading,
        labelling=cell.labelling,
        setting=cell.setting,
        n_noise=cell.n_noise,
    )
    return sample, TestSet(pos=pos, neg=() if cell.unknown_u and cell.neg_test is None else neg_test)


class Demand(NamedTuple):
    """``n`` rows wanted of any ``k`` classes out of ``pool``, on one side of the split."""

    what: str
    part: str
    pool: Classes
    k: int
    n: int


def required(cell: Cell) -> list[Demand]:
    """The rows that a cell needs, whatever classes a seed chooses."""
    demands = [
        ("labelled positives", "train", cell.pos, cell.n_pos_lab),
        ("labelled and unlabelled positives", "train", cell.pos, cell.n_pos_lab + cell.n_pos_unl),
        ("unlabelled rows" if cell.unknown_u else "unlabelled negatives", "train", cell.neg, cell.n_neg_unl),
        ("test positives", "test", cell.pos, 1),
        ("test negatives", "test", cell.neg_test or cell.neg, 1),
    ]
    if cell.unknown_u and cell.neg_test is None:
        demands = demands[:3]
    return [Demand(what, part, pool(classes), _size(classes), n) for what, part, classes, n in demands]


def check_counts(
    cell: Cell,
    counts: Mapping[str, Sequence[int]],
    holdout: float = 0.0,
    *,
    where: str | None = None,
    dataset: str = "the dataset",
) -> None:
    """Raise where a cell wants more rows than a dataset's declared class counts can give.

    Parameters
    ----------
    counts : rows per class, ``{"all": ...}`` or ``{"train": ..., "test": ...}``, as ``Dataset.counts``.
    holdout : withholds part of what is drawn, so it needs no rows more, but must leave at least one on each side;
        0: the cell's own.
    where : what the message begins with; default: the scenario and the cell.

    Raises
    ------
    ValueError : names the scenario, the cell, what is wanted and what is there.
    """
    where = where or f"{cell.scenario}, cell {cell.name}"
    if "all" in counts:
        train = [train_count(n) for n in counts["all"]]
        sides = {"train": train, "test": [n - kept for n, kept in zip(counts["all"], train, strict=True)]}
    else:
        sides = {part: list(counts[part]) for part in ("train", "test")}
    for what, part, classes, k, n in required(cell):
        available = sum(sorted(sides[part][number] for number in classes)[:k])
        if n > available:
            choice = "" if k == len(classes) else f" for the smallest choice of {k} from classes {list(classes)}"
            raise ValueError(f"{where}: {n} {what} wanted, {available} available in {dataset}/{part}{choice}")
    check_labelled_counts(cell, sides["train"], where, dataset)
    holdout = holdout or cell.holdout or 0.0
    in_u = (cell.n_pos_unl, cell.n_neg_unl)
    withheld = {"P": (count_of(holdout, cell.n_pos_lab), cell.n_pos_lab)}
    withheld["U"] = (sum(count_of(holdout, n) for n in in_u), sum(in_u))
    for of, (held, n) in withheld.items():
        if holdout and not 0 < held < n:
            raise ValueError(f"{where}: holdout {holdout} of {n} rows of {of} withholds {held}, 1 to {n - 1} expected")


def _size(classes: Classes | Choice) -> int:
    return classes.stop - classes.start if isinstance(classes, Choice) else len(classes)
