"""PULDA, PUe, LBE, Robust-PU, P3Mix and nnPU for noisy P: each loss and its gradient are those by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from puoc.methods import make
from puoc.methods.training.lanes import Lane
from puoc.records import Array

TRAINING: dict[str, Any] = {"lr": 5e-3, "lr_decay": 1.0, "epochs": 5, "batch_size": 40, "batching": "union"}
NNPU: dict[str, Any] = {"surrogate": "logistic", "correction": "clamp"}
F_P, F_U = np.array([2.0, -0.5, 1.4]), np.array([0.3, -1.1, 2.5, 0.1])
E_P, E_U = np.array([0.4, -1.5, 0.2]), np.array([-0.8, 1.2, 0.6, -2.0])
ALPHA = 0.3
PULDA: dict[str, Any] = {"temperature": 3.5, "margin": 0.6, "momentum_mean": 0.8, "momentum_margin": 0.5}
PULDA |= {"mixing": 0.7, "mixup": 2.0, "warmup_epochs": 3}
P3MIX = {"mixup": 2.0, "sure": 0.7, "pool": 0.67, "unlabelled": 0.6, "entropy": 0.2, "warmup_epochs": 3}
SHARE, PARTNER = 0.8, np.array([2, 0, 1, 6, 5, 3, 4])


def logistic(z: Array) -> Array:
    return np.logaddexp(0, -z)


def sigmoid(z: Array) -> Array:
    return 1 / (1 + np.exp(-z))


def cross_entropy(f: Array, target: Array) -> Array:
    found: Array = target * logistic(f) + (1 - target) * logistic(-f)
    return found


def column(x: Tensor, of: str = "label") -> Tensor:
    """The network of the tests: rows are logits, or pairs of the logits of two networks."""
    return x if x.dim() == 1 else x[:, 0 if of == "label" else 1]


def loss(
    name: str, params: dict[str, Any], p: Array, u: Array, epoch: int, noise: dict[str, Any], **buffers: Array
) -> tuple[float, Array]:
    """The loss of a batch, and its gradient by the logits of P and of U."""
    made: Any = make(name, TRAINING | params)
    x_p, x_u = (torch.tensor(rows, dtype=torch.float64, requires_grad=True) for rows in (p, u))
    lane = Lane(column, {}, {key: torch.as_tensor(value) for key, value in buffers.items()})
    drawn = {key: torch.as_tensor(value) for key, value in noise.items()}
    value = made.loss(lane, x_p, x_u, torch.tensor(ALPHA, dtype=torch.float64), drawn, epoch)
    value.backward()
    grads = [np.zeros_like(x.detach()) if x.grad is None else x.grad.numpy() for x in (x_p, x_u)]
    return value.item(), np.concatenate(grads)


def slopes(by_hand: Callable[[Array], float], at: Array) -> Array:
    """Numerical gradient."""
    found = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[place] = 1e-6
        found[place] = (by_hand(at + step) - by_hand(at - step)) / 2e-6
    return found


def two_way(z: Array) -> Array:
    found: Array = sigmoid(z) * sigmoid(0.6 - z)
    return found


def distance(a: float, b: float) -> float:
    return float((np.log1p(np.exp(3.5 * (a - b))) + np.log1p(np.exp(3.5 * (b - a))) - 2 * np.log(2)) / 3.5)


@pytest.mark.parametrize(("started", "epoch"), [(0, 2), (1, 2), (1, 3)])
def test_pulda_aligns_means_of_labels_and_of_the_two_way_sigmoid(started: int, epoch: int) -> None:
    old, m = np.array([0.5, 0.2, 0.1]), started * np.array([0.8, 0.5, 0.5])
    labels = np.r_[np.ones(3), sigmoid(F_U)]

    def by_hand(f: Array, m: Array, mixing: float) -> float:
        f_p, f_u = f[:3], f[3:]
        now = np.array([sigmoid(f_u).mean(), two_way(-f_u).mean(), two_way(-f_p).mean()])
        p_u, l_u, l_p = m * old + (1 - m) * now
        risk = 2 * ALPHA * (1 - sigmoid(f_p).mean()) + ALPHA * two_way(f_p).mean()
        risk += distance(p_u, ALPHA) / (1 - m[0]) + distance(l_u, ALPHA * l_p) / (1 - m[1])
        mixed, targets = (SHARE * a + (1 - SHARE) * a[PARTNER] for a in (f, labels))
        return float(risk + mixing * cross_entropy(mixed, targets).mean())

    value, gradient = loss(
        "pulda",
        PULDA,
        *(F_P, F_U, epoch),
        {"share": SHARE, "partner": PARTNER},
        averages=old,
        started=np.array(float(started)),
    )
    at = np.r_[F_P, F_U]
    assert value == pytest.approx(by_hand(at, 0 * m, 0), abs=1e-12)
    expected = slopes(lambda f: by_hand(f, m, 0.7 if epoch == 3 else 0), at)
    np.testing.assert_allclose(gradient, expected, atol=1e-8)


def test_pulda_moves_its_averages_after_a_step() -> None:
    made: Any = make("pulda", TRAINING | PULDA)
    now = np.array([sigmoid(F_U).mean(), two_way(-F_U).mean(), two_way(-F_P).mean()])
    x_p, x_u = torch.tensor(F_P), torch.tensor(F_U)
    old = torch.tensor([0.5, 0.2, 0.1], dtype=torch.float64)
    for started, expected in ((0.0, now), (1.0, [0.8, 0.5, 0.5] * old.numpy() + [0.2, 0.5, 0.5] * now)):
        lane = Lane(column, {}, {"averages": old, "started": torch.tensor(started, dtype=torch.float64)})
        after = made.after_step(lane, x_p, x_u, torch.tensor(ALPHA))
        np.testing.assert_allclose(after["averages"], expected, rtol=1e-12)
        assert float(after["started"]) == 1


@pytest.mark.parametrize("epoch", [0, 2])
def test_pue_weighs_rows_of_p_by_the_inverse_of_their_propensity(epoch: int) -> None:
    params = NNPU | {"balance": 0.4, "warmup_epochs": 2}
    weight = (1 / sigmoid(E_P)) / (1 / sigmoid(E_P)).sum() if epoch == 2 else np.full(3, 1 / 3)

    def risk(f: Array) -> float:
        positive = ALPHA * (weight * logistic(f[:3])).sum()
        return float(positive + max(0, logistic(-f[3:]).mean() - ALPHA * (weight * logistic(-f[:3])).sum()))

    def of_e(e: Array) -> float:
        against = np.r_[logistic(e[:3]), logistic(-e[3:])].mean()
        return float(against + 0.4 * abs(sigmoid(e).sum() - 3))

    f, e = np.r_[F_P, F_U], np.r_[E_P, E_U]
    value, gradient = loss("pue", params, np.c_[F_P, E_P], np.c_[F_U, E_U], epoch, {})
    assert value == pytest.approx(risk(f), abs=1e-12)
    np.testing.assert_allclose(gradient, np.c_[slopes(risk, f), slopes(of_e, e)], atol=1e-8)


def unlikely(both: Array) -> float:
    """-mean log p(s | x), of which p(s=1 | x) = h eta."""
    labelled = sigmoid(both[:, 0]) * sigmoid(both[:, 1])
    return float(-np.log(np.r_[labelled[:3], 1 - labelled[3:]]).mean())


def test_lbe_starts_with_both_samples_at_the_same_weight() -> None:
    both = np.r_[np.c_[F_P, E_P], np.c_[F_U, E_U]]

    def apart(both: Array) -> float:
        return float((4 / 7 * logistic(both[:3]).sum() + 3 / 7 * logistic(-both[3:]).sum()) / 7)

    value, gradient = loss("lbe", {"warmup_epochs": 2, "kept": 0.5}, both[:3], both[3:], 1, {})
    assert value == pytest.approx(unlikely(both), abs=1e-12)
    np.testing.assert_allclose(gradient, slopes(apart, both), atol=1e-8)


def test_a_step_of_lbe_follows_the_likelihood_and_leaves_out_the_rows_of_largest_loss() -> None:
    """With the expected labels of the present networks, EM's objective has the gradient of the likelihood."""
    both = np.r_[np.c_[F_P, E_P], np.c_[F_U, E_U]]
    value, gradient = loss("lbe", {"warmup_epochs": 2, "kept": 1.0}, both[:3], both[3:], 2, {})
    assert value == pytest.approx(unlikely(both), abs=1e-12)
    np.testing.assert_allclose(gradient, slopes(unlikely, both), atol=1e-8)

    h, eta = sigmoid(both).T
    y = np.r_[np.ones(3), (h * (1 - eta) / (1 - h * eta))[3:]]
    kept = np.argsort(cross_entropy(both[:, 0], y))[:4]
    _, fewer = loss("lbe", {"warmup_epochs": 2, "kept": 0.6}, both[:3], both[3:], 2, {})
    expected = np.zeros(7)
    expected[kept] = slopes(lambda f: float(cross_entropy(f, y[kept]).mean()), both[kept, 0])
    np.testing.assert_allclose(fewer[:, 0], expected, atol=1e-8)
    np.testing.assert_allclose(fewer[:, 1], gradient[:, 1], atol=1e-12)


