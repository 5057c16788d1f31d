"""PAN (Hu et al., 2021): a discriminator D of P against U and a classifier C that is to agree with D on U.

In Bagirov et al. one of the two PU methods of the main tables (section on PAN). There is no class prior.
"""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Literal

from pydantic import PositiveFloat
from torch import Tensor, nn

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import Shape, net_for
from puoc.methods.training.risks import logistic
from puoc.registry import method

Player = Literal["C", "D"]

# Nothing else keeps C's objective from falling without end, or D from following it. Where the released code stops it by
# log(C + 1e-8).
_MOST = -math.log(1e-8)


class Pair(nn.Module):
    """Both networks; a call without a name uses the one that scores."""

    def __init__(self, shape: Shape, scores: Player) -> None:
        super().__init__()
        self.D, self.scores = net_for(shape), scores
        # 2 of 100 initialisations of Net are constant on CIFAR-10 images: two that differ fail twice as often
        self.C = deepcopy(self.D)

    def forward(self, x: Tensor, of: Player | None = None) -> Tensor:
        """Return logits (b,) of one of the two."""
        logits: Tensor = (self.C if (of or self.scores) == "C" else self.D)(x)
        return logits


@method("pan")
@typed
class PAN(Deep):
    """Two perceptrons on vectors, two small convolutional networks on images; the score is a logit.

    C learns to call positive what D gives more than 1/2. Where P is outnumbered in the batch D seldom does, and C's
    logit falls everywhere until it ranks by chance or worse: ``score: C`` needs ``batching: equal``. Published
    (table hp_pu): lam .001, lr 1e-3, lr_decay .99, 20 epochs; batches of 512 of the union are the released code's.
    """

    kind = "pu"
    inputs = frozenset({"image", "vector"})
    needs_alpha = False

    lam: PositiveFloat  # weight of the term over which C and D play
    score: Player  # the released code scores with D

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return Pair(shape, self.score)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return a loss with the gradient of -(T1 + lam T2) for D and of lam T2 for C, and the value -T1.

        T1 = sum_P log D + sum_U log(1 - D) and T2 = sum_U (2 D - 1) (log(1 - C) - log C), both per row of the batch. In
        logits d and c: 2 D - 1 = tanh(d / 2), log(1 - C) - log C = -c.
        """
        d_p, d_u, c_u = net(x_p, of="D"), net(x_u, of="D"), net(x_u, of="C")
        rows = len(d_p) + len(d_u)
        of_d = (logistic(d_p).sum() + logistic(-d_u).sum()) / rows  # -T1
        signs, agreed = (d_u / 2).tanh(), c_u.clamp(-_MOST, _MOST)
        game = (signs * agreed.detach() - signs.detach() * agreed).sum() / rows  # -T2 of D and T2 of C
        return of_d + self.lam * game
