"""Count loss (Shukla et al., 2023): the number of positives among the rows of U in a batch is binomial with alpha.

With independent labels of probability p_i the number K of positives has a Poisson binomial distribution, which a
recursion over the rows gives exactly: P_i(k) = (1 - p_i) P_(i-1)(k) + p_i P_(i-1)(k - 1).
"""

from __future__ import annotations

import torch
from pydantic import PositiveFloat
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import net_for
from puoc.methods.training.risks import logistic, mean
from puoc.registry import method

_IMPOSSIBLE = -1e30  # log of the probability 0; minus infinity would have no gradient
SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("count_loss")
@typed
class CountLoss(Deep):
    """Perceptron on vectors, small convolutional network on images; the score is the logit of p = p(y=1 | x).

    The time of a step grows with the square of the rows of U in it.
    """

    kind = "pu"
    inputs = frozenset({"image", "vector"})

    lam: PositiveFloat  # weight of the count

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return net_for(shape)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return the mean -log p over P plus lam KL(binomial(b_u, alpha) || distribution of the count in U)."""
        positive = mean(logistic(net(x_p)))
        if len(x_u) == 0:
            return positive
        log_count = log_count_distribution(net(x_u))
        log_binomial = _log_binomial(len(x_u), alpha)
        return positive + self.lam * (log_binomial.exp() * (log_binomial - log_count)).sum()


def log_count_distribution(logits: Tensor) -> Tensor:
    """Return log P(K = k), k = 0..b, of the number of positives among rows with these logits (b,)."""
    log_p, log_q = logsigmoid(logits), logsigmoid(-logits)
    none = torch.full_like(log_p[:1], _IMPOSSIBLE)
    log_count = torch.zeros_like(none)
    for i in range(len(logits)):
        one_more, no_more = torch.cat([none, log_count + log_p[i]]), torch.cat([log_count + log_q[i], none])
        log_count = torch.logaddexp(no_more, one_more)
    return log_count


def _log_binomial(n: int, alpha: Tensor) -> Tensor:
    k = torch.arange(n + 1, dtype=alpha.dtype, device=alpha.device)
    ways = torch.lgamma(k.new_tensor(n + 1.0)) - torch.lgamma(k + 1) - torch.lgamma(n - k + 1)
    return ways + k * alpha.log() + (n - k) * torch.log1p(-alpha)
