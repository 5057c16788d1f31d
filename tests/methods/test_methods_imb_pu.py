"""ImbPU: its risk and gradient are those by hand, and those of nnPU for a balanced population."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from test_methods_since_2021 import ALPHA, F_P, F_U, NNPU, logistic, loss, sigmoid, slopes

from puoc.methods import make
from puoc.records import Array

TRAINING: dict[str, Any] = {"lr": 5e-3, "lr_decay": 1.0, "epochs": 5, "batch_size": 40, "batching": "union"}


def test_a_risk_computed_by_hand() -> None:
    """Logits 0 have the logistic loss log 2: .6 log 2 + .4 / .7 (log 2 - .3 log 2) = log 2."""
    value, gradient = loss("imb_pu", NNPU | {"balanced": 0.6}, np.zeros(2), np.zeros(4), 0, {})
    assert value == pytest.approx(np.log(2), abs=1e-12)
    # slopes of the loss are -1/2 and 1/2: by P (-.3 - .4 / .7 * .15) / 2, by U .4 / .7 / 2 / 4
    np.testing.assert_allclose(gradient, [-27 / 140] * 2 + [1 / 14] * 4, atol=1e-12)


@pytest.mark.parametrize("balanced", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("surrogate", ["logistic", "sigmoid"])
def test_each_part_is_the_risk_of_a_class_with_the_prior_of_the_balanced_population(
    balanced: float, surrogate: str
) -> None:
    def each(z: Array) -> Array:
        return logistic(z) if surrogate == "logistic" else 1 - sigmoid(z)

    def by_hand(f: Array) -> float:
        of_negatives = (each(-f[3:]).mean() - ALPHA * each(-f[:3]).mean()) / (1 - ALPHA)
        return float(balanced * each(f[:3]).mean() + (1 - balanced) * max(0, of_negatives))

    for u in (F_U, F_U - 5):  # the second with a negative estimate
        value, gradient = loss("imb_pu", NNPU | {"surrogate": surrogate, "balanced": balanced}, F_P, u, 0, {})
        at = np.r_[F_P, u]
        assert value == pytest.approx(by_hand(at), abs=1e-12)
        np.testing.assert_allclose(gradient, slopes(by_hand, at), atol=1e-8)


def test_a_population_of_classes_has_the_risk_of_its_rows() -> None:
    """U is an exact mixture, P its positives: the risk is that of as many positives as negatives."""
    positives, negatives = np.array([1.2, -0.3]), np.array([-0.8, 0.4])
    U = np.r_[np.tile(positives, 3), np.tile(negatives, 7)]
    value, _ = loss("imb_pu", NNPU | {"balanced": 0.5}, positives, U, 0, {})
    assert value == pytest.approx((logistic(positives).mean() + logistic(-negatives).mean()) / 2, abs=1e-12)


@pytest.mark.parametrize("correction", ["clamp", "ascent"])
def test_with_the_share_of_u_it_is_nnpu(correction: str) -> None:
    for u in (F_U, F_U - 5):
        balanced = loss("imb_pu", NNPU | {"correction": correction, "balanced": ALPHA}, F_P, u, 0, {})
        plain = loss("nnpu", NNPU | {"correction": correction}, F_P, u, 0, {})
        assert balanced[0] == pytest.approx(plain[0], abs=1e-12)
        np.testing.assert_allclose(balanced[1], plain[1], atol=1e-12)


def test_a_batch_without_unlabelled_rows_has_the_positive_part() -> None:
    value, _ = loss("imb_pu", NNPU | {"balanced": 0.6}, F_P, F_U[:0], 0, {})
    assert value == pytest.approx(0.6 * logistic(F_P).mean(), abs=1e-12)


def test_a_second_implementation_in_numpy_trains_to_the_same_logits() -> None:
    """One layer without hidden units, by gradient steps of both; the fit of puoc uses the same loss."""
    made: Any = make("imb_pu", TRAINING | NNPU | {"balanced": 0.5})
    rng = np.random.default_rng(0)
    P, U = rng.normal(1, 1, (20, 3)), rng.normal(0, 1, (40, 3))
    w, v = np.zeros(3), torch.zeros(3, dtype=torch.float64, requires_grad=True)
    x_p, x_u = torch.tensor(P), torch.tensor(U)
    for _ in range(20):
        s_p, s_u = sigmoid(-P @ w), sigmoid(U @ w)
        scale = 0.5 / (1 - ALPHA)
        estimate = logistic(-(U @ w)).mean() - ALPHA * logistic(-(P @ w)).mean()
        step = -0.5 * (s_p[:, None] * P).mean(0)
        if estimate > 0:
            step += scale * ((s_u[:, None] * U).mean(0) - ALPHA * (sigmoid(P @ w)[:, None] * P).mean(0))
        w = w - 0.5 * step
        value = made.loss(lambda x: x @ v, x_p, x_u, torch.tensor(ALPHA, dtype=torch.float64), {}, 0)  # noqa: B023
        [slope] = torch.autograd.grad(value, [v])
        v = (v - 0.5 * slope).detach().requires_grad_()
    np.testing.assert_allclose(v.detach().numpy(), w, atol=1e-10)
