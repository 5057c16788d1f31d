"""DRPU learns a density ratio that is known, its loss is the one by hand; uPU beside nnPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from puoc.methods import METHODS, make
from puoc.methods.training.deep import batch_sizes
from puoc.methods.training.estimator import PUSample

PARAMS: dict[str, Any] = {
    "lr": 5e-3,
    "lr_decay": 0.97,
    "epochs": 40,
    "batch_size": 250,
    "batching": "equal",
    "alpha_min": 1e-3,
    "output": "softplus",
}
RISK: dict[str, Any] = {
    "lr": 1e-2,
    "lr_decay": 1.0,
    "epochs": 60,
    "batch_size": 60,
    "batching": "union",
    "surrogate": "logistic",
}
R_P, R_U = np.array([2.0, 0.5, 1.4]), np.array([0.3, 1.1])


def loss(r_p: NDArray[Any] | Tensor, r_u: NDArray[Any] | Tensor, alpha_min: float) -> Tensor:
    """DRPU's, of a network that gives its rows back."""
    m = make("drpu", PARAMS | {"alpha_min": alpha_min, "output": "linear"})
    x_p, x_u = (torch.as_tensor(r, dtype=torch.float64) for r in (r_p, r_u))
    value: Tensor = m.loss(nn.Identity(), x_p, x_u, torch.tensor(torch.nan), {}, 0)  # type: ignore[attr-defined]
    return value


@pytest.mark.parametrize("a", [0.0, 0.001, 0.1, 0.425, 1.0])
def test_the_loss_is_the_bregman_divergence_of_least_squares_corrected_where_its_bracket_is_negative(a: float) -> None:
    bracket = (R_U**2 / 2).mean() - a * (R_P**2 / 2).mean()
    by_hand = (-(R_P - 1) + a * R_P**2 / 2).mean() + max(0, bracket) - 1 / 2
    assert float(loss(R_P, R_U, a)) == pytest.approx(by_hand, abs=1e-12)
    # f(t) = (t - 1)^2 / 2: the divergence is mean_U[t f'(t) - f(t)] - mean_P[f'(t)], whatever a
    divergence = (R_U * (R_U - 1) - (R_U - 1) ** 2 / 2).mean() - (R_P - 1).mean()
    assert (float(loss(R_P, R_U, a)) == pytest.approx(divergence, abs=1e-12)) == (bracket >= 0)
    assert (bracket < 0) == (a > 0.2)


