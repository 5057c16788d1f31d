"""Cells of tables. A cell and a seed give a sample and a test set; ``draws`` finds their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from puoc.records import Classes, Record, Sample, TestSet
from puoc.scenarios.drawing.draws import count_of, stream, train_count


class Choice(Record):
    """Classes chosen anew by each seed: positions ``start`` to ``stop`` of a random order of ``of``.

    The order depends on the dataset, on ``of`` and on the seed alone, so choices of disjoint positions are disjoint and
    a smaller choice is part of a larger one.
    """

    of: Classes
    start: int = Field(default=0, ge=0)
    stop: int

    @model_validator(mode="after")
    def _within(self) -> Self:
        if not self.start < self.stop <= len(self.of):
            raise ValueError(f"positions {self.start} to {self.stop} wanted of {len(self.of)} classes {self.of}")
        return self

    def at(self, seed: int, dataset: str) -> Classes:
        """The classes that this seed chooses, sorted."""
        order = stream("classes", dataset, self.of, seed).permutation(len(self.of))
        return tuple(sorted(self.of[position] for position in order[self.start : self.stop]))


class Cell(Record):
    """One column of a table: which classes, fixed or chosen by the seed, and how many rows."""

    scenario: str
    name: str
    pos: Classes | Choice
    neg: Classes | Choice  # of the negatives in U
    neg_test: Classes | Choice | None = None  # of the negatives at test; absent: as in U, no shift
    n_pos_lab: int = Field(gt=0)
    n_pos_unl: int = Field(ge=0)
    n_neg_unl: int = Field(ge=0)  # 0: U is all positive, alpha = 1
    #: own data: nobody knows the classes of U, so ``neg`` is that of unlabelled rows and ``n_neg_unl`` counts all;
    #: without ``neg_test`` there are no labelled test rows
    unknown_u: Literal[True] | None = None
    reading: str | None = None  # own data: see ``Sample``
    holdout: float | None = Field(None, gt=0, lt=1)  # share withheld of P and U in a table; a sweep says it itself

    @model_validator(mode="after")
    def _has_positives(self) -> Self:
        if not self.n_pos_unl and not self.unknown_u:
            raise ValueError(f"{self.scenario}, cell {self.name}: n_pos_unl is 0, at least 1 expected")
        return self

    @model_validator(mode="after")
    def _disjoint(self) -> Self:
        both = set(pool(self.pos)) & (set(pool(self.neg)) | set(pool(self.neg_test or self.neg)))
        if both:
            raise ValueError(f"{self.scenario}, cell {self.name}: classes {sorted(both)} are positive and negative")
        return self

    @property
    def alpha(self) -> float | None:
        """Share of positives in U, p(y=1 | s=0), of the whole counts; None where nobody knows it."""
        return None if self.unknown_u else self.n_pos_unl / (self.n_pos_unl + self.n_neg_unl)

    def at(self, seed: int, dataset: str, data_digest: str, holdout: float = 0.0) -> tuple[Sample, TestSet]:
        """The sample and the test set of one repetition. What is chosen depends on nothing but these and the cell."""
        pos, neg, neg_test = (
            part.at(seed, dataset) if isinstance(part, Choice) else tuple(sorted(part))
            for part in (self.pos, self.neg, self.neg_test or self.neg)
        )
        counts: dict[str, Any] = {
            key: getattr(self, key) for key in ("n_pos_lab", "n_pos_unl", "n_neg_unl", "unknown_u", "reading")
        }
        held = holdout or self.holdout or 0.0
        sample = Sample(dataset=dataset, data_digest=data_digest, pos=pos, neg=neg, holdout=held, **counts)
        return sample, TestSet(pos=pos, neg=() if self.unknown_u and self.neg_test is None else neg_test)


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
    for what, part, pool, k, n in required(cell):
        available = sum(sorted(sides[part][number] for number in pool)[:k])
        if n > available:
            choice = "" if k == len(pool) else f" for the smallest choice of {k} from classes {list(pool)}"
            raise ValueError(f"{where}: {n} {what} wanted, {available} available in {dataset}/{part}{choice}")
    holdout = holdout or cell.holdout or 0.0
    in_u = (cell.n_pos_unl, cell.n_neg_unl)
    withheld = {"P": (count_of(holdout, cell.n_pos_lab), cell.n_pos_lab)}
    withheld["U"] = (sum(count_of(holdout, n) for n in in_u), sum(in_u))
    for of, (held, n) in withheld.items():
        if holdout and not 0 < held < n:
            raise ValueError(f"{where}: holdout {holdout} of {n} rows of {of} withholds {held}, 1 to {n - 1} expected")


def pool(classes: Classes | Choice) -> Classes:
    """Every class that a seed may choose."""
    return classes.of if isinstance(classes, Choice) else classes


def _size(classes: Classes | Choice) -> int:
    return classes.stop - classes.start if isinstance(classes, Choice) else len(classes)
