"""Measures of positive and unlabelled rows that need no negatives, and scorers of scikit-learn made of them."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from puoc.analysis.statistics.auc import auc
from puoc.userdata.estimators.labels import labels_of


def pu_auc_score(y: ArrayLike, scores: ArrayLike, *, pos_label: Any = None) -> float:
    """Compute the AUC of labelled positives against unlabelled rows.

    It is 1 - alpha / 2 at most in expectation, for a share alpha of positives among the unlabelled rows, and it rises
    with the AUC of positives against negatives: AUC_pu = alpha / 2 + (1 - alpha) AUC (Menon et al., 2015). So it
    compares models on the same rows.

    Parameters
    ----------
    y : (n,) 1 for labelled positives, 0 or -1 for unlabelled rows.
    scores : (n,) higher = more likely positive.
    pos_label : label of positives, if it is not 1.

    Returns
    -------
    AUC in [0, 1]; 0.5 for scores by chance.

    Raises
    ------
    ValueError : one side is empty, or a score is not finite.

    Source: Menon et al. (2015), Learning from Corrupted Binary Labels via Class-Probability Estimation.

    Examples
    --------
    >>> from puoc import pu_auc_score
    >>> pu_auc_score([1, 1, 0, 0], [0.9, 0.4, 0.5, 0.1])
    0.75
    """
    labelled = labels_of(y, None if pos_label == "all" else pos_label).labelled
    values = _values("scores", scores, labelled)
    return auc(values[labelled], values[~labelled], "pu_auc")


def proxy_accuracy_score(y: ArrayLike, predicted: ArrayLike, *, alpha: float, pos_label: Any = None) -> float:
    """Compute the accuracy that decisions have on the unlabelled rows, as far as it follows without negatives.

    The recall r of labelled positives and the share q of unlabelled rows that are called positive give the accuracy
    alpha r + (1 - alpha) - (q - alpha r), if labelled positives are a random sample of the positives. Its complement is
    the zero-one risk of du Plessis et al. (2014).

    Parameters
    ----------
    y : (n,) 1 for labelled positives, 0 or -1 for unlabelled rows.
    predicted : (n,) decisions: a number above 0 or True means positive.
    alpha : share of positives among the unlabelled rows, in (0, 1).
    pos_label : label of positives, if it is not 1.

    Returns
    -------
    The estimate. It may leave [0, 1], since the two shares are of different samples.

    Raises
    ------
    ValueError : one side is empty, or alpha is not in (0, 1).

    Source: du Plessis, Niu and Sugiyama (2014), Analysis of Learning from Positive and Unlabeled Data.

    Examples
    --------
    >>> from puoc import proxy_accuracy_score
    >>> proxy_accuracy_score([1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], alpha=0.25)
    1.0
    """
    _check_alpha(alpha)
    recall, called = _shares(y, predicted, pos_label, "proxy_accuracy")
    return float(2 * alpha * recall + (1 - alpha) - called)


def lee_liu_score(y: ArrayLike, predicted: ArrayLike, *, pos_label: Any = None) -> float:
    """Compute the criterion of Lee and Liu (2003): recall squared over the share of all rows that is called positive.

    It is proportional to precision times recall, and high where both are. The share is that of unlabelled rows, which
    stand for all rows.

    Parameters
    ----------
    y : (n,) 1 for labelled positives, 0 or -1 for unlabelled rows.
    predicted : (n,) decisions: a number above 0 or True means positive.
    pos_label : label of positives, if it is not 1.

    Returns
    -------
    The criterion, 0 or higher; 1 if all rows are called positive. 0 if no unlabelled row is called positive.

    Raises
    ------
    ValueError : one side is empty.

    Source: Lee and Liu (2003), Learning with Positive and Unlabeled Examples Using Weighted Logistic Regression.

    Examples
    --------
    >>> from puoc import lee_liu_score
    >>> lee_liu_score([1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0])
    4.0
    """
    recall, called = _shares(y, predicted, pos_label, "lee_liu")
    return float(recall**2 / called) if called else 0.0


_SCORERS: dict[str, tuple[Callable[..., float], str]] = {
    "pu_auc": (pu_auc_score, "decision_function"),
    "proxy_accuracy": (proxy_accuracy_score, "predict"),
    "lee_liu": (lee_liu_score, "predict"),
}


def pu_scorer(name: str, **arguments: Any) -> Callable[..., float]:
    """Return a scorer for ``scoring=`` of scikit-learn, as ``sklearn.metrics.make_scorer`` makes one.

    Parameters
    ----------
    name : ``"pu_auc"``, ``"proxy_accuracy"`` (with ``alpha``) or ``"lee_liu"``.
    arguments : further arguments of the measure, such as ``alpha=0.3``.

    Returns
    -------
    A function of (estimator, X, y), higher = better.

    Raises
    ------
    ValueError : an unknown name, or ``"proxy_accuracy"`` without an alpha in (0, 1).

    Source: the scorer follows ``sklearn.metrics.make_scorer``; each measure names its own source.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from puoc import PUSVM, PUKFold, make_pu, pu_scorer
    >>> X, y, _ = make_pu(n_p=40, n_u=80, alpha=0.3, random_state=0)
    >>> cross_val_score(PUSVM(class_prior=0.3), X, y, cv=PUKFold(2), scoring=pu_scorer("pu_auc")).shape
    (2,)
    """
    from sklearn.metrics import make_scorer

    if name not in _SCORERS:
        raise ValueError(f"scorer: got {name!r}; expected one of {', '.join(_SCORERS)}")
    if name == "proxy_accuracy":
        _check_alpha(arguments.get("alpha"))
    measure, response = _SCORERS[name]
    scorer: Callable[..., float] = make_scorer(measure, response_method=response, **arguments)
    return scorer


def _check_alpha(alpha: Any) -> None:
    if not isinstance(alpha, Real) or not 0 < float(alpha) < 1:
        raise ValueError(f"alpha: got {alpha!r}; expected the share of positives among unlabelled rows, in (0, 1)")


def _shares(y: ArrayLike, predicted: ArrayLike, pos_label: Any, what: str) -> tuple[float, float]:
    """Return the shares of labelled positives and of unlabelled rows that are called positive."""
    labels = labels_of(y, None if pos_label == "all" else pos_label)
    values = np.asarray(predicted)
    if values.shape != labels.labelled.shape:
        raise ValueError(f"predicted has shape {values.shape}; expected {labels.labelled.shape}, one decision a row")
    plain = values.dtype.kind in "biuf" and pos_label is None
    positive = values > 0 if plain else values == labels.classes[1]
    if labels.labelled.all() or not labels.labelled.any():
        raise ValueError(
            f"{what}: got {int(labels.labelled.sum())} labelled of {len(values)} rows; expected both kinds"
        )
    return float(positive[labels.labelled].mean()), float(positive[~labels.labelled].mean())


def _values(name: str, scores: ArrayLike, labelled: NDArray[np.bool_]) -> NDArray[np.float64]:
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != labelled.shape:
        raise ValueError(f"{name} has shape {values.shape}; expected {labelled.shape}, one score a row")
    return values
