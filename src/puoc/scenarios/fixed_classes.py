"""Given positives against given negatives."""

from __future__ import annotations

from puoc.registry import scenario
from puoc.scenarios.drawing.scenario import ClassSet, FixedCounts, braced
from puoc.store.cells import Cell


@scenario("fixed_classes")
class FixedClasses(FixedCounts):
    """Given positives against given negatives, the same in U and at test: one cell."""

    pos: ClassSet
    neg: ClassSet
    column: str | None = None

    def cells(self, n_classes: int) -> list[Cell]:
        """Return one cell, named by ``column`` or, if absent, for example ``pos=0``."""
        self._check_range(n_classes, self.pos, self.neg)
        self._check_overlap(self.pos, self.neg)
        return [self._cell(self.column or f"pos={braced(self.pos)}", pos=self.pos, neg=self.neg)]
