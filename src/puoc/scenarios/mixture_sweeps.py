"""Sweeps over the share of positives in U, or over the size of U."""

from __future__ import annotations

from collections import Counter

from puoc.registry import scenario
from puoc.scenarios.drawing.draws import count_of
from puoc.scenarios.drawing.scenario import Alpha, Alphas, ClassSet, Count, Counts, Drawn
from puoc.store.cells import Cell


class Mixtures(Drawn):
    """Scenarios whose U is given by its size and its share of positives; with ``neg_test`` under a shift."""

    pos: ClassSet
    neg: ClassSet
    neg_test: ClassSet | None = None

    def _mixed(self, name: str, alpha: float, n_unl: int, n_classes: int) -> Cell:
        """Return the cell with ``alpha * n_unl`` positives, rounded half up; its alpha is the realised one.

        An alpha of 1 is a U without negatives; a smaller alpha that would be rounded to it raises ValueError.
        """
        self._check_range(n_classes, self.pos, self.neg, self.neg_test or ())
        self._check_overlap(self.pos, self.neg, self.neg_test or ())
        n_pos = count_of(alpha, n_unl)
        max_pos = n_unl if alpha == 1 else n_unl - 1
        if not 0 < n_pos <= max_pos:
            raise ValueError(
                f"{self.kind}: alpha {alpha:g} of {n_unl} rows gives {n_pos} positives; expected 1 to {max_pos}"
            )
        return Cell(
            scenario=self.kind,
            name=name,
            pos=self.pos,
            neg=self.neg,
            neg_test=self.neg_test,
            n_pos_lab=self.n_pos_lab,
            n_pos_unl=n_pos,
            n_neg_unl=n_unl - n_pos,
        )


@scenario("alpha_sweep")
class AlphaSweep(Mixtures):
    """U of one size with different shares of positives."""

    alphas: Alphas
    n_unl: Count

    def cells(self, n_classes: int) -> list[Cell]:
        """Return one cell for each alpha, named as ``alpha=0.05``."""
        cells = [self._mixed(f"alpha={alpha:g}", alpha, self.n_unl, n_classes) for alpha in self.alphas]
        for n_pos, times in Counter(cell.n_pos_unl for cell in cells).items():
            if times > 1:
                raise ValueError(f"{self.kind}: {times} alphas give the same {n_pos} positives of {self.n_unl} rows")
        return cells


@scenario("size_sweep")
class SizeSweep(Mixtures):
    """U of different sizes with one share of positives."""

    alpha: Alpha
    n_unl: Counts

    def cells(self, n_classes: int) -> list[Cell]:
        """Return one cell for each size, named as ``n_unl=50``."""
        return [self._mixed(f"n_unl={n_unl}", self.alpha, n_unl, n_classes) for n_unl in self.n_unl]
