"""OC-CNN and PU-CNN as released, a switch at a time: another latent space, all layers trained, other scores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from puoc.methods import inputs_of, make
from puoc.methods.training.cnn_nets import FromImages, Head, ReleasedHead
from puoc.methods.training.estimator import Compute, PUSample

Mirror = Callable[[str], Path]
DIGITS = "85010ce2f4552da4"  # of MobileNetV2's file in half precision
COMMON: dict[str, Any] = {"lr": 1e-3, "lr_decay": 1.0, "epochs": 2, "batch_size": 16, "hidden": 8, "dropout": 0.5}
OC: dict[str, Any] = COMMON | {"batching": "p", "sigma": 0.1}
PU: dict[str, Any] = COMMON | {"batching": "union", "surrogate": "logistic", "correction": "clamp"}
ALL: dict[str, Any] = {"trainable": "all", "network": "mobilenet_v2", "weights": DIGITS}


@pytest.fixture
def weights(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUOC_MIRROR", str(mirror("weights")))


def images(n: int, seed: int = 0, bright: float = 0.0) -> Any:
    rng = np.random.default_rng(seed)
    return np.clip(rng.random((n, 3, 32, 32)) + bright, 0, 1).astype(np.float32)


def method(name: str, **params: Any) -> Any:
    return make(name, (OC if name == "oc_cnn" else PU) | params)


def batch_norms(net: nn.Module) -> list[Tensor]:
    return [value for name, value in net.named_buffers() if name.endswith(("running_mean", "running_var"))]


def test_the_released_latent_space_by_hand() -> None:
    torch.manual_seed(0)
    net, x = ReleasedHead(5, 7), torch.randn(4, 5)
    kept = torch.tensor([[0.0, 2, 2, 0, 2, 0, 2]]).repeat(4, 1)
    W = {name: value.detach().numpy() for name, value in net.named_parameters()}
    h = np.maximum(x.numpy() @ W["first.weight"].T + W["first.bias"], 0) * kept.numpy()
    h = h @ W["second.weight"].T + W["second.bias"]
    z = (h - h.mean(1, keepdims=True)) / np.sqrt(h.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(net(x, kept, part="latent").detach().numpy(), z, rtol=1e-4, atol=1e-5)
    f = (np.maximum(z, 0) @ W["out.weight"].T + W["out.bias"])[:, 0]
    np.testing.assert_allclose(net(x, kept).detach().numpy(), f, rtol=1e-4, atol=1e-5)
    points = torch.randn(4, 7)
    f = (np.maximum(points.numpy(), 0) @ W["out.weight"].T + W["out.bias"])[:, 0]
    np.testing.assert_allclose(net(points, kept, part="head").detach().numpy(), f, rtol=1e-4, atol=1e-5)


def test_noise_lies_in_the_latent_space_of_the_release() -> None:
    x, none, gen = torch.randn(300, 5), torch.randn(0, 5), torch.Generator()
    plain, released = (method("oc_cnn", **switch).draws(x, none, gen) for switch in ({}, {"latent": "head"}))
    assert plain["points"].shape == (300, 5)
    assert released["points"].shape == (300, 8)
    assert released["points"].std().item() == pytest.approx(0.1, rel=0.1)
    X = x.numpy()
    plain, released = (method("oc_cnn", **switch).fit(X) for switch in ({}, {"latent": "head"}))
    assert isinstance(plain.net_, Head)
    assert isinstance(released.net_, ReleasedHead)


@pytest.mark.usefixtures("weights")
@pytest.mark.parametrize("name", ["oc_cnn", "pu_cnn"])
def test_released_all_layers_learn_and_their_running_statistics_move(name: str) -> None:
    m = method(name, **ALL, latent="head", scoring="train")
    before = m.build((3, 32, 32))
    fitted = m.fit(images(16), images(16, seed=1), alpha=0.5)
    after = fitted.net_
    assert isinstance(after, FromImages)
    assert all(not torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True))
    # the last map of one pixel, as the released code leaves images of 32 pixels: no variance within a batch of one
    moved = [not torch.equal(a, b) for a, b in zip(batch_norms(before), batch_norms(after), strict=True)]
    assert len(moved) == 104
    assert all(moved)


@pytest.mark.usefixtures("weights")
def test_pu_cnn_normalises_p_and_u_by_the_statistics_of_both() -> None:
    m, x_p, x_u = method("pu_cnn", **ALL, dropout=0.0), torch.tensor(images(6)), torch.tensor(images(10, 1, 0.3))
    m.dropout = 0.0
    torch.manual_seed(0)
    net = m.build((3, 32, 32))
    with torch.no_grad():
        got = m.loss(net, x_p, x_u, torch.tensor(0.4), m.draws(x_p, x_u, torch.Generator()), 0)
        f = net(torch.cat([x_p, x_u])).numpy()
        apart = net(x_p).numpy()
    f_p, f_u = f[:6], f[6:]
    negative = np.log1p(np.exp(f_u)).mean() - 0.4 * np.log1p(np.exp(f_p)).mean()
    assert got.item() == pytest.approx(0.4 * np.log1p(np.exp(-f_p)).mean() + max(0, negative), rel=1e-4)
    assert np.abs(apart - f_p).max() > 1e-3


@pytest.mark.slow
@pytest.mark.usefixtures("weights")
def test_released_scores_depend_on_the_order_of_rows_and_ours_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("puoc.methods.cnn._AT_ONCE", 16)
    X_p, X_u = images(16), np.concatenate([images(8, 1), images(8, 2, 0.2)])
    X, y = np.concatenate([images(32, 3), images(32, 4, 0.2)]), np.repeat([1, 0], 32)
    mixed = np.random.default_rng(0).permutation(64)
    ours, released = (
        method("pu_cnn", **ALL, **switch).fit(X_p, X_u, alpha=0.5) for switch in ({}, {"scoring": "train"})
    )
    before = released.state()
    scores = released.decision_function(X)
    np.testing.assert_array_equal(released.decision_function(X), scores)  # dropout is drawn from one seed
    assert all(np.array_equal(value, before[name]) for name, value in released.state().items())
    assert not released.net_.training
    np.testing.assert_allclose(ours.decision_function(X[mixed]), ours.decision_function(X)[mixed], rtol=1e-3, atol=1e-4)
    assert np.abs(released.decision_function(X[mixed]) - scores[mixed]).max() > 0.1
    # where rows are ordered by class, as in the release, batch statistics take the classes' difference away
    auc = {
        order: roc_auc_score(y[rows], released.decision_function(X[rows]))
        for order, rows in {"mixed": mixed, "by class": np.arange(64)}.items()
    }
    assert abs(auc["mixed"] - auc["by class"]) > 0.02


def test_dropout_in_scores_is_noise() -> None:
    X = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
    ours, released = (method("oc_cnn", **switch).fit(X) for switch in ({}, {"scoring": "train"}))
    for name, value in ours.state().items():
        np.testing.assert_array_equal(released.state()[name], value)  # one model, two ways to score
    kept = released.mask(40, torch.zeros(0), torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = ours.net_(torch.tensor(X), kept).numpy()
    np.testing.assert_array_equal(released.decision_function(X), expected)
    assert np.abs(released.decision_function(X) - ours.decision_function(X)).max() > 1e-3
    assert released.decision_function(X[:0]).shape == (0,)


@pytest.mark.usefixtures("weights")
def test_no_row_is_normalised_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("puoc.methods.cnn._AT_ONCE", 4)
    fitted = method("oc_cnn", **ALL, scoring="train", epochs=1).fit(images(6))
    for n in (0, 2, 4, 5, 8, 9):
        scores = fitted.decision_function(images(n, 1))
        assert scores.shape == (n,)
        assert np.isfinite(scores).all()
    with pytest.raises(ValueError, match="normalises rows by each other, at least 2 expected, got 1"):
        fitted.decision_function(images(1))


@pytest.mark.usefixtures("weights")
def test_a_model_that_brings_its_weights_needs_no_file_of_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fitted = method("oc_cnn", **ALL).fit(images(6))
    state, X = fitted.state(), images(5, 1)
    monkeypatch.setenv("PUOC_MIRROR", str(tmp_path))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    again = method("oc_cnn", **ALL).restore(state, (3, 32, 32))
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    assert again.pretrained


@pytest.mark.slow
@pytest.mark.usefixtures("weights")
def test_both_maps_train_all_layers_alike_in_double_precision() -> None:
    m, X = method("pu_cnn", **ALL, epochs=1), images(9, 9).astype(np.float64)
    samples = [PUSample(images(6, s).astype(np.float64), images(7, s + 5).astype(np.float64), 0.5, s) for s in (0, 1)]
    looped, mapped = (m.fit_lanes(samples, Compute(lane_map=lane_map)) for lane_map in ("loop", "vmap"))
    for one, other in zip(looped, mapped, strict=True):
        assert (one.lane_map_, other.lane_map_) == ("loop", "vmap")
        np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("params", "wanted"),
    [
        ({"trainable": "all"}, "missing hyperparameter 'network', 'weights'; trainable: all needs them"),
        ({"network": "resnet18", "weights": "f37072fd"}, "are for trainable: all; leave them out"),
        ({"pixels": 64}, "are for trainable: all; leave them out"),
        (ALL | {"weights": "no digest"}, "'weights': got 'no digest'"),
    ],
)
def test_switches_that_do_not_fit_together_are_refused(params: dict[str, Any], wanted: str) -> None:
    with pytest.raises(ValueError, match=wanted):
        method("oc_cnn", **params)


def test_which_rows_it_takes_follows_from_what_is_trained() -> None:
    assert inputs_of("oc_cnn", OC) == {"vector"}
    assert inputs_of("oc_cnn", OC | ALL) == {"image"}
    with pytest.raises(ValueError, match=r"trainable: all takes images of 1 or 3 channels, got rows of shape \(5,\)"):
        method("oc_cnn", **ALL).fit(np.zeros((4, 5), np.float32))
    with pytest.raises(ValueError, match="oc_cnn takes vectors, got rows of shape"):
        method("oc_cnn").fit(images(4))


@pytest.mark.parametrize(("n_p", "batch_size"), [(1, 8), (4, 1)])
def test_a_batch_of_one_row_has_no_statistics_and_is_refused(n_p: int, batch_size: int) -> None:
    made = make("oc_cnn", OC | ALL | {"batch_size": batch_size})
    with pytest.raises(ValueError, match=f"at least 2 rows a step expected, got 1 of {n_p} .* batch_size {batch_size}"):
        made.sizes(n_p, 0)
