"""k nearest neighbours: the distance to the labelled positives (Ramaswamy et al., 2000), and its extension by U.

The extension compares the shares of P and U in one ball around a row, of the radius d_p(x) at which it holds k labelled
positives. So u / p needs no volume. With c_u(x) rows of U in the ball, it is (c_u / n_u) / (k / n_p).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from puoc.methods.solvers import excess
from puoc.methods.solvers.neighbours import distances, kept, within
from puoc.methods.training.array_model import ArrayModel, Sizes
from puoc.methods.training.deep import given_prior
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.records import Array
from puoc.registry import method

SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("knn")
@typed
class KNN(ArrayModel):
    """The score is minus the distance to the k-th nearest labelled positive.

    Rows (n, d) need columns of comparable scale.
    """

    kind = "oc"
    needs_alpha = False
    libraries = ("scipy.spatial",)
    keeps_rows = True
    array_shapes: ClassVar[dict[str, Sizes]] = {"positives": ("n_p", "d")}

    k: PositiveInt
    max_rows: PositiveInt  # kept of P; the time of a score grows with it

    def check_counts(self, n_p: int, n_u: int) -> None:
        """See ``RowChecks``: there are k neighbours in P."""
        _check_k(self.name, self.k, min(n_p, self.max_rows), "labelled positives")

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Keep the labelled positives."""
        self.check_shape(sample.X_p.shape[1:])
        self.check_counts(len(sample.X_p), 0)
        self.arrays_ = {"positives": kept(sample.X_p, self.max_rows, sample.seed)}

    def check_arrays(self, d: int) -> None:
        """See ``ArrayModel``: there are k rows."""
        _check_k(self.name, self.k, len(self.arrays_["positives"]), "labelled positives")

    def decision_function(self, X: Array) -> Array:
        """Return scores (n,), float64."""
        return -distances(self.arrays_["positives"], X, self.k)[:, -1]


@method("pu_knn")
@typed
class PUKNN(ArrayModel):
    """The score of ``solvers.excess``, with u / p from the rows in one ball around a row.

    log(c / p) is ``exponent`` times log(d_p(x) / d_0), with d_0 the quantile ``border`` of the distances d_p between
    labelled positives. The exponent of a density is the dimension of the data; a smaller one lets U count farther away
    from P. The standard error of log(u / p) is that of two counts, k and c_u. Ours; no method of the paper.
    """

    kind = "pu_oc"
    twin = "knn"
    needs_alpha = True
    libraries = ("scipy.spatial",)
    keeps_rows = True
    array_shapes: ClassVar[dict[str, Sizes]] = {
        "positives": ("n_p", "d"),
        "unlabelled": ("n_u", "d"),
        "constants": (2,),
    }

    k: PositiveInt
    max_rows: PositiveInt  # kept of P and of U each; the time of a score grows with it
    border: float = Field(gt=0, lt=1)
    exponent: PositiveFloat
    caution: NonNegativeFloat  # standard errors by which the ratio of densities is lowered

    def check_counts(self, n_p: int, n_u: int) -> None:
        """See ``RowChecks``: there are k neighbours in P, beside the row itself."""
        _check_k(self.name, self.k, min(n_p, self.max_rows) - 1, "labelled positives besides the row itself")

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Keep the rows, and measure the distances among the labelled positives."""
        alpha = given_prior(self.name, sample.alpha)
        self.check_shape(sample.X_p.shape[1:])
        X_u = sample.X_p[:0] if sample.X_u is None else sample.X_u
        self.check_counts(len(sample.X_p), len(X_u))
        P, U = kept(sample.X_p, self.max_rows, sample.seed), kept(X_u, self.max_rows, sample.seed)
        border = np.quantile(distances(P, P, self.k, to_itself=True)[:, -1], self.border)
        constants = np.array([alpha, border])
        self.arrays_ = {"positives": P, "unlabelled": U, "constants": constants}

    def check_arrays(self, d: int) -> None:
        """See ``ArrayModel``: there are k labelled positives and a row of U, and the constants are positive."""
        _check_k(self.name, self.k, len(self.arrays_["positives"]), "labelled positives")
        _check_k(self.name, 1, len(self.arrays_["unlabelled"]), "unlabelled rows")
        constants = self.arrays_["constants"]
        if not (np.isfinite(constants).all() and (constants > 0).all() and constants[0] < 1):
            raise ValueError(f"{self.name}: alpha < 1 and border > 0 expected, got {constants}")

    def decision_function(self, X: Array) -> Array:
        """Return scores (n,), float64."""
        P, U = self.arrays_["positives"], self.arrays_["unlabelled"]
        alpha, border = (float(value) for value in self.arrays_["constants"])
        radius = distances(P, X, self.k)[:, -1]
        of_u = within(U, X, radius) + 0.5  # half a row more, so that the logarithm is finite
        log_ratio = np.log(of_u / (len(U) + 1)) - np.log(self.k / len(P))
        log_level = self.exponent * np.log(radius / border)
        return excess.score(log_ratio, np.sqrt(1 / of_u + 1 / self.k), log_level, alpha, self.caution)


def _check_k(name: str, k: int, n: int, what: str) -> None:
    if k > n:
        raise ValueError(
            f"{name} with k = {k} takes {k} {what} at least, got {n}; give more rows or --params k={max(n, 1)}"
        )
