"""CVIR (Garg et al., 2021): P against U without the share alpha of its rows that look most positive.

Conditional value ignoring risk: the rows of U with the largest losses as negatives are taken for its positives and left
out. The paper estimates alpha by BBE on rows that are held out ((TED)^n), and here it comes from the prior, such as
``bbe``.
"""

from __future__ import annotations

from pydantic import NonNegativeInt
from torch import Tensor, nn

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import net_for
from puoc.methods.training.risks import logistic, mean
from puoc.registry import method

SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("cvir")
@typed
class CVIR(Deep):
    """Perceptron on vectors, small convolutional network on images; the score is a logit.

    The paper ranks all rows of U once an epoch and estimates alpha anew each time. Here the rows of U in a batch are
    ranked, and alpha is estimated once. It starts with an ordinary classifier of P against U, as the paper does.
    """

    kind = "pu"
    inputs = frozenset({"image", "vector"})

    warmup_epochs: NonNegativeInt  # first epochs, in which all rows of U are negatives

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return net_for(shape)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return the mean logistic loss over P, and that over the (1 - alpha) b_u rows of U with the lowest logits."""
        f_p, f_u = net(x_p), net(x_u)
        positive = mean(logistic(f_p))
        if f_u.numel() == 0:
            return positive
        if epoch < self.warmup_epochs:
            return positive + mean(logistic(-f_u))
        n_kept = ((1 - alpha) * len(f_u)).round().clamp(min=1)
        kept = (f_u.detach().argsort().argsort() < n_kept).to(f_u)  # a weight, since lanes keep different rows
        return positive + (kept * logistic(-f_u)).sum() / n_kept
