"""Naive PU learning: labelled positives against unlabelled rows as if these were negative.

Given the true negatives in place of U and all positives, the same classifier is the supervised (PN) reference.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import net_for
from puoc.methods.training.risks import logistic, mean
from puoc.registry import method


@method("naive")
@typed
class Naive(Deep):
    """Perceptron on vectors, small convolutional network on images; no class prior; the score is a logit.

    No method of the paper; its values in the profiles are nnPU's.
    """

    kind = "pu"
    inputs = frozenset({"image", "vector"})
    needs_alpha = False

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return net_for(shape)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return the mean logistic loss over the rows of the batch, y = 1 on P and y = -1 on U."""
        return mean(torch.cat([logistic(net(x_p)), logistic(-net(x_u))]))
