"""HRN: networks and normalisation of its authors, the penalty by hand, SGD with momentum, and the release's changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from puoc.methods import make
from puoc.methods.hrn import Branches, Normalised, one_branch
from puoc.methods.training.deep import batch_sizes
from puoc.methods.training.estimator import Compute, PUSample

PARAMS: dict[str, Any] = {
    "lr": 0.1,
    "lr_decay": 1.0,
    "epochs": 3,
    "batch_size": 100,
    "batching": "p",
    "lam": 0.1,
    "power": 12.0,
    "floor": 0.01,
    "momentum": 0.9,
    "net": "branches",
    "normalise": "row",
    "slope_of": "logit",
    "optim": "sgd",
}
RELEASED = {"net": "net", "normalise": "batch", "slope_of": "sigmoid", "optim": "adam"}
SHAPES = [(6,), (2, 8, 9)]
ALPHA = torch.tensor(torch.nan)


def rows(b: int, shape: tuple[int, ...], seed: int = 0) -> Tensor:
    return torch.rand(b, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def a_net(shape: tuple[int, ...], scale: float, params: Any = None) -> Normalised:
    """The network of these hyperparameters, in double precision, with weights in U(-scale, scale)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        net = make("hrn", PARAMS | (params or {})).build(shape).double()  # type: ignore[attr-defined]
        for weight in net.parameters():
            nn.init.uniform_(weight, -scale, scale)
    assert isinstance(net, Normalised)
    return net


def loss(net: nn.Module, x: Tensor, params: Any) -> Tensor:
    value: Tensor = make("hrn", PARAMS | params).loss(net, x, x[:0], ALPHA, {}, 0)  # type: ignore[attr-defined]
    return value


def leaky(z: NDArray[Any]) -> NDArray[Any]:
    return np.where(z > 0, z, 0.01 * z)


def slope(z: NDArray[Any]) -> NDArray[Any]:
    return np.where(z > 0, 1.0, 0.01)


