"""The autoencoder: its layers, its dropout, what it learns, and that a code is a row's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import interpolate

from puoc.methods.encoders import ENCODERS, inputs_of, make, normalise, plain
from puoc.methods.encoders.autoencoder import Autoencoder, Network
from puoc.methods.training.estimator import Compute, Encoder, PUSample

PARAMS: dict[str, Any] = {
    "lr": 1e-3,
    "lr_decay": 1.0,
    "epochs": 6,
    "batch_size": 32,
    "batching": "p",
    "dimension": 12,
    "dropout": 0.5,
}


def images(n: int, seed: int = 0, shape: tuple[int, ...] = (3, 16, 16), dtype: str = "float32") -> np.ndarray:
    """Smooth images in [0, 1]: a wave of random direction and colour."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[: shape[1], : shape[2]] / shape[1]
    slope = rng.normal(size=(n, 2, 1, 1))
    waves = np.sin(6 * (slope[:, :1] * y + slope[:, 1:] * x)) * rng.uniform(0, 0.5, (n, shape[0], 1, 1)) + 0.5
    return waves.astype(dtype)


def fitted(seed: int = 0, **params: Any) -> Encoder:
    X_p = images(96, seed)
    return make("autoencoder", PARAMS | params).fit_lanes([PUSample(X_p, None, None, seed)], Compute())[0]


def test_layers_are_those_of_the_paper() -> None:
    """An independent network of torch's layers, with the same weights, gives the same codes and reconstructions."""
    torch.manual_seed(0)
    net = Network((3, 32, 32), 128).eval()
    code = nn.Sequential(
        *(net.conv1, nn.ELU(), nn.MaxPool2d(2), net.conv2, nn.ELU(), nn.MaxPool2d(2), net.conv3, nn.ELU()),
        *(nn.Flatten(), net.to_code, nn.Dropout(0.5), nn.ELU()),
    ).eval()
    x = torch.rand(5, 3, 32, 32)
    z = nn.functional.elu(net.from_code(code(x))).reshape(5, 8, 8, 8)
    z = interpolate(nn.functional.elu(net.deconv1(z)), scale_factor=2, mode="bilinear", align_corners=True)
    z = interpolate(nn.functional.elu(net.deconv2(z)), scale_factor=2, mode="bilinear", align_corners=True)
    assert code(x).shape == (5, 128)
    torch.testing.assert_close(net.code(x), code(x))
    torch.testing.assert_close(net(x), torch.sigmoid(net.deconv3(z)))
    shapes = {name: tuple(value.shape) for name, value in net.named_parameters() if name.endswith("weight")}
    assert shapes["conv1.weight"] == (16, 3, 3, 3)
    assert shapes["to_code.weight"] == (128, 512)
    assert shapes["deconv3.weight"] == (16, 3, 3, 3)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (3, 13, 18)])
def test_any_image_of_at_least_4x4_pixels_is_reconstructed_in_its_shape(shape: tuple[int, ...]) -> None:
    x = torch.rand(2, *shape)
    assert Network(shape, 7)(x).shape == x.shape
    with pytest.raises(ValueError, match="at least 4x4 expected"):
        make("autoencoder", PARAMS).fit_lanes([PUSample(np.zeros((4, 1, 3, 8), np.float32), None, None, 0)])


def test_the_reconstruction_error_falls_and_unlike_rows_are_reconstructed_worse() -> None:
    encoder = fitted(epochs=60, lr=5e-3, dropout=0.1)
    losses = encoder.curve_["loss"]
    assert losses[-1] < 0.7 * losses[0]
    noise = np.random.default_rng(9).uniform(size=(40, 3, 16, 16)).astype(np.float32)
    assert encoder.decision_function(images(40, 7)).mean() > encoder.decision_function(noise).mean() + 0.02


def test_a_code_is_the_rows_own_and_survives_the_disk() -> None:
    encoder, X = fitted(), images(2100, 3)  # more than are encoded at once
    codes = encoder.encode(X)
    assert codes.shape == (2100, 12)
    assert codes.dtype == np.float32
    assert (codes > -1).all()
    np.testing.assert_allclose(encoder.encode(X[5:8]), codes[5:8], rtol=1e-4, atol=1e-5)
    restored = make("autoencoder", PARAMS).restore(encoder.state(), X.shape[1:])
    assert isinstance(restored, Encoder)
    np.testing.assert_array_equal(restored.encode(X), codes)
    assert encoder.encode(X[:0]).shape == (0, 12)


def test_vmap_learns_the_codes_of_loop_in_double_precision() -> None:
    X = images(10, 50, dtype="float64")
    samples = [PUSample(images(40, seed, dtype="float64"), None, None, seed) for seed in (0, 1)]
    looped, mapped = (
        make("autoencoder", PARAMS | {"epochs": 2}).fit_lanes(samples, Compute(lane_map=lane_map))
        for lane_map in ("loop", "vmap")
    )
    for one, other in zip(looped, mapped, strict=True):
        np.testing.assert_allclose(other.encode(X), one.encode(X), rtol=1e-9, atol=1e-11)
    assert not np.allclose(looped[0].encode(X), looped[1].encode(X))


def test_dropout_keeps_its_share_scaled_and_ends_with_the_training() -> None:
    made = make("autoencoder", PARAMS | {"dropout": 0.25})
    assert isinstance(made, Autoencoder)
    masks = made.draws(torch.zeros(500, 3, 16, 16), torch.zeros(0), torch.Generator().manual_seed(0))
    assert masks["kept"].shape == (500, 12)
    assert masks["kept_inner"].shape == (500, 8 * 4 * 4)
    for mask in masks.values():
        assert torch.unique(mask).tolist() == pytest.approx([0, 1 / 0.75])
        assert mask.mean().item() == pytest.approx(1, abs=0.05)
    encoder = fitted()
    np.testing.assert_array_equal(encoder.encode(images(5)), encoder.encode(images(5)))


def test_plain_encoders_and_what_they_give() -> None:
    X = images(3)
    assert plain("flatten").encode(X).shape == (3, 3 * 16 * 16)
    assert plain(None).encode(X) is X
    assert [inputs_of(name, "image") for name in (None, "flatten", "autoencoder", "imagenet")] == [
        "image",
        *["vector"] * 3,
    ]
    assert [inputs_of(name, "text") for name in (None, "word_vectors", "mean_word_vector")] == [
        "text",
        "sequence",
        "vector",
    ]
    for name, cls in ENCODERS.items():
        for inputs in {"image", "vector", "sequence", "text"} - cls.inputs:
            with pytest.raises(ValueError, match=f"'{name}' takes .* rows, got {inputs}"):
                inputs_of(name, inputs)
    assert inputs_of("flatten", "vector") == "vector"
    with pytest.raises(ValueError, match="'autoencoder' takes image rows, got vector"):
        inputs_of("autoencoder", "vector")
    with pytest.raises(ValueError, match="'flatten' takes image or vector rows, got sequence"):
        inputs_of("flatten", "sequence")
    with pytest.raises(ValueError, match="unknown encoder 'flaten'"):
        plain("flaten")
    with pytest.raises(ValueError, match="dropout"):
        normalise("autoencoder", PARAMS | {"dropout": 1.0})
