"""Evidence of an assessment on alpha, shift and gain, from withheld rows alone."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from puoc.analysis.reliability.alpha import share_of_negatives
from puoc.analysis.reliability.gain import Gain, gain, placements
from puoc.analysis.reliability.shift import Shift, incoming
from puoc.records import Array, Record
from puoc.userdata.assess.cross_scores import CrossFitScores, crossed, learning_curve, order_p
from puoc.userdata.assess.input_rows import Checked, checked
from puoc.userdata.assess.reference_methods import FAMILIES, Family
from puoc.userdata.assess.score_counts import ScoreCounts, count_scores, decisive

Rows = Literal["u", "v"]

LEVEL: Final = 0.95

BY: Final[tuple[Family, Family]] = ("PU", "OC")  # families by whose scores alpha and shift are estimated


class Alpha(Record):
    """Share of positives in U."""

    low: float  # under an assumption: the best quarter of P scores above 98 in 100 negatives
    high: float  # assumes only that P is a random sample of the positives
    p_no_negatives: float
    p_order: float  # of equal scores of the first and the last half of P in the file


class Gained(Record):
    """AUC and gain of a family on withheld rows."""

    family: str
    auc: float  # withheld P against withheld U, or against V; at most 1 - alpha / 2
    gain: float  # of that AUC over PU-OC's, with its interval and standard error
    low: float
    high: float
    error: float


class Incoming(Record):
    """Evidence of the incoming rows V."""

    n: int
    p_new: float
    new_negatives: bool
    ratio: float  # share of negatives in V over that in U, if there is nothing new
    ratio_low: float
    alpha_changed: bool
    alpha_low: float  # share of positives in V, as ``Alpha``
    alpha_high: float
    gained: tuple[Gained, ...]  # by family, in their order, against V in place of U
    ratio_high: float | None = None  # absent: not bounded
    apart: float | None = None  # as in ``Evidence``


class Evidence(Record):
    """Evidence of all rows."""

    n_p: int
    n_u: int
    columns: int
    notes: tuple[str, ...]
    alpha: Alpha
    gained: tuple[Gained, ...]  # by family, in their order
    incoming: Incoming | None = None
    apart: float | None = None  # standard error of the gain of PU over OC
    curve: tuple[tuple[int, float], ...] = ()  # |U| that PU learned from, AUC of withheld P against withheld U
    scores: ScoreCounts | None = None  # of withheld rows, by the scorer of the guaranteed bound of alpha


def gather(X_p: Array, X_u: Array, X_v: Array | None, seed: int) -> Evidence:
    """Check the rows and compute their evidence.

    Raises
    ------
    ValueError : as ``assess``.
    """
    rows = checked(X_p, X_u, X_v, seed)
    scores = crossed(rows, seed)
    found = evidence_of(rows, scores, tuple(learning_curve(rows, seed, scores)))
    return found.model_copy(update={"scores": count_scores(scores, decisive(scores, BY, (1 + LEVEL) / 2))})


def evidence_of(rows: Checked, scores: CrossFitScores, curve: tuple[tuple[int, float], ...] = ()) -> Evidence:
    """Compute the evidence of checked rows from their scores."""
    return Evidence(
        n_p=len(rows.X_p),
        n_u=len(rows.X_u),
        columns=rows.columns,
        notes=rows.notes,
        alpha=alpha_of(scores),
        incoming=_incoming(scores, rows),
        gained=tuple(_gained(family, scores, "u") for family in FAMILIES),
        apart=_gain("PU", "OC", scores, "u").error,
        curve=curve,
    )


def alpha_of(scores: CrossFitScores) -> Alpha:
    """Estimate the share of positives in U from the scores of PU and of OC."""
    low, high, p = _positives(scores, "u")
    return Alpha(low=low, high=high, p_no_negatives=p, p_order=order_p(scores))


def _positives(scores: CrossFitScores, among: Rows) -> tuple[float, float, float]:
    """Return the interval of the share of positives, and the p-value of the hypothesis that there are only positives.

    Both use the scores of PU and of OC, each at half the error. Of the ends that need the assumption, the wider one is
    taken.
    """
    by = [
        share_of_negatives([(half.p[family], getattr(half, among)[family]) for half in scores.halves], (1 + LEVEL) / 2)
        for family in BY
    ]
    low, high = max(bound.low for bound in by), max(bound.high for bound in by)
    # rounded to the grid
    return round(1 - max(low, high), 4), round(1 - low, 4), min(1.0, 2 * min(bound.p for bound in by))


def shift_of(scores: CrossFitScores) -> Shift:
    """Test the incoming rows against mixtures of P and U, by the scores of PU and of OC together."""
    splits = []
    for half in scores.halves:
        p, u, v = (np.column_stack([part[family] for family in BY]) for part in (half.p, half.u, half.v))
        splits.append((p, u, v))
    return incoming(splits, LEVEL)


def _incoming(scores: CrossFitScores, rows: Checked) -> Incoming | None:
    if rows.X_v is None:
        return None
    result = shift_of(scores)
    new = result.p_new <= 1 - LEVEL
    low, high, _ = _positives(scores, "v")
    return Incoming(
        n=len(rows.X_v),
        p_new=result.p_new,
        new_negatives=new,
        ratio=result.ratio,
        ratio_low=result.ratio_low,
        ratio_high=None if np.isinf(result.ratio_high) else result.ratio_high,
        alpha_changed=not new and not result.ratio_low <= 1 <= result.ratio_high,
        alpha_low=low,
        alpha_high=high,
        gained=tuple(_gained(family, scores, "v") for family in FAMILIES),
        apart=_gain("PU", "OC", scores, "v").error,
    )


def _gained(family: Family, scores: CrossFitScores, among: Rows) -> Gained:
    pairs = [(half.p[family], getattr(half, among)[family]) for half in scores.halves]
    own = _gain(family, "PU-OC", scores, among)
    auc = float(np.mean([placements(of_p, others)[0].mean() for of_p, others in pairs]))
    return Gained(family=family, auc=auc, gain=own.gain, low=own.low, high=own.high, error=own.error)


def _gain(family: Family, base: Family, scores: CrossFitScores, among: Rows) -> Gain:
    """Return the gain of a family over another one, of P against U or V."""
    pairs = [(half.p, getattr(half, among)) for half in scores.halves]
    return gain([((p[base], other[base]), (p[family], other[family])) for p, other in pairs], same_u=among == "v")