def logits_and_gradients(net: nn.Module, x: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """By the chain rule on paper: logits (b,) and their gradients by each normalised row, (b, *shape)."""
    weights = [weight.detach().numpy() for weight in net.parameters()]
    if x.ndim == 2:
        first, last = weights
        z = x @ first.T
        return leaky(z) @ last[0], (last[0] * slope(z)) @ first
    *branches, second, last = weights
    flat = x.reshape(len(x), x.shape[1], -1)
    z1 = np.concatenate([flat[:, i] @ branch.T for i, branch in enumerate(branches)], axis=1)
    z2 = leaky(z1) @ second.T
    by_z1 = ((last[0] * slope(z2)) @ second) * slope(z1)
    parts = np.split(by_z1, x.shape[1], axis=1)
    gradients = np.stack([part @ branch for part, branch in zip(parts, branches, strict=True)], axis=1)
    return leaky(z2) @ last[0], gradients.reshape(x.shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("slope_of", ["logit", "sigmoid"])
def test_the_loss_is_the_likelihood_and_the_twelfth_power_of_the_slope(shape: tuple[int, ...], slope_of: Any) -> None:
    net, x = a_net(shape, 0.4), rows(5, shape)
    centre = 0.006 if len(shape) == 3 else 0.0
    flat = x.numpy().reshape(5, -1)
    flat = flat / np.sqrt((flat**2).sum(axis=1, keepdims=True))
    normalised = (flat - flat.mean(axis=1, keepdims=True) + centre).reshape(x.shape)
    f, gradients = logits_and_gradients(net.net, normalised)
    p = 1 / (1 + np.exp(-f))
    if slope_of == "sigmoid":
        gradients = gradients * (p * (1 - p)).reshape(-1, *[1] * len(shape))
    norms = np.sqrt((gradients**2).sum(axis=1))  # over channels: a norm for each pixel; of a vector one in all
    assert norms.shape == (5, *shape[1:])
    for lam, power in ((0.0, 12.0), (0.1, 12.0), (3.0, 2.0), (0.5, 5.0)):
        expected = -np.log(p + 0.01).mean() + lam * (norms**power).mean()
        got = loss(net, x, {"lam": lam, "power": power, "slope_of": slope_of}).item()
        assert got == pytest.approx(expected, rel=1e-9), (lam, power)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("params", [{}, RELEASED])
def test_the_penalty_reaches_the_weights(shape: tuple[int, ...], params: dict[str, Any]) -> None:
    """Its gradient, which takes a second derivative of the network, against differences of the loss."""
    heavy: dict[str, Any] = {**params, "lam": 5.0, "power": 2.0}
    net, x = a_net(shape, 0.3, heavy), rows(4, shape)
    weights = list(net.parameters())
    got = torch.autograd.grad(loss(net, x, heavy), weights, allow_unused=True)
    without = torch.autograd.grad(loss(net, x, heavy | {"lam": 0.0}), weights, allow_unused=True)
    rng, checked = np.random.default_rng(0), 0
    for weight, gradient, plain in zip(weights, got, without, strict=True):
        if gradient is None or plain is None:
            continue
        for place in rng.integers(weight.numel(), size=3):
            values = []
            for h in (1e-5, -1e-5):
                with torch.no_grad():
                    weight.view(-1)[place] += h
                    values.append(loss(net, x, heavy).item())
                    weight.view(-1)[place] -= h
            slope_got, slope_plain = (of.reshape(-1)[place].item() for of in (gradient, plain))
            assert slope_got == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-4, abs=1e-8)
            checked += slope_got != pytest.approx(slope_plain, rel=1e-3)
    assert checked > 0


def test_the_networks_are_those_of_its_authors() -> None:
    net = Branches((3, 32, 32))
    assert [tuple(weight.shape) for weight in net.parameters()] == [(300, 1024)] * 3 + [(300, 900), (1, 300)]
    assert [tuple(weight.shape) for weight in one_branch(784).parameters()] == [(100, 784), (1, 100)]
    for network, bound in ((net, 0.001), (one_branch(784), 2000**-0.5)):  # uniform: none beyond, sd bound / sqrt(3)
        weights = torch.cat([weight.detach().flatten() for weight in network.parameters()])
        assert 0.99 * bound < float(weights.abs().max()) <= bound
        assert float(weights.std()) == pytest.approx(bound / 3**0.5, rel=0.02)
    # no bias: a row of zeros is what the logit starts from
    for network, shape in ((net, (3, 32, 32)), (one_branch(6), (6,))):
        assert network(torch.zeros(2, *shape)).tolist() == [0, 0]


def test_a_channel_is_seen_by_its_own_branch() -> None:
    net, x = Branches((3, 8, 8)), rows(2, (3, 8, 8)).float()
    with torch.no_grad():
        for i in range(3):
            net.branches[i].weight.zero_()
            changed = x.clone()
            changed[:, i] += 1
            torch.testing.assert_close(net(changed), net(x), rtol=0, atol=0)
    assert net(x).tolist() == [0, 0]


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_are_normalised_inside_the_network(shape: tuple[int, ...]) -> None:
    net, x = a_net(shape, 0.3), rows(5, shape)
    z = net(x, part="rows").reshape(5, -1)
    centre = 0.006 if len(shape) == 3 else 0.0
    torch.testing.assert_close(z.mean(dim=1), torch.full((5,), centre).double())
    norms = torch.linalg.vector_norm(z - z.mean(dim=1, keepdim=True), dim=1)
    lengths = torch.linalg.vector_norm(x.reshape(5, -1), dim=1)
    sds = x.reshape(5, -1).std(dim=1, correction=0) * np.sqrt(z.shape[1])
    torch.testing.assert_close(norms, sds / lengths)
    torch.testing.assert_close(net(x), net(net(x, part="rows"), part="net"))
    assert torch.isfinite(net(torch.zeros_like(x))).all()

    X = x.numpy().astype(np.float32)
    fitted = make("hrn", PARAMS | {"lr": 0.01}).fit(X)
    np.testing.assert_allclose(fitted.decision_function(7 * X), fitted.decision_function(X), rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_release_divides_by_the_batch_in_training_and_by_nothing_at_test(shape: tuple[int, ...]) -> None:
    net, x = a_net(shape, 0.3, {"normalise": "batch"}), rows(5, shape)
    torch.testing.assert_close(net(x, part="rows"), x / (x**2).sum(dim=0).sqrt())
    assert torch.isfinite(net(torch.zeros_like(x))).all()
    net.eval()
    assert net(x, part="rows") is x
    torch.testing.assert_close(net(x), net.net(x))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("lane_map", ["loop", "vmap"])
def test_a_fit_is_sgd_with_momentum_whichever_way_lanes_are_mapped(shape: tuple[int, ...], lane_map: Any) -> None:
    X, changes = rows(12, shape).numpy(), {"lam": 2.0, "power": 2.0}
    m = make("hrn", PARAMS | changes)
    samples = [PUSample(X, None, None, seed) for seed in (0, 1)]
    for one, sample in zip(m.fit_lanes(samples, Compute(lane_map=lane_map)), samples, strict=True):
        gen = torch.Generator().manual_seed(sample.seed)
        net = m._seeded_net(shape, gen).double()  # type: ignore[attr-defined]
        weights = list(net.parameters())
        speed = [torch.zeros_like(weight) for weight in weights]
        for _ in range(3):  # all rows are one batch, so their order does not matter
            gradients = torch.autograd.grad(loss(net, torch.tensor(X), changes), weights)
            with torch.no_grad():
                for i, (weight, gradient) in enumerate(zip(weights, gradients, strict=True)):
                    speed[i] = 0.9 * speed[i] + gradient
                    weight -= 0.1 * speed[i]
        for weight, array in zip(weights, one.state().values(), strict=True):
            np.testing.assert_allclose(array, weight.detach().numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("switch", sorted(RELEASED))
def test_each_switch_of_the_release_changes_the_fit(shape: tuple[int, ...], switch: str) -> None:
    X = rows(20, shape).numpy().astype(np.float32)
    # by SGD the authors' network has hardly left where it begins after three steps, and its slope is about 0
    base: dict[str, Any] = {"lr": 1e-2, "lam": 5.0, "power": 2.0, "optim": "sgd" if switch == "optim" else "adam"}
    mine, other = (make("hrn", PARAMS | base | change).fit(X) for change in ({}, {switch: RELEASED[switch]}))
    scores = [m.decision_function(X) for m in (mine, other)]
    assert np.isfinite(scores).all()
    assert np.abs(scores[0] - scores[1]).max() > 1e-3 * np.abs(scores[0]).max()


def test_an_epoch_of_2500_positives_has_25_steps_of_100() -> None:
    assert batch_sizes(2500, 0, 100, "p") == [(100, 0)] * 25


def test_rows_of_one_value_are_refused_where_centring_would_leave_nothing() -> None:
    X = np.ones((4, 1), dtype=np.float32)
    with pytest.raises(ValueError, match="at least 2 values expected, got 1"):
        make("hrn", PARAMS).fit(X)
    assert np.isfinite(make("hrn", PARAMS | RELEASED).fit(X).decision_function(X)).all()
