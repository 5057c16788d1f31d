"""OC-SVM (Schoelkopf et al., 2000) and PU-SVM (Bagirov et al., section on PU-SVM), which adds the unlabelled rows.

PU-SVM minimises the non-negative PU risk (Kiryo et al., 2017) with the double hinge loss (du Plessis et al., 2015) plus
lam ||w||^2, for a function that is linear in the rows or in what a kernel makes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Literal, Self

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from puoc.methods.solvers import hinge_kernel, hinge_linear
from puoc.methods.solvers.hinge import Risk
from puoc.methods.solvers.hinge_sgd import Bias, HingeSGD
from puoc.methods.solvers.kernel_expansion import Expansion, Kernel, check_gamma
from puoc.methods.training.deep import given_prior
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.registry import method

_KERNELS = {"exact": ("linear", "rbf"), "sgd": ("linear", "single_vector_rbf")}
_OF_SGD = ("lr", "lr_decay", "epochs", "batch_size", "bias")
_ROWS_MAX = 8_000  # with kernel rbf; 7,500 at their worst take 2 minutes of one core and 5 GB
SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("oc_svm")
@typed
class OCSVM(Expansion):
    """min 1/2 ||w||^2 - r + (1 / (nu n)) sum max(0, r - <w, x>); the score is <w, x> - r, up to a positive factor.

    The paper's equation oc_svm, without the -r that it has twice. Rows (n, d). Published (table hp1): kernel
    linear, nu .5.
    """

    kind = "oc"
    needs_alpha = False
    libraries = ("sklearn.svm",)

    kernel: Literal["linear", "rbf"]
    nu: float = Field(gt=0, le=1)  # upper bound on the share of labelled positives left outside
    gamma: PositiveFloat | None = None  # of exp(-gamma ||x - x'||^2); absent for a linear kernel

    @model_validator(mode="after")
    def _what_the_kernel_takes(self) -> Self:
        check_gamma(self.kernel, self.gamma)
        return self

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """See ``LaneLoop``."""
        from sklearn.svm import OneClassSVM

        self.check_shape(sample.X_p.shape[1:])
        X = np.asarray(sample.X_p, dtype=np.float64)
        svm = OneClassSVM(kernel=self.kernel, nu=self.nu, gamma=self.gamma or "scale")
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


@method("pu_svm")
@typed
class PUSVM(Expansion):
    """min lam ||w||^2 + risk of <w, x> + b, which is the score; b is not regularised.

    The paper's equations nnpu_svm (``non_negative``) and upu_svm (``unbiased``), with rows (n, d). Published (hp1):
    kernel linear, lam .01, and for sgd lr 5e-3, lr_decay .995, 100 epochs; batches of 512 are the released code's.

    ``exact`` solves the convex program over all rows. ``sgd`` is Adam on batches, as the paper trains it, with a single
    vector of the length of a row: linear, or the centre of one bump.
    """

    kind = "pu_oc"
    twin = "oc_svm"
    needs_alpha = True
    libraries = ("clarabel", "scipy.optimize", "scipy.sparse", "sklearn.svm")  # slow to load: not before a fit

    solver: Literal["exact", "sgd"]
    kernel: Kernel
    risk: Risk
    lam: PositiveFloat  # weight of ||w||^2
    gamma: PositiveFloat | None = None  # of exp(-gamma ||x - x'||^2); absent for a linear kernel
    lr: PositiveFloat | None = None  # this and the rest: for sgd, absent for exact
    lr_decay: PositiveFloat | None = None  # factor per epoch
    epochs: PositiveInt | None = None
    batch_size: PositiveInt | None = None  # rows of P and U together
    bias: Bias | None = None  # b learned, or after each step that which calls a share alpha of the batch's U positive

    @model_validator(mode="after")
    def _what_the_solver_takes(self) -> Self:
        if self.kernel not in _KERNELS[self.solver]:
            known = " or ".join(_KERNELS[self.solver])
            raise ValueError(f"hyperparameter 'kernel': got {self.kernel!r}, solver {self.solver} takes {known}")
        given = [name for name in _OF_SGD if getattr(self, name) is not None]
        if self.solver == "exact" and given:
            raise ValueError(f"solver exact takes no {', '.join(given)}; leave them out or set solver: sgd")
        missing = [name for name in _OF_SGD if name not in given]
        if self.solver == "sgd" and missing:
            raise ValueError(f"missing hyperparameter {', '.join(map(repr, missing))}; solver sgd needs them")
        check_gamma(self.kernel, self.gamma)
        return self

    def check_counts(self, n_p: int, n_u: int) -> None:
        """See ``RowChecks``: the matrix of a kernel has the square of the number of rows."""
        if self.solver == "exact" and self.kernel == "rbf" and n_p + n_u > _ROWS_MAX:
            raise ValueError(
                f"{self.name} with kernel rbf takes {_ROWS_MAX} rows of P and U together at most, got {n_p + n_u}; "
                "use --params kernel=linear --params gamma=null, or fewer rows"
            )

    def fit_lanes(self, samples: Sequence[PUSample], compute: Compute = Compute()) -> list[Self]:  # noqa: B008
        """Fit one copy per sample: exact ones one after the other, sgd as lanes of a small network."""
        for sample in samples:
            self.check_shape(sample.X_p.shape[1:])
        if self.solver == "exact":
            return super().fit_lanes(samples, compute)
        params = {name: getattr(self, name) for name in (*_OF_SGD, "risk", "lam", "gamma")} | {"batching": "union"}
        return [self._from_net(trained) for trained in HingeSGD(**params).fit_lanes(samples, compute)]

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Solve the convex program of ``hinge_linear``, or with a kernel that of ``hinge_kernel``.

        Raises
        ------
        ValueError : too many rows for kernel rbf.
        """
        alpha = given_prior(self.name, sample.alpha)
        X_u = sample.X_p[:0] if sample.X_u is None else sample.X_u
        if self.kernel == "linear":
            linear = hinge_linear.solve(sample.X_p, X_u, alpha, self.lam, self.risk)
            self.arrays_ = {"w": linear.w, "b": np.array([linear.b])}
            self.curve_ = {"objective": [linear.objective_at_zero, linear.objective]}
            return
        X = np.concatenate([sample.X_p, X_u]).astype(np.float64)
        if len(X) > _ROWS_MAX:
            limit = f"kernel rbf takes at most {_ROWS_MAX} rows of P and U together, as its matrix has their square"
            raise ValueError(f"{self.name}: {limit}; got {len(X)}; use kernel: linear or a smaller sample")
        found = hinge_kernel.solve(self.matrix(X, X), len(sample.X_p), alpha, self.lam, self.risk)
        support = found.beta != 0
        self.arrays_ = {"support_vectors": X[support], "dual": found.beta[support], "b": np.array([found.b])}
        self.curve_ = {"objective": [found.objective_at_zero, found.objective]}

    def _from_net(self, trained: HingeSGD) -> Self:
        one, net = copy(self), trained.state()
        one.arrays_ = {"w": net["w"].astype(np.float64), "b": net["b"].astype(np.float64)[None]}
        one.curve_, one.alpha_hat_, one.lane_map_ = trained.curve_, None, trained.lane_map_
        return one
