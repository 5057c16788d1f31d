"""Exact PU-SVM with a kernel: the double-hinge PU risk plus lam ||w||^2 by its dual, solved by clarabel.

With f = <w, phi(x)> + b and e(f) = max(0, |f| - 1), the double hinge is l(z) = 1 - z + e(z) for z = y f. So for a share
theta in [0, 1] the mixture (1 - theta) A + theta B of the two sides of the non-negative risk ``max(A, B)`` (see
``hinge_linear``) is a constant + sum q_i f_i + sum c_i e(f_i) with

    labelled positives: q = -alpha (1 + theta) / n_p, c = alpha (1 - theta) / n_p
    unlabelled rows:    q = theta / n_u,              c = theta / n_u

and the objective's minimum is the largest value, over theta and u, of the dual

    (1 - theta) alpha + theta - sum |u_i - q_i| - u' K u / (4 lam), |u_i - q_i| <= c_i, sum u_i = 0

with w = -sum u_i phi(x_i) / (2 lam). theta = 1 is the unbiased risk; there u on the unlabelled rows is B + 2 C in the
dual of Bagirov et al. (section on PU-SVM, without its misprints).

u - q is c, 0 or -c where |f| is not 1. For a fixed theta it solves a support vector regression (tube of width 1,
weights c / (2 lam), targets -K q / (2 lam)), so libsvm guesses the rows near |f| = 1 in little time. Those alone are
variables. Any such u is feasible: its value is a lower bound, the objective at its w an upper one. Rows on a side not
foreseen become variables and the program is solved again, until the two bounds meet.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from puoc.methods.solvers.hinge import Risk, Vector, double_hinge, least_at_zero, with_room_for_rounding

if TYPE_CHECKING:
    from scipy import sparse

_WHOLE = 400  # rows up to which all are variables from the beginning
_NEAR = 0.02  # distance of |f| from 1 below which a row becomes a variable; a matter of speed alone
_GUESS_TOL, _GUESS_STEPS, _GUESS_THETA = 1e-3, 50_000, 0.01  # how well libsvm guesses
_SOLVER_TOL = 1e-10
_GAP_TOL = 1e-9  # at which no further row is added; relative where the objective is above 1 in size
_GAP_MAX = 1e-6  # above which the solution is refused
_KINK = 1e-6  # distance of |f| from 1 that may be rounding
_AT_BOUND = 1e-9  # share of c that the solver leaves to a bound
_HALVED = 70  # times, from an interval of some units of f to the last digit of b


@dataclass(frozen=True)
class KernelSolution:
    """Minimiser of the objective: f = K beta + b; ``objective - bound`` is the duality gap."""

    beta: Vector  # (n_p + n_u,) coefficients of the rows, P first
    b: float
    objective: float
    bound: float  # lower bound on the minimum, less what rounding may have added to it
    objective_at_zero: float  # at w = 0 with the best b


def solve(K: Vector, n_p: int, alpha: float, lam: float, risk: Risk) -> KernelSolution:
    """Minimise the double-hinge PU risk + lam ||w||^2 over w in the kernel's space and b.

    Parameters
    ----------
    K : (n, n) kernel matrix of the labelled positives, which come first, and the unlabelled rows.
    n_p : number of labelled positives.
    alpha : class prior, in (0, 1).
    lam : weight of ||w||^2, above 0; b is free.

    Raises
    ------
    RuntimeError : the bounds stayed further apart than 1e-6 of max(1, |objective|).
    """
    problem = _Problem(K, n_p, alpha, lam, risk)
    n = len(K)
    movable = np.arange(n) >= (n_p if risk == "unbiased" else 0)  # where c may be above 0
    side, near = np.zeros(n), movable
    if n > _WHOLE:
        f = _guess(problem)
        side, near = _sides(f), movable & (np.abs(np.abs(f) - 1) < _NEAR)
    while True:
        found, f = problem.measured(*_reduced(problem, near, side))
        gap = (found.objective - found.bound) / max(1.0, abs(found.objective))
        unforeseen = movable & ~near & (_sides(f) != side)
        if not unforeseen.any() and gap > _GAP_MAX:  # rows of equal values, on a kink, pass by how f was rounded
            unforeseen = movable & ~near & (np.abs(np.abs(f) - 1) < _KINK)
            unforeseen = unforeseen if unforeseen.any() else movable & ~near
        if gap <= _GAP_TOL or not unforeseen.any():
            break
        near = near | unforeseen
    if not abs(gap) <= _GAP_MAX:  # also what is no number
        raise RuntimeError(f"pu_svm: the duality gap is {gap:.1e}, at most {_GAP_MAX:.0e} expected")
    return replace(found, bound=with_room_for_rounding(found.bound, n, problem.size(found.beta, f)))


@dataclass(frozen=True)
class _Problem:
    """The objective and its dual; P comes first among the rows."""

    K: Vector
    n_p: int
    alpha: float
    lam: float
    risk: Risk

    @property
    def coefficients(self) -> tuple[Vector, Vector, Vector, Vector]:
        """Return q and c of every row as affine functions of theta: q at 0, its slope, c at 0, its slope."""
        n = len(self.K)
        of_p = np.arange(n) < self.n_p
        p, u = self.alpha / self.n_p, 1 / (n - self.n_p)
        return np.where(of_p, -p, 0), np.where(of_p, -p, u), np.where(of_p, p, 0), np.where(of_p, -p, u)

    def measured(self, u: Vector, theta: float) -> tuple[KernelSolution, Vector]:
        """Return both bounds of a dual point, after it is moved to a feasible one, and f."""
        q_0, q_1, c_0, c_1 = self.coefficients
        q, c = q_0 + theta * q_1, np.maximum(c_0 + theta * c_1, 0)
        v = np.clip(u - q, -c, c)
        v = np.where(np.abs(v) > (1 - _AT_BOUND) * c, np.sign(v) * c, v)  # so that u is exactly 0 where it should be
        lacking = -float((q + v).sum())
        room = c - np.sign(lacking) * v
        within = np.where(np.abs(v) < c, room, 0)
        room = within if within.sum() > abs(lacking) else room
        v += lacking * room / room.sum()
        beta = -(q + v) / (2 * self.lam)
        g = self.K @ beta
        norm, b = self.lam * float(beta @ g), self._best_b(g)
        bound = (1 - theta) * self.alpha + theta - float(np.abs(v).sum()) - norm
        return KernelSolution(beta, b, norm + self._risk(g + b), bound, least_at_zero(self.alpha)), g + b

    def size(self, beta: Vector, f: Vector) -> float:
        """Return what bounds the sums of absolute terms in the bound and in the objective."""
        weights = np.abs(beta)
        norm = sum(float(weights[row] * (np.abs(self.K[row]) @ weights)) for row in np.flatnonzero(weights))
        return 4 + self.lam * norm + 4 * float(np.abs(f).max())  # the shares of the rows sum to less than 2

    def parts(self, f: Vector) -> tuple[float, float]:
        """Return A and B, given f of the rows."""
        f_p, f_u = f[: self.n_p], f[self.n_p :]
        A = self.alpha * float(double_hinge(f_p).mean())
        return A, float(double_hinge(-f_u).mean()) - 2 * self.alpha * float(f_p.mean())

    def _risk(self, f: Vector) -> float:
        A, B = self.parts(f)
        return B if self.risk == "unbiased" else max(A, B)

    def _best_b(self, g: Vector) -> float:
        """Return the best b for f = g + b: the risk is convex and piecewise affine in it."""
        low, high = -float(g.max()) - 2, -float(g.min()) + 2
        for _ in range(_HALVED):
            b = (low + high) / 2
            low, high = (low, b) if self._rises(g + b) else (b, high)
        return min(low, high, key=lambda end: self._risk(g + end))

    def _rises(self, f: Vector) -> bool:
        """Return True if the risk grows with b. A never does."""
        A, B = self.parts(f)
        if self.risk == "non_negative" and A > B:
            return False
        f_u = f[self.n_p :]
        return float((f_u > -1).mean() + (f_u > 1).mean()) > 2 * self.alpha


def _sides(f: Vector) -> Vector:
    """Return the slope of e: -1, 0 or 1."""
    return np.where(np.abs(f) > 1, np.sign(f), 0.0)


def _guess(problem: _Problem) -> Vector:
    """Return f of the rows near the minimiser: the regression at the theta where A is about B."""
    from scipy.optimize import brentq

    n, n_p = len(problem.K), problem.n_p
    framed = np.zeros((n + 1, n + 1))
    framed[:n, :n] = problem.K
    sums = problem.K[:, :n_p].sum(axis=1), problem.K[:, n_p:].sum(axis=1)

    @cache
    def found(theta: float) -> Vector:
        return _regression(problem, framed, theta, *sums)

    def slope(theta: float) -> float:
        """Return B - A, the derivative of the dual value; at 0 the minimiser is w = 0, b = 1."""
        A, B = problem.parts(found(theta)) if theta else (0.0, 2 * (1 - problem.alpha))
        return B - A

    if problem.risk == "unbiased" or slope(1.0) >= 0:
        return found(1.0)
    return found(brentq(slope, 0.0, 1.0, xtol=_GUESS_THETA))


def _regression(problem: _Problem, framed: Vector, theta: float, of_p: Vector, of_u: Vector) -> Vector:
    """Compute f with libsvm for one theta.

    libsvm asks for sum v = 0. The last row of ``framed``, which the kernel takes to 0, makes up for what sum u = 0
    leaves: its f is b alone, its target out of reach, so that its v is its weight.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVR

    n, n_p, scale = len(problem.K), problem.n_p, 2 * problem.lam
    q_0, q_1, c_0, c_1 = problem.coefficients
    q, c = (q_0 + theta * q_1) / scale, (c_0 + theta * c_1) / scale
    targets = -(q[0] * of_p + q[-1] * of_u)
    lacking = -float(q.sum())
    beyond = 2 * (float(np.abs(targets).max()) + float(c.sum()) + 2)
    rows = slice(n_p if theta == 1 else 0, n if lacking == 0 else n + 1)  # libsvm drops rows without weight
    y, weight = np.append(targets, -np.sign(lacking) * beyond), np.append(c, abs(lacking))
    svr = SVR(kernel="precomputed", C=1.0, epsilon=1.0, tol=_GUESS_TOL, max_iter=_GUESS_STEPS)
    svr.cache_size = 1 + n**2 * 4 // 2**20  # MiB
    svr.random_state = 0  # unused by libsvm here, but without it scikit-learn advances numpy's global generator
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a guess will do
        svr.fit(framed[rows, rows], y[rows], sample_weight=weight[rows])
    v = np.zeros(n + 1)
    v[rows.start + svr.support_] = svr.dual_coef_.ravel()
    f: Vector = targets - problem.K @ v[:n] - svr.intercept_[0]
    return f


