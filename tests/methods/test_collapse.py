"""Where U has no negatives: what the algebra says of every hybrid and its one-class parent, U being P's rows again.

That PU-DROCC is then DROCC to the last digit is a test in test_methods_drocc.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import rbf_kernel
from torch import Tensor

from puoc.methods import make
from puoc.methods.csi import nt_xent
from puoc.methods.solvers import hinge_kernel, hinge_linear
from puoc.methods.solvers.hinge import Risk
from puoc.methods.training.lanes import Lane

ALPHAS = [0.2, 0.5, 0.9, 0.999]
COMMON: dict[str, Any] = {"lr": 1e-3, "lr_decay": 1.0, "epochs": 1, "batch_size": 8, "batching": "union"}
CNN = COMMON | {"hidden": 6, "dropout": 0.0, "correction": "clamp"}
OC_CNN = COMMON | {"hidden": 6, "dropout": 0.0, "batching": "p", "sigma": 0.1}
LSTM = COMMON | {"hidden": 5, "pooling": "last", "training": "joint", "lam": 0.1}


def rows(n: int = 40, d: int = 4) -> np.ndarray:
    return np.random.default_rng(0).normal(1, 1, (n, d))


def lane(net: torch.nn.Module) -> Lane:
    return Lane(net, dict(net.named_parameters()), dict(net.named_buffers()))


def loss(method: Any, net: torch.nn.Module, x: Tensor, alpha: float) -> Tensor:
    """The hybrid's loss with U = P, each of its rows twice."""
    twice = x.repeat(2, *[1] * (x.ndim - 1))
    noise = method.draws(x, twice, torch.Generator().manual_seed(0))
    value: Tensor = method.loss(lane(net), x, twice, torch.tensor(alpha, dtype=x.dtype), noise, 0)
    return value


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("risk", ["non_negative", "unbiased"])
def test_pu_svm_becomes_a_constant_whatever_alpha_and_oc_svm_is_none(alpha: float, risk: Risk) -> None:
    P = rows()
    U = np.concatenate([P, P])
    linear = hinge_linear.solve(P, U, alpha, 0.01, risk)
    kernel = hinge_kernel.solve(rbf_kernel(np.concatenate([P, U]), gamma=0.3), len(P), alpha, 0.01, risk)
    for found in (linear, kernel):
        assert found.objective == pytest.approx(2 * min(alpha, 1 - alpha), abs=1e-6)
    np.testing.assert_allclose(linear.w, 0, atol=1e-4)
    oc = make("oc_svm", {"kernel": "linear", "nu": 0.5}).fit(P)
    assert np.linalg.norm(oc.state()["w"]) > 1


@pytest.mark.parametrize("alpha", ALPHAS)
def test_pu_cnns_best_is_a_constant_where_it_has_no_slope(alpha: float) -> None:
    m, x = make("pu_cnn", CNN | {"surrogate": "logistic"}), torch.from_numpy(rows())
    entropy = -alpha * math.log(alpha) - (1 - alpha) * math.log(1 - alpha)
    torch.manual_seed(0)
    for _ in range(20):
        net = m.build((4,)).double()  # type: ignore[attr-defined]
        with torch.no_grad():
            net.out.weight *= 5
        assert loss(m, net, x, alpha) >= entropy
    with torch.no_grad():
        net.out.weight.zero_()
        net.out.bias.fill_(math.log(alpha / (1 - alpha)))
    value = loss(m, net, x, alpha)
    assert value.item() == pytest.approx(entropy, rel=1e-9)
    for slope in torch.autograd.grad(value, list(net.parameters())):
        torch.testing.assert_close(slope, torch.zeros_like(slope), rtol=0, atol=1e-12)
    parent = make("oc_cnn", OC_CNN)
    noise = parent.draws(x, x[:0], torch.Generator().manual_seed(0))  # type: ignore[attr-defined]
    value = parent.loss(lane(net), x, x[:0], torch.tensor(alpha), noise, 0)  # type: ignore[attr-defined]
    assert max(slope.abs().max() for slope in torch.autograd.grad(value, list(net.parameters()))) > 1e-2


@pytest.mark.parametrize("alpha", ALPHAS)
def test_pu_lstms_best_is_a_constant(alpha: float) -> None:
    m = make("pu_lstm", LSTM)
    rng = np.random.default_rng(0)
    x = torch.from_numpy(np.concatenate([np.ones((30, 6, 1)), rng.normal(size=(30, 6, 2))], axis=2))
    torch.manual_seed(0)
    least = 2 * min(alpha, 1 - alpha)
    for _ in range(20):
        net = m.build((6, 3)).double()  # type: ignore[attr-defined]
        with torch.no_grad():
            net.w *= 4
            net.offset.fill_(float(rng.normal()))
        assert loss(m, net, x, alpha) > least
    with torch.no_grad():
        net.w.zero_()
        net.offset.fill_(-1.0 if alpha >= 0.5 else 1.0)
    assert loss(m, net, x, alpha).item() == pytest.approx(least, abs=1e-12)


@pytest.mark.parametrize("w", [0.1, 1.0])
def test_pu_csi_adds_to_csis_contrast_the_logarithm_of_one_plus_w_times_the_ratio_of_u_to_p(w: float) -> None:
    rng = np.random.default_rng(0)
    z_p, z_u = rng.normal(size=(24, 8)), rng.normal(size=(8, 8))
    with_u, without = (float(nt_xent(torch.from_numpy(z_p), torch.from_numpy(z_u), 0.5, of)) for of in (w, 0.0))
    added = with_u - without
    unit_p, unit_u = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in (z_p, z_u))
    of_p, of_u = np.exp(unit_p @ unit_p.T / 0.5), np.exp(unit_p @ unit_u.T / 0.5)
    np.fill_diagonal(of_p, 0)
    ratio = of_u.sum(axis=1) / of_p.sum(axis=1)
    assert added == pytest.approx(np.log1p(w * ratio).mean(), rel=1e-10)
    assert added == pytest.approx(math.log1p(w * 8 / 23), rel=0.2)  # of one distribution: about a constant
