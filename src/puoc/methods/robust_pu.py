"""Robust-PU (Zhu et al., 2023): P against U with weights that let in easy rows first, and hard ones later.

After a start by nnPU, all rows of U are negatives, and a row with the loss l (its hardness) has the weight
exp(-l / lambda^2). The threshold lambda grows, so rows of U that look positive count little at first. Rows of P have
weights of the same form. The paper lists other weights and hardnesses; these are the defaults of the released code.
"""

from __future__ import annotations

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt
from torch import Tensor, nn

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import net_for
from puoc.methods.training.risks import logistic, non_negative, sigmoid
from puoc.registry import method

SETTING = "case_control"  # that the risk of the start assumes, see docs/glossary.md


@method("robust_pu")
@typed
class RobustPU(Deep):
    """Perceptron on vectors, small convolutional network on images; the score is a logit.

    The authors weigh all rows once a round, that is an epoch; here the rows of a batch are weighed by the present
    network. They also keep the network of the round with the best accuracy on labelled rows of both classes, which PU
    learning does not have; here it is the last one. ``curve_`` is the risk of nnPU throughout.
    """

    kind = "pu"
    inputs = frozenset({"image", "vector"})

    warmup_epochs: NonNegativeInt  # first epochs, of nnPU with the sigmoid loss
    threshold: PositiveFloat  # lambda in the first epoch after them
    last_threshold: PositiveFloat
    growth: PositiveInt  # epochs in which lambda goes from one to the other, in equal steps

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return net_for(shape)

    def lambda_at(self, epoch: int) -> float:
        """Return the threshold of an epoch after the start."""
        done = min((epoch - self.warmup_epochs) / self.growth, 1.0)
        return self.threshold + done * (self.last_threshold - self.threshold)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return the risk of nnPU; after the start with the gradient of the mean of w l over P and U."""
        f_p, f_u = net(x_p), net(x_u)
        risk = non_negative(sigmoid, f_p, f_u, alpha, "ascent")
        if epoch < self.warmup_epochs:
            return risk
        square = self.lambda_at(epoch) ** 2
        total = risk.new_zeros(())
        for hardness in (logistic(f_p), logistic(-f_u)):
            total = total + ((-hardness.detach() / square).exp() * hardness).sum()
        weighted = total / (len(x_p) + len(x_u))
        return risk.detach() + (weighted - weighted.detach())
