"""Deep SVDD (Ruff et al., 2018): a network that maps labelled positives near a fixed centre."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, Self

import numpy as np
import torch
from pydantic import NonNegativeFloat
from torch import Tensor, nn

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.methods.training.lanes import Lane, Lanes
from puoc.methods.training.nets import Layers, lenet
from puoc.methods.training.risks import mean
from puoc.registry import method

_DIMENSION = 32  # of the representation of a vector
_NEAR_ZERO = 0.1  # coordinates of the centre are moved this far from 0
_AT_ONCE = 1024  # rows


class CentredNet(nn.Module):
    """A network without biases to a representation, and a centre there, which is no parameter."""

    centre: Tensor

    def __init__(self, layers: Layers, dimension: int) -> None:
        super().__init__()
        self.layers = layers
        self.register_buffer("centre", torch.zeros(dimension))

    def forward(self, x: Tensor, part: Literal["all", "representation"] = "all", track: bool = True) -> Tensor:
        """Return minus the squared distance to the centre (b,) of rows, or their representation (b, k)."""
        phi: Tensor = self.layers(x, track)
        return phi if part == "representation" else -(phi - self.centre).square().sum(dim=1)


@method("deep_svdd")
@typed
class DeepSVDD(Deep):
    """Perceptron of 128, 64 and 32 units on vectors; on images a LeNet with 128 features. No layer has a bias.

    The one-class objective of the paper (its equation 4): mean of |phi(x) - c|^2 over P, and lam / 2 times the squared
    norm of all weights. The centre c is the mean of phi over P before the first step, with coordinates of less than .1
    moved to -.1 or .1, as released. The score is -|phi(x) - c|^2. Published: lam 1e-6, lr 1e-4, batches of 200, 150
    epochs (MNIST) and 250 (CIFAR-10). The paper starts from the encoder of an autoencoder, here the start is random.
    """

    kind = "oc"
    needs_alpha = False
    inputs = frozenset({"image", "vector"})

    lam: NonNegativeFloat  # weight decay

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``.

        Raises
        ------
        ValueError : rows that are neither vectors nor images, or images below 8x8 pixels.
        """
        if len(shape) == 3:
            halves = lenet(shape)
            return CentredNet(Layers(*halves.features, *halves.head[:6]), 128)  # up to the first linear layer
        if len(shape) != 1:
            raise ValueError(
                f"rows of shape (d,) or (channels, height, width) expected, got {shape}; an encoder may help"
            )
        sizes = (shape[0], 128, 64, _DIMENSION)
        layers: list[nn.Module] = []
        for before, after in pairwise(sizes):
            layers += [nn.Linear(before, after, bias=False), nn.LeakyReLU(0.01)]
        return CentredNet(Layers(*layers[:-1]), _DIMENSION)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return the mean squared distance to the centre, and lam / 2 times the squared norm of the weights."""
        weights = sum((weight.square().sum() for weight in net.params.values()), torch.zeros_like(alpha))
        return mean(-net(x_p)) + self.lam / 2 * weights

    def _train(
        self,
        samples: Sequence[PUSample],
        gens: Sequence[torch.Generator],
        lanes: Lanes,
        compute: Compute,
        dtype: torch.dtype,
        places: Sequence[int],
    ) -> list[Self]:
        rows = torch.from_numpy(np.stack([sample.X_p for sample in samples])).to(compute.device, dtype)
        total: Tensor = torch.zeros(())
        with torch.no_grad():
            for start in range(0, rows.shape[1], _AT_ONCE):
                total = total + lanes.map(_summed, rows[:, start : start + _AT_ONCE])
            lanes.write({"centre": _away_from_zero(total / rows.shape[1])})
        return super()._train(samples, gens, lanes, compute, dtype, places)


def _summed(net: Lane, x: Tensor) -> Tensor:
    return net(x, part="representation", track=False).sum(dim=0)


def _away_from_zero(centre: Tensor) -> Tensor:
    """Move small coordinates, since a network without biases gives 0 by weights of 0 (the paper's proposition 1)."""
    moved = torch.where(centre < 0, -_NEAR_ZERO, _NEAR_ZERO).to(centre)
    return torch.where(centre.abs() < _NEAR_ZERO, moved, centre)
