"""Networks trained on ImageNet, up to their last feature map: the feature extractors of OC-CNN and PU-CNN.

Images (b, channels, height, width) have values in [0, 1] and three channels, or one, which is repeated.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import interpolate

from puoc.datasets.prepare.weights import weights_file

Network = Literal["resnet18", "mobilenet_v2"]
Weights = Annotated[str, Field(pattern="^[0-9a-f]{8,64}$")]  # first digits of the file's sha256

WIDTHS = {"resnet18": 512, "mobilenet_v2": 1280}  # channels of the last map

_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, by colour
_UNUSED = ("fc.", "classifier.")  # the classifiers of ImageNet's classes


def trunk(network: Network, weights: str | None) -> nn.Module:
    """Build a network up to its last map (b, 512 or 1,280, height, width), with these weights or randomly initialised.

    Raises
    ------
    FetchError : the weights are not available.
    ValueError : the weights are those of another network.
    """
    from torchvision import models

    net = getattr(models, network)(weights=None)
    if weights is not None:
        _load(net, network, weights)
    layers: nn.Module = net.features if network == "mobilenet_v2" else nn.Sequential(*list(net.children())[:-2])
    return layers


def _load(net: nn.Module, network: Network, weights: str) -> None:
    path = weights_file(network, weights)
    state = {name: value.float() for name, value in torch.load(path, weights_only=True).items()}
    expected = {name: value.shape for name, value in net.state_dict().items() if not name.startswith(_UNUSED)}
    if {name: value.shape for name, value in state.items() if not name.startswith(_UNUSED)} != expected:
        raise ValueError(f"{path}: the weights are not those of torchvision's {network}; give its own file")
    net.load_state_dict(state, strict=False)


def seen(x: Tensor, pixels: int | None) -> Tensor:
    """Prepare images for the networks: three channels, resized to ``pixels`` if given, standardised by colour."""
    x = x.expand(-1, 3, -1, -1)
    if pixels is not None:
        x = interpolate(x, size=(pixels, pixels), mode="bilinear", antialias=True)
    mean, std = (torch.tensor(values, dtype=x.dtype, device=x.device).reshape(3, 1, 1) for values in (_MEAN, _STD))
    return (x - mean) / std
