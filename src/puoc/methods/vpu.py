"""VPU (Chen et al., 2020): variational PU learning of phi(x) = p(y=1 | x) up to a factor, without a class prior.

In Bagirov et al. a baseline among the PU methods (appendix, table of PU methods).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import torch
from pydantic import NonNegativeFloat, PositiveFloat
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import net_for
from puoc.methods.training.risks import mean
from puoc.registry import method

SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("vpu")
@typed
class VPU(Deep):
    """Perceptron on vectors, small convolutional network on images; phi is the sigmoid of its logit, the score.

    The paper prints no values. Released: lam .03, mixup .01, lr 5e-3, lr_decay .99, 50 epochs, batches of 512 of each;
    VPU's authors: mixup .3, lr 3e-5.
    """

    kind = "pu"
    inputs = frozenset({"image", "vector"})
    needs_alpha = False

    lam: NonNegativeFloat  # weight of the consistency term
    mixup: PositiveFloat  # both parameters of the Beta distribution of the shares in which rows are mixed
    unequal: Literal["skip"] | None = None  # batches with more rows of P than of U, or fewer; released: skip

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return net_for(shape)

    def sizes(self, n_p: int, n_u: int) -> list[tuple[int, int]]:
        """See ``Deep``.

        Raises
        ------
        ValueError : all batches are skipped.
        """
        sizes = super().sizes(n_p, n_u)
        if self.unequal is None:
            return sizes
        kept = [(b_p, b_u) for b_p, b_u in sizes if b_p == b_u]
        if not kept:
            raise ValueError(
                f"vpu: unequal: skip leaves no batch of {n_p} and {n_u} rows; a smaller batch_size may help"
            )
        return kept

    def draws(self, x_p: Tensor, x_u: Tensor, gen: torch.Generator) -> Noise:
        """Draw the share g of P in the mixtures of a batch, with numpy, since torch's Beta takes no generator."""
        rng = np.random.default_rng(int(torch.randint(2**62, (), generator=gen)))
        return {"share": torch.tensor(rng.beta(self.mixup, self.mixup), dtype=x_p.dtype)}

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return log mean_U phi - mean_P log phi + lam mean (log phi(x) - log t)^2 over mixtures x of rows.

        Mixtures are x = g x_p + (1 - g) x_u. Their targets are t = g + (1 - g) phi(x_u), and the gradient also passes
        through them. If the batch has more rows of one sample than of the other, its first rows are mixed.
        """
        g, b = noise["share"], min(len(x_p), len(x_u))
        log_phi_p, log_phi_u = logsigmoid(net(x_p)), logsigmoid(net(x_u))
        variational = -mean(log_phi_p)
        if len(x_u):
            variational = variational + log_phi_u.logsumexp(0) - math.log(len(x_u))
        if b == 0:
            return variational
        log_phi = logsigmoid(net(g * x_p[:b] + (1 - g) * x_u[:b]))
        log_t = torch.logaddexp(g.log(), (1 - g).log() + log_phi_u[:b])
        return variational + self.lam * mean((log_phi - log_t).square())
