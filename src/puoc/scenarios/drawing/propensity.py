"""Propensities e(x) = p(labelled | y=1, x) of the mechanisms of biased labelling (SAR), up to a factor, as logarithms.

``ambiguous_first`` with strength 10 is the third mechanism of the benchmark PU-Bench, (1.5 - p)^10, and ``clear_first``
is p^strength. ``linear`` and ``by_class`` depend on one attribute, as in Bekker, Robberechts and Davis (2019).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.prepare.arrays import Prepared
from puoc.records import Labelling

Rows = NDArray[np.int64]
Values = NDArray[np.float64]

#: Rows of each class that the model of the true labels is fitted on.
FEWEST, MOST = 20, 500
_STEPS = 100
_CLOSE = 1e-12


def log_propensities(
    labelling: Labelling | None, prepared: Prepared, rows: Rows, known: tuple[Rows, Rows], positives: Rows
) -> Values:
    """Return log e(x) of positive rows, shape (n,); -inf for a row that is never labelled.

    Parameters
    ----------
    labelling : None for SCAR, where every row has 0.
    known : positive and negative rows that the model of the true labels is fitted on; empty if there is no model.
    positives : all training positives, by which a feature is scaled.

    Raises
    ------
    ValueError : the feature of ``linear`` is the same in all positives.
    """
    if labelling is None:
        return np.zeros(len(rows))
    if labelling.sar == "by_class":
        rare = np.isin(prepared.y[rows], labelling.classes or ())
        with np.errstate(divide="ignore"):
            return np.where(rare, np.log(1 - labelling.strength), 0.0)
    if labelling.sar == "linear":
        z = _scaled_feature(prepared, rows, positives, labelling.feature or 0)
        return np.log(1 - labelling.strength + labelling.strength * z)
    log_odds = log_odds_of(_flat(prepared, known[0]), _flat(prepared, known[1]), _flat(prepared, rows))
    log_p: Values = -np.logaddexp(0.0, -log_odds)
    if labelling.sar == "clear_first":
        return labelling.strength * log_p
    return labelling.strength * np.log(1.5 - np.exp(log_p))


def log_odds_of(X_pos: Values, X_neg: Values, X: Values) -> Values:
    """Return log p(y=1 | x) / p(y=0 | x) of rows (n, d), by a logistic regression with a ridge, for equal class priors.

    Columns are standardised. The loss is the sum over rows plus half the squared weights, which is scikit-learn's with
    C = 1. Newton's method solves it to rounding errors, so that draws do not depend on a version of a library.
    """
    fitted = np.concatenate([X_pos, X_neg])
    y = np.arange(len(fitted)) < len(X_pos)
    centre, spread = fitted.mean(axis=0), fitted.std(axis=0)
    spread[spread == 0] = 1.0
    Z, Z_new = (fitted - centre) / spread, (X - centre) / spread
    if Z.shape[1] > len(Z):  # the solution is a combination of the rows
        basis = np.linalg.qr(Z.T)[0]
        Z, Z_new = Z @ basis, Z_new @ basis
    Z, Z_new = (np.concatenate([part, np.ones((len(part), 1))], axis=1) for part in (Z, Z_new))
    ridge = np.ones(Z.shape[1])
    ridge[-1] = 0.0  # the intercept
    sign = np.where(y, 1.0, -1.0)

    def loss(w: Values) -> float:
        return float(np.logaddexp(0.0, -sign * (Z @ w)).sum() + 0.5 * ridge @ w**2)

    w = np.zeros(Z.shape[1])
    for _ in range(_STEPS):
        p = 0.5 * (1 + np.tanh(0.5 * (Z @ w)))
        gradient = Z.T @ (p - y) + ridge * w
        hessian = (Z * (p * (1 - p))[:, None]).T @ Z + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while size > _CLOSE and loss(w - size * step) > loss(w):
            size /= 2
        w = w - size * step
        if np.abs(size * step).max() < _CLOSE:
            break
    return Z_new @ w


def _scaled_feature(prepared: Prepared, rows: Rows, positives: Rows, feature: int) -> Values:
    values = _flat(prepared, positives)[:, feature]
    low, high = values.min(), values.max()
    if low == high:
        raise ValueError(
            f"{prepared.name}: feature {feature} is {low:g} in all {len(positives)} training positives, so a "
            "propensity cannot depend on it; expected a feature with several values (key labelling)"
        )
    scaled: Values = (_flat(prepared, rows)[:, feature] - low) / (high - low)
    return scaled


def _flat(prepared: Prepared, rows: Rows) -> Values:
    return prepared.take(rows).reshape(len(rows), -1).astype(np.float64)
