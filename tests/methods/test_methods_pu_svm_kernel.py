"""PU-SVM with a kernel against independent solvers and its corrected dual, and the one-vector SGD of the paper."""

from __future__ import annotations

from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel

from puoc.methods import make
from puoc.methods.solvers import hinge_kernel, hinge_linear

Rows = NDArray[np.float64]
RBF: dict[str, Any] = {"solver": "exact", "kernel": "rbf", "risk": "non_negative", "lam": 0.01, "gamma": 0.2}
SCHEDULE: dict[str, Any] = {"lr": 0.05, "lr_decay": 0.99, "epochs": 150, "batch_size": 1000, "bias": "gradient"}
SGD: dict[str, Any] = SCHEDULE | {"solver": "sgd", "kernel": "linear", "risk": "non_negative", "lam": 0.01}


def problem(n_p: int, n_u: int, d: int, seed: int, shift: float = 0.5) -> tuple[Rows, Rows]:
    rng = np.random.default_rng(seed)
    P = rng.normal(shift, 1, (n_p, d))
    return P, np.concatenate([rng.normal(shift, 1, (n_u // 2, d)), rng.normal(-shift, 1, (n_u - n_u // 2, d))])


def hinge(z: Rows) -> float:
    return float(np.maximum(-2 * z, np.maximum(0, 1 - z)).mean())


def objective(K: Rows, n_p: int, beta: Rows, b: float, alpha: float, lam: float, risk: str) -> float:
    f = K @ beta + b
    bracket = hinge(-f[n_p:]) - alpha * hinge(-f[:n_p])
    rest = max(0.0, bracket) if risk == "non_negative" else bracket
    return float(lam * beta @ K @ beta) + alpha * hinge(f[:n_p]) + rest


def by_cvxpy(K: Rows, n_p: int, alpha: float, lam: float) -> float:
    """The non-negative minimum over rows of a factor of K."""
    values, vectors = np.linalg.eigh(K)
    rows = vectors * np.sqrt(np.maximum(values, 0))
    w, b = cp.Variable(len(K)), cp.Variable()

    def mean_hinge(z: cp.Expression) -> cp.Expression:
        return cp.sum(cp.maximum(-2 * z, 0, 1 - z)) / z.shape[0]

    f_p, f_u = rows[:n_p] @ w + b, rows[n_p:] @ w + b
    risk = cp.maximum(alpha * mean_hinge(f_p), mean_hinge(-f_u) - 2 * alpha * cp.sum(f_p) / n_p)
    asked = cp.Problem(cp.Minimize(lam * cp.sum_squares(w) + risk))
    asked.solve(solver=cp.OSQP, eps_abs=1e-9, eps_rel=1e-9, max_iter=200_000, polishing=True)
    return float(asked.value)


def by_dual(K: Rows, n_p: int, alpha: float, lam: float) -> float:
    """The unbiased dual in n_u variables g: P enters by its mean embedding alone."""
    n_u = len(K) - n_p
    with_p, among_p = K[n_p:, :n_p].mean(axis=1), K[:n_p, :n_p].mean()
    values, vectors = np.linalg.eigh(K[n_p:, n_p:])
    root = vectors * np.sqrt(np.maximum(values, 0))
    g = cp.Variable(n_u, nonneg=True)
    gain = cp.sum(cp.minimum(g, 2 / n_u - g)) + alpha / lam * with_p @ g
    loss = cp.sum_squares(root.T @ g) / (4 * lam) + alpha**2 * among_p / lam
    asked = cp.Problem(cp.Maximize(gain - loss), [g <= 2 / n_u, cp.sum(g) == 2 * alpha])
    asked.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return float(asked.value)


CELLS = [
    (9, 15, 2, 0.3, 0.1, 1.0),
    (20, 30, 4, 0.5, 1e-2, 0.1),
    (25, 15, 3, 0.9, 1e-2, 0.5),
    (12, 30, 2, 0.1, 1e-3, 0.1),
]


@pytest.mark.parametrize(("n_p", "n_u", "d", "alpha", "lam", "gamma"), CELLS)
def test_the_minima_are_those_of_independent_solvers(
    n_p: int, n_u: int, d: int, alpha: float, lam: float, gamma: float
) -> None:
    P, U = problem(n_p, n_u, d, seed=n_p)
    K = rbf_kernel(np.concatenate([P, U]), gamma=gamma)
    for risk, expected in (("non_negative", by_cvxpy(K, n_p, alpha, lam)), ("unbiased", by_dual(K, n_p, alpha, lam))):
        found = hinge_kernel.solve(K, n_p, alpha, lam, risk)  # type: ignore[arg-type]
        at_found = objective(K, n_p, found.beta, found.b, alpha, lam, risk)
        assert found.objective == pytest.approx(at_found, abs=1e-12)
        assert found.objective == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("risk", ["non_negative", "unbiased"])
def test_the_duality_gap_of_small_problems_is_below_1e_8(risk: Any) -> None:
    for gamma, lam, alpha in product((0.01, 0.1, 1.0), (1e-3, 1e-2, 1.0), (0.1, 0.5, 0.9)):
        P, U = problem(20, 40, 3, seed=1)
        found = hinge_kernel.solve(rbf_kernel(np.concatenate([P, U]), gamma=gamma), 20, alpha, lam, risk)
        assert abs(found.objective - found.bound) < 1e-8 * max(1, abs(found.objective)), (gamma, lam, alpha)


@pytest.mark.parametrize("risk", ["non_negative", "unbiased"])
def test_with_products_of_rows_as_kernel_it_is_the_linear_method(risk: Any) -> None:
    for alpha, lam in ((0.3, 0.1), (0.5, 1e-3), (0.9, 1.0)):
        P, U = problem(30, 50, 4, seed=2)
        X = np.concatenate([P, U])
        found, linear = hinge_kernel.solve(X @ X.T, 30, alpha, lam, risk), hinge_linear.solve(P, U, alpha, lam, risk)
        assert found.objective == pytest.approx(linear.objective, abs=1e-7)
        np.testing.assert_allclose(found.beta @ X, linear.w, atol=1e-4)
        assert found.objective_at_zero == linear.objective_at_zero


@pytest.mark.parametrize("risk", ["non_negative", "unbiased"])
@pytest.mark.parametrize(("alpha", "lam"), [(0.5, 1e-4), (0.3, 1e-3), (0.7, 1e-4)])
def test_the_bounds_meet_when_a_guess_says_which_rows_are_variables(risk: Any, alpha: float, lam: float) -> None:
    P, U = problem(250, 500, 6, seed=3)
    found = hinge_kernel.solve(rbf_kernel(np.concatenate([P, U]), gamma=0.1), 250, alpha, lam, risk)
    assert abs(found.objective - found.bound) < 1e-8 * max(1, abs(found.objective))


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.5, 0.99, 0.995, 0.999])
@pytest.mark.parametrize("columns", [1, 3, 6])
def test_repeated_rows_which_lie_on_a_kink_are_solved_too(columns: int, alpha: float) -> None:
    """Rows of yes and no, as an encoded table has them: many are equal, and near alpha 1 all f are about 1."""
    for seed in range(3):
        P, U = problem(60, 400, columns, seed, shift=0.7)
        X = (np.concatenate([P, U]) > 0.5).astype(np.float64)
        found = hinge_kernel.solve(rbf_kernel(X, gamma=1 / columns), 60, alpha, 0.01, "non_negative")
        assert found.objective - found.bound < 1e-8


@pytest.mark.parametrize("row", [0, 70])
def test_a_matrix_with_a_nan_has_no_solution(row: int) -> None:
    K = rbf_kernel(np.concatenate(problem(60, 400, 3, 0)), gamma=0.3)
    K[row, :] = K[:, row] = np.nan
    with pytest.raises((RuntimeError, ValueError)):
        hinge_kernel.solve(K, 60, 0.5, 0.01, "non_negative")


def test_a_wrong_guess_is_put_right(monkeypatch: pytest.MonkeyPatch) -> None:
    P, U = problem(150, 300, 3, seed=4)
    K = rbf_kernel(np.concatenate([P, U]), gamma=0.2)
    right = hinge_kernel.solve(K, 150, 0.5, 1e-3, "non_negative")
    monkeypatch.setattr(hinge_kernel, "_guess", lambda problem: np.full(450, 3.0))
    again = hinge_kernel.solve(K, 150, 0.5, 1e-3, "non_negative")
    assert again.objective == pytest.approx(right.objective, abs=1e-8)


def test_every_labelled_positive_is_a_support_vector_and_they_score_as_the_kernel_does() -> None:
    P, U = problem(20, 60, 3, seed=5, shift=1.0)
    m = make("pu_svm", RBF | {"risk": "unbiased", "lam": 1e-3}).fit(P, U, alpha=0.5)
    state = m.state()
    np.testing.assert_array_equal(state["support_vectors"][:20], P)
    assert len(state["support_vectors"]) < 80  # unlabelled rows that are clearly negative carry nothing
    X = np.concatenate(problem(10, 10, 3, seed=6))
    by_hand = rbf_kernel(X, state["support_vectors"], gamma=0.2) @ state["dual"] + state["b"]
    np.testing.assert_allclose(m.decision_function(X), by_hand, atol=1e-12)
    assert m.keeps_training_rows
    assert not make("pu_svm", {"solver": "exact", "kernel": "linear", "risk": "unbiased", "lam": 1}).keeps_training_rows


def test_more_rows_than_the_matrix_has_room_for_are_refused_in_words() -> None:
    rows = np.zeros((4001, 2))
    with pytest.raises(ValueError, match=r"at most 8000 rows of P and U together.*got 8002; use kernel: linear"):
        make("pu_svm", RBF).fit(rows, rows, alpha=0.5)


def two_bumps() -> tuple[Rows, Rows, Rows, NDArray[np.int64]]:
    """Positives on both sides of the negatives."""
    rng = np.random.default_rng(7)
    P, Q, T = (rng.normal(np.where(np.arange(n) % 2, 2.5, -2.5)[:, None], 0.5, (n, 1)) for n in (60, 60, 100))
    N, M = rng.normal(0, 0.5, (60, 1)), rng.normal(0, 0.5, (100, 1))
    return P, np.concatenate([Q, N]), np.concatenate([T, M]), np.repeat([1, 0], 100)


def test_the_released_kernel_is_one_bump_where_a_kernel_machine_finds_two() -> None:
    P, U, X, y = two_bumps()
    bump = make("pu_svm", SGD | {"kernel": "single_vector_rbf", "gamma": 0.2}).fit(P, U, alpha=0.5)
    w, b = bump.state()["w"], bump.state()["b"]
    np.testing.assert_allclose(bump.decision_function(X), np.exp(-0.2 * ((X - w) ** 2).sum(axis=1)) + b, atol=1e-12)
    assert roc_auc_score(y, bump.decision_function(X)) < 0.8
    assert roc_auc_score(y, make("pu_svm", RBF).fit(P, U, alpha=0.5).decision_function(X)) > 0.99


def test_b_by_quantile_calls_a_share_alpha_of_u_positive_and_b_learned_does_not() -> None:
    P, U = problem(60, 200, 3, seed=8, shift=1.0)
    learned, released = (make("pu_svm", SGD | {"bias": bias}) for bias in ("gradient", "batch_quantile"))
    shares = [(m.fit(P, U, alpha=0.2).decision_function(U) > 0).mean() for m in (learned, released)]
    assert shares[1] == pytest.approx(0.2, abs=0.005)
    assert abs(shares[0] - 0.2) > 0.02


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a gamma for a linear kernel": (SGD | {"gamma": 1.0}, "kernel linear takes no gamma"),
    "no gamma for rbf": ({k: v for k, v in RBF.items() if k != "gamma"}, "missing hyperparameter 'gamma'; kernel rbf"),
    "one vector for the exact solver": (RBF | {"kernel": "single_vector_rbf"}, "solver exact takes linear or rbf"),
    "a kernel matrix for sgd": (SGD | {"kernel": "rbf", "gamma": 1.0}, "solver sgd takes linear or single_vector_rbf"),
    "a rule for b in the exact solver": (RBF | {"bias": "gradient"}, "solver exact takes no bias"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_kernel_or_solver_would_not_look_at_is_refused(name: str) -> None:
    params, said = WRONG[name]
    with pytest.raises(ValueError, match=said):
        make("pu_svm", params)


def test_a_linear_one_class_svm_has_one_name_whatever_gamma() -> None:
    with pytest.raises(ValueError, match="kernel linear takes no gamma; leave it out"):
        make("oc_svm", {"kernel": "linear", "nu": 0.5, "gamma": 2e-3})
    with pytest.raises(ValueError, match="missing hyperparameter 'gamma'"):
        make("oc_svm", {"kernel": "rbf", "nu": 0.5})
