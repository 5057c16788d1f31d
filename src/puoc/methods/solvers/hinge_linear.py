"""Exact linear PU-SVM: the double-hinge PU risk plus lam ||w||^2 as a convex quadratic program, solved by clarabel.

With f = <w, x> + b, l(z) = max(-2z, 0, 1 - z) and l(z) - l(-z) = -2z, the unbiased risk of du Plessis et al. (2015) is
``B = mean_U l(-f) - 2 alpha mean_P f`` and the non-negative one is ``max(A, B)`` with ``A = alpha mean_P l(f)``. Both
are convex in (w, b), so the program ``min lam ||w||^2 + t, t >= A, t >= B`` is exact (Bagirov et al. state the unbiased
one and its dual in the section on PU-SVM).

l is the largest of three affine functions. Where the side of its kinks (z = -1 and z = 1) that a row ends on is known,
one of them is enough; only rows near a kink need slack variables. A smoothed problem guesses the sides, and the guess
is checked: leaving pieces out can only lower the optimum, so the optimum of the reduced program is a lower bound on the
full minimum, and the full objective at its solution an upper one. Rows on a side not foreseen get their slack variables
and the program is solved again, until the two bounds meet.

clarabel's dual value is that optimum up to its tolerance, so it may lie above the minimum. It serves to stop. The bound
that is returned is certified instead. For weights c of the rows and shares theta and 1 - theta of B and A, any r with
0 <= r <= 2 c that balances b gives the lower bound sum (c - |r - c|) - ||sum -y r x + theta slope_w||^2 / (4 lam),
since l(z) is the largest value of -s z + 1 - |s - 1| for s in [0, 2]. clarabel's multipliers are moved to such an r.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from puoc.methods.solvers.hinge import Risk, Vector, double_hinge, least_at_zero, with_room_for_rounding
from puoc.records import Array

_TEMPERATURES = (0.2, 0.05)  # of the smoothed problem, coarse to fine
_SOLVER_TOL = 1e-9
_STEPS = (0.99, 0.9, 0.7)  # of the way to the border of the cone; near a solution of about 0 long ones can get stuck
_GAP_TOL = 1e-8  # at which no further row is added; relative where the objective is above 1 in size
_GAP_MAX = 1e-6  # above which the solution is refused
_KINK = 1e-6  # distance of |z| from 1 that may be the solver's tolerance; relative where some |z| is above 1


@dataclass(frozen=True)
class Solution:
    """Minimiser of the objective; ``objective - bound`` is the duality gap."""

    w: Vector  # (d,)
    b: float
    objective: float  # at (w, b), over all rows
    bound: float  # lower bound on the minimum, less what rounding may have added to it
    objective_at_zero: float  # at w = 0 with the best b


@dataclass(frozen=True)
class _Problem:
    """Minimise lam ||w||^2 + max(A, B), or lam ||w||^2 + B alone; z = y (X w + b)."""

    X: Vector  # (n, d) rows that carry a loss: P and U, or U alone for the unbiased risk
    y: Vector  # (n,) +1 on P, -1 on U
    in_a: Vector  # (n,) weight of l(z) in A
    in_b: Vector  # (n,) weight of l(z) in B
    slope_w: Vector  # (d,) of the linear part of B, -2 alpha mean_P f
    slope_b: float
    lam: float
    clamped: bool  # is A there

    def parts(self, loss: Vector, w: Vector, b: float) -> tuple[float, float]:
        """Return A and B, given the losses of the rows."""
        A = float(self.in_a @ loss) if self.clamped else -np.inf
        return A, float(self.in_b @ loss + self.slope_w @ w + self.slope_b * b)

    def objective(self, w: Vector, b: float) -> float:
        """Return the full objective."""
        return float(self.lam * w @ w) + max(self.parts(double_hinge(self.margin(w, b)), w, b))

    def margin(self, w: Vector, b: float) -> Vector:
        """Return z of every row."""
        margin: Vector = self.y * (self.X @ w + b)
        return margin


def solve(X_p: Array, X_u: Array, alpha: float, lam: float, risk: Risk) -> Solution:
    """Minimise the double-hinge PU risk + lam ||w||^2 over (w, b).

    Parameters
    ----------
    X_p, X_u : (n_p, d) labelled positives and (n_u, d) unlabelled rows.
    alpha : class prior, in (0, 1).
    lam : weight of ||w||^2, above 0; b is free.

    Raises
    ------
    RuntimeError : the solver stopped early, or its primal and dual values stayed further apart than 1e-6 of
        max(1, |objective|).
    """
    P, U = np.asarray(X_p, dtype=np.float64), np.asarray(X_u, dtype=np.float64)
    n, d = len(P) + len(U), P.shape[1]
    if n >= d:
        return _solve(_problem(P, U, alpha, lam, risk), alpha)
    # w lies in the span of the rows: work in an orthonormal basis of it
    basis, coordinates = np.linalg.qr(np.concatenate([P, U]).T)
    rows = np.ascontiguousarray(coordinates.T)
    reduced = _solve(_problem(rows[: len(P)], rows[len(P) :], alpha, lam, risk), alpha)
    return Solution(basis @ reduced.w, reduced.b, reduced.objective, reduced.bound, reduced.objective_at_zero)


def _problem(P: Vector, U: Vector, alpha: float, lam: float, risk: Risk) -> _Problem:
    n_p, n_u = len(P), len(U)
    linear = (-2 * alpha * P.mean(axis=0), -2 * alpha)
    if risk == "unbiased":  # P enters by its mean alone
        return _Problem(U, -np.ones(n_u), np.zeros(n_u), np.full(n_u, 1 / n_u), *linear, lam, clamped=False)
    y = np.concatenate([np.ones(n_p), -np.ones(n_u)])
    in_a = np.concatenate([np.full(n_p, alpha / n_p), np.zeros(n_u)])
    in_b = np.concatenate([np.zeros(n_p), np.full(n_u, 1 / n_u)])
    return _Problem(np.concatenate([P, U]), y, in_a, in_b, *linear, lam, clamped=True)


def _solve(problem: _Problem, alpha: float) -> Solution:
    n, d = problem.X.shape
    z = problem.margin(*_smoothed(problem))
    to_kink = np.abs(np.abs(z) - 1)
    first = min(max(n // 2, 200), max(1000, 2 * d), n)  # rows with slack variables; a matter of speed alone
    near = to_kink <= np.sort(to_kink)[first - 1]
    while True:
        guessed = _slope(z)
        w, b, bound, dual = _reduced(problem, near, guessed)
        objective, z = problem.objective(w, b), problem.margin(w, b)
        scale = max(1.0, abs(objective))  # the unbiased risk may be far below 0
        unforeseen = ~near & (_slope(z) != guessed)
        if not unforeseen.any() and objective - bound > _GAP_MAX * scale:
            unforeseen = ~near  # rows of equal values, on a kink, pass by how z was rounded
        if objective - bound <= _GAP_TOL * scale or not unforeseen.any():
            break
        near |= unforeseen
    if not abs(objective - bound) <= _GAP_MAX * scale:  # also what is no number
        raise RuntimeError(f"pu_svm: the duality gap is {objective - bound:.1e}, at most {_GAP_MAX:.0e} expected")
    return Solution(w, b, objective, _certified(problem, w, b, *dual), least_at_zero(alpha))


def _certified(problem: _Problem, w: Vector, b: float, r: Vector, theta: float) -> float:
    """Return the larger of two lower bounds: from r as the solver has it, and from r as the sides of (w, b) have it.

    On rows away from a kink, the side determines r. On the others, r is the smallest change that makes w stationary.
    """
    c, z = (1 - theta) * problem.in_a + theta * problem.in_b, problem.margin(w, b)
    at_kink = np.abs(np.abs(z) - 1) < _KINK * max(1.0, float(np.abs(z).max()))
    sided = np.where(at_kink, r, _slope(z) * c)
    framed = np.column_stack([problem.X, np.ones(len(r))])
    wanted = np.append(theta * problem.slope_w + 2 * problem.lam * w, theta * problem.slope_b)
    lacking = wanted - framed.T @ (problem.y * sided)
    sided[at_kink] += problem.y[at_kink] * np.linalg.lstsq(framed[at_kink].T, lacking)[0]
    room = 4 + 4 * float(np.abs(z).max()) + float(np.abs(problem.slope_w) @ np.abs(w))  # for rounding, see below
    return max(_dual_value(problem, c, point, theta, room) for point in (r, sided))


def _dual_value(problem: _Problem, c: Vector, r: Vector, theta: float, size: float) -> float:
    """Return the value of r (n,), made feasible, less what rounding may have added to it or taken from the objective.

    ``size`` bounds the sums of absolute terms in all but the norm.
    """
    r = np.clip(r, 0, 2 * c)
    lacking = float(problem.y @ r) - theta * problem.slope_b
    rises = problem.y * lacking < 0
    room = np.where(rises, 2 * c - r, r)
    inside = np.where((r > 0) & (r < 2 * c), room, 0)  # a change of these costs the bound least
    room = inside if inside.sum() > abs(lacking) else room
    r = r + abs(lacking) * np.where(rises, room, -room) / room.sum()
    g = theta * problem.slope_w - problem.X.T @ (problem.y * r)
    terms = np.abs(theta * problem.slope_w) + np.abs(problem.X.T) @ r
    bound = float((c - np.abs(r - c)).sum()) - float(g @ g) / (4 * problem.lam)
    in_norm = float((2 * np.abs(g) + len(r) * np.finfo(np.float64).eps * terms) @ terms) / (4 * problem.lam)
    return with_room_for_rounding(bound, len(r), size + in_norm)


def _slope(z: Vector) -> Vector:
    """Return -dl/dz on the piece of l that contains z: 2, 1 or 0."""
    return np.where(z < -1, 2.0, np.where(z > 1, 0.0, 1.0))


def _smoothed(problem: _Problem) -> tuple[Vector, float]:
    """Return an approximate minimiser: l(z) = max(0, 1 - z) + max(0, -1 - z), each of the two smoothed."""
    from scipy.optimize import minimize

    d = problem.X.shape[1]
    x = np.zeros(d + 1)
    for temperature in _TEMPERATURES:
        x = minimize(_smooth_objective, x, args=(problem, temperature), jac=True, method="L-BFGS-B").x
    return x[:d], float(x[d])


def _smooth_objective(x: Vector, problem: _Problem, temperature: float) -> tuple[float, Vector]:
    from scipy.special import expit

    w, b = x[:-1], float(x[-1])
    z = problem.margin(w, b)
    sides = ((1 - z) / temperature, (-1 - z) / temperature)
    loss = temperature * (np.logaddexp(0, sides[0]) + np.logaddexp(0, sides[1]))
    slope = -problem.y * (expit(sides[0]) + expit(sides[1]))  # dl/df
    A, B = problem.parts(loss, w, b)
    sharp = temperature / 10
    share = float(expit((B - A) / sharp))  # of B in the smoothed max(A, B)
    risk = B if not problem.clamped else A + sharp * float(np.logaddexp(0, (B - A) / sharp))
    by_row = slope * ((1 - share) * problem.in_a + share * problem.in_b)
    grad_w = problem.X.T @ by_row + share * problem.slope_w + 2 * problem.lam * w
    grad = np.append(grad_w, by_row.sum() + share * problem.slope_b)
    return float(problem.lam * w @ w) + risk, grad


def _reduced(
    problem: _Problem, near: NDArray[np.bool_], guessed: Vector
) -> tuple[Vector, float, float, tuple[Vector, float]]:
    """Solve with slack variables on the rows ``near`` a kink and one affine piece, of the guessed slope, elsewhere.

    Return w, b, the solver's dual value and its dual point: r of every row and theta.

    Variables: w (d), b, z (m), s1 (m), s2 (m), t; l(z) = s1 + s2 with s1 >= 1 - z, s2 >= -1 - z, both >= 0. The margins
    are variables so that the dense rows enter once.
    """
    import clarabel
    from scipy import sparse

    (n, d), m = problem.X.shape, int(near.sum())
    X, y = problem.X[near], problem.y[near]
    eye, none, no_t = sparse.eye(m), sparse.csc_matrix((m, m)), sparse.csc_matrix((m, 1))
    no_wb = sparse.csc_matrix((m, d + 1))
    rows_wb = sparse.csc_matrix(-y[:, None] * np.column_stack([X, np.ones(m)]))
    blocks = [
        sparse.hstack([rows_wb, eye, none, none, no_t]),
        sparse.hstack([no_wb, -eye, -eye, none, no_t]),
        sparse.hstack([no_wb, -eye, none, -eye, no_t]),
        sparse.hstack([no_wb, none, -eye, none, no_t]),
        sparse.hstack([no_wb, none, none, -eye, no_t]),
    ]
    risks = [_risk_row(problem, near, guessed, of_b=True)]
    if problem.clamped:
        risks.append(_risk_row(problem, near, guessed, of_b=False))
    constraints = sparse.csc_matrix(sparse.vstack([*blocks, *(sparse.csc_matrix(row) for row, _ in risks)]))
    constants = [constant for _, constant in risks]
    bounds = np.concatenate([np.zeros(m), -np.ones(m), np.ones(m), np.zeros(2 * m), constants])
    quadratic = sparse.diags(np.append(np.full(d, 2 * problem.lam), np.zeros(3 * m + 2))).tocsc()
    goal = np.append(np.zeros(d + 3 * m + 1), 1.0)
    cones = [clarabel.ZeroConeT(m), clarabel.NonnegativeConeT(4 * m + len(risks))]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads, settings.direct_solve_method = False, 1, "qdldl"
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _SOLVER_TOL
    for fraction in _STEPS:
        settings.max_step_fraction = fraction
        found = clarabel.DefaultSolver(quadratic, goal, constraints, bounds, cones, settings).solve()
        if found.status == clarabel.SolverStatus.Solved:
            break
    else:
        raise RuntimeError(f"pu_svm: clarabel says {found.status} on {n} rows of {d} features, Solved expected")
    x, multipliers = np.asarray(found.x), np.asarray(found.z)
    theta = float(np.clip(multipliers[5 * m], 0, 1)) if problem.clamped else 1.0
    r = guessed * ((1 - theta) * problem.in_a + theta * problem.in_b)
    r[near] = multipliers[m : 2 * m] + multipliers[2 * m : 3 * m]
    return x[:d], float(x[d]), float(found.obj_val_dual), (r, theta)


def _risk_row(problem: _Problem, near: NDArray[np.bool_], guessed: Vector, *, of_b: bool) -> tuple[Vector, float]:
    """Return B <= t, or A <= t, as coefficients of the variables and their bound."""
    weight = problem.in_b if of_b else problem.in_a
    far = np.where(near, 0.0, weight)
    slopes = -far * guessed * problem.y  # an affine piece of l is [slope == 1] - slope z
    wb = np.append(problem.X.T @ slopes, slopes.sum())
    if of_b:
        wb += np.append(problem.slope_w, problem.slope_b)
    row = np.concatenate([wb, np.zeros(int(near.sum())), weight[near], weight[near], [-1.0]])
    return row, -float(far @ (guessed == 1.0))
