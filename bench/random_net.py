"""An untrained network as a scorer (Bagirov et al., figure on randomly initialised networks). Not a method to compare.

Its scores depend on the rows alone, so a test of its scores of P and U needs no rows that are withheld from training.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from puoc.methods.training.deep import FittedNet
from puoc.methods.training.estimator import Compute, LaneLoop, PUSample
from puoc.methods.training.lanes import pixels_together
from puoc.methods.training.nets import net_for


class RandomNet(FittedNet, LaneLoop):
    """The perceptron on vectors or the small convolutional network on images, initialised by the seed.

    Methods with that network start from the same weights at the same seed. The fit uses only the seed and the shape and
    precision of the rows. Some seeds (2 of 100 on CIFAR-10) give a network of dead units, whose scores are all equal.
    """

    name = "random_net"
    kind = "oc"
    inputs = frozenset({"image", "vector"})

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``FittedNet``."""
        return net_for(shape)

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """See ``LaneLoop``."""
        dtype = torch.float64 if sample.X_p.dtype == np.float64 else torch.float32
        net = self._seeded_net(sample.X_p.shape[1:], torch.Generator().manual_seed(sample.seed))
        self.net_ = pixels_together(net.to(compute.device, dtype)).eval()
