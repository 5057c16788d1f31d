"""Networks trained on a PU risk: uPU (du Plessis et al., 2015, unbiased) and nnPU (Kiryo et al., 2017, non-negative).

In Bagirov et al. nnPU is a baseline among the PU methods (section on PU learning, risk estimation). Both need alpha.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import net_for
from puoc.methods.training.risks import LOSSES, Correction, non_negative, unbiased
from puoc.registry import method

Surrogate = Literal["sigmoid", "logistic"]
SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("upu")
@typed
class UPU(Deep):
    """Perceptron on vectors, small convolutional network on images.

    The paper's equation upu; the score is a logit. With the logistic surrogate the risk of a flexible network has no
    lower bound: it can fall far below 0. Released, as nnPU's: lr 1e-3, lr_decay .99, 20 epochs, batches of 512.
    """

    kind = "pu"
    inputs = frozenset({"image", "vector"})

    surrogate: Surrogate  # loss of the margin

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return net_for(shape)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return R = alpha R_p_pos + R_u_neg - alpha R_p_neg, du Plessis et al. (2015)."""
        return unbiased(LOSSES[self.surrogate], net(x_p), net(x_u), alpha)


@method("nnpu")
@typed
class NNPU(Deep):
    """Perceptron on vectors, small convolutional network on images.

    The paper's equation nnpu; the score is a logit. The paper prints no values. Released: lr 1e-3, lr_decay .99, 20
    epochs, batches of 512 of the union, ``surrogate: logistic``, ``correction: clamp``; its text names the sigmoid.
    """

    kind = "pu"
    inputs = frozenset({"image", "vector"})

    surrogate: Surrogate  # loss of the margin; Kiryo et al. take the sigmoid
    correction: Correction  # applied if the estimated risk of negatives is below 0

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return net_for(shape)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return R_nn = alpha R_p_pos + max(0, R_u_neg - alpha R_p_neg), Kiryo et al. (2017)."""
        return non_negative(LOSSES[self.surrogate], net(x_p), net(x_u), alpha, self.correction)
