"""PUe (Wang et al., 2023): nnPU in which a row of P weighs the more, the less likely rows like it are labelled.

If the chance of a label depends on the row (its propensity e), P is no random sample of the positives. Weights
proportional to 1 / e make it one. A second network estimates e from P against U, with a penalty that ties the sum of
all e to the number of labels. The weights are divided by their sum (normalised inverse probability weighting).
"""

from __future__ import annotations

from pydantic import NonNegativeFloat, NonNegativeInt
from torch import Tensor, nn

from puoc.methods.nnpu import Surrogate
from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.propensity import WithPropensity
from puoc.methods.training.risks import LOSSES, Correction, corrected, logistic, mean
from puoc.registry import method

SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("pue")
@typed
class PUe(Deep):
    """Two perceptrons on vectors, two small convolutional networks on images; the score is a logit.

    The paper fits e first. Here both networks are trained at once, and the weights are equal in the first
    ``warmup_epochs``. The sums are those of a batch. ``curve_`` is the PU risk alone.
    """

    kind = "pu"
    inputs = frozenset({"image", "vector"})

    surrogate: Surrogate  # loss of the margin
    correction: Correction  # applied if the estimated risk of negatives is below 0
    balance: NonNegativeFloat  # weight of the penalty on the sum of e; alpha in the paper, which has 15
    warmup_epochs: NonNegativeInt  # first epochs, in which all rows of P weigh the same

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return WithPropensity(shape)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return R = alpha sum_P w l(f) + max(0, mean_U l(-f) - alpha sum_P w l(-f)), w = (1 / e) / sum_P (1 / e).

        The gradient is also that of the loss of e: mean over P and U of the logistic loss of P against U, plus balance
        |sum_(P and U) e - b_p|.
        """
        f_p, f_u = net(x_p), net(x_u)
        e_p, e_u = net(x_p, of="propensity"), net(x_u, of="propensity")
        loss = LOSSES[self.surrogate]
        inverse = 1 + (-e_p.detach()).exp()  # 1 / e
        weight = inverse / inverse.sum() if epoch >= self.warmup_epochs else 1 / max(len(x_p), 1)
        positive = alpha * (weight * loss(f_p)).sum()
        if len(x_u) == 0:
            return positive
        risk = corrected(positive, mean(loss(-f_u)) - alpha * (weight * loss(-f_p)).sum(), self.correction)
        of_e = (logistic(e_p).sum() + logistic(-e_u).sum()) / (len(x_p) + len(x_u))
        of_e = of_e + self.balance * (e_p.sigmoid().sum() + e_u.sigmoid().sum() - len(x_p)).abs()
        return risk + (of_e - of_e.detach())
