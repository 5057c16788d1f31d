"""SAR-EM (Bekker, Robberechts and Davis, 2019): a second model for the chance that a positive row is labelled.

A positive row x is labelled with the chance e(x) ("selected at random", given x), so that p(s=1 | x) = f(x) e(x) with
f(x) = p(y=1 | x). Both are logistic regressions here, fitted to the labels s by expectation maximisation.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import PositiveFloat, PositiveInt

from puoc.methods.training.array_model import ArrayModel, Sizes
from puoc.methods.training.deep import given_prior
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.records import Array
from puoc.registry import method

_STANDS_STILL = 1e-7  # relative fall of the objective in a round
SETTING = "single_training_set"  # that the risk assumes, see docs/glossary.md


@method("sar_em")
@typed
class SAREM(ArrayModel):
    """The score is the logit of f. Columns are standardised by the rows of P and U.

    E step: the expected label y of a row of U is f (1 - e) / (1 - f e), and 1 in P. M step: f is fitted to y, and e to
    s with the weights y, each with ``l2`` / 2 times its squared slopes added. It starts with y = alpha in U and with
    the same e everywhere, n_p / (n_p + alpha n_u). The likelihood does not tell f from e, so the start does: f first
    explains the labels, and e what is left.
    """

    kind = "pu"
    needs_alpha = True
    libraries = ("scipy.optimize",)
    array_shapes: ClassVar[dict[str, Sizes]] = {"mean": ("d",), "spread": ("d",), "f": ("terms",), "e": ("terms",)}

    rounds: PositiveInt  # of both steps at most
    l2: PositiveFloat

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Take both steps in turn until the objective stands still."""
        alpha = given_prior(self.name, sample.alpha)
        self.check_shape(sample.X_p.shape[1:])
        X_u = sample.X_p[:0] if sample.X_u is None else sample.X_u
        X = np.concatenate([sample.X_p, X_u]).astype(np.float64)
        s = np.repeat([1.0, 0.0], [len(sample.X_p), len(X_u)])
        constant = X.min(axis=0) == X.max(axis=0)
        mean, spread = X.mean(axis=0), np.where(constant, 1.0, X.std(axis=0))
        Z = _with_one((X - mean) / spread)
        y, every = np.where(s == 1, 1.0, alpha), np.ones(len(X))
        f = fitted(Z, y, every, self.l2, np.zeros(Z.shape[1]))
        share = len(sample.X_p) / y.sum()
        e = np.append(np.zeros(Z.shape[1] - 1), np.log(share / (1 - share)))
        objective = [self._objective(Z, s, f, e)]
        for _ in range(self.rounds):
            y = np.where(s == 1, 1.0, expected(Z @ f, Z @ e))
            f, e = fitted(Z, y, every, self.l2, f), fitted(Z, s, y, self.l2, e)
            objective.append(self._objective(Z, s, f, e))
            if objective[-2] - objective[-1] < _STANDS_STILL * abs(objective[-1]):
                break
        if objective[-1] < objective[0]:
            self.curve_ = {"negative log-likelihood": objective}
        self.arrays_ = {"mean": mean, "spread": spread, "f": f, "e": e}

    def _objective(self, Z: Array, s: Array, f: Array, e: Array) -> float:
        """Return minus the log-likelihood of s plus ``l2`` / 2 times the squared slopes."""
        log_f, log_e = -np.logaddexp(0, -Z @ f), -np.logaddexp(0, -Z @ e)
        likelihood = np.where(s == 1, log_f + log_e, _log_unlabelled(Z @ f, Z @ e)).sum()
        return float(-likelihood + self.l2 / 2 * (f[:-1] @ f[:-1] + e[:-1] @ e[:-1]))

    def check_arrays(self, d: int) -> None:
        """See ``ArrayModel``: a slope for each column and an intercept, and spreads above 0."""
        if len(self.arrays_["f"]) != d + 1 or not (self.arrays_["spread"] > 0).all():
            raise ValueError(f"{self.name}: {d + 1} coefficients and positive spreads expected")

    def decision_function(self, X: Array) -> Array:
        """Return scores (n,), float64."""
        slopes = self.arrays_["f"][:-1] / self.arrays_["spread"]
        scores: Array = (np.asarray(X, dtype=np.float64) - self.arrays_["mean"]) @ slopes + self.arrays_["f"][-1]
        return scores


def expected(of_f: Array, of_e: Array) -> Array:
    """Return f (1 - e) / (1 - f e), p(y=1 | x, s=0), from the logits of f and e."""
    positive: Array = np.exp(-np.logaddexp(0, -of_f) - np.logaddexp(0, of_e) - _log_unlabelled(of_f, of_e))
    return positive


def _log_unlabelled(of_f: Array, of_e: Array) -> Array:
    """Return log(1 - f e), as log(1 - f + f (1 - e))."""
    log: Array = np.logaddexp(-np.logaddexp(0, of_f), -np.logaddexp(0, -of_f) - np.logaddexp(0, of_e))
    return log


def fitted(Z: Array, target: Array, weight: Array, l2: float, start: Array) -> Array:
    """Fit a logistic regression to targets in [0, 1], one of the columns (n, d + 1) being 1 and not penalised."""
    from scipy.optimize import minimize

    def loss(w: Array) -> tuple[float, Array]:
        logit = Z @ w
        slopes = np.append(w[:-1], 0.0)
        value = (weight * (np.logaddexp(0, logit) - target * logit)).sum() + l2 / 2 * slopes @ slopes
        residual = weight * (1 / (1 + np.exp(-np.clip(logit, -500, 500))) - target)
        return float(value), Z.T @ residual + l2 * slopes

    found: Array = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return found


def _with_one(Z: Array) -> Array:
    with_one: Array = np.column_stack([Z, np.ones(len(Z))])
    return with_one
