"""Criteria for a choice without negatives, from withheld labelled positives and withheld unlabelled rows.

Three of them need decisions. A row is called positive from the score at which a share alpha of the withheld unlabelled
rows is called positive; alpha is what the method was given or estimated itself. Without an alpha they are empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from puoc.analysis.metrics import metric
from puoc.analysis.metrics.counts import Scores, Withheld
from puoc.analysis.metrics.ranking import roc_auc


class _Rates(NamedTuple):
    alpha: float
    of_p: float  # share of the withheld positives that is called positive
    of_u: float  # the same of the unlabelled rows


def _rates(withheld: Withheld) -> _Rates | None:
    if withheld.alpha is None:
        return None
    m = len(withheld.unlabelled)
    called = min(max(int(np.rint(withheld.alpha * m)), 1), m)
    threshold = np.sort(withheld.unlabelled)[m - called]
    rates = (float((scores >= threshold).mean()) for scores in (withheld.positive, withheld.unlabelled))
    return _Rates(withheld.alpha, *rates)


@metric("the criterion of puoc's selection", rows="withheld")
def auc_val_pu(withheld: Withheld) -> float | None:
    """The AUC of withheld positives against withheld unlabelled rows."""
    return roc_auc(Scores(withheld.positive, withheld.unlabelled))


@metric("a criterion of PU-Bench, by the identity of du Plessis et al., 2014", rows="withheld")
def proxy_accuracy(withheld: Withheld) -> float | None:
    """The accuracy on U up to the constant alpha: 2 alpha p(f=1 | P) + p(f=0 | U)."""
    rates = _rates(withheld)
    return None if rates is None else 2 * rates.alpha * rates.of_p + 1 - rates.of_u


@metric("a criterion of PU-Bench, for P that was drawn out of one training set", rows="withheld")
def proxy_accuracy_corrected(withheld: Withheld) -> float | None:
    """The accuracy on P and U together, for a P that was drawn out of U: 2 pi p(f=1 | P) + p(f=0 | P and U) - pi.

    The share of positives of both together is pi = (n_p + alpha n_u) / (n_p + n_u).
    """
    rates = _rates(withheld)
    if rates is None or not withheld.n_pos or not withheld.n_unl:
        return None
    share = withheld.n_pos / (withheld.n_pos + withheld.n_unl)
    prior = share + (1 - share) * rates.alpha
    called = share * rates.of_p + (1 - share) * rates.of_u
    return 2 * prior * rates.of_p + 1 - called - prior


@metric("Lee and Liu, 2003", rows="withheld")
def lee_liu(withheld: Withheld) -> float | None:
    """The squared recall of withheld positives over the share of withheld unlabelled rows that is called positive."""
    rates = _rates(withheld)
    return None if rates is None or not rates.of_u else rates.of_p**2 / rates.of_u
