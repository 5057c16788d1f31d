"""The score from which a row is called positive, what it rests on, and what follows from it among the unlabelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from puoc.datasets.readers import Pair
from puoc.datasets.readers.pu_data import Rows
from puoc.methods.persistence.header import Threshold
from puoc.records import Array
from puoc.scenarios.drawing.draws import count_of


class ThresholdRule(NamedTuple):
    """How the threshold is set; without either there is none."""

    by_alpha: bool = False
    recall: float | None = None  # smallest expected share of new positives that reach the threshold


def check_rule(rule: ThresholdRule, withheld: int) -> None:
    """Check that there are enough withheld positives. Raises ValueError with the number needed."""
    if rule.recall is not None:
        _rank(rule.recall, withheld)


def threshold_of(
    pair: Pair, rule: ThresholdRule, alpha: float | None, scores: Callable[[Rows], Array]
) -> Threshold | None:
    """Return the threshold of a fitted model, or None if none was asked for.

    Parameters
    ----------
    alpha : share of positives in U, which ``by_alpha`` needs.
    scores : scores (n,) of rows by the fitted model.
    """
    unlabelled = None if pair.unlabelled is None or rule == ThresholdRule() else np.sort(scores(pair.unlabelled))
    if rule.by_alpha:
        assert alpha is not None, "settings give a prior where a threshold rests on it"
        assert unlabelled is not None, "checked before the fit"
        n_positive = min(max(count_of(alpha, len(unlabelled)), 1), len(unlabelled))
        return _at(unlabelled, len(unlabelled) - n_positive, "alpha", alpha, unlabelled)
    if rule.recall is not None:
        assert pair.held is not None, "read with positives withheld"
        held = np.sort(scores(pair.held))
        return _at(held, _rank(rule.recall, len(held)) - 1, "recall", rule.recall, unlabelled)
    return None


def notes_on(threshold: Threshold | None, alpha: float | None, n_u: int) -> list[str]:
    """Return what the threshold rests on, and the alert rate and precision that follow among ``n_u`` unlabelled."""
    if threshold is None:
        return ["no threshold: the model gives scores (--by-alpha or --recall R set one)"]
    if threshold.by == "alpha":
        basis = f"the share alpha = {threshold.asked:.4g} of {threshold.rows} unlabelled rows"
        return [f"threshold {threshold.value:.6g}: by {basis}, of which {threshold.share:.4g} reach it"]
    notes = [
        f"threshold {threshold.value:.6g}: a recall of at least {threshold.asked:g} is expected of new positives; "
        f"{threshold.share:.4g} of {threshold.rows} withheld positives reach it"
    ]
    if threshold.alerts is None:
        return [*notes, "alert rate: unknown without unlabelled rows (--unlabelled FILE)"]
    alert = f"alert rate {threshold.alerts:.4g}: of the {n_u} unlabelled rows, that share reaches the threshold"
    if alpha is not None and threshold.alerts:
        alert += f"; {_precision(alpha, threshold.share, threshold.alerts)}"
    return [*notes, alert]


def _precision(alpha: float, recall: float, alerts: float) -> str:
    """Return the precision among the alerts in words, or that the three shares contradict each other."""
    found = alpha * recall  # share of U that is positive and reaches the threshold: a part of the alerts
    if found > alerts:
        return (
            f"precision unknown: alpha {alpha:.4g} times the recall {recall:.4g} is {found:.4g}, more than the alert "
            "rate, so they contradict each other. Alpha may be too high, or the recall lower than the withheld "
            "positives show"
        )
    return f"precision among them about {found / alerts:.2g} if alpha is {alpha:.4g}"


def _rank(recall: float, withheld: int) -> int:
    """Return which of the withheld positives, by ascending score, is the threshold.

    All ranks of a new positive among m withheld ones are equally likely: P(below their k-th) is k / (m + 1).
    """
    k = int(np.floor((1 - recall) * (withheld + 1) + 1e-9))
    if k < 1:
        needed = int(np.ceil(1 / (1 - recall) - 1e-9)) - 1
        raise ValueError(
            f"--recall: a recall of {recall:g} needs at least {needed} withheld positives, and {withheld} were "
            "withheld; withhold more by --withhold, or ask for a lower recall"
        )
    return k


def _at(
    ascending: Array, place: int, by: Literal["alpha", "recall"], target: float, unlabelled: Array | None
) -> Threshold:
    value = float(ascending[place])
    return Threshold(
        by=by,
        asked=target,
        value=value,
        rows=len(ascending),
        share=float((ascending >= value).mean()),
        alerts=None if unlabelled is None else float((unlabelled >= value).mean()),
    )
