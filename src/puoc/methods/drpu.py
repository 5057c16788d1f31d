"""DRPU (Nakajima and Sugiyama, 2021): a network learns the density ratio r(x) = p_p(x) / p_u(x), without a class prior.

In Bagirov et al. one of the two PU methods of the main tables. Since p(y=1 | x) = alpha r(x), r ranks as the posterior.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field
from torch import Tensor, nn

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import PUSample, typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import net_for
from puoc.methods.training.risks import corrected, mean
from puoc.records import Array
from puoc.registry import method

_OUTPUTS = {"relu": nn.ReLU, "softplus": nn.Softplus, "linear": nn.Identity}
_LOW = 0.05  # quantile of 1 / r that stands for its minimum
SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("drpu")
@typed
class DRPU(Deep):
    """Perceptron on vectors, small convolutional network on images; the score is r(x), of the paper's equation pudre.

    Published (table hp_pu): alpha_min .001, lr 1e-3, lr_decay .99, 60 epochs; batches of 512 of each of
    P and U are the released code's. DRPU's authors have a ReLU and alpha_min .425 on CIFAR-10.
    """

    kind = "pu"
    inputs = frozenset({"image", "vector"})
    needs_alpha = False

    alpha_min: float = Field(ge=0, le=1)  # a lower bound on alpha, for the correction; the paper's table calls it alpha
    output: Literal["relu", "softplus", "linear"]  # what makes r of a network's output (deviation 13)

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``; the network gives r instead of a logit."""
        net = net_for(shape)
        if self.output == "relu":  # deviation 14: r begins at about 1, as a ReLU that is 0 on all rows stays so
            *_, bias = net.parameters()
            nn.init.ones_(bias)
        return nn.Sequential(net, _OUTPUTS[self.output]())

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return the non-negative LSIF risk of the ratio.

        The least-squares Bregman divergence mean_U[(r^2 - 1) / 2] - mean_P[r - 1] with alpha_min mean_P[r^2 / 2] moved
        from U to P: the rest of mean_U[r^2 / 2] cannot be negative, so it is corrected as the bracket of nnPU.
        """
        r_p, r_u = net(x_p), net(x_u)
        bounded = self.alpha_min * mean(r_p.square() / 2)
        rest = mean(r_u.square() / 2) - bounded if len(r_u) else bounded.new_zeros(())
        return corrected(mean(1 - r_p) + bounded, rest, "ascent") - 0.5

    def estimate_prior(self, sample: PUSample) -> float | None:
        """Return min 1 / r(x), the paper's estimate of alpha, over the training rows; None if r is nowhere positive.

        p_u >= alpha p_p, so r is at most 1 / alpha, and equal to it where there are no negatives. Of a fitted r the
        smallest 1 / r is its largest error; the quantile .05 over P and U together stands in for it (deviation 15).
        """
        largest = np.quantile(self.decision_function(_training_rows(sample)), 1 - _LOW)
        return float(min(1 / largest, 1.0)) if largest > 0 else None


def _training_rows(sample: PUSample) -> Array:
    return sample.X_p if sample.X_u is None else np.concatenate([sample.X_p, sample.X_u])
