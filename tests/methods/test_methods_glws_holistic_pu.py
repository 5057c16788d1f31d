"""GLWS and HolisticPU: expected labels by enumeration, trends and the natural break by hand, both trainings by rows."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
import torch
from test_methods_since_2021 import F_P, F_U, logistic, sigmoid
from torch import nn

from puoc.methods import make
from puoc.methods.holistic_pu import split, trends
from puoc.records import Array

TRAINING: dict[str, Any] = {"lr": 5e-3, "lr_decay": 1.0, "epochs": 5, "batch_size": 40}
GLWS = TRAINING | {"batching": "union", "lam": 0.7}
HOLISTIC = TRAINING | {"trend_epochs": 4}


def expected_labels(p: Array, m: int) -> tuple[float, Array]:
    """P(K = m), and the labels that are expected then, over all labels with m positives."""
    chance, of_labels = 0.0, np.zeros_like(p)
    for labels in product((0, 1), repeat=len(p)):
        if sum(labels) == m:
            one = np.where(labels, p, 1 - p).prod()
            chance, of_labels = chance + one, of_labels + one * np.array(labels)
    return chance, of_labels / chance


@pytest.mark.parametrize(("alpha", "m"), [(0.2, 0), (0.25, 1), (0.3, 1), (0.5, 2), (0.99, 3)])
def test_glws_follows_the_expected_labels_given_the_number_of_positives(alpha: float, m: int) -> None:
    made: Any = make("glws", GLWS)
    x_p, x_u = (torch.tensor(rows, requires_grad=True) for rows in (F_P, F_U))
    value = made.loss(nn.Identity(), x_p, x_u, torch.tensor(alpha, dtype=torch.float64), {}, 0)
    value.backward()
    chance, q = expected_labels(sigmoid(F_U), m)
    assert value.item() == pytest.approx(logistic(F_P).mean() - 0.7 * np.log(chance) / 4, abs=1e-12)
    np.testing.assert_allclose(x_p.grad, -sigmoid(-F_P) / 3, atol=1e-12)
    np.testing.assert_allclose(x_u.grad, 0.7 * (sigmoid(F_U) - q) / 4, atol=1e-12)  # that of the cross-entropy to q


@pytest.mark.parametrize("n_u", [10, 20, 40])
def test_glws_takes_the_whole_number_where_rounding_is_a_little_below_it(n_u: int) -> None:
    made: Any = make("glws", GLWS)
    x_p, x_u = torch.tensor(F_P, dtype=torch.float32), torch.linspace(-1, 1, n_u)
    losses = [
        float(made.loss(nn.Identity(), x_p, x_u, torch.tensor(alpha, dtype=torch.float32), {}, 0))
        for alpha in (0.3, 0.3 - 1e-7, 0.3 + 0.5 / n_u)
    ]
    assert losses[0] == losses[1] == losses[2]


def test_the_trend_of_a_row_by_hand() -> None:
    predictions = np.array([[0.5, 0.1], [0.9, 0.3], [0.7, 0.3]])
    by_hand = [
        (np.log(1 + 0.4 + 0.08) + np.log(1 - 0.2 + 0.02)) / 2,
        (np.log(1 + 0.2 + 0.02) + np.log(1)) / 2,
    ]
    np.testing.assert_allclose(trends(predictions), by_hand, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_natural_break_has_the_least_squares_of_all_divisions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.permutation(np.r_[rng.normal(-1, 0.5, 5), rng.normal(1, 1, 4), rng.normal(-1, 0.5, 1)])
    upper = split(values) == 1

    def within(mask: Array) -> float:
        return float(sum(len(part) * part.var() for part in (values[mask], values[~mask])))

    divisions = [np.isin(np.arange(10), of) for n in range(1, 10) for of in combinations(range(10), n)]
    assert within(upper) == pytest.approx(min(map(within, divisions)), abs=1e-12)
    assert values[upper].min() > values[~upper].max()


def test_equal_trends_are_not_divided() -> None:
    assert split(np.full(6, 0.3)).tolist() == [0] * 6
    assert split(np.array([0.3])).tolist() == [0]
    assert split(np.array([0.1, 0.1, 0.4, 0.1])).tolist() == [0, 0, 1, 0]


def two_classes(seed: int, n: int = 200) -> tuple[Array, Array, Array]:
    """P, U and the classes of U, whose first half is positive."""
    rng = np.random.default_rng(seed)
    X_p, X_u = rng.normal(1.5, 1, (40, 5)), rng.normal(0, 1, (n, 5))
    X_u[: n // 2] += 1.5
    X_u[n // 2 :] -= 1.5
    return X_p.astype(np.float32), X_u.astype(np.float32), np.repeat([1, 0], n // 2)


def test_holistic_pu_finds_the_positives_of_u_by_their_trend() -> None:
    X_p, X_u, classes = two_classes(0)
    made: Any = make("holistic_pu", HOLISTIC | {"lr": 1e-3, "epochs": 20}).fit(X_p, X_u, seed=0)
    assert made.alpha_hat_ == pytest.approx(0.5, abs=0.05)
    assert ((made.decision_function(X_u) > 0) == classes).mean() > 0.95
    naive: Any = make("naive", TRAINING | {"batching": "equal", "epochs": 200, "batch_size": 40})
    against_u = naive.fit(X_p, X_u, seed=0).decision_function(X_u)[classes == 1]
    assert (against_u > 0).mean() < 0.5  # without a split, the positives of U are negatives


def test_each_training_is_one_on_p_and_the_labels_of_u() -> None:
    """One step on all rows: the loss is the mean of P plus that of U, and P repeats to the size of U."""
    X_p, X_u, _ = two_classes(1, n=12)
    made: Any = make("holistic_pu", HOLISTIC)
    tensors, labels = (torch.tensor(X_p[:3]), torch.tensor(X_u)), torch.tensor([1.0] * 5 + [0.0] * 7)
    start: Any = made._seeded_net((5,), torch.Generator().manual_seed(3))
    predictions: list[Array] = []
    [value] = made._train(*tensors, labels, 1, torch.Generator().manual_seed(3), predictions)
    with torch.no_grad():
        f_p, f_u = start(tensors[0]).numpy(), start(tensors[1]).numpy()
    expected = logistic(f_p).mean() + (logistic(f_u[:5]).sum() + logistic(-f_u[5:]).sum()) / 12
    assert value == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(predictions, [sigmoid(made.decision_function(X_u).astype(np.float64))], rtol=1e-6)


def test_a_single_epoch_has_no_trend() -> None:
    with pytest.raises(ValueError, match="trend_epochs"):
        make("holistic_pu", HOLISTIC | {"trend_epochs": 1})