@pytest.mark.parametrize(("a", "negative"), [(0.1, False), (0.425, True)])
def test_the_step_ascends_where_the_bracket_is_negative(a: float, negative: bool) -> None:
    r_p, r_u = (torch.tensor(r).requires_grad_() for r in (R_P, R_U))
    got = torch.autograd.grad(loss(r_p, r_u, a), (r_p, r_u))
    bracket = (r_u.square() / 2).mean() - a * (r_p.square() / 2).mean()
    followed = -bracket if negative else (1 - r_p).mean() + (r_u.square() / 2).mean()
    for one, other in zip(got, torch.autograd.grad(followed, (r_p, r_u)), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_a_batch_without_p_or_u_has_a_finite_loss() -> None:
    for r_p, r_u in ((R_P, R_U[:0]), (R_P[:0], R_U), (R_P[:0], R_U[:0])):
        assert torch.isfinite(loss(r_p, r_u, 0.425))


def gaussians(alpha: float, n: int = 2000) -> tuple[NDArray[Any], NDArray[Any]]:
    """P from N(1, 1); U from alpha N(1, 1) + (1 - alpha) N(-1, 1)."""
    rng = np.random.default_rng(0)
    centre = np.where(np.arange(n) < alpha * n, 1.0, -1.0)
    P, U = rng.normal(1, 1, (n, 1)), rng.normal(centre[:, None], 1)
    return P.astype(np.float32), U.astype(np.float32)


@pytest.mark.parametrize(("output", "alpha"), [("softplus", 0.5), ("relu", 0.5), ("linear", 0.5), ("softplus", 0.25)])
def test_a_known_density_ratio_and_the_class_prior_are_recovered(output: str, alpha: float) -> None:
    fitted = make("drpu", PARAMS | {"output": output}).fit(*gaussians(alpha))
    x = np.linspace(-3, 3, 61, dtype=np.float32)[:, None]
    density = np.exp(-((x - 1) ** 2) / 2), np.exp(-((x + 1) ** 2) / 2)
    ratio = (density[0] / (alpha * density[0] + (1 - alpha) * density[1]))[:, 0]
    r = fitted.decision_function(x)
    assert np.abs(r - ratio).max() < 0.15 / alpha  # r is at most 1 / alpha
    assert np.abs(r - ratio).mean() < 0.04 / alpha
    assert fitted.alpha_hat_ == pytest.approx(alpha, abs=0.05)
    if output != "linear":
        assert (r >= 0).all()


def test_the_class_prior_is_neither_needed_nor_looked_at() -> None:
    P, U = gaussians(0.5, 100)
    unknown, given = (make("drpu", PARAMS | {"epochs": 2}).fit(P, U, alpha=alpha) for alpha in (None, 0.9))
    np.testing.assert_array_equal(unknown.decision_function(P), given.decision_function(P))
    assert unknown.alpha_hat_ == given.alpha_hat_


def test_a_ratio_that_is_nowhere_positive_gives_no_prior_and_a_small_one_the_largest() -> None:
    P, U = gaussians(0.5, 100)
    for constant, alpha_hat in ((-1.0, None), (0.0, None), (0.5, 1.0), (4.0, 0.25)):
        m = make("drpu", PARAMS | {"epochs": 1, "output": "linear"}).fit(P, U)
        with torch.no_grad():
            for parameter in m.net_.parameters():  # type: ignore[attr-defined]
                parameter.zero_()
            m.net_[0][-2].bias.fill_(constant)  # type: ignore[attr-defined]
        assert m.estimate_prior(PUSample(P, U, None, 0)) == alpha_hat  # type: ignore[attr-defined]


def test_upu_overfits_to_a_risk_far_below_zero_where_nnpu_stays_at_it() -> None:
    rng = np.random.default_rng(0)
    P, U = rng.normal(size=(30, 40)).astype(np.float32), rng.normal(size=(60, 40)).astype(np.float32)
    upu = make("upu", RISK).fit(P, U, alpha=0.5)
    nnpu = make("nnpu", RISK | {"correction": "ascent"}).fit(P, U, alpha=0.5)
    assert upu.curve_["loss"][-1] < -1
    assert nnpu.curve_["loss"][-1] >= 0


@pytest.mark.parametrize("alpha", [0.2, 0.4, 0.9])
@pytest.mark.parametrize("surrogate", ["sigmoid", "logistic"])
def test_upu_and_nnpu_take_the_risk_of_their_surrogate_and_the_alpha_given(surrogate: str, alpha: float) -> None:
    f_p, f_u = np.array([2.0, -0.5]), np.array([0.3, -3.0])

    def of(z: NDArray[Any]) -> NDArray[Any]:
        return 1 / (1 + np.exp(z)) if surrogate == "sigmoid" else np.log1p(np.exp(-z))

    positive, negative = alpha * of(f_p).mean(), of(-f_u).mean() - alpha * of(-f_p).mean()
    expected = {"upu": positive + negative, "nnpu": positive + max(negative, 0)}
    for name, value in expected.items():
        m = make(name, RISK | {"surrogate": surrogate} | ({"correction": "clamp"} if name == "nnpu" else {}))
        given = (torch.tensor(f_p), torch.tensor(f_u), torch.tensor(alpha, dtype=torch.float64), {}, 0)
        assert float(m.loss(nn.Identity(), *given)) == pytest.approx(value, abs=1e-9)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "params", "batching", "steps"),
    [
        ("drpu", PARAMS, "equal", 5),
        ("upu", RISK, "union", 15),
        ("nnpu", RISK | {"correction": "ascent"}, "union", 15),
    ],
)
def test_an_epoch_has_the_published_number_of_steps(name: str, params: Any, batching: Any, steps: int) -> None:
    class Counting(METHODS[name]):  # type: ignore[misc]
        def draws(self, x_p: Tensor, x_u: Tensor, gen: torch.Generator) -> dict[str, Tensor]:
            seen.append((len(x_p), len(x_u)))
            return {}

    seen: list[tuple[int, int]] = []
    X = np.random.default_rng(0).normal(size=(7500, 2)).astype(np.float32)
    Counting(**params | {"epochs": 1, "batch_size": 512, "batching": batching}).fit(X[:2500], X[2500:], alpha=0.5)
    assert len(seen) == steps
    assert seen == batch_sizes(2500, 5000, 512, batching)
