"""Metrics of a ranking: they depend on the order of the test rows alone. Tied rows share one threshold."""

from __future__ import annotations

import numpy as np

from puoc.analysis.metrics import metric
from puoc.analysis.metrics.counts import Floats, Scores
from puoc.records import Array

RECALL = 0.9  # of precision_at_recall_90
RATE = 0.01  # share of the negatives, of recall_at_fpr_01
PARTIAL = 0.1  # largest share of the negatives, of partial_auc_10
TOP = 0.1  # share of the test rows that is looked at, of recall_at_10_percent
_SLACK = 1e-9  # of a count: 0.9 * 10 is 9


@metric("Hanley and McNeil, 1982", name="auc", from_curve=lambda curve: curve.auc)
def roc_auc(scores: Scores) -> float:
    """The chance that a positive scores higher than a negative; ties count half."""
    tp, fp = scores.reached.tp, scores.reached.fp
    new = np.diff(fp, prepend=0)
    doubled = (new * (tp + np.concatenate([[0], tp[:-1]]))).sum()
    return float(doubled / (2 * len(scores.positive) * len(scores.negative)))


@metric("scikit-learn's average_precision_score, after Buckley and Voorhees, 2000")
def average_precision(scores: Scores) -> float:
    """The mean over the positives of the precision at their threshold, at the share of positives of the test rows."""
    return _average_precision(scores, len(scores.positive) / scores.n)


@metric("Siblini et al., 2020, with the weights of the prior", needs_alpha=True)
def average_precision_at_alpha(scores: Scores) -> float | None:
    """The average precision if the share of positives were alpha, that of U; empty if alpha is 0, 1 or unknown."""
    if scores.alpha is None or not 0 < scores.alpha < 1:
        return None
    return _average_precision(scores, scores.alpha)


@metric(
    "scikit-learn's precision_recall_curve",
    from_curve=lambda curve: curve.precision_at_recall(RECALL),
)
def precision_at_recall_90(scores: Scores) -> float:
    """The highest precision of a threshold that at least 90 % of the positives reach."""
    tp, fp = scores.reached.tp, scores.reached.fp
    enough = tp >= RECALL * len(scores.positive) - _SLACK
    return float((tp[enough] / (tp[enough] + fp[enough])).max())


@metric("recall_score of the first k rows")
def recall_at_10_percent(scores: Scores) -> float:
    """The share of the positives among the k highest scores, k a tenth of the test rows; ties count by their share."""
    k = int(np.ceil(TOP * scores.n - _SLACK))
    reached = np.concatenate([[0], scores.reached.tp + scores.reached.fp])
    tp = np.concatenate([[0], scores.reached.tp])
    return float(np.interp(k, reached, tp) / len(scores.positive))


@metric("scikit-learn's roc_curve", from_curve=lambda curve: curve.recall_at_fpr(RATE))
def recall_at_fpr_01(scores: Scores) -> float:
    """The highest recall of a threshold that at most 1 % of the negatives reach; 0 if every threshold flags more."""
    allowed = scores.reached.fp <= RATE * len(scores.negative) + _SLACK
    return float(scores.reached.tp[allowed].max(initial=0) / len(scores.positive))


@metric("McClish, 1989; scikit-learn's roc_auc_score with max_fpr=0.1")
def partial_auc_10(scores: Scores) -> float:
    """The AUC up to a share of flagged negatives of 10 %, scaled so that chance is .5 and the best is 1."""
    fpr, tpr = (np.concatenate([[0.0], part]) for part in (_share(scores.reached.fp), _share(scores.reached.tp)))
    stop = int(np.searchsorted(fpr, PARTIAL, "right"))
    end = tpr[stop - 1] + (tpr[stop] - tpr[stop - 1]) * (PARTIAL - fpr[stop - 1]) / (fpr[stop] - fpr[stop - 1])
    x, y = np.append(fpr[:stop], PARTIAL), np.append(tpr[:stop], end)
    area = float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum())
    least = PARTIAL**2 / 2
    return 0.5 * (1 + (area - least) / (PARTIAL - least))


def _share(reached: Array) -> Floats:
    return np.asarray(reached / reached[-1], dtype=np.float64)


def _average_precision(scores: Scores, prior: float) -> float:
    tpr, fpr = _share(scores.reached.tp), _share(scores.reached.fp)
    found = prior * tpr
    flagged = found + (1 - prior) * fpr
    precision = np.divide(found, flagged, out=np.zeros_like(found), where=flagged > 0)
    return float((np.diff(tpr, prepend=0.0) * precision).sum())
