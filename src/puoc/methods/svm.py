"""OC-SVM (Schoelkopf et al., 2000) and PU-SVM (Bagirov et al., section on PU-SVM), which adds the unlabelled rows.

PU-SVM is a linear classifier that minimises the non-negative PU risk (Kiryo et al., 2017) with the double hinge loss
(du Plessis et al., 2015) plus lam ||w||^2.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Literal, Self

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt, model_validator
from torch import Tensor, nn

from puoc.deep import Deep, Noise, given_prior
from puoc.estimator import Array, Compute, Estimator, LaneLoop, PUSample, typed
from puoc.lanes import Lane
from puoc.methods import hinge_qp
from puoc.nets import linear
from puoc.registry import method
from puoc.risks import double_hinge, non_negative, unbiased

_OF_SGD = ("lr", "lr_decay", "epochs", "batch_size")
_SCORED_AT_ONCE = 1024  # rows against all support vectors


class FittedArrays(LaneLoop):
    """Scoring with named arrays. A plain class: what a fit leaves behind is no hyperparameter."""

    arrays_: dict[str, Array]

    def state(self) -> dict[str, Array]:
        """The arrays that score, by name."""
        return dict(self.arrays_)

    def restore(self, state: dict[str, Array], shape: tuple[int, ...]) -> Self:
        """Become the fitted model again.

        Raises
        ------
        ValueError : the arrays are not those of a model for rows of ``shape``.
        """
        rows = state.get("w", state.get("support_vectors"))
        if rows is None or rows.shape[-1:] != shape:
            raise ValueError(f"{self.name}: arrays of a model for rows of shape {shape} expected, got {_shapes(state)}")
        self.arrays_ = dict(state)
        return self


@method("oc_svm")
@typed
class OCSVM(FittedArrays):
    """min 1/2 ||w||^2 - r + (1 / (nu n)) sum max(0, r - <w, x>); the score is <w, x> - r, up to a positive factor."""

    kind = "oc"
    needs_alpha = False
    libraries = ("sklearn.svm",)

    kernel: Literal["linear", "rbf"]
    nu: float = Field(gt=0, le=1)  # upper bound on the share of labelled positives left outside
    gamma: PositiveFloat  # of exp(-gamma ||x - x'||^2); a linear kernel does not look at it

    @property
    def keeps_training_rows(self) -> bool:
        """The support vectors of a kernel are training rows; a linear fit keeps their weighted sum alone."""
        return self.kernel != "linear"

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """See ``LaneLoop``."""
        from sklearn.svm import OneClassSVM

        _check_vectors(self, sample.X_p)
        X = np.asarray(sample.X_p, dtype=np.float64)
        svm = OneClassSVM(kernel=self.kernel, nu=self.nu, gamma=self.gamma)
        svm.random_state = 0  # unused by libsvm here, but without it scikit-learn advances numpy's global generator
        svm.fit(X)
        dual, r = svm.dual_coef_.ravel(), svm.intercept_.copy()
        if self.kernel == "linear":
            self.arrays_ = {"w": dual @ svm.support_vectors_, "b": r}
        else:
            self.arrays_ = {"support_vectors": svm.support_vectors_, "dual": dual, "b": r}
        # libsvm's solution is nu n times that of the objective above, which is 0 at w = 0
        n, scores = self.nu * len(X), self.decision_function(X)
        norm = dual @ (scores[svm.support_] - r[0]) / n**2
        objective = norm / 2 + r[0] / n + np.maximum(0, -scores).sum() / n**2
        self.curve_ = {"objective": [0.0, float(objective)]}

    def decision_function(self, X: Array) -> Array:
        """Scores (n,), float64."""
        if self.kernel == "linear":
            return _affine(X, self.arrays_)
        supports, dual = self.arrays_["support_vectors"], self.arrays_["dual"]
        scores = np.empty(len(X))
        for start in range(0, len(X), _SCORED_AT_ONCE):
            x = np.asarray(X[start : start + _SCORED_AT_ONCE], dtype=np.float64)
            squares = (x**2).sum(axis=1)[:, None] + (supports**2).sum(axis=1) - 2 * x @ supports.T
            scores[start : start + len(x)] = np.exp(-self.gamma * np.maximum(squares, 0)) @ dual + self.arrays_["b"]
        return scores


@method("pu_svm")
@typed
class PUSVM(FittedArrays):
    """Linear PU-SVM; b is learned and not regularised.

    ``exact`` solves the convex program over all rows; ``sgd`` is Adam on batches, as the paper trains it.
    """

    kind = "pu_oc"
    twin = "oc_svm"
    needs_alpha = True
    libraries = ("clarabel", "scipy.optimize", "scipy.sparse")  # scipy is slow to load: not before a fit

    solver: Literal["exact", "sgd"]
    risk: hinge_qp.Risk
    lam: PositiveFloat  # weight of ||w||^2
    lr: PositiveFloat | None = None  # this and the rest: for sgd, absent for exact
    lr_decay: PositiveFloat | None = None  # factor per epoch
    epochs: PositiveInt | None = None
    batch_size: PositiveInt | None = None  # rows of P and U together

    @model_validator(mode="after")
    def _what_the_solver_takes(self) -> Self:
        given = [name for name in _OF_SGD if getattr(self, name) is not None]
        if self.solver == "exact" and given:
            raise ValueError(f"solver exact takes no {', '.join(given)}; leave them out or set solver: sgd")
        missing = [name for name in _OF_SGD if name not in given]
        if self.solver == "sgd" and missing:
            raise ValueError(f"missing hyperparameter {', '.join(map(repr, missing))}; solver sgd needs them")
        return self

    def fit_lanes(self, samples: Sequence[PUSample], compute: Compute = Compute()) -> list[Self]:  # noqa: B008
        """Fit one copy per sample: exact ones one after the other, sgd as lanes of a linear network."""
        for sample in samples:
            _check_vectors(self, sample.X_p)
        if self.solver == "exact":
            return super().fit_lanes(samples, compute)
        params = {name: getattr(self, name) for name in (*_OF_SGD, "risk", "lam")} | {"batching": "union"}
        return [self._from_net(trained) for trained in LinearHinge(**params).fit_lanes(samples, compute)]

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Solve the convex program of ``hinge_qp``."""
        alpha = given_prior(self.name, sample.alpha)
        X_u = sample.X_p[:0] if sample.X_u is None else sample.X_u
        found = hinge_qp.solve(sample.X_p, X_u, alpha, self.lam, self.risk)
        self.arrays_ = {"w": found.w, "b": np.array([found.b])}
        self.curve_ = {"objective": [found.objective_at_zero, found.objective]}

    def decision_function(self, X: Array) -> Array:
        """Scores (n,), float64."""
        return _affine(X, self.arrays_)

    def _from_net(self, trained: LinearHinge) -> Self:
        one, net = copy(self), trained.state()
        one.arrays_ = {"w": net["0.weight"][0].astype(np.float64), "b": net["0.bias"].astype(np.float64)}
        one.curve_, one.alpha_hat_, one.lane_map_ = trained.curve_, None, trained.lane_map_
        return one


@typed
class LinearHinge(Deep):
    """What ``pu_svm`` trains with ``solver: sgd``."""

    name = "pu_svm"
    kind = "pu_oc"

    risk: hinge_qp.Risk
    lam: PositiveFloat

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return linear(shape[0])

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """lam ||w||^2 + the PU risk of the batch with the double hinge."""
        risk = non_negative if self.risk == "non_negative" else unbiased
        penalty: Tensor = self.lam * net.params["0.weight"].square().sum()
        return penalty + risk(double_hinge, net(x_p), net(x_u), alpha)


def _check_vectors(estimator: Estimator, X: Array) -> None:
    if X.ndim != 2:
        raise ValueError(f"{estimator.name} takes vectors, got rows of shape {X.shape[1:]}; an encoder may help")


def _affine(X: Array, arrays: dict[str, Array]) -> Array:
    scores: Array = np.asarray(X, dtype=np.float64) @ arrays["w"] + arrays["b"]
    return scores


def _shapes(state: dict[str, Array]) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in state.items()}
