"""Reference methods: one of each family (OC, PU-OC, PU) that fits vectors of any origin within seconds.

The robustness map was computed with these methods, so it holds for them in the first place. Their hyperparameters
follow from the number of values of a row; none was chosen with labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.methods.training.estimator import Estimator
from puoc.methods.training.principal_components import MOST_VALUES as MOST_VALUES
from puoc.methods.training.principal_components import Seen as Seen
from puoc.records import Array, Params
from puoc.store.steps import advance

Family = Literal["OC", "PU-OC", "PU"]

FAMILIES: Final[tuple[Family, ...]] = ("OC", "PU-OC", "PU")

_SCHEDULE: Final = {"lr": 1e-3, "lr_decay": 1.0, "epochs": 30, "batch_size": 128}

#: Relative time of a fit; measured with 2,000 rows of U and 20 values. Only the progress display uses it.
_COST: Final[Mapping[Family, float]] = {"OC": 0.02, "PU-OC": 1.0, "PU": 0.6}


#: Up to this number of columns, all of them are seen, if there are ``ROWS_A_COLUMN`` times as many rows.
MOST_COLUMNS: Final = 100
ROWS_A_COLUMN: Final = 5

#: Encoders of ``puoc fit`` that make the first ``MOST_VALUES`` components, and all of ``MOST_COLUMNS`` columns.
ENCODERS: Final = ("components", "all_components")


def values_seen(columns: int, n: int) -> int:
    """Return the number of components of ``columns`` that n rows of P and U are seen by: all, or the first 20."""
    wide = columns <= MOST_COLUMNS and n >= ROWS_A_COLUMN * columns
    return columns if wide else min(columns, MOST_VALUES)


def work_of(n_u: int) -> float:
    """Return the sum of the weights that the fits of an assessment report to ``store.steps``.

    Each half of U is learned by all families, and a quarter and a half of it by PU.
    """
    return n_u * (sum(_COST.values()) + _COST["PU"] * (1 / 4 + 1 / 2))


def question(family: Family, d: int) -> tuple[str, Params]:
    """Return method and hyperparameters of a family for rows of ``d`` values with a mean variance of 1."""
    if family == "OC":
        return "oc_svm", {"kernel": "rbf", "nu": 0.5, "gamma": 4 / d}
    if family == "PU":
        return "naive", {**_SCHEDULE, "batching": "union"}
    shell = {"radius": sqrt(d) / 2, "gamma": 2.0, "ascent_step": 0.1, "ascent_steps": 5, "warmup_epochs": 3}
    return "pu_drocc", {**_SCHEDULE, "batching": "p", "lam": 1.0, **shell, "net": "net", "space": "input"}


class Fitted(NamedTuple):
    """A representation and the models of the families on it."""

    seen: Seen
    models: Mapping[Family, Estimator]

    def scores(self, X: Array) -> dict[Family, NDArray[np.float64]]:
        """Return scores (n,) by family; higher = more likely positive."""
        Z = self.seen(X)
        return {family: np.asarray(model.decision_function(Z), np.float64) for family, model in self.models.items()}


def fit(X_p: Array, X_u: Array, seed: int, values: int, families: Sequence[Family] = FAMILIES) -> Fitted:
    """Fit families to the same (n_p, *shape) labelled positives and (n_u, *shape) unlabelled rows.

    Parameters
    ----------
    values : number of components, as ``values_seen`` has it of all rows.
    """
    seen = Seen.by(X_p, X_u, values)
    return Fitted(seen, {family: _model(family, seen(X_p), seen(X_u), seed) for family in families})


def fit_one(family: Family, X_p: Array, X_u: Array, seed: int, values: int) -> tuple[Seen, Estimator]:
    """Fit one family with a representation of its own."""
    seen = Seen.by(X_p, X_u, values)
    return seen, _model(family, seen(X_p), seen(X_u), seed)


def _model(family: Family, Z_p: Array, Z_u: Array, seed: int) -> Estimator:
    from puoc import methods

    name, params = question(family, Z_p.shape[1])
    model = methods.make(name, params).fit(Z_p, Z_u, seed=seed)
    advance(_COST[family] * len(Z_u))
    return model
