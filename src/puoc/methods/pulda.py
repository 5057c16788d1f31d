"""PULDA (Jiang et al., 2023): the mean label of P and of U is that of their class priors, and a margin parts the rows.

It extends Dist-PU. Without more, a mean label alpha over U is also reached if all rows of U have the label alpha. A
two-way sigmoid, which is high around the threshold and low on both sides of it, keeps rows away from there. The
formulas are those of the paper and of the code that its authors released (github.com/jiangyangby/PULDA).
"""

from __future__ import annotations

import math

import numpy as np
import torch
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.nn.functional import softplus

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import net_for
from puoc.methods.training.risks import mean
from puoc.registry import method

SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


class Averaged(nn.Module):
    """A network with moving averages over the batches, which are no parameters."""

    averages: Tensor  # of p over U, and of the margin loss as a negative over U and over P
    started: Tensor  # 1 once the averages have values

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net
        self.register_buffer("averages", torch.zeros(3))
        self.register_buffer("started", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (b,) of rows."""
        logits: Tensor = self.net(x)
        return logits


@method("pulda")
@typed
class PULDA(Deep):
    """Perceptron on vectors, small convolutional network on images; the score is the logit of p = p(y=1 | x).

    The authors average before a step, with the label of a row from the last time it was seen; here the averages are
    those after the step, and the label is the present p. ``curve_`` has the batch's own means, without mixtures.
    """

    kind = "pu"
    inputs = frozenset({"image", "vector"})

    temperature: PositiveFloat  # slope of the distance between means; the larger, the nearer to the absolute value
    margin: PositiveFloat  # logit beyond which the margin loss falls
    momentum_mean: float = Field(ge=0, lt=1)  # of the average of p over U
    momentum_margin: float = Field(ge=0, lt=1)  # of the averages of the margin loss
    mixing: NonNegativeFloat  # weight of the cross-entropy of mixtures
    mixup: PositiveFloat  # both parameters of the Beta distribution of the shares in which rows are mixed
    warmup_epochs: NonNegativeInt  # first epochs, without mixtures

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return Averaged(net_for(shape))

    def draws(self, x_p: Tensor, x_u: Tensor, gen: torch.Generator) -> Noise:
        """Draw the share of the first row in the mixtures of a batch, and the partner of each row."""
        rng = np.random.default_rng(int(torch.randint(2**62, (), generator=gen)))
        partner = torch.randperm(len(x_p) + len(x_u), generator=gen)
        return {"share": torch.tensor(rng.beta(self.mixup, self.mixup), dtype=x_p.dtype), "partner": partner}

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return R_lda + R_margin of the batch, with the gradient of R_lda + R_margin + mixing L_mix.

        R_lda = 2 alpha (1 - mean_P p) + D(mean_U p, alpha), and R_margin = alpha mean_P l(f) + D(mean_U l(-f),
        alpha mean_P l(-f)). For the gradient the means over U, and that of l(-f) over P, are moving averages with
        momentum m; their D is divided by 1 - m, so that its gradient does not shrink.
        """
        f_p, f_u = net(x_p), net(x_u)
        of_p = alpha * (2 * (1 - mean(torch.sigmoid(f_p))) + mean(self._margin_loss(f_p)))
        if len(x_u) == 0:
            return of_p
        now, momentum = self._means(f_p, f_u), net.buffers["started"] * self._momentum(f_u)
        averages = momentum * net.buffers["averages"] + (1 - momentum) * now
        followed = of_p + (self._distances(averages, alpha) / (1 - momentum[:2])).sum()
        if epoch >= self.warmup_epochs:
            share, partner = noise["share"], noise["partner"]
            rows, labels = torch.cat([x_p, x_u]), torch.cat([torch.ones_like(f_p), torch.sigmoid(f_u).detach()])
            mixed = net(share * rows + (1 - share) * rows[partner])
            targets = share * labels + (1 - share) * labels[partner]
            followed = followed + self.mixing * mean(cross_entropy(mixed, targets, reduction="none"))
        risk = of_p + self._distances(now, alpha).sum()
        return risk.detach() + (followed - followed.detach())

    def after_step(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor) -> dict[str, Tensor]:
        """Move the averages."""
        if len(x_u) == 0:
            return {}
        f_u, started = net(x_u), net.buffers["started"]
        momentum = started * self._momentum(f_u)
        moved = momentum * net.buffers["averages"] + (1 - momentum) * self._means(net(x_p), f_u)
        return {"averages": moved, "started": torch.ones_like(started)}

    def _means(self, f_p: Tensor, f_u: Tensor) -> Tensor:
        parts = mean(torch.sigmoid(f_u)), mean(self._margin_loss(-f_u)), mean(self._margin_loss(-f_p))
        return torch.stack(parts)

    def _momentum(self, like: Tensor) -> Tensor:
        return like.new_tensor([self.momentum_mean, self.momentum_margin, self.momentum_margin])

    def _margin_loss(self, z: Tensor) -> Tensor:
        """Return the two-way sigmoid sigmoid(z) sigmoid(margin - z)."""
        return torch.sigmoid(z) * torch.sigmoid(self.margin - z)

    def _distances(self, means: Tensor, alpha: Tensor) -> Tensor:
        """Return D(mean_U p, alpha) and D(mean_U l(-f), alpha mean_P l(-f)).

        D(a, b) = log(1 + e^(t d)) / t + log(1 + e^(-t d)) / t for d = a - b, minus 2 log(2) / t, its least value.
        """
        p_u, l_u, l_p = means
        d = self.temperature * torch.stack([p_u - alpha, l_u - alpha * l_p])
        return (softplus(d) + softplus(-d) - 2 * math.log(2)) / self.temperature
