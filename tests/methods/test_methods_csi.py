"""CSI and PU-CSI: loss and score against loops over rows, what U may change, and the batches of an epoch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from puoc.methods import make
from puoc.methods.csi import coins, nt_xent
from puoc.methods.training.augment import views
from puoc.methods.training.estimator import Compute, PUSample
from puoc.methods.training.memory_bank import make_bank
from puoc.methods.training.nets import ShiftNet

PARAMS: dict[str, Any] = {
    "lr": 2e-3,
    "lr_decay": 1.0,
    "epochs": 1,
    "batch_size": 4,
    "batching": "p",
    "lam": 0.5,
    "temperature": 0.3,
    "mirror": "averaged",
    "feature": "projection",
    "input_norm": True,
}
OF_U: dict[str, Any] = {"batch_size_u": 3, "w": 0.1}
ALPHA = torch.tensor(math.nan)


def csi(**params: Any) -> Any:
    return make("csi", PARAMS | params)


def pu_csi(**params: Any) -> Any:
    return make("pu_csi", PARAMS | OF_U | params)


def images(n: int, seed: int = 0, channels: int = 3, side: int = 8) -> Tensor:
    return torch.rand(n, channels, side, side, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def a_net(channels: int = 3) -> ShiftNet:
    """Of large weights, so that images have different features."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        net = ShiftNet((channels, 8, 8)).double()
        for weight in net.parameters():
            weight.data *= 2
    return net


def drawn(m: Any, x_p: Tensor, x_u: Tensor) -> dict[str, Tensor]:
    noise: dict[str, Tensor] = m.draws(x_p, x_u, torch.Generator().manual_seed(1))
    return noise


def loss(
    m: Any, x_p: Tensor, x_u: Tensor, noise: dict[str, Tensor] | None = None, net: ShiftNet | None = None
) -> Tensor:
    noise = drawn(m, x_p, x_u) if noise is None else noise
    value: Tensor = m.loss(net or a_net(), x_p, x_u, ALPHA, noise, 0)
    return value


def only(noise: dict[str, Tensor], rows: Any) -> dict[str, Tensor]:
    """The noise of some rows of the batch."""
    return {name: value[:, rows] if value.ndim else value for name, value in noise.items()}


def by_loops(z_p: NDArray[Any], z_u: NDArray[Any], temperature: float, w: float) -> float:
    def likeness(a: NDArray[Any], b: NDArray[Any]) -> float:
        return math.exp(a @ b / (math.sqrt(a @ a) * math.sqrt(b @ b)) / temperature)

    half, total = len(z_p) // 2, 0.0
    for i, anchor in enumerate(z_p):
        pair = i + half if i < half else i - half
        below = sum(likeness(anchor, other) for j, other in enumerate(z_p) if j != i)
        below += w * sum(likeness(anchor, other) for other in z_u)
        total -= math.log(likeness(anchor, z_p[pair]) / below)
    return total / len(z_p)


