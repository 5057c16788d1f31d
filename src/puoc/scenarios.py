"""Scenarios as data: what a table's columns are. A new kind of scenario is one class here and changes no draw.

A scenario of the paper (Bagirov, Ivanov and Shpilman, section "Experiments", one a table) is an instance of one of the
classes in ``SCENARIOS`` with the values that params.yaml gives. Cells (``puoc.cells``) and the drawing functions
(``puoc.draws``) are offered here too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictInt

from puoc.cells import Cell, Choice, check_counts, required
from puoc.datasets.own import OwnData
from puoc.draws import (
    Draw,
    check_disjoint,
    count_of,
    draw,
    positive_rows,
    split_rows,
    stream,
    test_rows,
    train_pool_rows,
)
from puoc.own_scenario import Own
from puoc.records import Classes
from puoc.scene import Count, Scenario

if TYPE_CHECKING:
    from puoc.datasets.dataset import Dataset

__all__ = [
    "SCENARIOS",
    "Cell",
    "Choice",
    "Draw",
    "Scenario",
    "check_counts",
    "check_disjoint",
    "draw",
    "positive_rows",
    "required",
    "split_rows",
    "stream",
    "test_rows",
    "train_pool_rows",
]


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, int) else value


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if not values:
        raise ValueError("expected at least 1 entry in the list")
    twice = [value for value, times in Counter(values).items() if times > 1]
    if twice:
        raise ValueError(f"expected each entry once; {twice[0]} stands there twice")
    return values


def _sorted(values: Classes) -> Classes:
    return tuple(sorted(values))


ClassNumber = Annotated[StrictInt, Field(ge=0)]
#: Classes in the order given, or one class number.
ClassList = Annotated[tuple[ClassNumber, ...], BeforeValidator(_as_tuple), AfterValidator(_distinct)]
#: Classes as a set.
ClassSet = Annotated[ClassList, AfterValidator(_sorted)]
Counts = Annotated[tuple[Count, ...], BeforeValidator(_as_tuple), AfterValidator(_distinct)]
Alpha = Annotated[float, Field(gt=0, le=1)]
Alphas = Annotated[tuple[Alpha, ...], AfterValidator(_distinct)]


class Drawn(Scenario):
    """Scenarios that draw P and U from a dataset whose classes are known."""

    n_pos_lab: Count

    def cells_of(self, dataset: type[Dataset]) -> list[Cell]:
        """The columns; they depend on the number of classes alone. Raises ValueError for own data too."""
        if issubclass(dataset, OwnData):
            raise ValueError(f"{self.kind}: it draws U by classes, which nobody knows in {dataset.name}; expected own")
        return self.cells(len(dataset.classes))

    @abstractmethod
    def cells(self, n_classes: int) -> list[Cell]:
        """The columns for a dataset of ``n_classes`` classes.

        Raises
        ------
        ValueError : a class is out of range, positive and negative, or more are wanted than there are.
        """

    def _cell(self, name: str, **parts: Any) -> Cell:
        return Cell(scenario=self.kind, name=name, n_pos_lab=self.n_pos_lab, **parts)

    def _check_range(self, n_classes: int, *sets: Classes) -> None:
        outside = sorted({number for classes in sets for number in classes if number >= n_classes})
        if outside:
            raise ValueError(f"{self.kind}: class {outside[0]} does not exist, 0 to {n_classes - 1} expected")

    def _check_overlap(self, pos: Classes, *negatives: Classes) -> None:
        both = sorted(set(pos) & {number for neg in negatives for number in neg})
        if both:
            raise ValueError(f"{self.kind}: classes {both} are positive and negative, they must differ")


class FixedCounts(Drawn):
    """Scenarios whose U has the same counts in every cell."""

    n_pos_unl: Count
    n_neg_unl: Count

    def _cell(self, name: str, **parts: Any) -> Cell:
        return super()._cell(name, n_pos_unl=self.n_pos_unl, n_neg_unl=self.n_neg_unl, **parts)


class OneVsAll(FixedCounts):
    """Each class of ``pos`` in turn against all others."""

    kind = "one_vs_all"
    pos: ClassList

    def cells(self, n_classes: int) -> list[Cell]:
        """One cell a class, ``pos=3``."""
        self._check_range(n_classes, self.pos)
        return [self._cell(f"pos={pos}", pos=(pos,), neg=_others((pos,), n_classes)) for pos in self.pos]


class NegShift(FixedCounts):
    """For each n, 2n random other classes by each seed: the first n are the negatives of U, the rest of the test."""

    kind = "neg_shift"
    pos: ClassSet
    n: Counts

    def cells(self, n_classes: int) -> list[Cell]:
        """One cell an n, ``n=2``."""
        self._check_range(n_classes, self.pos)
        others = _others(self.pos, n_classes)
        for n in self.n:
            if 2 * n > len(others):
                raise ValueError(f"{self.kind}: n={n} wants {2 * n} classes beside pos, {len(others)} are there")
        return [
            self._cell(
                f"n={n}", pos=self.pos, neg=Choice(of=others, stop=n), neg_test=Choice(of=others, start=n, stop=2 * n)
            )
            for n in self.n
        ]


class Shift(BaseModel):
    """Negatives of U, and those of the test where they differ."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    neg: ClassSet
    neg_test: ClassSet | None = None
    name: str | None = None

    @property
    def label(self) -> str:
        """The given name, or for example ``1->8`` or ``{2,3}->{1,8}``."""
        if self.name is not None:
            return self.name
        return "->".join(_braced(classes) for classes in (self.neg, self.neg_test or self.neg))


