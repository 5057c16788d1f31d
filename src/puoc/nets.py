"""Architectures. Every network maps rows (b, *shape) to raw logits (b,), higher = more likely positive."""

from __future__ import annotations

from torch import Tensor, nn

Shape = tuple[int, ...]


def mlp(d: int) -> nn.Sequential:
    """Multi-layer perceptron for vectors of length ``d``: the fully connected head of ``Net``."""
    layers = (nn.Linear(d, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0))
    return nn.Sequential(*layers)


def linear(d: int) -> nn.Sequential:
    """Affine function of vectors of length ``d``; its weight is the parameter ``0.weight``."""
    return nn.Sequential(nn.Linear(d, 1), nn.Flatten(0))


class Net(nn.Module):
    """Small all-convolutional network of the paper's experiments; 68,021 parameters on 3x32x32.

    Two strided convolutions quarter the image's sides (rounding up); the first linear layer takes what that leaves, so
    any image of at least 8x8 pixels will do. ``features`` is the part up to the middle hidden layer.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        channels, height, width = shape
        if min(height, width) < 8:
            raise ValueError(f"images of at least 8x8 pixels expected, got {height}x{width}")
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
        """Logits (b,) of images (b, channels, height, width)."""
        logits: Tensor = self.head(self.features(x))
        return logits


def _quarter(side: int) -> int:
    return -(-side // 4)


def net_for(shape: Shape) -> nn.Module:
    """The network that suits one row's shape: vectors get the perceptron, images (channels, height, width) ``Net``.

    Raises
    ------
    ValueError : rows that are neither, or images below 8x8 pixels.
    """
    if len(shape) == 1:
        return mlp(shape[0])
    if len(shape) == 3:
        return Net(shape)
    raise ValueError(f"rows of shape (d,) or (channels, height, width) expected, got {shape}; an encoder may help")
