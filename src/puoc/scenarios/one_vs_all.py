"""One class against all others."""

from __future__ import annotations

from puoc.registry import scenario
from puoc.scenarios.drawing.scenario import ClassList, FixedCounts, other_classes
from puoc.store.cells import Cell


@scenario("one_vs_all")
class OneVsAll(FixedCounts):
    """Each class of ``pos`` in turn against all others."""

    pos: ClassList

    def cells(self, n_classes: int) -> list[Cell]:
        """Return one cell for each class, named as ``pos=3``."""
        self._check_range(n_classes, self.pos)
        return [self._cell(f"pos={pos}", pos=(pos,), neg=other_classes((pos,), n_classes)) for pos in self.pos]
