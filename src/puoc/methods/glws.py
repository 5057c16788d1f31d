"""GLWS (Chen et al., 2024): rows of U learn their expected labels, given how many of a batch are positive.

The framework is for weak labels of many kinds; for P and U the weak label of a batch is its number of positives,
alpha b_u. If rows have independent labels of probability p_i, the expected label of row i is
q_i = p(y_i = 1 | K = m) with the number K of positives. The authors find it by a recursion in both directions, and
train by the cross-entropy to q (a step of the EM algorithm), of which the gradient by the logit of row i is p_i - q_i.
The gradient of -log P(K = m) is the same, so the recursion of ``count_loss`` in one direction is enough.
"""

from __future__ import annotations

from pydantic import PositiveFloat
from torch import Tensor, nn

from puoc.methods.count_loss import log_count_distribution
from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import net_for
from puoc.methods.training.risks import logistic, mean
from puoc.registry import method

_ROUNDING = 1e-4  # .3 times 10 may be a little below 3
SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("glws")
@typed
class GLWS(Deep):
    """Perceptron on vectors, small convolutional network on images; the score is the logit of p = p(y=1 | x).

    The authors find q by rows as they are and train on stronger augmentations of the same images; here both are the
    rows as they are. ``count_loss`` differs in that the number of positives is binomial there.
    """

    kind = "pu"
    inputs = frozenset({"image", "vector"})

    lam: PositiveFloat  # weight of U; the authors: 1

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return net_for(shape)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return the mean -log p over P plus lam / b_u times -log P(K = m), m = alpha b_u rounded down."""
        positive = mean(logistic(net(x_p)))
        if len(x_u) == 0:
            return positive
        m = (alpha * len(x_u) + _ROUNDING).floor().long()
        log_likelihood = log_count_distribution(net(x_u)).gather(0, m.view(1)).squeeze(0)
        return positive - self.lam * log_likelihood / len(x_u)
