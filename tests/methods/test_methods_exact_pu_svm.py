"""The exact PU-SVM against an independent solver, the dual of the unbiased problem and scikit-learn's OC-SVM."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.svm import OneClassSVM

from puoc.methods import make
from puoc.methods.solvers.hinge_linear import solve

Rows = NDArray[np.float64]


def problem(n_p: int, n_u: int, d: int, seed: int, shift: float = 0.5) -> tuple[Rows, Rows]:
    rng = np.random.default_rng(seed)
    P = rng.normal(shift, 1, (n_p, d))
    return P, np.concatenate([rng.normal(shift, 1, (n_u // 2, d)), rng.normal(-shift, 1, (n_u - n_u // 2, d))])


def objective(P: Rows, U: Rows, w: Rows, b: float, alpha: float, lam: float, risk: str) -> float:
    def hinge(z: Rows) -> float:
        return float(np.maximum(-2 * z, np.maximum(0, 1 - z)).mean())

    f_p, f_u = P @ w + b, U @ w + b
    positive, bracket = alpha * hinge(f_p), hinge(-f_u) - alpha * hinge(-f_p)
    return float(lam * w @ w) + positive + (max(0, bracket) if risk == "non_negative" else bracket)


def by_cvxpy(P: Rows, U: Rows, alpha: float, lam: float) -> float:
    w, b = cp.Variable(P.shape[1]), cp.Variable()

    def hinge(z: cp.Expression) -> cp.Expression:
        return cp.sum(cp.maximum(-2 * z, 0, 1 - z)) / z.shape[0]

    f_p, f_u = P @ w + b, U @ w + b
    risk = cp.maximum(alpha * hinge(f_p), hinge(-f_u) - 2 * alpha * cp.sum(f_p) / len(P))
    asked = cp.Problem(cp.Minimize(lam * cp.sum_squares(w) + risk))
    asked.solve(solver=cp.OSQP, eps_abs=1e-9, eps_rel=1e-9, max_iter=200_000, polishing=True)
    return float(asked.value)


def by_dual(P: Rows, U: Rows, alpha: float, lam: float) -> float:
    """Largest value of sum B - lam ||w||^2, w = (2 alpha mean_P x - sum_U (B + 2 C) x) / (2 lam)."""
    B, C = cp.Variable(len(U), nonneg=True), cp.Variable(len(U), nonneg=True)
    w = (2 * alpha * P.mean(axis=0) - U.T @ (B + 2 * C)) / (2 * lam)
    feasible = [1 / len(U) >= B + C, cp.sum(B + 2 * C) == 2 * alpha]
    asked = cp.Problem(cp.Maximize(cp.sum(B) - lam * cp.sum_squares(w)), feasible)
    asked.solve(solver=cp.HIGHS)
    return float(asked.value)


CELLS = [
    (20, 30, 4, 0.5, 1e-2),
    (9, 15, 2, 0.3, 0.1),
    (15, 20, 60, 0.5, 1e-2),
    (60, 40, 3, 0.9, 1.0),
    (30, 100, 5, 0.4, 1e-2),
]


@pytest.mark.parametrize(("n_p", "n_u", "d", "alpha", "lam"), CELLS)
def test_the_non_negative_minimum_is_that_of_an_independent_solver(
    n_p: int, n_u: int, d: int, alpha: float, lam: float
) -> None:
    P, U = problem(n_p, n_u, d, seed=n_p)
    found = solve(P, U, alpha, lam, "non_negative")
    assert found.objective == pytest.approx(objective(P, U, found.w, found.b, alpha, lam, "non_negative"), abs=1e-12)
    assert found.objective == pytest.approx(by_cvxpy(P, U, alpha, lam), abs=1e-6)


@pytest.mark.parametrize(("n_p", "n_u", "d", "alpha", "lam"), CELLS)
def test_the_unbiased_minimum_is_the_maximum_of_its_dual(n_p: int, n_u: int, d: int, alpha: float, lam: float) -> None:
    P, U = problem(n_p, n_u, d, seed=n_p)
    found = solve(P, U, alpha, lam, "unbiased")
    assert found.objective == pytest.approx(objective(P, U, found.w, found.b, alpha, lam, "unbiased"), abs=1e-12)
    assert found.objective == pytest.approx(by_dual(P, U, alpha, lam), abs=1e-6)


def test_the_two_risks_part_where_the_unbiased_one_overfits() -> None:
    P, U = problem(15, 20, 60, seed=3)
    unbiased = solve(P, U, 0.5, 1e-2, "unbiased")
    assert objective(P, U, unbiased.w, unbiased.b, 0.5, 1e-2, "non_negative") > 1.5 * (
        solve(P, U, 0.5, 1e-2, "non_negative").objective
    )


@pytest.mark.parametrize("risk", ["non_negative", "unbiased"])
@pytest.mark.parametrize("shift", [0.05, 0.5])
def test_the_bounds_meet_when_most_rows_start_without_slack_variables(risk: str, shift: float) -> None:
    P, U = problem(900, 1800, 20, seed=4, shift=shift)
    found = solve(P, U, 0.5, 1e-3, risk)
    assert abs(found.objective - found.bound) < 1e-7
    rng = np.random.default_rng(5)
    for size in (1e-3, 1e-2, 1e-1):  # no step away from a minimum leads down
        for _ in range(20):
            w, b = found.w + size * rng.normal(size=20), found.b + size * rng.normal()
            assert objective(P, U, w, b, 0.5, 1e-3, risk) > found.objective


@pytest.mark.parametrize(
    ("seed", "d", "n_p", "n_u", "alpha", "lam"),
    [
        (8, 20, 40, 40, 0.9999, 0.1),
        (15, 20, 500, 500, 0.9999, 0.1),
        (34, 2, 40, 40, 0.9999, 0.1),
        (71, 20, 40, 150, 0.999, 0.001),
        (118, 5, 500, 150, 0.9999, 0.01),
    ],
)
@pytest.mark.parametrize("risk", ["non_negative", "unbiased"])
def test_u_without_negatives_is_solved_where_the_minimum_is_about_zero(
    seed: int, d: int, n_p: int, n_u: int, alpha: float, lam: float, risk: str
) -> None:
    """As TIcE's alpha has it. The solver's usual steps get stuck there."""
    rng = np.random.default_rng(seed)
    P, U = rng.normal(size=(n_p, d)), rng.normal(size=(n_u, d))
    found = solve(P, U, alpha, lam, risk)  # type: ignore[arg-type]
    assert abs(found.objective - found.bound) <= 1e-6
    assert found.objective <= found.objective_at_zero + 1e-9


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.5, 0.95])
@pytest.mark.parametrize("risk", ["non_negative", "unbiased"])
def test_the_objective_at_zero_is_that_of_the_best_constant(alpha: float, risk: str) -> None:
    P, U = problem(10, 20, 3, seed=1)
    constants = [objective(P, U, np.zeros(3), b, alpha, 1.0, risk) for b in np.linspace(-3, 3, 601)]
    assert solve(P, U, alpha, 1.0, risk).objective_at_zero == pytest.approx(min(constants), abs=1e-9)


def test_more_features_than_rows_give_a_weight_in_the_span_of_the_rows() -> None:
    P, U = problem(8, 12, 50, seed=2)
    w = solve(P, U, 0.5, 0.1, "non_negative").w
    rows = np.concatenate([P, U])
    np.testing.assert_allclose(rows.T @ np.linalg.lstsq(rows.T, w)[0], w, atol=1e-10)


def test_sgd_comes_close_to_the_exact_solution() -> None:
    P, U = problem(40, 80, 5, seed=6)
    asked = {"kernel": "linear", "risk": "non_negative", "lam": 0.1}
    exact = make("pu_svm", asked | {"solver": "exact"}).fit(P, U, alpha=0.5)
    schedule = {"lr": 0.05, "lr_decay": 0.99, "epochs": 400, "batch_size": 120, "bias": "gradient"}
    sgd = make("pu_svm", asked | {"solver": "sgd"} | schedule).fit(P, U, alpha=0.5)
    assert sgd.curve_["loss"][-1] == pytest.approx(exact.curve_["objective"][-1], abs=2e-3)
    w, w_exact = sgd.state()["w"], exact.state()["w"]
    assert w @ w_exact / np.linalg.norm(w) / np.linalg.norm(w_exact) > 0.99


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_oc_svm_scores_are_those_of_scikit_learn(kernel: str) -> None:
    P, U = problem(50, 60, 4, seed=7)
    reference = OneClassSVM(kernel=kernel, nu=0.3, gamma=0.2).fit(P)
    width = {"gamma": 0.2} if kernel == "rbf" else {}
    ours = make("oc_svm", {"kernel": kernel, "nu": 0.3} | width).fit(P)
    np.testing.assert_allclose(ours.decision_function(U), reference.decision_function(U), rtol=1e-9, atol=1e-9)
    assert ours.keeps_training_rows == (kernel == "rbf")
