"""Deep SVDD: the centre is the mean of the first representation, and the loss is the one by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from puoc.methods import make
from puoc.methods.training.lanes import OneLane

PARAMS: dict[str, Any] = {"lr": 1e-9, "lr_decay": 1.0, "epochs": 1, "batch_size": 50, "batching": "p", "lam": 0.1}


def test_the_centre_is_the_mean_of_the_representations_before_training_away_from_0() -> None:
    P = np.random.default_rng(0).normal(2, 1, size=(50, 6)).astype(np.float32)
    net = make("deep_svdd", PARAMS).fit(P, seed=1).net_  # type: ignore[attr-defined]  # lr is next to 0
    with torch.no_grad():
        first = net(torch.tensor(P), part="representation").mean(dim=0)
    expected = np.where(abs(first) < 0.1, np.where(first < 0, -0.1, 0.1), first)
    np.testing.assert_allclose(net.centre, expected, rtol=1e-4, atol=1e-5)
    assert 0 < (abs(first) < 0.1).sum() < len(first)


def test_the_loss_is_the_mean_squared_distance_and_half_the_decay() -> None:
    method: Any = make("deep_svdd", PARAMS)
    net, x = method.build((6,)), torch.randn(9, 6, generator=torch.Generator().manual_seed(0))
    net.centre += 0.3

    def losing(lane: Any, rows: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = method.loss(lane, rows, rows[:0], torch.tensor(torch.nan), {}, 0)
        return value

    seen = OneLane(net).map(losing, x[None]).detach()
    by_hand = sum(((net(row[None], part="representation") - 0.3) ** 2).sum() for row in x) / 9
    weights = sum((weight**2).sum() for weight in net.parameters())
    assert float(seen[0]) == pytest.approx((by_hand + 0.05 * weights).item(), rel=1e-5)
    assert {name for name, _ in net.named_parameters() if "bias" in name} == set()
