"""ImbPU (Su, Chen and Xu, 2021): the risk of nnPU with another share of positives than U has.

With few positives in U, the positive part of the risk of nnPU weighs little, and a network may call all rows negative.
Both parts are risks of a class times its prior. So each is divided by its prior, and multiplied by that of a population
with the share ``balanced`` of positives, for which the risk is minimised.
"""

from __future__ import annotations

from pydantic import Field
from torch import Tensor

from puoc.methods.nnpu import NNPU
from puoc.methods.training.deep import Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.risks import LOSSES, corrected, mean
from puoc.registry import method

SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("imb_pu")
@typed
class ImbPU(NNPU):
    """The network of nnPU; the score is a logit. With ``balanced`` equal to alpha it is nnPU."""

    balanced: float = Field(gt=0, lt=1)  # share of positives for which the risk is minimised; the authors: 1/2

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return b R_p_pos + max(0, (1 - b) / (1 - alpha) (R_u_neg - alpha R_p_neg)), with b for ``balanced``."""
        f_p, f_u, loss = net(x_p), net(x_u), LOSSES[self.surrogate]
        positive = self.balanced * mean(loss(f_p))
        if len(x_u) == 0:
            return positive
        scale = (1 - self.balanced) / (1 - alpha)
        return corrected(positive, scale * (mean(loss(-f_u)) - alpha * mean(loss(-f_p))), self.correction)
