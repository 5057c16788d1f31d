"""nnPU for labelled rows some of which are negatives: the risk of learning from two unlabelled samples.

If the share theta = 1 - p_noise of P is positive, P and U are mixtures of the same two classes, with the shares theta
and alpha of positives. Two such mixtures determine both classes, and so an unbiased risk (Lu et al., 2019, "UU
learning"). Both of its parts cannot be negative, so each is corrected (Lu et al., 2020). For p_noise = 0 it is nnPU.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field
from torch import Tensor

from puoc.methods.nnpu import NNPU
from puoc.methods.training.deep import Noise
from puoc.methods.training.estimator import PUSample, typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.risks import LOSSES, corrected, mean
from puoc.registry import method

SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("nnpu_noisy")
@typed
class NNPUNoisy(NNPU):
    """The network of nnPU; the score is a logit. The share of negatives in P has to be known or assumed."""

    p_noise: float = Field(ge=0, lt=1)  # share of the rows of P that are negatives

    def _check(self, samples: Sequence[PUSample]) -> None:
        super()._check(samples)
        for sample in samples:
            if sample.alpha is not None and sample.alpha >= 1 - self.p_noise:
                raise ValueError(
                    f"{self.name}: with p_noise {self.p_noise:g}, P has a share {1 - self.p_noise:g} of positives, and "
                    f"U has alpha = {sample.alpha:g}; a larger share in P than in U expected, so set a smaller p_noise"
                )

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return max(0, R_pos) + max(0, R_neg), the parts of the risk by positives and by negatives.

        R_pos = alpha ((1 - alpha) mean_P l(f) - (1 - theta) mean_U l(f)) / (theta - alpha), and
        R_neg = (1 - alpha) (theta mean_U l(-f) - alpha mean_P l(-f)) / (theta - alpha). The correction of nnPU applies
        to R_neg; R_pos is clamped.
        """
        f_p, f_u, loss = net(x_p), net(x_u), LOSSES[self.surrogate]
        theta = 1 - self.p_noise
        scale = 1 / (theta - alpha)
        positive = alpha * scale * ((1 - alpha) * mean(loss(f_p)) - (1 - theta) * mean(loss(f_u)))
        if len(x_u) == 0:
            return positive.clamp(min=0)
        negative = (1 - alpha) * scale * (theta * mean(loss(-f_u)) - alpha * mean(loss(-f_p)))
        return corrected(positive.clamp(min=0), negative, self.correction)
