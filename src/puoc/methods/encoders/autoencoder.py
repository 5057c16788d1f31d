"""Convolutional autoencoder, whose code is the input of SVMs and TIcE (Bagirov et al., section on OC-SVM, PU-SVM)."""

from __future__ import annotations

import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn
from torch.nn.functional import elu, interpolate

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import Encoder, typed
from puoc.methods.training.lanes import Lane
from puoc.records import Array
from puoc.registry import encoder

_CHANNELS = 8  # of the innermost feature map


class Network(nn.Module):
    """Two poolings quarter an image's sides (rounding down); the decoder mirrors the encoder.

    Dropout is passed as masks, so that lanes can draw their own. Kept values are already scaled by 1 / (1 - p).
    """

    def __init__(self, shape: tuple[int, ...], dimension: int) -> None:
        super().__init__()
        channels, height, width = shape
        self.sizes = (height // 2, width // 2), (height, width)
        self.inner = (_CHANNELS, height // 4, width // 4)
        inner = _CHANNELS * (height // 4) * (width // 4)
        self.conv1 = nn.Conv2d(channels, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, _CHANNELS, 3, padding=1)
        self.conv3 = nn.Conv2d(_CHANNELS, _CHANNELS, 3, padding=1)
        self.to_code = nn.Linear(inner, dimension)
        self.from_code = nn.Linear(dimension, inner)
        self.deconv1 = nn.ConvTranspose2d(_CHANNELS, _CHANNELS, 3, padding=1)
        self.deconv2 = nn.ConvTranspose2d(_CHANNELS, 16, 3, padding=1)
        self.deconv3 = nn.ConvTranspose2d(16, channels, 3, padding=1)
        self.pool = nn.MaxPool2d(2)

    def code(self, x: Tensor, kept: Tensor | None = None) -> Tensor:
        """Return codes (b, dimension), each value above -1; ``kept`` is the dropout mask of that shape."""
        x = self.pool(elu(self.conv1(x)))
        x = self.pool(elu(self.conv2(x)))
        x = self.to_code(elu(self.conv3(x)).flatten(1))
        return elu(x if kept is None else x * kept)

    def forward(self, x: Tensor, kept: Tensor | None = None, kept_inner: Tensor | None = None) -> Tensor:
        """Return reconstructions in (0, 1), of the shape of x."""
        z = self.from_code(self.code(x, kept))
        z = elu(z if kept_inner is None else z * kept_inner).reshape(-1, *self.inner)
        z = _resized(elu(self.deconv1(z)), self.sizes[0])
        z = _resized(elu(self.deconv2(z)), self.sizes[1])
        logits: Tensor = self.deconv3(z)
        return logits.sigmoid()


def _resized(x: Tensor, size: tuple[int, int]) -> Tensor:
    return interpolate(x, size=size, mode="bilinear", align_corners=True)


@encoder("autoencoder")
@typed
class Autoencoder(Deep, Encoder):
    """Learns to reconstruct the labelled positives; images of values in [0, 1] and at least 4x4 pixels."""

    inputs = frozenset({"image"})

    dimension: PositiveInt  # of the code
    dropout: float = Field(ge=0, lt=1)  # share of values dropped before the code's and the decoder's first activation

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``.

        Raises
        ------
        ValueError : rows that are no images, or smaller ones.
        """
        if len(shape) != 3 or min(shape[1:]) < 4:
            raise ValueError(
                f"{self.name}: images (channels, height, width) of at least 4x4 expected, got rows {shape}"
            )
        return Network(shape, self.dimension)

    def encoded_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a code, ``(dimension,)``."""
        return (self.dimension,)

    def draws(self, x_p: Tensor, x_u: Tensor, gen: torch.Generator) -> Noise:
        """Draw dropout masks for the code and for the decoder's first layer."""
        inner = _CHANNELS * (x_p.shape[-2] // 4) * (x_p.shape[-1] // 4)
        return {
            "kept": self._mask(len(x_p), self.dimension, x_p.dtype, gen),
            "kept_inner": self._mask(len(x_p), inner, x_p.dtype, gen),
        }

    def _mask(self, b: int, n: int, dtype: torch.dtype, gen: torch.Generator) -> Tensor:
        drawn = torch.rand(b, n, generator=gen)
        return (drawn >= self.dropout).to(dtype) / (1 - self.dropout)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return the mean squared error of the reconstruction."""
        return (net(x_p, noise["kept"], noise["kept_inner"]) - x_p).square().mean()

    def encode(self, X: Array) -> Array:
        """Return codes (n, dimension) without dropout, in the precision of the fit."""
        return self.evaluate(self.net_.code, X)  # type: ignore[arg-type]

    def decision_function(self, X: Array) -> Array:
        """Return minus the mean squared error of each row's reconstruction, (n,): higher = more like training rows."""
        return self.evaluate(lambda x: -(self.net_(x) - x).square().flatten(1).mean(1), X)