@pytest.mark.parametrize(("epoch", "square"), [(3, 0.1**2), (5, 0.86**2), (8, 2.0**2), (30, 2.0**2)])
def test_robust_pu_lets_in_harder_rows_as_its_threshold_grows(epoch: int, square: float) -> None:
    params = {"warmup_epochs": 3, "threshold": 0.1, "last_threshold": 2.0, "growth": 5}
    each = np.r_[logistic(F_P), logistic(-F_U)]
    weight = np.exp(-each / square)

    def by_hand(f: Array) -> float:
        return float((weight * np.r_[logistic(f[:3]), logistic(-f[3:])]).mean())

    def nnpu(f: Array) -> float:
        negative = sigmoid(f[3:]).mean() - ALPHA * sigmoid(f[:3]).mean()
        return float(ALPHA * sigmoid(-f[:3]).mean() + max(0, negative))

    f = np.r_[F_P, F_U]
    value, gradient = loss("robust_pu", params, F_P, F_U, epoch, {})
    assert value == pytest.approx(nnpu(f), abs=1e-12)
    np.testing.assert_allclose(gradient, slopes(by_hand, f), atol=1e-8)
    _, at_first = loss("robust_pu", params, F_P, F_U, 2, {})
    np.testing.assert_allclose(at_first, slopes(nnpu, f), atol=1e-8)


