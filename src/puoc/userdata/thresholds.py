"""The score from which a row is called positive, what it promises, and what follows from it among the unlabelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from puoc.datasets.readers import Pair
from puoc.datasets.readers.pu_data import Rows
from puoc.methods.persistence.header import Threshold
from puoc.records import Array
from puoc.scenarios.drawing.draws import count_of
from puoc.userdata import promises
from puoc.userdata.promises import CONFIDENCE, Bounds


class ThresholdRule(NamedTuple):
    """How the threshold is set; without any of the first four there is none."""

    by_alpha: bool = False
    recall: float | None = None  # smallest share of new positives that reach the threshold
    false_alarms: float | None = None  # largest share of new negatives that reach it
    precision: float | None = None  # smallest share of positives among the new rows that reach it
    confidence: float | None = None  # of the recall; None: the recall holds on average
    alpha: tuple[float, float] | None = None  # interval of the share of positives in U, for the last two

    @property
    def flags(self) -> bool:
        """Return True if the threshold bounds false alarms or a precision, which rest on alpha."""
        return self.false_alarms is not None or self.precision is not None

    @property
    def withholds(self) -> bool:
        """Return True if the threshold rests on withheld positives."""
        return self.recall is not None or self.flags


def check_rule(rule: ThresholdRule, withheld: int, unlabelled: int = 0) -> None:
    """Check that the threshold is possible with so many rows, before anything is fitted.

    Parameters
    ----------
    withheld, unlabelled : numbers of withheld positives, and of unlabelled rows that the model will not learn from.

    Raises
    ------
    ValueError : there are too few rows; the message has the number needed.
    """
    if rule.recall is not None:
        _rank(rule, withheld)
    if not rule.flags or rule.alpha is None:
        return
    option, target, precise = _target(rule)
    given = {"confidence": rule.confidence or CONFIDENCE, "precision": precise}
    best = promises.best_case(withheld, unlabelled, Bounds(*rule.alpha), **given)  # type: ignore[arg-type]
    if best >= target if precise else best <= target:
        return
    needed = promises.needed_unlabelled(withheld, Bounds(*rule.alpha), target=target, **given)  # type: ignore[arg-type]
    more = f"about {needed} such rows would be needed" if needed else "no number of unlabelled rows would do"
    raise ValueError(
        f"{option}: got {target:g} with {withheld} withheld positives and {unlabelled} unlabelled rows that the model "
        f"does not learn from, which can promise {best:.3g} at best; {more}. Give more rows, ask for less, or withhold "
        "more by --withhold"
    )


def threshold_of(
    pair: Pair, rule: ThresholdRule, alpha: float | None, scores: Callable[[Rows], Array]
) -> Threshold | None:
    """Return the threshold of a fitted model, or None if none was asked for.

    Parameters
    ----------
    pair : its unlabelled rows, for ``false_alarms`` and ``precision``, are rows that the model has not learned from.
    alpha : share of positives in U, which ``by_alpha`` needs; the others use it without an interval.
    scores : scores (n,) of rows by the fitted model.

    Raises
    ------
    ValueError : no threshold keeps the false alarms or the precision that was asked for.
    """
    unlabelled = None if pair.unlabelled is None or rule == ThresholdRule() else np.sort(scores(pair.unlabelled))
    if rule.by_alpha:
        assert alpha is not None, "settings give a prior where a threshold rests on it"
        assert unlabelled is not None, "checked before the fit"
        n_positive = min(max(count_of(alpha, len(unlabelled)), 1), len(unlabelled))
        return _at(unlabelled, float(unlabelled[len(unlabelled) - n_positive]), "alpha", alpha, unlabelled)
    if not rule.withholds:
        return None
    assert pair.held is not None, "read with positives withheld"
    held = np.sort(scores(pair.held))
    if rule.recall is not None:
        return _by_recall(rule, held, unlabelled)
    assert unlabelled is not None, "checked before the fit"
    return _by_flagging(rule, held, unlabelled, alpha)


def _by_recall(rule: ThresholdRule, held: Array, unlabelled: Array | None) -> Threshold:
    assert rule.recall is not None, "checked by the caller"
    rank, n = _rank(rule, len(held)), len(held)
    confidence, interval = rule.confidence or CONFIDENCE, promises.recall_interval(rank, n)
    bounds = {
        "confidence": confidence,
        "promised": promises.recall_promised(rank, n, confidence),
        "recall_low": interval.low,
        "recall_high": interval.high,
    }
    found = _at(held, float(held[rank - 1]), "recall", rule.recall, unlabelled)
    return found.model_copy(update=bounds)


def _by_flagging(rule: ThresholdRule, held: Array, unlabelled: Array, alpha: float | None) -> Threshold:
    option, target, precise = _target(rule)
    if rule.alpha is None:
        assert alpha is not None, "settings give a prior where a threshold rests on it"
    interval = Bounds(*(rule.alpha or (alpha or 0.0, alpha or 0.0)))
    confidence = rule.confidence or CONFIDENCE
    found = promises.flagging(
        held,
        unlabelled,
        interval,
        confidence=confidence,
        at_most=None if precise else target,
        at_least=target if precise else None,
    )
    if found is None:
        share = "precision" if precise else "share of flagged negatives"
        raise ValueError(
            f"{option}: got {target:g}, and no threshold has such a {share} at a confidence of {confidence:g}, by "
            f"{len(held)} withheld positives and {len(unlabelled)} unlabelled rows, alpha from {interval.low:.4g} to "
            f"{interval.high:.4g}; ask for less, give more rows or a narrower --alpha-interval, or take another method"
        )
    bounds = {
        "confidence": confidence,
        "promised": found.bound,
        "recall_low": found.recall,
        "alpha_low": interval.low,
        "alpha_high": interval.high,
        "is_promise": rule.alpha is not None,
    }
    by: Literal["precision", "false_alarms"] = "precision" if precise else "false_alarms"
    return _at(held, found.threshold, by, target, unlabelled).model_copy(update=bounds)


def notes_on(threshold: Threshold | None, alpha: float | None, n_u: int) -> list[str]:
    """Return what the threshold rests on, and the alert rate and precision that follow among ``n_u`` unlabelled."""
    if threshold is None:
        return ["no threshold: the model gives scores (--by-alpha, --recall, --false-alarms or --precision set one)"]
    if threshold.by == "alpha":
        basis = f"the share alpha = {threshold.asked:.4g} of {threshold.rows} unlabelled rows"
        return [f"threshold {threshold.value:.6g}: by {basis}, of which {threshold.share:.4g} reach it"]
    if threshold.by != "recall":
        rows = f"of {n_u} unlabelled rows that the model did not learn from, that share reaches the threshold"
        alert = f"alert rate {threshold.alerts or 0.0:.4g}: {rows}"
        return [f"threshold {threshold.value:.6g}: {promise_of(threshold)}", alert]
    notes = [
        f"threshold {threshold.value:.6g}: {promise_of(threshold)}; "
        f"{threshold.share:.4g} of {threshold.rows} withheld positives reach it"
    ]
    if threshold.alerts is None:
        return [*notes, "alert rate: unknown without unlabelled rows (--unlabelled FILE)"]
    alert = f"alert rate {threshold.alerts:.4g}: of the {n_u} unlabelled rows, that share reaches the threshold"
    if alpha is not None and threshold.alerts:
        alert += f"; {_precision(alpha, threshold.share, threshold.alerts)}"
    return [*notes, alert]


def promise_of(threshold: Threshold) -> str:
    """Return in words what a threshold promises of new rows, and on what that rests."""
    if threshold.by == "alpha":
        return f"no promise: it calls a share {threshold.asked:.4g} of the unlabelled rows of the training positive"
    if threshold.by == "recall":
        said = f"a recall of at least {threshold.asked:g} is expected of new positives"
        if threshold.promised is None:  # a file of an earlier version
            return said
        if threshold.promised >= threshold.asked - 1e-9:
            said = f"a recall of at least {threshold.asked:g} of new positives is promised"
        interval = f"95 % interval {threshold.recall_low:.3f} to {threshold.recall_high:.3f}"
        return f"{said}; with {_percent(threshold)} confidence it is at least {threshold.promised:.3f} ({interval})"
    what = "precision of at least" if threshold.by == "precision" else "share of flagged negatives of at most"
    bound = f"a {what} {threshold.asked:g}"
    recall = f"the recall is at least {threshold.recall_low or 0.0:.3f}"
    if threshold.is_promise:
        given = f"if alpha is between {threshold.alpha_low:.4g} and {threshold.alpha_high:.4g}"
        return f"{bound} is promised with {_percent(threshold)} confidence {given}; {recall}"
    given = f"it rests on alpha = {threshold.alpha_low:.4g}; --alpha-interval LOW,HIGH gives a promise"
    return f"{bound} is not promised but estimated: {given}"


def _percent(threshold: Threshold) -> str:
    return f"{100 * (threshold.confidence or 0.0):g} %"


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


def _target(rule: ThresholdRule) -> tuple[str, float, bool]:
    """Return the option, its value, and whether it is a precision."""
    if rule.precision is not None:
        return "--precision", rule.precision, True
    assert rule.false_alarms is not None, "one of the two is given"
    return "--false-alarms", rule.false_alarms, False


def _rank(rule: ThresholdRule, withheld: int) -> int:
    """Return which of the withheld positives, by ascending score, is the threshold.

    Raises
    ------
    ValueError : there are too few; the message has the number needed.
    """
    recall, confidence = rule.recall, rule.confidence
    assert recall is not None, "checked by the caller"
    if confidence is None:
        k = promises.expected_rank(recall, withheld)
    else:
        k = promises.promised_rank(recall, withheld, confidence)
    if k < 1:
        needed = promises.needed_positives(recall, confidence)
        at = "" if confidence is None else f" at a confidence of {confidence:g}"
        raise ValueError(
            f"--recall: a recall of {recall:g}{at} needs at least {needed} withheld positives, and {withheld} were "
            "withheld; withhold more by --withhold, or ask for a lower recall"
        )
    return k


def _at(
    ascending: Array,
    value: float,
    by: Literal["alpha", "recall", "false_alarms", "precision"],
    target: float,
    unlabelled: Array | None,
) -> Threshold:
    return Threshold(
        by=by,
        asked=target,
        value=value,
        rows=len(ascending),
        share=float((ascending >= value).mean()),
        alerts=None if unlabelled is None else float((unlabelled >= value).mean()),
    )
