"""Scores of rows, and how many rows of each class reach each threshold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.records import Array

Floats = NDArray[np.float64]


class Counts(NamedTuple):
    """Numbers of rows that reach each distinct score, highest score first."""

    thresholds: Floats  # (t,)
    tp: NDArray[np.int64]  # (t,) positives with this score or a higher one
    fp: NDArray[np.int64]  # (t,) the same of negatives


def counts(positive: Array, negative: Array) -> Counts:
    """Count the rows that reach each distinct score.

    Parameters
    ----------
    positive, negative : (n,) and (m,) finite scores; higher = more likely positive.
    """
    thresholds = np.unique(np.concatenate([positive, negative]))[::-1]
    tp, fp = (
        len(scores) - np.searchsorted(np.sort(scores), thresholds, side="left") for scores in (positive, negative)
    )
    return Counts(thresholds, tp, fp)


@dataclass(frozen=True)
class Scores:
    """Scores of test rows by class. Neither class is empty."""

    positive: Floats  # (n,), higher = more likely positive
    negative: Floats  # (m,)
    alpha: float | None = None  # share of positives in U, to which precisions are re-weighted
    #: (n + m,) estimates of p(y=1 | x), positives first, of methods that give them
    probabilities: Floats | None = None

    @cached_property
    def reached(self) -> Counts:
        """Return how many rows reach each threshold."""
        return counts(self.positive, self.negative)

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return len(self.positive) + len(self.negative)


@dataclass(frozen=True)
class Withheld:
    """Scores of withheld labelled positives and of withheld unlabelled rows. Neither is empty."""

    positive: Floats  # (n,)
    unlabelled: Floats  # (m,)
    alpha: float | None = None  # share of positives in U that the method was given or estimated
    n_pos: int | None = None  # labelled positives of the sample, and its unlabelled rows
    n_unl: int | None = None
