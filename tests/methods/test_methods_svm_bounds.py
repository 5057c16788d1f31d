"""The lower bound of the exact PU-SVM never lies above the objective, and is close to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from puoc.methods.solvers import hinge_kernel, hinge_linear


def problems(n: int) -> Any:
    """Yield P, U, alpha and lam; some rows are of yes and no, some have large values."""
    for seed in range(n):
        rng = np.random.default_rng(seed)
        n_p, n_u = (int(size) for size in rng.integers(5, 100, 2))
        d, shift = int(rng.choice([1, 2, 5, 20, 60])), rng.choice([0, 0.3, 0.7, 2.0])
        alpha, lam = float(rng.choice([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999])), float(10 ** rng.uniform(-4, 0.5))
        k = int(alpha * n_u)
        P, U = rng.normal(shift, 1, (n_p, d)), rng.normal(-shift, 1, (n_u, d))
        U[:k] += 2 * shift
        kinds = (P, U), (P > 0.5, U > 0.5), (30 * P, 30 * U)
        yield *(part.astype(np.float64) for part in kinds[seed % 3]), alpha, lam


@pytest.mark.parametrize("risk", ["non_negative", "unbiased"])
def test_the_bound_of_the_linear_program_is_at_most_the_objective(risk: Any) -> None:
    for P, U, alpha, lam in problems(60):  # at 41 the rounding of the bound alone would put it above the objective
        found = hinge_linear.solve(P, U, alpha, lam, risk)
        assert found.bound <= found.objective, (len(P), len(U), alpha, lam)
        if found.objective > -10:  # the unbiased risk of large values may be far below 0
            assert found.objective - found.bound <= 1e-6, (len(P), len(U), alpha, lam)


@pytest.mark.parametrize("risk", ["non_negative", "unbiased"])
def test_the_bound_of_the_program_with_a_kernel_is_at_most_the_objective(risk: Any) -> None:
    for P, U, alpha, lam in problems(30):
        K = rbf_kernel(np.concatenate([P, U]), gamma=0.3 / P.shape[1])
        found = hinge_kernel.solve(K, len(P), alpha, lam, risk)
        assert 0 <= found.objective - found.bound <= 1e-7 * max(1, abs(found.objective)), (len(P), alpha, lam)


@pytest.mark.parametrize("risk", ["non_negative", "unbiased"])
def test_any_multipliers_give_a_bound_below_the_minimum(risk: Any) -> None:
    """Also those of a solver that stopped far too early."""
    rng = np.random.default_rng(0)
    for P, U, alpha, lam in problems(12):
        if len(P) + len(U) < P.shape[1]:
            continue
        found = hinge_linear.solve(P, U, alpha, lam, risk)
        program = hinge_linear._problem(P, U, alpha, lam, risk)
        for _ in range(5):
            w, b = found.w + rng.normal(size=len(found.w)), found.b + rng.normal()
            theta = rng.uniform() if risk == "non_negative" else 1.0
            loose = hinge_linear._certified(program, w, b, rng.normal(size=len(program.y)), theta)
            assert loose <= found.objective
