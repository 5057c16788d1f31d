"""Risks against plain numpy by hand, on four points."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from puoc.methods.training.nets import Net, mlp, net_for
from puoc.methods.training.risks import LOSSES, double_hinge, logistic, non_negative, sigmoid, unbiased

F_P, F_U, ALPHA = np.array([2.0, -0.5]), np.array([0.3, -3.0]), 0.4
BY_HAND = {
    "sigmoid": lambda z: 1 / (1 + np.exp(z)),
    "logistic": lambda z: np.log(1 + np.exp(-z)),
    "double_hinge": lambda z: np.array([max(-2 * one, 0, 1 - one) for one in z]),
}


def t(values: NDArray[np.float64]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_risks_of_four_points_are_those_by_hand(name: str) -> None:
    loss = BY_HAND[name]
    R_p_pos, R_p_neg = loss(F_P).mean(), loss(-F_P).mean()
    for f_u in (F_U, F_U - 4):  # the bracket is positive for the first, negative for the second
        bracket = loss(-f_u).mean() - ALPHA * R_p_neg
        got = unbiased(LOSSES[name], t(F_P), t(f_u), ALPHA)
        assert float(got) == pytest.approx(ALPHA * R_p_pos + bracket, abs=1e-12)
        for correction in ("clamp", "ascent"):
            got = non_negative(LOSSES[name], t(F_P), t(f_u), ALPHA, correction)
            assert float(got) == pytest.approx(ALPHA * R_p_pos + max(0, bracket), abs=1e-12)
    assert bracket < 0


def test_double_hinge_values_by_hand_and_its_identity() -> None:
    z = np.array([-3.0, -1.0, 0.0, 1.0, 2.5])
    np.testing.assert_allclose(double_hinge(t(z)).numpy(), [6, 2, 1, 0, 0])
    grid = t(np.linspace(-4, 4, 161))
    torch.testing.assert_close(double_hinge(grid) - double_hinge(-grid), -2 * grid, rtol=0, atol=1e-12)


def test_the_non_negative_double_hinge_risk_is_the_larger_of_its_two_parts() -> None:
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(200):
        f_p, f_u, alpha = t(rng.normal(1, 2, 5)), t(rng.normal(-1, 2, 7)), float(rng.uniform(0.05, 0.95))
        positive, whole = alpha * double_hinge(f_p).mean(), unbiased(double_hinge, f_p, f_u, alpha)
        torch.testing.assert_close(non_negative(double_hinge, f_p, f_u, alpha), torch.maximum(positive, whole))
        seen.add(bool(positive > whole))
    assert seen == {True, False}


def test_ascent_follows_minus_the_bracket_where_it_is_negative_and_the_risk_elsewhere() -> None:
    for shift, negative in ((0.0, False), (-4.0, True)):
        f_p, f_u = t(F_P).requires_grad_(), t(F_U + shift).requires_grad_()
        got = torch.autograd.grad(non_negative(sigmoid, f_p, f_u, ALPHA, "ascent"), (f_p, f_u))
        bracket = sigmoid(-f_u).mean() - ALPHA * sigmoid(-f_p).mean()
        assert bool(bracket < 0) == negative
        followed = -bracket if negative else ALPHA * sigmoid(f_p).mean() + bracket
        for one, other in zip(got, torch.autograd.grad(followed, (f_p, f_u)), strict=True):
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_a_batch_without_p_or_u_has_a_finite_risk_and_gradient(name: str) -> None:
    for f_p, f_u in ((F_P, F_U[:0]), (F_P[:0], F_U), (F_P[:0], F_U[:0])):
        for risk in (
            lambda p, u: unbiased(LOSSES[name], p, u, ALPHA),
            lambda p, u: non_negative(LOSSES[name], p, u, ALPHA, "clamp"),
            lambda p, u: non_negative(LOSSES[name], p, u, ALPHA, "ascent"),
        ):
            p, u = t(f_p).requires_grad_(), t(f_u).requires_grad_()
            value = risk(p, u)
            assert torch.isfinite(value)
            assert all(
                torch.isfinite(grad).all() for grad in torch.autograd.grad(value, (p, u), materialize_grads=True)
            )
            if len(f_u) == 0:
                assert value.item() == pytest.approx(ALPHA * LOSSES[name](p).sum().item() / max(len(f_p), 1))


def test_losses_stay_finite_far_from_zero() -> None:
    z = torch.tensor([-1e4, 1e4])
    assert all(torch.isfinite(loss(z)).all() for loss in (sigmoid, logistic, double_hinge))


def test_the_convolutional_net_has_the_papers_size_and_takes_small_images() -> None:
    assert sum(p.numel() for p in net_for((3, 32, 32)).parameters()) == 68_021
    for shape in ((1, 28, 28), (1, 8, 8), (3, 9, 13)):
        assert Net(shape)(torch.zeros(2, *shape)).shape == (2,)
    assert Net((3, 32, 32)).features(torch.zeros(2, 3, 32, 32)).shape == (2, 32, 8, 8)
    assert mlp(5)(torch.zeros(2, 5)).shape == (2,)
    with pytest.raises(ValueError, match="at least 8x8 pixels expected, got 7x8"):
        net_for((1, 7, 8))
    with pytest.raises(ValueError, match=r"got \(6, 3\)"):
        net_for((6, 3))
