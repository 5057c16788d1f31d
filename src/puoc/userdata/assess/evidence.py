"""The evidence of an assessment: on alpha, on shift and on gain, from withheld rows alone."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from puoc.analysis.reliability.alpha import share_of_negatives
from puoc.analysis.reliability.gain import gain, placements
from puoc.analysis.reliability.shift import incoming
from puoc.records import Array, Record
from puoc.userdata.assess.cross_scores import CrossFitScores, crossed, learning_curve, order_p
from puoc.userdata.assess.input_rows import Checked, checked
from puoc.userdata.assess.reference_methods import FAMILIES, Family

Rows = Literal["u", "v"]

LEVEL: Final = 0.95

_BY: Final[tuple[Family, Family]] = ("PU", "OC")  # whose scores alpha and shift are judged by


class Alpha(Record):
    """Share of positives in U."""

    low: float  # under an assumption: the best quarter of P scores above 98 in 100 negatives
    high: float  # none needed but that P is a random sample of the positives
    p_no_negatives: float
    p_order: float  # that the first and the last half of P, as they stand in the file, score alike


class Gained(Record):
    """A family on withheld rows."""

    family: str
    auc: float  # withheld P against withheld U, or against V; at most 1 - alpha / 2
    gain: float  # of that AUC over PU-OC's, with its interval and standard error
    low: float
    high: float
    error: float


class Incoming(Record):
    """The rows that came in later."""

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


class Evidence(Record):
    """All that the rows say."""

    n_p: int
    n_u: int
    columns: int
    notes: tuple[str, ...]
    alpha: Alpha
    gained: tuple[Gained, ...]  # by family, in their order
    incoming: Incoming | None = None
    curve: tuple[tuple[int, float], ...] = ()  # |U| that PU learned from, AUC of withheld P against withheld U


def gather(X_p: Array, X_u: Array, X_v: Array | None, seed: int) -> Evidence:
    """Evidence of rows as they are given.

    Raises
    ------
    ValueError : as ``assess``.
    """
    of = checked(X_p, X_u, X_v, seed)
    return evidence_of(of, crossed(of, seed), tuple(learning_curve(of, seed)))


def evidence_of(of: Checked, found: CrossFitScores, curve: tuple[tuple[int, float], ...] = ()) -> Evidence:
    """Evidence of checked rows by their scores."""
    return Evidence(
        n_p=len(of.X_p),
        n_u=len(of.X_u),
        columns=of.columns,
        notes=of.notes,
        alpha=_alpha(found),
        incoming=_incoming(found, of),
        gained=tuple(_gained(family, found, "u") for family in FAMILIES),
        curve=curve,
    )


def _alpha(found: CrossFitScores) -> Alpha:
    low, high, p = _positives(found, "u")
    return Alpha(low=low, high=high, p_no_negatives=p, p_order=order_p(found))


def _positives(found: CrossFitScores, among: Rows) -> tuple[float, float, float]:
    """Interval of the share of positives, and the p-value that there are no others.

    By the scores of PU and of OC, each at half the error; of the ends under the assumption the wider one.
    """
    by = [
        share_of_negatives([(half.p[family], getattr(half, among)[family]) for half in found.halves], (1 + LEVEL) / 2)
        for family in _BY
    ]
    low, high = max(one.low for one in by), max(one.high for one in by)
    # of the grid, without float dust
    return round(1 - max(low, high), 4), round(1 - low, 4), min(1.0, 2 * min(one.p for one in by))


def _incoming(found: CrossFitScores, of: Checked) -> Incoming | None:
    if of.X_v is None:
        return None
    splits = []
    for half in found.halves:
        p, u, v = (np.column_stack([part[family] for family in _BY]) for part in (half.p, half.u, half.v))
        splits.append((p, u, v))
    result = incoming(splits, LEVEL)
    new = result.p_new <= 1 - LEVEL
    low, high, _ = _positives(found, "v")
    return Incoming(
        n=len(of.X_v),
        p_new=result.p_new,
        new_negatives=new,
        ratio=result.ratio,
        ratio_low=result.ratio_low,
        ratio_high=None if np.isinf(result.ratio_high) else result.ratio_high,
        alpha_changed=not new and not result.ratio_low <= 1 <= result.ratio_high,
        alpha_low=low,
        alpha_high=high,
        gained=tuple(_gained(family, found, "v") for family in FAMILIES),
    )


def _gained(family: Family, found: CrossFitScores, among: Rows) -> Gained:
    scores = [(half.p, getattr(half, among)) for half in found.halves]
    own = gain([((p["PU-OC"], other["PU-OC"]), (p[family], other[family])) for p, other in scores], same_u=among == "v")
    auc = float(np.mean([placements(p[family], other[family])[0].mean() for p, other in scores]))
    return Gained(family=family, auc=auc, gain=own.gain, low=own.low, high=own.high, error=own.error)
