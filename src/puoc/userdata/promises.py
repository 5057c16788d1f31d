"""What a threshold can promise, whatever the distribution of scores: bounds from order statistics and counts.

The rows behind a bound are new to the model: withheld positives, and unlabelled rows that nothing was fitted to. They
are taken as independent draws of the population whose rows are scored later. Tied scores only make a bound wider.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc, betaincinv

from puoc.records import Array

CONFIDENCE = 0.95
_RANKS = 40  # thresholds that are tested at most
_ROUNDING = 1e-12  # of the probabilities, so that a confidence which is just reached counts
_MOST = 1 << 24  # rows, in a message


class Bounds(NamedTuple):
    """Ends of an interval."""

    low: float
    high: float


class Flagged(NamedTuple):
    """A threshold, and the bounds that hold for it at the confidence."""

    threshold: float
    bound: float  # highest share of flagged negatives, or lowest precision
    recall: float  # lowest recall
    alerts: float  # highest share of flagged unlabelled rows


def expected_rank(recall: float, withheld: int) -> int:
    """Return the largest k such that the k-th lowest of the withheld scores has this recall on average; 0: none.

    All ranks of a new positive among m withheld ones are equally likely: P(below their k-th) is k / (m + 1).
    """
    return int(np.floor((1 - recall) * (withheld + 1) + 1e-9))


def promised_rank(recall: float, withheld: int, confidence: float) -> int:
    """Return the largest k such that the k-th lowest of m withheld scores has this recall at the confidence; 0: none.

    The recall of the k-th lowest score as a threshold is at least R unless fewer than k of m draws fall below the
    quantile 1 - R: with probability P(Bin(m, 1 - R) >= k), or more with ties (Wilks, 1941).
    """
    k = np.arange(1, withheld + 1)
    kept = bdtrc(k - 1, withheld, 1 - recall) >= confidence - _ROUNDING
    return int(kept.sum())  # the probability falls with k


def needed_positives(recall: float, confidence: float | None) -> int:
    """Return the smallest number of withheld positives that can give this recall, on average or at the confidence."""
    if confidence is None:
        return int(np.ceil(1 / (1 - recall) - 1e-9)) - 1
    needed = int(np.ceil(np.log(1 - confidence) / np.log(recall)))
    # where the confidence is just reached, the logarithm may be one too high
    return needed - 1 if needed > 1 and promised_rank(recall, needed - 1, confidence) else needed


def recall_promised(rank: int, withheld: int, confidence: float = CONFIDENCE) -> float:
    """Return the recall that the threshold at this rank has at least, at the confidence."""
    return float(1 - betaincinv(rank, withheld + 1 - rank, confidence))


def recall_interval(rank: int, withheld: int, level: float = CONFIDENCE) -> Bounds:
    """Return the interval of the recall of the threshold at this rank, which is a Beta variable without ties."""
    ends = (betaincinv(rank, withheld + 1 - rank, share) for share in ((1 + level) / 2, (1 - level) / 2))
    return Bounds(*(float(1 - end) for end in ends))


def flagging(
    held: Array, unlabelled: Array, alpha: Bounds, *, confidence: float, at_most: float | None, at_least: float | None
) -> Flagged | None:
    """Return the lowest threshold that keeps a share of flagged negatives or a precision; None if none does.

    At a threshold, U flags the share a = alpha r + (1 - alpha) f, with the recall r and the share f of flagged
    negatives. So f = (a - alpha r) / (1 - alpha), and the precision is alpha r / a. An upper bound of a, a lower bound
    of r and both ends of alpha bound them. Thresholds are tested in an order that does not depend on the scores, from
    strict to lenient, up to the first that fails. So each test has the whole level (fixed-sequence testing).

    Parameters
    ----------
    held : (n,) scores of withheld positives.
    unlabelled : (m,) scores of unlabelled rows that the model has not learned from.
    alpha : interval of the share of positives in U.
    at_most, at_least : the largest share of flagged negatives, or the smallest precision; one of them is None.
    """
    best, precision = None, at_most is None
    for flagged in _candidates(np.sort(held), np.sort(unlabelled), alpha, confidence, precision):
        if flagged is None:  # the best rows are tied: nothing is flagged, of which no precision is known
            if precision:
                break
            continue
        bound = bound_of(flagged.recall, flagged.alerts, alpha, precision=precision)
        kept = bound <= at_most if at_most is not None else at_least is not None and bound >= at_least
        if not kept:
            break
        best = flagged._replace(bound=bound)
    return best


def bound_of(recall: float, alerts: float, alpha: Bounds, *, precision: bool) -> float:
    """Return the lowest precision, or the highest share of flagged negatives, given a recall and a share of alerts."""
    if precision:
        return min(alpha.low * recall / alerts, 1.0)
    # the share is monotone in alpha, so it is highest at one end
    return min(max((alerts - end * recall) / (1 - end) for end in alpha), 1.0)


def best_case(n: int, m: int, alpha: Bounds, *, confidence: float, precision: bool) -> float:
    """Return the best bound that n withheld positives and m unlabelled rows can give: if all positives are on top.

    The unlabelled rows above a threshold are then positives as far as the interval of alpha allows.
    """
    error, found = (1 - confidence) / 2, []
    for rank in _ranks(m, alpha, precision):
        recall = float(betaincinv(n, 1, error))
        alerts = float(betaincinv(rank, m + 1 - rank, 1 - error))
        found.append(bound_of(recall, max(alerts, alpha.low * recall), alpha, precision=precision))
    return (max if precision else min)(found, default=0.0 if precision else 1.0)


def needed_unlabelled(n: int, alpha: Bounds, *, confidence: float, target: float, precision: bool) -> int | None:
    """Return a number of unlabelled rows, a power of two, with which n withheld positives may do; None for none."""
    m = 8
    while m <= _MOST:
        bound = best_case(n, m, alpha, confidence=confidence, precision=precision)
        if bound >= target if precision else bound <= target:
            return m
        m *= 2
    return None


def _ranks(m: int, alpha: Bounds, precision: bool) -> list[int]:
    """Return ranks of the unlabelled rows in the order of the tests, the highest score first.

    A precision is first tested where half of the fewest positives of U are flagged: among few rows it has a wide bound.
    """
    first = max(round(alpha.low * m / 2), 2) if precision else 2
    return list(dict.fromkeys(int(rank) for rank in np.rint(np.geomspace(first, m, _RANKS)))) if first <= m else []


def _candidates(
    held: Array, unlabelled: Array, alpha: Bounds, confidence: float, precision: bool
) -> Iterator[Flagged | None]:
    """Yield thresholds with their bounds, None where no row is above a rank; both arrays are ascending.

    The threshold of a rank is the lowest score above the row of that rank. So new rows reach it at most as often as
    they lie above that row, whose share is a Beta variable, or smaller with ties.
    """
    n, m, error = len(held), len(unlabelled), (1 - confidence) / 2
    for rank in _ranks(m, alpha, precision):
        above = int(np.searchsorted(unlabelled, unlabelled[m - rank], side="right"))
        if above == m:
            yield None
            continue
        threshold = float(unlabelled[above])
        found = n - int(np.searchsorted(held, threshold, side="left"))
        recall = float(betaincinv(found, n - found + 1, error)) if found else 0.0
        alerts = float(betaincinv(rank, m + 1 - rank, 1 - error))
        yield Flagged(threshold, np.nan, recall, alerts)
