"""Frozen features against torchvision itself, with the real weights of the mirror."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from puoc.datasets.prepare import FetchError
from puoc.methods.encoders import make, normalise
from puoc.methods.training.estimator import Encoder

Mirror = Callable[[str], Path]
DIGITS = "85010ce2f4552da4"  # of the file in half precision


@pytest.fixture
def weights(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = mirror("weights")
    monkeypatch.setenv("PUOC_MIRROR", str(folder))
    return folder / "weights" / "mobilenet_v2_features_fp16.pth"


def features(**params: Any) -> Encoder:
    return make("imagenet", {"network": "mobilenet_v2", "weights": DIGITS} | params)


def images(n: int, channels: int = 3) -> np.ndarray:
    return np.random.default_rng(0).random((n, channels, 32, 32), dtype=np.float32)


def test_features_are_those_of_torchvision(weights: Path) -> None:
    from torchvision import models, transforms

    net = models.mobilenet_v2(weights=None).eval()
    state = {name: value.float() for name, value in torch.load(weights, weights_only=True).items()}
    net.load_state_dict(state, strict=False)
    net.classifier = torch.nn.Identity()
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    seen = transforms.Compose([transforms.Resize(96, antialias=True), transforms.Normalize(mean, std)])
    X = images(4)
    with torch.no_grad():
        expected = net(seen(torch.tensor(X))).numpy()
    got = features(pixels=96).encode(X)
    assert got.shape == (4, 1280)
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)
    assert np.abs(features().encode(X) - got).max() > 0.1


def test_a_grey_image_is_one_of_three_equal_channels(weights: Path) -> None:
    grey = images(3, channels=1)
    np.testing.assert_array_equal(features().encode(grey), features().encode(np.repeat(grey, 3, axis=1)))


def test_features_are_a_rows_own(weights: Path) -> None:
    X = images(300)  # more than are encoded at once
    whole = features().encode(X)
    np.testing.assert_allclose(features().encode(X[257:259]), whole[257:259], rtol=1e-3, atol=1e-5)


def test_unknown_or_foreign_weights_are_refused_in_words(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(FetchError, match=r"no weights of mobilenet_v2 with sha256 0{8}.*torchvision offers b0353104"):
        features(weights="00000000").encode(images(1))
    foreign = tmp_path / "hub" / "checkpoints" / "x.pth"
    foreign.parent.mkdir(parents=True)
    torch.save({"features.0.0.weight": torch.zeros(1)}, foreign)
    with pytest.raises(ValueError, match="the weights are not those of torchvision's mobilenet_v2"):
        features(weights=sha256(foreign.read_bytes()).hexdigest()[:12]).encode(images(1))
    with pytest.raises(ValueError, match="weights"):
        normalise("imagenet", {"network": "resnet18", "weights": "no digest"})
