"""Dist-PU (Zhao et al., 2022): the mean predicted label of P and of U is that of their class priors, 1 and alpha."""

from __future__ import annotations

import numpy as np
import torch
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import net_for
from puoc.methods.training.risks import mean
from puoc.registry import method

SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("dist_pu")
@typed
class DistPU(Deep):
    """Perceptron on vectors, small convolutional network on images; the score is the logit of p = p(y=1 | x).

    Three terms beside the distribution of labels keep p from being alpha everywhere: the entropy of p on U, the
    cross-entropy of mixtures of two rows to the mixture of their labels, and the entropy of p on these mixtures. The
    weights are constant here after ``warmup_epochs`` without these terms; the released code lets them change.
    """

    kind = "pu"
    inputs = frozenset({"image", "vector"})

    entropy: NonNegativeFloat  # weight of the entropy on U
    mixing: NonNegativeFloat  # weight of the cross-entropy of mixtures
    mixed_entropy: NonNegativeFloat  # weight of the entropy on mixtures
    mixup: PositiveFloat  # both parameters of the Beta distribution of the shares in which rows are mixed
    warmup_epochs: NonNegativeInt

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return net_for(shape)

    def draws(self, x_p: Tensor, x_u: Tensor, gen: torch.Generator) -> Noise:
        """Draw the share of the first row in the mixtures of a batch, at least 1/2, and the partner of each row."""
        rng = np.random.default_rng(int(torch.randint(2**62, (), generator=gen)))
        share = rng.beta(self.mixup, self.mixup)
        partner = torch.randperm(len(x_p) + len(x_u), generator=gen)
        return {"share": torch.tensor(max(share, 1 - share), dtype=x_p.dtype), "partner": partner}

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return R_lab + entropy H(U) + mixing L_mix + mixed_entropy H(mixtures).

        R_lab = 2 alpha |mean_P p - 1| + |mean_U p - alpha|. The label of a row is 1 in P, and p without gradient in U.
        """
        f_p, f_u = net(x_p), net(x_u)
        p_u = torch.sigmoid(f_u)
        risk = 2 * alpha * (mean(torch.sigmoid(f_p)) - 1).abs()
        if len(x_u):
            risk = risk + (mean(p_u) - alpha).abs()
        if epoch < self.warmup_epochs:
            return risk
        share, partner = noise["share"], noise["partner"]
        rows, labels = torch.cat([x_p, x_u]), torch.cat([torch.ones_like(f_p), p_u.detach()])
        mixed = net(share * rows + (1 - share) * rows[partner])
        targets = share * labels + (1 - share) * labels[partner]
        return (
            risk
            + self.entropy * mean(_entropy(f_u))
            + self.mixing * mean(cross_entropy(mixed, targets, reduction="none"))
            + self.mixed_entropy * mean(_entropy(mixed))
        )


def _entropy(logits: Tensor) -> Tensor:
    """Return the entropy of each label, of probability sigmoid(logit), in nats."""
    return cross_entropy(logits, torch.sigmoid(logits), reduction="none")