@pytest.mark.parametrize("epoch", [2, 3])
def test_p3mix_mixes_unsure_rows_with_positives_near_the_boundary(epoch: int) -> None:
    f, place = np.r_[F_P, F_U], np.array([1, 0, 1, 0])
    # by |f| the rows of P are 1, 2, 0, of which the pool has two; p of U is .57, .25, .92, .52 and sure from .7 on
    labels, partner_labels = np.r_[np.ones(3), np.zeros(4)], None
    partner = PARTNER.copy()
    if epoch == 3:
        labels[5] = 1
        partner[3], partner[6] = [1, 2][place[0]], [1, 2][place[3]]
    partner_labels = labels[partner]
    targets = SHARE * labels + (1 - SHARE) * partner_labels

    def by_hand(f: Array) -> float:
        mixed = SHARE * f + (1 - SHARE) * f[partner]
        each = cross_entropy(mixed, targets)
        return float(
            each[:3].mean() + 0.6 * each[3:].mean() + 0.2 * cross_entropy(mixed, np.asarray(sigmoid(mixed))).mean()
        )

    noise = {"share": SHARE, "partner": PARTNER, "place": place}
    value, gradient = loss("p3mix", P3MIX, F_P, F_U, epoch, noise)
    assert value == pytest.approx(cross_entropy(f, labels).mean(), abs=1e-12)
    np.testing.assert_allclose(gradient, slopes(by_hand, f), atol=1e-8)


def test_p3mix_draws_partners_of_all_rows_and_places_in_the_pool() -> None:
    made: Any = make("p3mix", TRAINING | P3MIX)
    drawn = [made.draws(torch.zeros(3, 2), torch.zeros(4, 2), torch.Generator().manual_seed(i)) for i in range(40)]
    shares = np.array([float(one["share"]) for one in drawn])
    assert ((shares >= 0.5) & (shares < 1)).all()
    assert {int(i) for one in drawn for i in one["partner"]} == set(range(7))
    assert {int(i) for one in drawn for i in one["place"]} == {0, 1}
    assert all(one["partner"].shape == (7,) and one["place"].shape == (4,) for one in drawn)


@pytest.mark.parametrize("p_noise", [0.1, 0.4])
def test_the_risk_of_noisy_p_is_that_of_the_classes_apart(p_noise: float) -> None:
    """P and U are exact mixtures of the same two sets of rows, from which they are made and the risk is known."""
    positives, negatives = np.array([1.2, -0.3]), np.array([-0.8, 0.4])
    n_noise = round(10 * p_noise)
    P = np.r_[np.tile(positives, 10 - n_noise), np.tile(negatives, n_noise)]
    U = np.r_[np.tile(positives, 3), np.tile(negatives, 7)]
    value, _ = loss("nnpu_noisy", NNPU | {"p_noise": p_noise}, P, U, 0, {})
    apart = ALPHA * logistic(positives).mean() + (1 - ALPHA) * logistic(-negatives).mean()
    assert value == pytest.approx(apart, abs=1e-12)


@pytest.mark.parametrize("correction", ["clamp", "ascent"])
def test_without_noise_it_is_nnpu(correction: str) -> None:
    for P, U in ((F_P, F_U), (F_P, F_U - 5)):
        noisy = loss("nnpu_noisy", NNPU | {"correction": correction, "p_noise": 0.0}, P, U, 0, {})
        plain = loss("nnpu", NNPU | {"correction": correction}, P, U, 0, {})
        assert noisy[0] == pytest.approx(plain[0], abs=1e-12)
        np.testing.assert_allclose(noisy[1], plain[1], atol=1e-12)


def test_both_parts_of_the_risk_of_noisy_p_are_at_least_0() -> None:
    params = NNPU | {"p_noise": 0.4}
    assert loss("nnpu_noisy", params, np.full(3, 9.0), np.full(4, -9.0), 0, {})[0] == 0
    assert loss("nnpu_noisy", params, np.full(3, -9.0), np.full(4, -9.0), 0, {})[0] > 0


def test_more_positives_in_u_than_in_p_are_refused() -> None:
    rows = np.zeros((10, 2), dtype=np.float32)
    with pytest.raises(ValueError, match=r"share 0\.6 of positives, and U has alpha = 0\.7; a larger share in P"):
        make("nnpu_noisy", TRAINING | NNPU | {"p_noise": 0.4}).fit(rows, rows, alpha=0.7)
