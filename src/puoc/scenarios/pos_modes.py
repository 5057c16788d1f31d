"""Positives of several classes."""

from __future__ import annotations

from puoc.registry import scenario
from puoc.scenarios.drawing.scenario import ClassSet, Counts, FixedCounts
from puoc.store.cells import Cell, Choice


@scenario("pos_modes")
class PosModes(FixedCounts):
    """For each k, k random classes of ``of`` by each seed are positive, against the fixed ``neg``."""

    of: ClassSet
    neg: ClassSet
    k: Counts

    def cells(self, n_classes: int) -> list[Cell]:
        """Return one cell for each k, named as ``k=2``."""
        self._check_range(n_classes, self.of, self.neg)
        self._check_overlap(self.of, self.neg)
        for k in self.k:
            if k > len(self.of):
                raise ValueError(f"{self.kind}: k={k} needs {k} classes; got {len(self.of)} in of")
        return [self._cell(f"k={k}", pos=Choice(of=self.of, stop=k), neg=self.neg) for k in self.k]
