"""Features of networks trained on ImageNet, frozen: what OC-CNN and PU-CNN of Bagirov et al. see."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from pydantic import PositiveInt
from torch import nn

from puoc.methods.encoders.frozen import Frozen
from puoc.methods.training.estimator import typed
from puoc.methods.training.imagenet_trunks import Network, Weights, seen, trunk
from puoc.methods.training.lanes import by_pixel, pixels_together
from puoc.records import Array
from puoc.registry import encoder

_AT_ONCE = 256  # rows


@encoder("imagenet")
@typed
class ImageNet(Frozen):
    """Mean over the last map of a torchvision network: 512 values of ResNet-18, 1,280 of MobileNetV2.

    Images have values in [0, 1] and three channels, or one, which is repeated. Nothing is learned from a sample, so the
    features of a dataset are computed once. Small images tell it little as they are: with those of CIFAR-10 enlarged
    from 32 to 96 pixels, OC-CNN comes from an AUC of .63 to .92 and .85 (docs/reproduction.md).
    """

    inputs = frozenset({"image"})

    network: Network
    weights: Weights
    pixels: PositiveInt | None = None  # side to which images are resized; absent: none is

    @cached_property
    def trunk(self) -> nn.Module:
        """Return the network up to its last map. Raises FetchError or ValueError as ``trunks.trunk``."""
        return pixels_together(trunk(self.network, self.weights)).eval()

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """See ``Encoder``."""
        if len(shape) != 3 or shape[0] not in (1, 3):
            raise ValueError(f"{self.name}: images of one or three channels expected, got rows of shape {shape}")

    def encode(self, X: Array) -> Array:
        """Return features (n, 512 or 1,280).

        Raises
        ------
        ValueError : images of neither one nor three channels.
        """
        self.check_shape(X.shape[1:])
        found = []
        with torch.no_grad():
            for start in range(0, max(len(X), 1), _AT_ONCE):
                rows = torch.tensor(X[start : start + _AT_ONCE], dtype=torch.float32)
                found.append(self.trunk(by_pixel(seen(rows, self.pixels))).mean((2, 3)).numpy())
        features: Array = np.concatenate(found)
        return features
