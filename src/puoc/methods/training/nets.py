"""Networks, which map rows (b, *shape) to raw logits (b,), higher = more likely positive."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm

Part = Literal["all", "features", "head"]
Shape = tuple[int, ...]


def mlp(d: int) -> nn.Sequential:
    """Build a multi-layer perceptron for vectors of length ``d``: the fully connected head of ``Net``."""
    layers = (nn.Linear(d, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0))
    return nn.Sequential(*layers)


def linear(d: int) -> nn.Sequential:
    """Build an affine function of vectors of length ``d``; its weight is the parameter ``0.weight``."""
    return nn.Sequential(nn.Linear(d, 1), nn.Flatten(0))


class Net(nn.Module):
    """Small all-convolutional network of the paper's experiments; 68,021 parameters on 3x32x32.

    Two strided convolutions quarter the sides of the image (rounding up), and the first linear layer fits that size. So
    images may have any size of at least 8x8 pixels. ``features`` is the part up to the middle hidden layer.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        channels, height, width = _image(shape)
        self.features = nn.Sequential(
            *(nn.Conv2d(channels, 16, 5, padding=2), nn.ReLU()),
            *(nn.Conv2d(16, 16, 3, padding=1, stride=2), nn.ReLU()),
            *(nn.Conv2d(16, 32, 5, padding=2), nn.ReLU()),
            *(nn.Conv2d(32, 32, 3, padding=1, stride=2), nn.ReLU()),
        )
        self.head = nn.Sequential(
            *(nn.Conv2d(32, 32, 1), nn.ReLU()),
            *(nn.Conv2d(32, 4, 1), nn.ReLU()),
            nn.Flatten(1),
            *mlp(4 * _quarter(height) * _quarter(width)),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (b,) of images (b, channels, height, width)."""
        logits: Tensor = self.head(self.features(x))
        return logits


class ShiftNet(nn.Module):
    """``Net_CSI`` of the paper's released code without its two idle heads; 109,816 parameters on 3x32x32.

    ``Net`` up to its last hidden layer and a linear layer give 128 features. The contrastive loss uses a projection of
    them, and a linear head classifies the angle of rotation. Part ``all`` returns the features; ``projection`` and
    ``shift`` apply their heads to features.

    Raises
    ------
    ValueError : images that are not square, that have neither one nor three channels, or below 8x8 pixels.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        if len(shape) != 3:
            raise ValueError(f"rows of shape (channels, side, side) expected, got {shape}; an encoder may help")
        channels, height, width = _image(shape)
        if height != width:
            raise ValueError(f"square images expected, as they are rotated by 90 degrees, got {height}x{width}")
        if channels not in (1, 3):
            raise ValueError(f"images of 1 or 3 channels expected, got {channels}")
        whole = Net(shape)
        self.features = nn.Sequential(whole.features, whole.head[:-2], nn.Linear(64, 128))
        self.projection = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 128))
        self.shift = nn.Linear(128, 4)

    def forward(self, x: Tensor, part: Literal["all", "projection", "shift"] = "all") -> Tensor:
        """Return features (b, 128) of images; or the projection (b, 128) or the angle logits (b, 4) of features."""
        layers = {"all": self.features, "projection": self.projection, "shift": self.shift}[part]
        out: Tensor = layers(x)
        return out


class BatchNorm(nn.Module):
    """Batch normalisation of (b, channels, height, width) without scale, shift and counter.

    Training mode uses the statistics of the batch. Evaluation mode uses the running statistics, which only tracked
    batches update. Adversarial batches are not tracked, and under ``torch.func.grad`` no batch can be.
    """

    mean: Tensor
    var: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("var", torch.ones(channels))

    def forward(self, x: Tensor, track: bool = True) -> Tensor:
        """Return x normalised, in its shape."""
        if self.training and not track:
            return batch_norm(x, None, None, training=True, eps=1e-4)
        return batch_norm(x, self.mean, self.var, training=self.training, momentum=0.1, eps=1e-4)


class Layers(nn.Sequential):
    """Layers in sequence; those with running statistics get the flag ``track``."""

    def forward(self, x: Tensor, track: bool = True) -> Tensor:
        """Return the output of the last layer."""
        for layer in self:
            x = layer(x, track) if isinstance(layer, BatchNorm) else layer(x)
        return x


class Halves(nn.Module):
    """A network in two parts, so that adversarial points can be searched between them."""

    def __init__(self, features: nn.Sequential, head: nn.Sequential) -> None:
        super().__init__()
        self.features, self.head = Layers(*features), Layers(*head)

    def forward(self, x: Tensor, part: Part = "all", track: bool = True) -> Tensor:
        """Return logits (b,) of rows, features (b, *middle) of rows, or logits of features."""
        if part != "head":
            x = self.features(x, track)
        out: Tensor = x if part == "features" else self.head(x, track)
        return out


def lenet(shape: Shape) -> Halves:
    """Build the LeNet of DROCC's authors for CIFAR-10 (Goyal et al., 2020); 528,800 parameters on 3x32x32.

    Three poolings halve the sides of the image (rounding up), so images may have any size of at least 8x8 pixels. The
    first part ends after the second pooling. No layer has a bias.

    Raises
    ------
    ValueError : images below 8x8 pixels.
    """
    channels, height, width = _image(shape)
    features = nn.Sequential(*_normed(channels, 32), *_normed(32, 64))
    eighths = -(-height // 8) * -(-width // 8)
    head = nn.Sequential(
        *_normed(64, 128),
        nn.Flatten(1),
        *(nn.Linear(128 * eighths, 128, bias=False), nn.LeakyReLU(0.01)),
        *(nn.Linear(128, 64, bias=False), nn.LeakyReLU(0.01)),
        *(nn.Linear(64, 1, bias=False), nn.Flatten(0)),
    )
    return Halves(features, head)


def _normed(before: int, after: int) -> tuple[nn.Module, ...]:
    conv = nn.Conv2d(before, after, 5, padding=2, bias=False)
    return conv, BatchNorm(after), nn.LeakyReLU(0.01), nn.MaxPool2d(2, ceil_mode=True)


def halves_for(shape: Shape, images: Literal["lenet", "net"]) -> Halves:
    """Build ``net_for`` in two parts, or ``lenet`` for images; a perceptron is cut after its first hidden layer.

    Raises
    ------
    ValueError : as ``net_for``.
    """
    if len(shape) == 3 and images == "lenet":
        return lenet(shape)
    whole = net_for(shape)
    if isinstance(whole, Net):
        return Halves(whole.features, whole.head)
    layers = mlp(*shape)
    return Halves(layers[:2], layers[2:])


def middle(shape: Shape, images: Literal["lenet", "net"]) -> Shape:
    """Return the shape of one row's features in ``halves_for``."""
    if len(shape) == 1:
        return (128,)
    return (64 if images == "lenet" else 32, *map(_quarter, shape[1:]))


def _image(shape: Shape) -> tuple[int, int, int]:
    channels, height, width = shape
    if min(height, width) < 8:
        raise ValueError(f"images of at least 8x8 pixels expected, got {height}x{width}")
    return channels, height, width


def _quarter(side: int) -> int:
    return -(-side // 4)


def net_for(shape: Shape) -> nn.Module:
    """Build the network for a shape of rows: a perceptron for vectors, ``Net`` for images (channels, height, width).

    Raises
    ------
    ValueError : rows of another shape, or images below 8x8 pixels.
    """
    if len(shape) == 1:
        return mlp(shape[0])
    if len(shape) == 3:
        return Net(shape)
    raise ValueError(f"rows of shape (d,) or (channels, height, width) expected, got {shape}; an encoder may help")
