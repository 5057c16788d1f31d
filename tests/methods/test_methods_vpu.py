"""VPU: its loss by hand, the posterior it is to find, and mixtures whose shares follow a Beta distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.stats import beta
from torch import Tensor, nn

from puoc.methods import make

PARAMS: dict[str, Any] = {
    "lr": 5e-3,
    "lr_decay": 0.97,
    "epochs": 30,
    "batch_size": 400,
    "batching": "equal",
    "lam": 0.03,
    "mixup": 0.3,
}
F_P, F_U = np.array([2.0, -0.5, 1.0, -3.0]), np.array([0.3, -1.7, 2.2, 0.1])


def loss(f_p: Tensor, f_u: Tensor, lam: float, share: float) -> Tensor:
    """VPU's, of a network that gives its rows back as logits."""
    m, noise = make("vpu", PARAMS | {"lam": lam}), {"share": torch.tensor(share, dtype=torch.float64)}
    value: Tensor = m.loss(nn.Identity(), f_p, f_u, torch.tensor(torch.nan), noise, 0)  # type: ignore[attr-defined]
    return value


def logits(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def phi(f: Any) -> Any:
    return 1 / (1 + np.exp(-f))


@pytest.mark.parametrize(("b_p", "b_u"), [(4, 4), (4, 2), (1, 3)])
@pytest.mark.parametrize("share", [0.0, 0.25, 0.8, 1.0])
def test_the_loss_is_the_variational_one_plus_consistency_over_the_common_length(
    b_p: int, b_u: int, share: float
) -> None:
    p, u, b = F_P[:b_p], F_U[:b_u], min(b_p, b_u)
    variational = np.log(phi(u).mean()) - np.log(phi(p)).mean()
    mixed, target = phi(share * p[:b] + (1 - share) * u[:b]), share + (1 - share) * phi(u[:b])
    consistency = ((np.log(mixed) - np.log(target)) ** 2).mean()
    got = loss(logits(p), logits(u), 0.7, share)
    assert got.item() == pytest.approx(variational + 0.7 * consistency, abs=1e-12)
    assert loss(logits(p), logits(u), 0.0, share).item() == pytest.approx(variational, abs=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_the_gradient_passes_through_the_targets_too(share: float) -> None:
    """Against differences of the formula in probabilities."""

    def by_hand(f: NDArray[Any]) -> float:
        p, u = f[:4], f[4:]
        mixed, target = phi(share * p + (1 - share) * u), share + (1 - share) * phi(u)
        consistency = ((np.log(mixed) - np.log(target)) ** 2).mean()
        return float(np.log(phi(u).mean()) - np.log(phi(p)).mean() + 2.0 * consistency)

    f_p, f_u = logits(F_P), logits(F_U)
    got = torch.cat(torch.autograd.grad(loss(f_p, f_u, 2.0, share), (f_p, f_u))).numpy()
    f, h = np.concatenate([F_P, F_U]), 1e-6
    slopes = [(by_hand(f + h * e) - by_hand(f - h * e)) / (2 * h) for e in np.eye(8)]
    np.testing.assert_allclose(got, slopes, atol=1e-8)


def test_phi_so_small_that_it_is_0_in_floats_keeps_its_logarithm() -> None:
    f_p, f_u = logits([-800.0, -900.0]), logits([-1000.0, -1000.0 + np.log(3)])
    # log mean phi of U is -1000 + log 2; mixtures in equal parts have log phi -900 and -950, their targets log(1 / 2)
    expected = -1000 + np.log(2) + 850
    assert loss(f_p, f_u, 0.0, 0.5).item() == pytest.approx(expected, abs=1e-9)
    for share in (0.0, 0.5, 1.0, 1e-300):
        value = loss(f_p, f_u, 1.0, share)
        assert torch.isfinite(value)
        assert all(torch.isfinite(slope).all() for slope in torch.autograd.grad(value, (f_p, f_u)))


def test_a_batch_without_p_or_u_has_a_finite_loss() -> None:
    for b_p, b_u in ((4, 0), (0, 4), (0, 0)):
        assert torch.isfinite(loss(logits(F_P[:b_p]), logits(F_U[:b_u]), 0.5, 0.3))


@pytest.mark.parametrize("mixup", [0.01, 0.3, 1.0, 2.5])
def test_shares_follow_the_beta_distribution_and_the_generator_alone(mixup: float) -> None:
    m, rows = make("vpu", PARAMS | {"mixup": mixup}), torch.zeros(2, 1, dtype=torch.float64)

    def shares(seed: int) -> list[float]:
        gen = torch.Generator().manual_seed(seed)
        return [float(m.draws(rows, rows, gen)["share"]) for _ in range(2000)]  # type: ignore[attr-defined]

    drawn = shares(0)
    assert drawn == shares(0)
    assert drawn != shares(1)
    assert all(0 <= share <= 1 for share in drawn)
    for at in (1e-9, 1e-3, 0.1, 0.3, 0.5, 0.8, 0.99, 1 - 1e-6):
        below = beta(mixup, mixup).cdf(at)
        assert np.mean(np.array(drawn) <= at) == pytest.approx(below, abs=4 * np.sqrt(below * (1 - below) / 2000))


def gaussians(alpha: float, n: int = 2000) -> tuple[NDArray[Any], NDArray[Any]]:
    """P from N(1, 1); U from alpha N(1, 1) + (1 - alpha) N(-1, 1)."""
    rng = np.random.default_rng(0)
    centre = np.where(np.arange(n) < alpha * n, 1.0, -1.0)
    P, U = rng.normal(1, 1, (n, 1)), rng.normal(centre[:, None], 1)
    return P.astype(np.float32), U.astype(np.float32)


@pytest.mark.parametrize("alpha", [0.25, 0.6])
def test_phi_is_the_posterior_of_densities_that_are_known_without_a_class_prior(alpha: float) -> None:
    fitted = make("vpu", PARAMS).fit(*gaussians(alpha))
    x = np.linspace(-2, 2, 41, dtype=np.float32)[:, None]
    density = np.exp(-((x - 1) ** 2) / 2), np.exp(-((x + 1) ** 2) / 2)
    posterior = (alpha * density[0] / (alpha * density[0] + (1 - alpha) * density[1]))[:, 0]
    got = phi(fitted.decision_function(x))
    assert np.abs(got - posterior).max() < 0.2
    assert np.abs(got - posterior).mean() < 0.08


def test_the_variational_term_alone_finds_the_posterior_up_to_a_factor() -> None:
    fitted = make("vpu", PARAMS | {"lam": 0.0}).fit(*gaussians(0.5))
    x = np.linspace(-1, 2, 31, dtype=np.float32)[:, None]
    density = np.exp(-((x - 1) ** 2) / 2), np.exp(-((x + 1) ** 2) / 2)
    factor = phi(fitted.decision_function(x)) / (density[0] / (density[0] + density[1]))[:, 0]
    assert factor.std() / factor.mean() < 0.1


def test_more_rows_than_the_other_sample_are_no_reason_to_skip_a_step() -> None:
    P, U = gaussians(0.5, 300)
    for n_p, n_u in ((300, 50), (40, 300)):
        fitted = make("vpu", PARAMS | {"epochs": 5}).fit(P[:n_p], U[:n_u])
        assert fitted.curve_["loss"][-1] < fitted.curve_["loss"][0] - 0.01
        assert np.isfinite(fitted.decision_function(P)).all()


def test_released_batches_of_unequal_sizes_are_skipped() -> None:
    ours, released = (make("vpu", PARAMS | {"batch_size": 512} | switch) for switch in ({}, {"unequal": "skip"}))
    assert ours.sizes(2500, 5000) == [(512, 512)] * 4 + [(452, 512)]  # type: ignore[attr-defined]
    assert released.sizes(2500, 5000) == [(512, 512)] * 4  # type: ignore[attr-defined]
    assert released.sizes(1024, 1030) == [(512, 512)] * 2  # type: ignore[attr-defined]
    rng = np.random.default_rng(0)
    X_p, X_u = rng.normal(size=(50, 3)).astype(np.float32), rng.normal(size=(60, 3)).astype(np.float32)
    with pytest.raises(ValueError, match="unequal: skip leaves no batch of 50 and 60 rows; a smaller batch_size"):
        released.fit(X_p, X_u)
    params = PARAMS | {"batch_size": 40, "epochs": 3}
    scores = [make("vpu", params | one).fit(X_p, X_u).decision_function(X_u) for one in ({}, {"unequal": "skip"})]
    assert np.abs(scores[0] - scores[1]).max() > 1e-4