@pytest.mark.parametrize("w", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("temperature", [0.07, 0.5])
@pytest.mark.parametrize("n_u", [0, 5])
def test_nt_xent_is_the_double_loop_over_rows(w: float, temperature: float, n_u: int) -> None:
    rng = np.random.default_rng(0)
    z_p, z_u = rng.normal(size=(6, 4)), rng.normal(size=(n_u, 4))
    got = nt_xent(torch.from_numpy(z_p), torch.from_numpy(z_u), temperature, w)
    assert float(got) == pytest.approx(by_loops(z_p, z_u, temperature, w), rel=1e-12)


@pytest.mark.parametrize("input_norm", [True, False])
def test_the_loss_is_lam_times_the_contrast_of_all_copies_and_the_cross_entropy_of_those_of_p(input_norm: bool) -> None:
    m, net, x_p, x_u = pu_csi(input_norm=input_norm), a_net(), images(3), images(2, seed=1)
    noise = drawn(m, x_p, x_u)
    copies = views(torch.cat([x_p, x_u]), noise)
    with torch.no_grad():
        f = net(2 * copies - 1 if input_norm else copies)
        z, logits = net(f, part="projection").numpy(), net(f, part="shift").numpy()
    of_p: list[NDArray[Any]] = []
    of_u: list[NDArray[Any]] = []
    cross_entropy = []
    for view in range(2):
        for turns in range(4):
            for i in range(5):
                row = (4 * view + turns) * 5 + i
                (of_p if i < 3 else of_u).append(z[row])
                if i < 3:
                    cross_entropy.append(math.log(np.exp(logits[row]).sum()) - logits[row, turns])
    assert len(cross_entropy) == 24
    expected = 0.5 * by_loops(np.array(of_p), np.array(of_u), 0.3, 0.1) + np.mean(cross_entropy)
    assert loss(m, x_p, x_u, noise, net).item() == pytest.approx(expected, rel=1e-12)


def test_pu_csi_is_csi_where_u_weighs_nothing_or_there_is_none() -> None:
    x_p, x_u = images(4), images(3, seed=1)
    noise = drawn(pu_csi(), x_p, x_u)
    of_p = only(noise, slice(0, 4))
    expected = loss(csi(), x_p, x_u[:0], of_p)
    torch.testing.assert_close(loss(pu_csi(w=0), x_p, x_u, noise), expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(loss(pu_csi(w=1e-300), x_p, x_u, noise), expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(loss(pu_csi(), x_p, x_u[:0], of_p), expected, rtol=0, atol=1e-12)
    assert loss(pu_csi(), x_p, x_u, noise) > expected + 1e-3


def test_u_enters_the_contrast_alone() -> None:
    x_p, x_u = images(4), images(3, seed=1)
    noise = drawn(pu_csi(), x_p, x_u)
    shift = [2 * loss(pu_csi(lam=1), x_p, u, noise) - loss(pu_csi(lam=2), x_p, u, noise) for u in (x_u, 1 - x_u)]
    torch.testing.assert_close(shift[0], shift[1], rtol=0, atol=1e-12)
    assert abs(loss(pu_csi(), x_p, x_u, noise) - loss(pu_csi(), x_p, 1 - x_u, noise)) > 1e-6


def test_the_order_of_rows_does_not_matter() -> None:
    x_p, x_u = images(4), images(3, seed=1)
    noise = drawn(pu_csi(), x_p, x_u)
    order = torch.tensor([2, 0, 3, 1, 6, 4, 5])
    x = torch.cat([x_p, x_u])[order]
    torch.testing.assert_close(
        loss(pu_csi(), x[:4], x[4:], only(noise, order)), loss(pu_csi(), x_p, x_u, noise), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize(("n_p", "n_u"), [(1, 0), (3, 0), (0, 3), (0, 0), (1, 50)])
def test_a_batch_without_p_or_u_has_a_finite_loss_and_gradient(n_p: int, n_u: int) -> None:
    for w in (0.0, 0.1):
        net = a_net()
        value = loss(pu_csi(w=w, temperature=0.01), images(n_p), images(n_u, seed=1), net=net)
        value.backward()  # type: ignore[no-untyped-call]
        assert torch.isfinite(value)
        assert all(torch.isfinite(p.grad).all() for p in net.parameters() if p.grad is not None)


def test_cosines_are_not_rounded_to_bf16_which_a_low_temperature_would_enlarge() -> None:
    m, net, x_p, x_u = pu_csi(temperature=0.01, lam=1.0), a_net().float(), images(8).float(), images(4, seed=9).float()
    exact = loss(m, x_p, x_u, net=net)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = loss(m, x_p, x_u, net=net)
    assert rounded != exact
    assert abs(rounded - exact) < 5e-3  # .04 with rounded cosines


def test_values_outside_0_and_1_are_cut_off_in_training_and_in_scores() -> None:
    x = images(4) * 3 - 1
    torch.testing.assert_close(loss(csi(), x, x[:0]), loss(csi(), x.clamp(0, 1), x[:0]), rtol=0, atol=0)
    m = csi().fit(x.numpy())
    np.testing.assert_array_equal(m.decision_function(x.numpy()), m.decision_function(x.clamp(0, 1).numpy()))


def score_by_loops(m: Any, X_p: NDArray[Any], X: NDArray[Any]) -> list[float]:
    """Every row by itself, in the words of Tack et al.: weights are inverse means over the labelled positives."""

    def at(x: NDArray[Any], turns: int) -> tuple[NDArray[Any], float]:
        seen = [x, x[..., ::-1]] if m.mirror == "averaged" else [x]
        features, logits = [], []
        for one in seen:
            turned = torch.from_numpy(np.rot90(one, turns, (1, 2)).copy())[None]
            with torch.no_grad():
                f = m.net_(2 * turned - 1 if m.input_norm else turned)
                features.append((m.net_(f, part="projection") if m.feature == "projection" else f)[0].numpy())
                logits.append(float(m.net_(f, part="shift")[0, turns]))
        return np.mean(features, axis=0), float(np.mean(logits))

    total = np.zeros(len(X))
    for turns in range(4):
        bank = [at(x, turns) for x in X_p]
        norms, logits = [np.linalg.norm(f) for f, _ in bank], np.array([logit for _, logit in bank])
        scale = max(logits.mean(), np.abs(logits).mean() / 2)
        for i, x in enumerate(X):
            f, logit = at(x, turns)
            nearest = max(f @ g / norm for (g, _), norm in zip(bank, norms, strict=True))
            total[i] += nearest / np.mean(norms) + logit / scale
    return total.tolist()


@pytest.mark.parametrize(
    "params",
    [
        {"mirror": "averaged", "feature": "projection", "input_norm": True},
        {"mirror": "training", "feature": "penultimate", "input_norm": False},
        {"mirror": "never", "feature": "penultimate", "input_norm": True},
    ],
    ids=["averaged", "training", "never"],
)
def test_the_score_is_the_loop_over_angles_and_labelled_positives(params: dict[str, Any]) -> None:
    X_p, X = images(6).numpy(), images(5, seed=1).numpy()
    m = csi(**params | {"epochs": 3}).fit(X_p)
    np.testing.assert_allclose(m.decision_function(X), score_by_loops(m, X_p, X), rtol=1e-10)


def test_an_image_and_its_mirror_image_have_one_score_if_averaged() -> None:
    X_p, X = images(6).numpy(), images(5, seed=1).numpy()
    mirrored = X[..., ::-1].copy()
    averaged, plain = (csi(mirror=mirror).fit(X_p) for mirror in ("averaged", "training"))
    np.testing.assert_allclose(averaged.decision_function(X), averaged.decision_function(mirrored), rtol=1e-12)
    assert np.abs(plain.decision_function(X) - plain.decision_function(mirrored)).min() > 1e-9


def test_released_a_score_takes_an_image_or_its_mirror_image_by_a_coin() -> None:
    X_p, X = images(6).numpy(), images(40, seed=1).numpy()
    heads = coins(torch.from_numpy(X)).numpy()
    assert 10 < heads.sum() < 30
    m = csi(mirror="random").fit(X_p)
    plain = csi(mirror="training").fit(X_p)
    for name, value in plain.state().items():
        if not name.startswith("bank."):
            np.testing.assert_array_equal(m.state()[name], value)  # it is trained alike
    turned = np.where(coins(torch.from_numpy(X_p)).numpy()[:, None, None, None], X_p[..., ::-1], X_p)
    seen = torch.from_numpy(m.evaluate(plain._by_angle, np.ascontiguousarray(turned)))
    np.testing.assert_array_equal(m.state()["bank.rows"], make_bank(seen[..., :-1], seen[..., -1]).rows)
    scores = m.decision_function(X)
    np.testing.assert_array_equal(m.decision_function(X), scores)
    np.testing.assert_allclose(m.decision_function(X[::-1].copy())[::-1], scores, rtol=1e-10)
    plain.bank_ = m.bank_
    either = [plain.decision_function(one) for one in (X, np.ascontiguousarray(X[..., ::-1]))]
    np.testing.assert_allclose(scores, np.where(heads, either[1], either[0]), rtol=1e-10)
    assert np.abs(either[0] - either[1]).min() > 1e-9


def test_each_term_of_a_score_is_divided_by_its_mean_over_the_labelled_positives() -> None:
    rng = np.random.default_rng(0)
    features, logits = torch.from_numpy(rng.normal(size=(7, 4, 3))), torch.from_numpy(rng.uniform(1, 3, (7, 4)))
    bank = make_bank(features, logits)
    np.testing.assert_allclose(bank.likeness, 1 / np.linalg.norm(features, axis=-1).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(bank.angle, 1 / logits.numpy().mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(torch.linalg.vector_norm(bank.rows, dim=-1), np.ones((4, 7)), rtol=1e-12)


def test_a_mean_logit_near_0_or_below_it_neither_turns_nor_blows_up_a_term() -> None:
    features = torch.ones(4, 4, 3, dtype=torch.float64)
    logits = torch.tensor([[1.0, -2.0, 1e-9, 0.0], [-1.0, -2.0, 1e-9, 0.0]] * 2, dtype=torch.float64)
    angle = make_bank(features, logits).angle
    np.testing.assert_allclose(angle[:2], [2.0, 1.0], rtol=1e-12)
    assert (angle > 0).all()
    assert torch.isfinite(angle).all()
    dead = make_bank(torch.zeros(4, 4, 3), logits.float())
    assert all(torch.isfinite(part).all() for part in dead)


def test_the_network_is_that_of_the_release_without_its_idle_heads() -> None:
    assert sum(p.numel() for p in ShiftNet((3, 32, 32)).parameters()) == 111_106 - (128 * 2 + 2) - (128 * 8 + 8)
    for shape in ((1, 8, 8), (3, 9, 9), (1, 28, 28)):
        net = ShiftNet(shape)
        f = net(torch.zeros(2, *shape))
        assert f.shape == net(f, part="projection").shape == (2, 128)
        assert net(f, part="shift").shape == (2, 4)


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ((3, 8, 9), "square images"),
        ((2, 8, 8), "1 or 3 channels"),
        ((3, 7, 7), "at least 8x8"),
        ((8,), "an encoder may"),
    ],
)
def test_images_that_cannot_be_turned_or_coloured_are_refused(shape: tuple[int, ...], wanted: str) -> None:
    X = np.zeros((4, *shape), dtype=np.float32)
    for m in (csi(), pu_csi()):
        with pytest.raises(ValueError, match=wanted):
            m.fit(X, X)


def test_an_epoch_has_the_published_batches() -> None:
    of_p = [(64, 0)] * 39 + [(4, 0)]
    assert csi(batch_size=64).sizes(2500, 0) == of_p
    assert len(csi(batch_size=32).sizes(2500, 0)) == 79
    assert pu_csi(batch_size=64, batch_size_u=16).sizes(2500, 5000) == [(b, 16) for b, _ in of_p]
    assert pu_csi(batch_size=64, batch_size_u=16).sizes(2500, 10) == [(b, 10) for b, _ in of_p]


def test_colour_images_and_mirrors_train_alike_under_both_maps() -> None:
    samples = [PUSample(images(8, seed).numpy(), images(9, seed + 9).numpy(), None, seed) for seed in (0, 1)]
    params = {"lam": 0.01, "batch_size": 8, "epochs": 2}
    looped, mapped = (pu_csi(**params).fit_lanes(samples, Compute(lane_map=one)) for one in ("loop", "vmap"))
    X = images(5, seed=7).numpy()
    for one, other in zip(looped, mapped, strict=True):
        np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), rtol=1e-10)


def test_a_model_holds_its_memory_bank_and_says_so() -> None:
    X_p = images(6).numpy()
    m = csi().fit(X_p)
    assert m.keeps_training_rows
    state = m.state()
    assert state["bank.rows"].shape == (4, 6, 128)
    for spoilt in (
        {key: value for key, value in state.items() if key != "bank.angle"},
        state | {"bank.rows": state["bank.rows"][..., :5]},
        state | {"bank.likeness": np.ones(3)},
    ):
        with pytest.raises(ValueError, match="a bank of arrays rows, likeness, angle expected"):
            csi().restore(spoilt, X_p.shape[1:])
