"""One method of each family (OC, PU-OC, PU) that fits vectors of any origin within seconds, and what it sees of them.

The robustness map was made with these, so what it says holds for these first. Their hyperparameters follow from the
number of values of a row; none was chosen by a label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from puoc.estimator import Array, Estimator

Family = Literal["OC", "PU-OC", "PU"]

FAMILIES: Final[tuple[Family, ...]] = ("OC", "PU-OC", "PU")
MOST_VALUES: Final = 20

_CUT = 6.0  # standard deviations; heavy tails must not decide the scale
_WIDE: Final = 1000  # columns; below, that matrix is small, and the signs stay those that the map was learned with
_SCHEDULE: Final = {"lr": 1e-3, "lr_decay": 1.0, "epochs": 30, "batch_size": 128}


@dataclass(frozen=True)
class Seen:
    """Standardised columns, cut at 6 deviations; their first 20 principal components, divided by the overall spread."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    components: NDArray[np.float64]  # (columns, d)
    spread: float

    @classmethod
    def by(cls, X_p: Array, X_u: Array) -> Self:
        """Fitted to rows of training, without a label."""
        X = np.concatenate([X_p, X_u]).reshape(len(X_p) + len(X_u), -1).astype(np.float64)
        mean, scale = X.mean(axis=0), X.std(axis=0)
        scale[scale == 0] = 1
        Z = np.clip((X - mean) / scale, -_CUT, _CUT)
        values, vectors = _leading(Z, min(MOST_VALUES, Z.shape[1]))
        return cls(mean, scale, vectors, float(np.sqrt(max(values.mean(), 1e-12))))

    def __call__(self, X: Array) -> NDArray[np.float32]:
        """Rows (n, *shape) as (n, d)."""
        Z = np.clip((X.reshape(len(X), -1) - self.mean) / self.scale, -_CUT, _CUT)
        return (Z @ self.components / self.spread).astype(np.float32)


def _leading(Z: NDArray[np.float64], d: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The d largest eigenvalues of Z'Z / n, descending, and their vectors (columns, d), each up to its sign.

    Of many columns and fewer rows they are found by the (n, n) matrix ZZ' / n, which has the same eigenvalues but for
    zeros. A vector that belongs to none of these is 0 there: no row of training varies along it.
    """
    n, columns = Z.shape
    if columns <= max(n, _WIDE):
        values, vectors = np.linalg.eigh(Z.T @ Z / n)
        return values[::-1][:d], vectors[:, ::-1][:, :d]
    from scipy.linalg import eigh

    found, of_rows = eigh(Z @ Z.T / n, subset_by_index=(max(n - d, 0), n - 1))
    found, of_rows = found[::-1], of_rows[:, ::-1]
    k = np.count_nonzero(found > max(found[0], 0) * n * np.finfo(np.float64).eps)
    values, vectors = np.zeros(d), np.zeros((columns, d))
    values[:k], vectors[:, :k] = found[:k], Z.T @ of_rows[:, :k] / np.sqrt(n * found[:k])
    return values, vectors


def question(family: Family, d: int) -> tuple[str, dict[str, Any]]:
    """Method and hyperparameters of a family for rows of ``d`` values of variance 1 on average."""
    if family == "OC":
        return "oc_svm", {"kernel": "rbf", "nu": 0.5, "gamma": 4 / d}
    if family == "PU":
        return "naive", {**_SCHEDULE, "batching": "union"}
    shell = {"radius": sqrt(d) / 2, "gamma": 2.0, "ascent_step": 0.1, "ascent_steps": 5, "warmup_epochs": 3}
    return "pu_drocc", {**_SCHEDULE, "batching": "p", "lam": 1.0, **shell, "net": "net", "space": "input"}


class Fitted(NamedTuple):
    """A representation and the families' models on it."""

    seen: Seen
    models: Mapping[Family, Estimator]

    def scores(self, X: Array) -> dict[Family, NDArray[np.float64]]:
        """Scores (n,) by family; higher = more likely positive."""
        Z = self.seen(X)
        return {family: np.asarray(model.decision_function(Z), np.float64) for family, model in self.models.items()}


def fit(X_p: Array, X_u: Array, seed: int) -> Fitted:
    """All families on the same rows: (n_p, *shape) labelled positives, (n_u, *shape) unlabelled."""
    seen = Seen.by(X_p, X_u)
    return Fitted(seen, {family: _model(family, seen(X_p), seen(X_u), seed) for family in FAMILIES})


def fit_one(family: Family, X_p: Array, X_u: Array, seed: int) -> tuple[Seen, Estimator]:
    """One family on its own representation."""
    seen = Seen.by(X_p, X_u)
    return seen, _model(family, seen(X_p), seen(X_u), seed)


def _model(family: Family, Z_p: Array, Z_u: Array, seed: int) -> Estimator:
    from puoc import methods

    name, params = question(family, Z_p.shape[1])
    made: Estimator = methods.make(name, params)
    return made.fit(Z_p, Z_u, seed=seed)
