"""PU-SVM by gradient steps on batches, as Bagirov et al. train it: one weight vector in the space of the rows."""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import PositiveFloat
from torch import Tensor, nn

from puoc.methods.solvers.hinge import Risk
from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.quantiles import quantile
from puoc.methods.training.risks import double_hinge, non_negative, unbiased

Bias = Literal["gradient", "batch_quantile"]


class OneVector(nn.Module):
    """f = <w, x> + b, or exp(-gamma ||x - w||^2) + b where ``gamma`` is given: one bump, centred at w.

    The linear w begins as ``nn.Linear``'s, the centre as U[0, 1) and b as -1, both as released.
    """

    b: Tensor

    def __init__(self, d: int, gamma: float | None, *, learned_b: bool) -> None:
        super().__init__()
        bound = 1 / math.sqrt(d)
        self.gamma = gamma
        self.w = nn.Parameter(torch.empty(d).uniform_(-bound, bound) if gamma is None else torch.rand(d))
        if learned_b:
            self.b = nn.Parameter(-torch.ones(()))
        else:
            self.register_buffer("b", -torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        """Return f (b,) of rows (b, d)."""
        if self.gamma is None:
            return x @ self.w + self.b
        return torch.exp(-self.gamma * (x - self.w).square().sum(dim=1)) + self.b


@typed
class HingeSGD(Deep):
    """What ``pu_svm`` trains with ``solver: sgd``."""

    name = "pu_svm"
    kind = "pu_oc"

    risk: Risk
    lam: PositiveFloat
    gamma: PositiveFloat | None
    bias: Bias

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return OneVector(shape[0], self.gamma, learned_b=self.bias == "gradient")

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return lam ||w||^2 + the PU risk of the batch with the double hinge."""
        risk = non_negative if self.risk == "non_negative" else unbiased
        penalty: Tensor = self.lam * net.params["w"].square().sum()
        return penalty + risk(double_hinge, net(x_p), net(x_u), alpha)

    def after_step(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor) -> dict[str, Tensor]:
        """Return the b for which a share alpha of the batch's unlabelled rows is positive, unless b is learned."""
        if self.bias == "gradient" or len(x_u) == 0:
            return {}
        return {"b": net.buffers["b"] - quantile(net(x_u), 1 - alpha)}