class NamedShift(FixedCounts):
    """Given negatives of U against given negatives of the test; without ``neg_test`` there is no shift."""

    kind = "named_shift"
    pos: ClassSet
    shifts: Annotated[tuple[Shift, ...], AfterValidator(_distinct)]

    def cells(self, n_classes: int) -> list[Cell]:
        """One cell a shift, by its name."""
        _distinct(tuple(shift.label for shift in self.shifts))
        cells = []
        for shift in self.shifts:
            at_test = shift.neg_test or shift.neg
            self._check_range(n_classes, self.pos, shift.neg, at_test)
            self._check_overlap(self.pos, shift.neg, at_test)
            cells.append(self._cell(shift.label, pos=self.pos, neg=shift.neg, neg_test=shift.neg_test))
        return cells


class FixedClasses(FixedCounts):
    """Given positives against given negatives, the same in U and at test: one column."""

    kind = "fixed_classes"
    pos: ClassSet
    neg: ClassSet
    column: str | None = None

    def cells(self, n_classes: int) -> list[Cell]:
        """One cell, by the name given as ``column``, else for example ``pos=0``."""
        self._check_range(n_classes, self.pos, self.neg)
        self._check_overlap(self.pos, self.neg)
        return [self._cell(self.column or f"pos={_braced(self.pos)}", pos=self.pos, neg=self.neg)]


class PosModes(FixedCounts):
    """For each k, k random classes of ``of`` by each seed are positive, against the fixed ``neg``."""

    kind = "pos_modes"
    of: ClassSet
    neg: ClassSet
    k: Counts

    def cells(self, n_classes: int) -> list[Cell]:
        """One cell a k, ``k=2``."""
        self._check_range(n_classes, self.of, self.neg)
        self._check_overlap(self.of, self.neg)
        for k in self.k:
            if k > len(self.of):
                raise ValueError(f"{self.kind}: k={k} classes wanted of the {len(self.of)} in of")
        return [self._cell(f"k={k}", pos=Choice(of=self.of, stop=k), neg=self.neg) for k in self.k]


class Mixtures(Drawn):
    """Scenarios whose U is given by its size and its share of positives; with ``neg_test`` under a shift."""

    pos: ClassSet
    neg: ClassSet
    neg_test: ClassSet | None = None

    def _mixed(self, name: str, alpha: float, n_unl: int, n_classes: int) -> Cell:
        """The cell with ``alpha * n_unl`` positives, rounded half up; its alpha is the realised one.

        An alpha of 1 is a U without negatives; one that would only be rounded to it is refused.
        """
        self._check_range(n_classes, self.pos, self.neg, self.neg_test or ())
        self._check_overlap(self.pos, self.neg, self.neg_test or ())
        n_pos = count_of(alpha, n_unl)
        most = n_unl if alpha == 1 else n_unl - 1
        if not 0 < n_pos <= most:
            raise ValueError(f"{self.kind}: alpha {alpha:g} of {n_unl} rows is {n_pos} positives, 1 to {most} expected")
        counts = {"n_pos_unl": n_pos, "n_neg_unl": n_unl - n_pos}
        return self._cell(name, pos=self.pos, neg=self.neg, neg_test=self.neg_test, **counts)


class AlphaSweep(Mixtures):
    """U of one size with different shares of positives."""

    kind = "alpha_sweep"
    alphas: Alphas
    n_unl: Count

    def cells(self, n_classes: int) -> list[Cell]:
        """One cell an alpha, ``alpha=0.05`` as asked."""
        cells = [self._mixed(f"alpha={alpha:g}", alpha, self.n_unl, n_classes) for alpha in self.alphas]
        for n_pos, times in Counter(cell.n_pos_unl for cell in cells).items():
            if times > 1:
                raise ValueError(f"{self.kind}: {times} alphas give the same {n_pos} positives of {self.n_unl} rows")
        return cells


class SizeSweep(Mixtures):
    """U of different sizes with one share of positives."""

    kind = "size_sweep"
    alpha: Alpha
    n_unl: Counts

    def cells(self, n_classes: int) -> list[Cell]:
        """One cell a size, ``n_unl=50``."""
        return [self._mixed(f"n_unl={n_unl}", self.alpha, n_unl, n_classes) for n_unl in self.n_unl]


#: Kinds of scenario by the name used in params.yaml.
SCENARIOS: dict[str, type[Scenario]] = {
    kind.kind: kind for kind in (OneVsAll, NegShift, NamedShift, FixedClasses, PosModes, AlphaSweep, SizeSweep, Own)
}


def _others(classes: Classes, n_classes: int) -> Classes:
    return tuple(number for number in range(n_classes) if number not in classes)


def _braced(classes: Classes) -> str:
    return str(classes[0]) if len(classes) == 1 else "{" + ",".join(map(str, classes)) + "}"
