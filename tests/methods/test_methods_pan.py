"""PAN: who is given which gradient, what D and C become on densities that are known, and what the score is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from puoc.methods import make, normalise
from puoc.methods.pan import Pair
from puoc.plan.search_spaces import enumerate_grid, read_space

PARAMS: dict[str, Any] = {
    "lr": 5e-3,
    "lr_decay": 0.97,
    "epochs": 25,
    "batch_size": 400,
    "batching": "equal",
    "lam": 1e-3,
    "score": "C",
}
ALPHA = torch.tensor(torch.nan)
SPACES = Path(__file__).parents[2] / "tuning" / "spaces"


def loss(pair: nn.Module, x_p: Tensor, x_u: Tensor, lam: float) -> Tensor:
    value: Tensor = make("pan", PARAMS | {"lam": lam}).loss(pair, x_p, x_u, ALPHA, {}, 0)  # type: ignore[attr-defined]
    return value


def a_pair(scale: float = 1.0) -> Pair:
    """Two perceptrons that differ, in double precision."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        pair = Pair((3,), "C").double()
        for network in (pair.D, pair.C):
            for weight in network.parameters():
                nn.init.normal_(weight, std=0.3 * scale)
    return pair


def rows(b: int, seed: int) -> Tensor:
    return torch.randn(b, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("lam", [1e-3, 0.1, 2.0])
def test_each_network_follows_its_own_side_of_the_game(lam: float) -> None:
    pair, x_p, x_u = a_pair(), rows(4, 1), rows(7, 2)
    of_d, of_c = (list(network.parameters()) for network in (pair.D, pair.C))
    value = loss(pair, x_p, x_u, lam)
    got = torch.autograd.grad(value, of_d + of_c)

    D_p, D_u, C_u = pair.D(x_p).sigmoid(), pair.D(x_u).sigmoid(), pair.C(x_u).sigmoid()
    T1 = D_p.log().sum() + (1 - D_u).log().sum()
    T2 = ((2 * D_u - 1) * ((1 - C_u).log() - C_u.log())).sum()
    assert float(value.detach()) == pytest.approx(-float(T1.detach()) / 11, abs=1e-12)
    expected = [
        *torch.autograd.grad(-(T1 + lam * T2) / 11, of_d, retain_graph=True),
        *torch.autograd.grad(lam * T2 / 11, of_c),
    ]
    assert any(float(gradient.abs().max()) > 1e-4 for gradient in expected[len(of_d) :])
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_logits_far_out_keep_the_loss_finite_and_c_stops_where_the_released_epsilon_stops_it() -> None:
    class Given(nn.Module):
        """D's and C's logits are the columns of a row."""

        def forward(self, x: Tensor, of: str) -> Tensor:
            return x[:, 0] if of == "D" else x[:, 1]

    d, c = torch.tensor([1.5, -2.0, 0.3, 1e4, -1e4]), torch.tensor([17.0, -17.0, 12.0, 1e4, -1e4])
    x_u = torch.stack([d, c], dim=1).double().requires_grad_()
    value = loss(Given(), torch.tensor([[-1e4, 0.0]]).double(), x_u, 1.0)
    assert torch.isfinite(value)
    (slope,) = torch.autograd.grad(value, x_u)
    assert torch.isfinite(slope).all()
    # C climbs where D > 1/2 and descends where D < 1/2, until 1e-8 would hide it: log((1 + 1e-8) / 1e-8) = 18.4
    assert torch.equal(slope[:, 1].sign(), torch.tensor([-1.0, 1.0, -1.0, 0.0, 0.0]).double())
    for logit, moves in ((18.4, True), (18.5, False)):
        at = torch.tensor([[1.0, logit]]).double().requires_grad_()
        (slope,) = torch.autograd.grad(loss(Given(), at.detach(), at, 1.0), at)
        assert bool(slope[0, 1] != 0) == moves


def test_a_batch_without_p_or_u_has_a_finite_loss() -> None:
    pair = a_pair()
    for b_p, b_u in ((3, 0), (0, 3), (1, 1)):
        value = loss(pair, rows(b_p, 1), rows(b_u, 2), 0.1)
        assert torch.isfinite(value)
        gradients = torch.autograd.grad(value, list(pair.parameters()), allow_unused=True)
        assert all(gradient is None or torch.isfinite(gradient).all() for gradient in gradients)


def gaussians(alpha: float, n: int = 2000) -> tuple[NDArray[Any], NDArray[Any]]:
    """P from N(1, 1); U from alpha N(1, 1) + (1 - alpha) N(-1, 1)."""
    rng = np.random.default_rng(0)
    centre = np.where(np.arange(n) < alpha * n, 1.0, -1.0)
    P, U = rng.normal(1, 1, (n, 1)), rng.normal(centre[:, None], 1)
    return P.astype(np.float32), U.astype(np.float32)


def test_d_learns_the_odds_of_p_against_u_and_c_calls_positive_what_they_favour() -> None:
    alpha = 0.25
    P, U = gaussians(alpha)
    net = make("pan", PARAMS).fit(P, U).net_  # type: ignore[attr-defined]
    x = np.linspace(-2, 3, 51, dtype=np.float32)[:, None]
    density = np.exp(-((x - 1) ** 2) / 2), np.exp(-((x + 1) ** 2) / 2)
    log_odds = np.log(density[0] / (alpha * density[0] + (1 - alpha) * density[1]))[:, 0]
    of = {player: net(torch.tensor(x), of=player).detach().numpy() for player in ("C", "D")}
    assert np.abs(of["D"] - log_odds).max() < 0.5
    assert np.abs(of["D"] - log_odds).mean() < 0.15
    clear = np.abs(log_odds) > 0.3
    np.testing.assert_array_equal(of["C"][clear] > 0, log_odds[clear] > 0)
    # C's gain has no end, so it goes further than the odds
    assert np.abs(of["C"][clear]).mean() > 1.5 * np.abs(log_odds[clear]).mean()


@pytest.mark.parametrize(("batching", "called"), [("union", 0.0), ("equal", 0.5)])
def test_c_calls_nothing_positive_where_p_is_outnumbered_in_the_batch(batching: str, called: float) -> None:
    # a batch of the union holds two U for a P: D's odds p_p / (2 p_u) are below 1, since p_p / p_u < 1 / alpha = 2
    P, U = gaussians(0.5)
    fitted = make("pan", PARAMS | {"batching": batching}).fit(P[:1000], U)
    assert (fitted.decision_function(U) > 0).mean() == pytest.approx(called, abs=0.15)


def test_the_score_chooses_between_two_networks_trained_alike() -> None:
    P, U = gaussians(0.5, 100)
    of_c, of_d = (make("pan", PARAMS | {"score": score, "epochs": 3}).fit(P, U, seed=5) for score in ("C", "D"))
    c, d = of_c.state(), of_d.state()
    assert c.keys() == d.keys()
    for name, array in c.items():
        np.testing.assert_array_equal(d[name], array)
    assert any(not np.array_equal(c[name], c["C" + name[1:]]) for name in c if name.startswith("D."))
    assert not np.array_equal(of_c.decision_function(P), of_d.decision_function(P))
    swapped = {("D" if name[0] == "C" else "C") + name[1:]: array for name, array in c.items()}
    restored = make("pan", PARAMS).restore(swapped, (1,))
    np.testing.assert_array_equal(restored.decision_function(P), of_d.decision_function(P))


@pytest.mark.parametrize(
    ("name", "own", "published"),
    [
        ("pan", "lam", {"lam": 0.001, "lr": 1e-3, "lr_decay": 0.99, "epochs": 20}),
        ("drpu", "alpha_min", {"alpha_min": 0.001, "lr": 1e-3, "lr_decay": 0.99, "epochs": 60}),
    ],
)
def test_the_grid_is_the_one_printed_in_the_paper(name: str, own: str, published: dict[str, Any]) -> None:
    grid = enumerate_grid(read_space(SPACES, name, "grid"))
    assert len(grid) == 36
    for key, values in {
        own: {0.001, 0.01, 0.1},
        "lr": {1e-4, 1e-3},
        "lr_decay": {0.96, 0.99},
        "epochs": {10, 20, 50},
    }.items():
        assert {configuration[key] for configuration in grid} == values
    assert enumerate_grid(read_space(SPACES, name, "published")) == [published]


@pytest.mark.parametrize(
    ("name", "space", "fixed"),
    [
        ("pan", "grid", {"score": "C"}),
        ("drpu", "grid", {"output": "linear"}),
        ("vpu", "released", {}),
    ],
)
def test_a_space_gives_hyperparameters_of_its_method_and_wide_holds_the_printed_ones(
    name: str, space: str, fixed: dict[str, Any]
) -> None:
    (wide,) = read_space(SPACES, name, "wide")
    for of in (space, "published"):
        for configuration in enumerate_grid(read_space(SPACES, name, of)):
            normalise(name, {"batch_size": 512, "batching": "union"} | fixed | configuration)
            for key, value in configuration.items():
                assert wide[key].low <= value <= wide[key].high  # type: ignore[attr-defined]
