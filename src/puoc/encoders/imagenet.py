"""Features of networks trained on ImageNet, frozen: what OC-CNN and PU-CNN of Bagirov et al. see."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn
from torch.nn.functional import interpolate

from puoc.encoders.frozen import Frozen
from puoc.estimator import Array, typed
from puoc.fetch.weights import weights_file
from puoc.lanes import by_pixel, pixels_together
from puoc.registry import encoder

_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, by colour
_AT_ONCE = 256  # rows
_UNUSED = ("fc.", "classifier.")  # the layers that told ImageNet's classes apart


@encoder("imagenet")
@typed
class ImageNet(Frozen):
    """Mean over the last map of a torchvision network: 512 values of ResNet-18, 1,280 of MobileNetV2.

    Images have values in [0, 1] and three channels, or one, which is repeated. Nothing is learned from a sample, so the
    features of a dataset are computed once.
    """

    inputs = frozenset({"image"})

    network: Literal["resnet18", "mobilenet_v2"]
    weights: Annotated[str, Field(pattern="^[0-9a-f]{8,64}$")]  # first digits of the file's sha256
    pixels: PositiveInt | None = None  # side to which images are resized; absent: none is

    @cached_property
    def trunk(self) -> nn.Module:
        """The network up to its last map.

        Raises
        ------
        ValueError : no such weights, or they are those of another network.
        """
        from torchvision import models

        path = weights_file(self.network, self.weights)
        net = getattr(models, self.network)(weights=None)
        state = {name: value.float() for name, value in torch.load(path, weights_only=True).items()}
        expected = {name: value.shape for name, value in net.state_dict().items() if not name.startswith(_UNUSED)}
        if {name: value.shape for name, value in state.items() if not name.startswith(_UNUSED)} != expected:
            raise ValueError(f"{path}: the weights are not those of torchvision's {self.network}; give its own file")
        net.load_state_dict(state, strict=False)
        layers = net.features if self.network == "mobilenet_v2" else nn.Sequential(*list(net.children())[:-2])
        return pixels_together(layers).eval()

    def encode(self, X: Array) -> Array:
        """Features (n, 512 or 1,280)."""
        found = []
        with torch.no_grad():
            for start in range(0, max(len(X), 1), _AT_ONCE):
                rows = torch.tensor(X[start : start + _AT_ONCE], dtype=torch.float32)
                found.append(self.trunk(by_pixel(self._seen(rows))).mean((2, 3)).numpy())
        features: Array = np.concatenate(found)
        return features

    def _seen(self, x: Tensor) -> Tensor:
        x = x.expand(-1, 3, -1, -1)
        if self.pixels is not None:
            x = interpolate(x, size=(self.pixels, self.pixels), mode="bilinear", antialias=True)
        mean, std = (torch.tensor(values).reshape(3, 1, 1) for values in (_MEAN, _STD))
        return (x - mean) / std
