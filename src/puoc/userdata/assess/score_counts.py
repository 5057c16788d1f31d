"""Histograms of the scores that the share of positives in U was estimated by, for the page of an assessment."""

from __future__ import annotations

from typing import Final

import numpy as np

from puoc.analysis.reliability.alpha import share_of_negatives
from puoc.records import Array, Record
from puoc.userdata.assess.cross_scores import CrossFitScores
from puoc.userdata.assess.reference_methods import Family

BINS: Final = 24
_TAIL: Final = 0.005  # share of a group at each end of its scores that does not widen the axis


class ScoreCounts(Record):
    """Numbers of withheld rows by score, of a model that was fitted to the other half; each row counts once.

    The outermost bins also have the rows beyond them.
    """

    family: Family  # the scorer
    edges: tuple[float, ...]  # of the bins, ascending, one more than bins; higher = more likely positive
    p: tuple[int, ...]
    u: tuple[int, ...]
    v: tuple[int, ...] | None = None  # absent: no incoming rows


def decisive(scores: CrossFitScores, families: tuple[Family, ...], level: float) -> Family:
    """Return the family whose scores show the most negatives in U for sure, the first of equal ones.

    The guaranteed bound of the share of positives is by its scores.
    """

    def sure(family: Family) -> float:
        return share_of_negatives([(half.p[family], half.u[family]) for half in scores.halves], level).low

    return max(families, key=sure)


def count_scores(scores: CrossFitScores, family: Family) -> ScoreCounts:
    """Count the scores of a family in bins that P, U and V share.

    Each half of P and of U is scored by one model, and V by both. So every second row of V counts by the first model,
    and the others by the second one.
    """
    groups = {
        "p": np.concatenate([half.p[family] for half in scores.halves]),
        "u": np.concatenate([half.u[family] for half in scores.halves]),
    }
    if all(half.v for half in scores.halves):
        step = len(scores.halves)
        groups["v"] = np.concatenate([half.v[family][i::step] for i, half in enumerate(scores.halves)])
    ends = np.array([np.quantile(of, [_TAIL, 1 - _TAIL]) for of in groups.values()])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    if not high > low:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, BINS + 1)
    counts = {name: _counts(of, edges) for name, of in groups.items()}
    return ScoreCounts(family=family, edges=tuple(edges.tolist()), p=counts["p"], u=counts["u"], v=counts.get("v"))


def _counts(scores: Array, edges: Array) -> tuple[int, ...]:
    return tuple(np.histogram(np.clip(scores, edges[0], edges[-1]), edges)[0].tolist())
