"""Metrics of decisions, at the threshold *prevalence*: as many rows are called positive as there are positives.

Scores of most methods have no natural zero, so the threshold is the score of the n-th highest of the test rows, where n
is the number of positives among them. Rows that are tied with it are called positive too. The threshold uses the true
share of positives, and no label of a row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from puoc.analysis.metrics import metric
from puoc.analysis.metrics.counts import Scores


class _Called(NamedTuple):
    tp: int
    fp: int


def _at_prevalence(scores: Scores) -> _Called:
    reached = scores.reached
    place = int(np.argmax(reached.tp + reached.fp >= len(scores.positive)))
    return _Called(int(reached.tp[place]), int(reached.fp[place]))


@metric("scikit-learn's balanced_accuracy_score; Brodersen et al., 2010")
def balanced_accuracy(scores: Scores) -> float:
    """The mean of the recalls of both classes, at the threshold prevalence."""
    called = _at_prevalence(scores)
    return (called.tp / len(scores.positive) + 1 - called.fp / len(scores.negative)) / 2


@metric("scikit-learn's f1_score; van Rijsbergen, 1979")
def f1(scores: Scores) -> float:
    """The harmonic mean of precision and recall, at the threshold prevalence."""
    called = _at_prevalence(scores)
    return 2 * called.tp / (called.tp + called.fp + len(scores.positive))
