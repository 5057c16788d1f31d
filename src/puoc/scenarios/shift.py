"""Negatives that differ between U and the test: random ones, or given ones."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from puoc.registry import scenario
from puoc.scenarios.drawing.scenario import ClassSet, Counts, FixedCounts, braced, distinct, other_classes
from puoc.store.cells import Cell, Choice


@scenario("neg_shift")
class NegShift(FixedCounts):
    """For each n, 2n random other classes by each seed: the first n are the negatives of U, the rest of the test."""

    pos: ClassSet
    n: Counts

    def cells(self, n_classes: int) -> list[Cell]:
        """Return one cell for each n, named as ``n=2``."""
        self._check_range(n_classes, self.pos)
        others = other_classes(self.pos, n_classes)
        for n in self.n:
            if 2 * n > len(others):
                raise ValueError(f"{self.kind}: n={n} needs {2 * n} classes beside pos; got {len(others)}")
        return [
            self._cell(
                f"n={n}", pos=self.pos, neg=Choice(of=others, stop=n), neg_test=Choice(of=others, start=n, stop=2 * n)
            )
            for n in self.n
        ]


class Shift(BaseModel):
    """Negatives of U, and those of the test if they differ."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    neg: ClassSet
    neg_test: ClassSet | None = None
    name: str | None = None

    @property
    def label(self) -> str:
        """Return the given name, or for example ``1->8`` or ``{2,3}->{1,8}``."""
        if self.name is not None:
            return self.name
        return "->".join(braced(classes) for classes in (self.neg, self.neg_test or self.neg))


@scenario("named_shift")
class NamedShift(FixedCounts):
    """Given negatives of U against given negatives of the test; without ``neg_test`` there is no shift."""

    pos: ClassSet
    shifts: Annotated[tuple[Shift, ...], AfterValidator(distinct)]

    def cells(self, n_classes: int) -> list[Cell]:
        """Return one cell for each shift, with its name."""
        distinct(tuple(shift.label for shift in self.shifts))
        cells = []
        for shift in self.shifts:
            at_test = shift.neg_test or shift.neg
            self._check_range(n_classes, self.pos, shift.neg, at_test)
            self._check_overlap(self.pos, shift.neg, at_test)
            cells.append(self._cell(shift.label, pos=self.pos, neg=shift.neg, neg_test=shift.neg_test))
        return cells
