"""CVIR, Dist-PU, PUSB and the count loss: each loss is the one by hand."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from puoc.methods import make
from puoc.methods.count_loss import log_count_distribution
from puoc.records import Array

TRAINING: dict[str, Any] = {"lr": 5e-3, "lr_decay": 1.0, "epochs": 5, "batch_size": 40, "batching": "union"}
F_P, F_U = np.array([2.0, -0.5, 1.4]), np.array([0.3, -1.1, 2.5, 0.1])
DIST = {"entropy": 0.2, "mixing": 0.7, "mixed_entropy": 0.3, "mixup": 2.0, "warmup_epochs": 3}


def loss(name: str, params: dict[str, Any], alpha: float, noise: dict[str, Tensor], epoch: int = 9) -> float:
    """The loss of a network that gives its rows back as logits."""
    made: Any = make(name, TRAINING | params)
    x_p, x_u = torch.tensor(F_P), torch.tensor(F_U)
    return float(made.loss(nn.Identity(), x_p, x_u, torch.tensor(alpha, dtype=torch.float64), noise, epoch))


def logistic(z: Array) -> Array:
    return np.logaddexp(0, -z)


def sigmoid(z: Array) -> Array:
    return 1 / (1 + np.exp(-z))


@pytest.mark.parametrize(
    ("alpha", "kept"), [(0.25, [0, 1, 3]), (0.5, [1, 3]), (0.75, [1]), (0.99, [1]), (0.01, [0, 1, 2, 3])]
)
def test_cvir_leaves_out_the_share_alpha_of_u_with_the_highest_logits(alpha: float, kept: list[int]) -> None:
    by_hand = logistic(F_P).mean() + logistic(-F_U[kept]).mean()
    assert loss("cvir", {"warmup_epochs": 3}, alpha, {}) == pytest.approx(by_hand, abs=1e-12)
    at_first = logistic(F_P).mean() + logistic(-F_U).mean()
    assert loss("cvir", {"warmup_epochs": 3}, alpha, {}, epoch=2) == pytest.approx(at_first, abs=1e-12)


def test_dist_pu_is_the_distribution_of_labels_and_three_terms() -> None:
    share, partner = 0.8, np.array([2, 0, 1, 6, 5, 3, 4])
    noise = {"share": torch.tensor(share), "partner": torch.tensor(partner)}
    p_p, p_u = sigmoid(F_P), sigmoid(F_U)
    risk = 2 * 0.3 * (1 - p_p.mean()) + abs(p_u.mean() - 0.3)
    assert loss("dist_pu", DIST, 0.3, noise, epoch=2) == pytest.approx(risk, abs=1e-12)

    def cross_entropy(p: Array, target: Array) -> float:
        return float(-(target * np.log(p) + (1 - target) * np.log(1 - p)).mean())

    logits, labels = np.r_[F_P, F_U], np.r_[np.ones(3), p_u]
    mixed = sigmoid(share * logits + (1 - share) * logits[partner])
    targets = share * labels + (1 - share) * labels[partner]
    terms = 0.2 * cross_entropy(p_u, p_u) + 0.7 * cross_entropy(mixed, targets) + 0.3 * cross_entropy(mixed, mixed)
    assert loss("dist_pu", DIST, 0.3, noise) == pytest.approx(risk + terms, abs=1e-6)  # the share is float32


def test_dist_pu_draws_a_share_of_a_half_at_least_and_partners_of_all_rows() -> None:
    made: Any = make("dist_pu", TRAINING | DIST)
    drawn = [made.draws(torch.zeros(3, 2), torch.zeros(4, 2), torch.Generator().manual_seed(i)) for i in range(20)]
    shares = np.array([float(one["share"]) for one in drawn])
    assert ((shares >= 0.5) & (shares < 1)).all()
    assert len(set(shares)) == 20
    assert all(sorted(one["partner"].tolist()) == list(range(7)) for one in drawn)


@pytest.mark.parametrize("alpha", [0.2, 0.6])
def test_pusb_ranks_as_nnpu_and_calls_the_share_alpha_of_u_positive(alpha: float) -> None:
    rng = np.random.default_rng(0)
    P, U = rng.normal(1, 1, (60, 3)).astype(np.float32), rng.normal(0, 1, (200, 3)).astype(np.float32)
    params = TRAINING | {"surrogate": "logistic", "correction": "clamp"}
    ours, nnpu = (make(name, params).fit(P, U, alpha=alpha, seed=2) for name in ("pusb", "nnpu"))
    scores, plain = ours.decision_function(U), nnpu.decision_function(U)
    assert (scores > 0).mean() == pytest.approx(alpha, abs=0.005)
    np.testing.assert_allclose(plain - scores, np.quantile(plain, 1 - alpha), rtol=1e-5)


def test_the_count_of_positives_is_that_of_all_their_outcomes() -> None:
    p = sigmoid(F_U)
    expected = np.zeros(5)
    for outcome in product([0, 1], repeat=4):
        expected[sum(outcome)] += np.prod(np.where(outcome, p, 1 - p))
    np.testing.assert_allclose(log_count_distribution(torch.tensor(F_U)).exp(), expected, rtol=1e-12)
    sure = log_count_distribution(torch.tensor([400.0, -400.0, 400.0], dtype=torch.float64))
    assert sure.tolist()[2] == pytest.approx(0, abs=1e-12)
    assert torch.isfinite(sure).all()


def test_the_count_loss_is_the_divergence_from_the_binomial() -> None:
    binomial = np.array([0.7**4, 4 * 0.3 * 0.7**3, 6 * 0.09 * 0.49, 4 * 0.027 * 0.7, 0.3**4])
    count = log_count_distribution(torch.tensor(F_U)).numpy()
    by_hand = logistic(F_P).mean() + 0.4 * (binomial * (np.log(binomial) - count)).sum()
    assert loss("count_loss", {"lam": 0.4}, 0.3, {}) == pytest.approx(by_hand, abs=1e-9)
