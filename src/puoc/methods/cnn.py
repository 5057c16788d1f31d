"""OC-CNN (Oza and Patel, 2018) and PU-CNN (Bagirov et al., section on OC-CNN): a perceptron on frozen features.

Both see the features of a network trained on ImageNet (encoder ``imagenet``). Each row's features are standardised by
their own mean and variance, as OC-CNN's instance normalisation does. OC-CNN tells them from Gaussian noise, PU-CNN from
the unlabelled rows by the non-negative risk.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor, nn

from puoc.deep import Deep, Noise
from puoc.estimator import typed
from puoc.lanes import Lane
from puoc.registry import method
from puoc.risks import LOSSES, Correction, logistic, mean, non_negative


class Head(nn.Module):
    """Perceptron of one hidden layer on standardised features (b, d). Dropout comes in as a mask, already scaled."""

    def __init__(self, d: int, hidden: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(d, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x: Tensor, kept: Tensor | None = None, standardise: bool = True) -> Tensor:
        """Logits (b,) of features, or of rows in the space of standardised ones."""
        h = self.hidden(standardised(x) if standardise else x).relu()
        logits: Tensor = self.out(h if kept is None else h * kept)
        return logits.squeeze(1)


def standardised(x: Tensor) -> Tensor:
    """Each row of (b, d) with mean 0 and variance 1 over its own values."""
    centred = x - x.mean(1, keepdim=True)
    return centred / (centred.square().mean(1, keepdim=True) + 1e-5).sqrt()


@typed
class OnFeatures(Deep):
    """What the twins share: the perceptron and its dropout."""

    hidden: PositiveInt  # units
    dropout: float = Field(ge=0, lt=1)  # share of hidden units dropped in a step

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``.

        Raises
        ------
        ValueError : rows that are no vectors.
        """
        if len(shape) != 1:
            raise ValueError(f"{self.name} takes vectors, got rows of shape {shape}; an encoder may help")
        return Head(shape[0], self.hidden)

    def mask(self, b: int, like: Tensor, gen: torch.Generator) -> Tensor:
        """Dropout mask (b, hidden); kept units are scaled by 1 / (1 - dropout)."""
        kept = torch.rand(b, self.hidden, generator=gen) >= self.dropout
        return kept.to(like.dtype) / (1 - self.dropout)


@method("oc_cnn")
@typed
class OCCNN(OnFeatures):
    """Labelled positives against as many points N(0, sigma^2 I) in the space of standardised features."""

    kind = "oc"

    sigma: PositiveFloat

    def draws(self, x_p: Tensor, x_u: Tensor, gen: torch.Generator) -> Noise:
        """The pseudo-negatives, and the dropout masks of both."""
        points = torch.randn(x_p.shape, generator=gen, dtype=x_p.dtype)
        return {"points": self.sigma * points, "kept": self.mask(2 * len(x_p), x_p, gen)}

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Cross-entropy of positives against 1 and of noise against 0."""
        b, points, kept = len(x_p), noise["points"], noise["kept"]
        of_p = logistic(net(x_p, kept[:b]))
        of_points = logistic(-net(points, kept[b:], standardise=False))
        return (mean(of_p) + mean(of_points)) / 2


@method("pu_cnn")
@typed
class PUCNN(OnFeatures):
    """The unlabelled rows take the place of the noise."""

    kind = "pu_oc"
    twin = "oc_cnn"

    surrogate: Literal["logistic", "sigmoid"]
    correction: Correction

    def draws(self, x_p: Tensor, x_u: Tensor, gen: torch.Generator) -> Noise:
        """The dropout masks."""
        return {"kept": self.mask(len(x_p) + len(x_u), x_p, gen)}

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """R_nn = alpha R_p_pos + max(0, R_u_neg - alpha R_p_neg), Kiryo et al. (2017)."""
        b, kept = len(x_p), noise["kept"]
        f_p, f_u = net(x_p, kept[:b]), net(x_u, kept[b:])
        return non_negative(LOSSES[self.surrogate], f_p, f_u, alpha, self.correction)
