"""What a stored ROC curve determines exactly, where the scores were not kept.

The curve has the recall at 1,001 equally spaced shares of flagged negatives, with straight lines between thresholds. A
line does not tell whether it crosses tied rows. So a threshold at a share is certain only where the curve has a kink,
or is flat just before; at other shares nothing is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

_SLACK = 1e-9
#: A value of the curve is kept to 7.7e-6, and a line through two of them is drawn on by at most one step.
_ROUNDING = 2.5e-5
#: Beyond, neighbouring points may lie on both sides of a threshold, or a recall may no longer differ from the next.
_MOST_POSITIVES, _POINTS_BETWEEN = 10_000, 3


@dataclass(frozen=True)
class StoredCurve:
    """A ROC curve as recorded, with the AUC and the numbers of rows."""

    auc: float
    curve: NDArray[np.float64]  # recalls at equally spaced shares of flagged negatives, from 0 to 1
    n_pos: int
    n_neg: int

    @cached_property
    def recalled(self) -> NDArray[np.float64] | None:
        """Return the numbers (n_neg + 1,) of positives that are recalled where 0, 1, ... negatives are flagged.

        A number lies on the line between two thresholds if no threshold flags so many, and may then be broken. None if
        there are too many rows to read the numbers from the curve.
        """
        if _POINTS_BETWEEN * self.n_neg > len(self.curve) - 1 or self.n_pos > _MOST_POSITIVES:
            return None
        curve, grid = self.curve, np.linspace(0, 1, len(self.curve))
        recalled = np.empty(self.n_neg + 1)
        for k in range(self.n_neg + 1):
            share = k / self.n_neg
            after = int(np.searchsorted(grid, share - _SLACK))
            if abs(grid[after] - share) < _SLACK:  # the curve has this point
                recalled[k] = curve[after]
            else:  # the points before lie on one line with it, as the last threshold lies before both
                slope = (curve[after - 1] - curve[after - 2]) / (grid[after - 1] - grid[after - 2])
                recalled[k] = curve[after - 1] + slope * (share - grid[after - 1])
        exact = recalled * self.n_pos
        whole = np.rint(exact)
        near = np.abs(exact - whole) < _ROUNDING * self.n_pos
        return np.where(near, whole, exact)

    def _has_kink(self, k: int) -> bool:
        """Return True if the curve bends where k negatives are flagged: only thresholds make it bend."""
        recalled = self.recalled
        assert recalled is not None, "checked by the caller"
        if k in (0, self.n_neg):  # the ends of the curve are thresholds
            return True
        before, after = recalled[k] - recalled[k - 1], recalled[k + 1] - recalled[k]
        return bool(abs(before - after) > 4 * _ROUNDING * self.n_pos)

    def _is_flat_before(self, k: int) -> bool:
        """Return True if no positive has a score between the thresholds before and at k flagged negatives."""
        recalled = self.recalled
        assert recalled is not None, "checked by the caller"
        steep = 1 / self.n_neg > 4 * _ROUNDING * self.n_pos  # else a line may rise by less than its rounding
        return bool(steep and recalled[k] == recalled[k - 1])

    def recall_at_fpr(self, rate: float) -> float | None:
        """Return the highest recall of a threshold that at most this share of the negatives reaches."""
        k = int(np.floor(rate * self.n_neg + _SLACK))
        if k == 0:  # the first point of the curve is always a threshold
            return float(np.rint(self.curve[0] * self.n_pos) / self.n_pos)
        if self.recalled is None or not (self._has_kink(k) or self._is_flat_before(k)):
            return None
        return float(np.rint(self.recalled[k]) / self.n_pos)

    def precision_at_recall(self, recall: float) -> float | None:
        """Return the highest precision of a threshold that at least this share of the positives reaches.

        Along a line between two thresholds the precision rises or falls throughout. So the highest one is at an end of
        a line, unless a line crosses the recall.
        """
        recalled = self.recalled
        if recalled is None:
            return None
        first = int(np.argmax(recalled >= recall * self.n_pos - _SLACK))
        if not self._has_kink(first):
            return None
        places = [k for k in range(first, self.n_neg + 1) if recalled[k] == np.rint(recalled[k])]
        precisions = {k: float(recalled[k] / (recalled[k] + k)) for k in places}
        best = max(precisions, key=lambda k: (precisions[k], self._has_kink(k)))
        return precisions[best] if self._has_kink(best) else None
