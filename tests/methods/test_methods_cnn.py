"""OC-CNN and PU-CNN: the head by hand, what dropout and noise are, and the loss against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from puoc.methods import make
from puoc.methods.cnn import OCCNN, PUCNN
from puoc.methods.training.cnn_nets import Head, standardised
from puoc.methods.training.lanes import Lane

OC: dict[str, Any] = {
    "lr": 1e-3,
    "lr_decay": 1.0,
    "epochs": 1,
    "batch_size": 8,
    "batching": "p",
    "hidden": 16,
    "dropout": 0.5,
    "sigma": 0.1,
}
PU: dict[str, Any] = {key: value for key, value in OC.items() if key != "sigma"} | {"batching": "union"}


def lane(net: nn.Module) -> Lane:
    return Lane(net, dict(net.named_parameters()), {})


def seeded(n: int, d: int = 12, seed: int = 0) -> Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed)) * 3 + 1


def test_features_are_standardised_row_by_row_as_instance_norm_does() -> None:
    x = seeded(6)
    torch.testing.assert_close(standardised(x), nn.InstanceNorm1d(1)(x.unsqueeze(1)).squeeze(1))


def test_the_head_by_hand() -> None:
    torch.manual_seed(0)
    net, x = Head(12, 16), seeded(5)
    z = x.numpy()
    z = (z - z.mean(1, keepdims=True)) / np.sqrt(z.var(1, keepdims=True) + 1e-5)
    weight, bias = net.hidden.weight.detach().numpy(), net.hidden.bias.detach().numpy()
    h = np.maximum(z @ weight.T + bias, 0)
    f = h @ net.out.weight.detach().numpy().T + net.out.bias.detach().numpy()
    np.testing.assert_allclose(net(x).detach().numpy(), f[:, 0], rtol=1e-4, atol=1e-6)
    mask = torch.zeros(5, 16)
    np.testing.assert_allclose(net(x, mask).detach().numpy(), np.full(5, net.out.bias.item()), rtol=1e-6)


def test_noise_of_oc_cnn_has_its_sigma_and_is_not_standardised() -> None:
    method = make("oc_cnn", OC)
    assert isinstance(method, OCCNN)
    x_p, none = seeded(400), seeded(0)
    noise = method.draws(x_p, none, torch.Generator().manual_seed(1))
    assert noise["points"].shape == x_p.shape
    assert noise["points"].std().item() == pytest.approx(0.1, rel=0.05)
    assert noise["kept"].shape == (800, 16)
    assert noise["kept"].mean().item() == pytest.approx(1, abs=0.05)
    torch.manual_seed(0)
    net = Head(12, 16)
    loss = method.loss(lane(net), x_p, none, torch.tensor(float("nan")), noise, 0)
    f_p = net(x_p, noise["kept"][:400]).detach().numpy()
    f_n = net(noise["points"], noise["kept"][400:], part="head").detach().numpy()
    expected = (np.log1p(np.exp(-f_p)).mean() + np.log1p(np.exp(f_n)).mean()) / 2
    assert loss.item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("surrogate", "loss"), [("logistic", lambda z: np.log1p(np.exp(-z))), ("sigmoid", lambda z: 1 / (1 + np.exp(z)))]
)
def test_loss_of_pu_cnn_is_the_non_negative_risk(surrogate: str, loss: Any) -> None:
    method = make("pu_cnn", PU | {"surrogate": surrogate, "correction": "clamp"})
    assert isinstance(method, PUCNN)
    x_p, x_u = seeded(7), seeded(9, seed=2)
    noise = method.draws(x_p, x_u, torch.Generator().manual_seed(1))
    torch.manual_seed(0)
    net = Head(12, 16)
    got = method.loss(lane(net), x_p, x_u, torch.tensor(0.4), noise, 0).item()
    f_p = net(x_p, noise["kept"][:7]).detach().numpy()
    f_u = net(x_u, noise["kept"][7:]).detach().numpy()
    negative = loss(-f_u).mean() - 0.4 * loss(-f_p).mean()
    assert got == pytest.approx(0.4 * loss(f_p).mean() + max(0, negative), rel=1e-5)


@pytest.mark.parametrize("lacking", ["P", "U"])
def test_a_batch_that_lacks_p_or_u_has_a_finite_loss(lacking: str) -> None:
    method = make("pu_cnn", PU | {"surrogate": "logistic", "correction": "clamp"})
    assert isinstance(method, PUCNN)
    x_p, x_u = seeded(0 if lacking == "P" else 5), seeded(0 if lacking == "U" else 5)
    noise = method.draws(x_p, x_u, torch.Generator().manual_seed(1))
    loss = method.loss(lane(Head(12, 16)), x_p, x_u, torch.tensor(0.4), noise, 0)
    assert torch.isfinite(loss)


@pytest.mark.parametrize("name", ["oc_cnn", "pu_cnn"])
@pytest.mark.parametrize("d", [1, 2])
def test_rows_of_which_standardising_leaves_nothing_are_refused(name: str, d: int) -> None:
    more = {"surrogate": "logistic", "correction": "clamp"} if name == "pu_cnn" else {}
    made = make(name, (PU if more else OC) | more)
    rows = np.random.default_rng(0).random((20, d)).astype(np.float32)
    with pytest.raises(ValueError, match=f"{name} standardises each row .* at least 3 values expected, got {d}"):
        made.fit(rows, rows, alpha=0.5, seed=0)