def _reduced(problem: _Problem, near: NDArray[np.bool_], side: Vector) -> tuple[Vector, float]:
    """Return u of all rows and theta: the optimum with u - q = side c on the rows that are not ``near``.

    Variables: n u (m), theta, n s (m) with s >= |u - q|.
    """
    import clarabel
    from scipy import sparse

    n, m = len(near), int(near.sum())
    q_0, q_1, c_0, c_1 = (n * part for part in problem.coefficients)
    fixed_0, fixed_1 = np.where(near, 0, q_0 + side * c_0), np.where(near, 0, q_1 + side * c_1)
    curvature = 2 * problem.lam * n**2
    K_0, K_1 = (problem.K @ np.column_stack([fixed_0, fixed_1]) / curvature).T
    hessian = _hessian(problem.K, near, np.append(K_1[near], fixed_1 @ K_1), curvature)
    width = float(np.abs(side[~near]) @ c_1[~near]) / n
    goal = np.concatenate([K_0[near], [fixed_1 @ K_0 + width - (1 - problem.alpha)], np.full(m, 1 / n)])
    eye, none = sparse.eye(m), sparse.csc_matrix((m, m))
    blocks: list[list[Any]] = [
        [np.ones((1, m)), np.array([[fixed_1.sum()]]), sparse.csc_matrix((1, m))],
        [eye, -q_1[near, None], -eye],
        [-eye, q_1[near, None], -eye],
        [none, -c_1[near, None], eye],
        [sparse.csc_matrix((2, m)), np.array([[1.0], [-1.0]]), sparse.csc_matrix((2, m))],
    ]
    least = 1.0 if problem.risk == "unbiased" else 0.0
    limits = np.concatenate([[-fixed_0.sum()], q_0[near], -q_0[near], c_0[near], [1.0, -least]])
    constraints = sparse.csc_matrix(sparse.vstack([sparse.hstack(block) for block in blocks]))
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(3 * m + 2)]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads, settings.direct_solve_method = False, 1, "faer"
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _SOLVER_TOL
    x = np.asarray(clarabel.DefaultSolver(hessian, goal, constraints, limits, cones, settings).solve().x)
    theta = float(np.clip(x[m], least, 1))
    u = fixed_0 + theta * fixed_1
    u[near] = x[:m]
    return u / n, theta


def _hessian(K: Vector, near: NDArray[np.bool_], of_theta: Vector, curvature: float) -> sparse.csc_matrix:
    """Return the upper triangle of (u, theta, s): the kernel of rows ``near``, the column of theta, zeros for s."""
    from scipy import sparse

    m = len(of_theta) - 1
    dense = np.zeros((m + 1, m + 1))
    dense[:m, :m] = np.triu(K[np.ix_(near, near)])
    dense /= curvature
    dense[:, m] = of_theta
    upper = sparse.csc_matrix(dense)
    ends = np.append(upper.indptr, np.full(m, upper.indptr[-1]))
    return sparse.csc_matrix((upper.data, upper.indices, ends), shape=(2 * m + 1, 2 * m + 1))
