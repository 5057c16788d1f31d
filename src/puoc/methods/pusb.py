"""PUSB (Kato, Teshima and Honda, 2019): PU learning if likelier positives are likelier to be labelled.

The labelled positives are then no random sample. If the chance of a label rises with p(y=1 | x), the minimiser of the
PU risk still rises with p(y=1 | x), so its order is right and only its threshold is wrong. The threshold is set such
that the share alpha of U is above it.
"""

from __future__ import annotations

from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from puoc.methods.nnpu import NNPU
from puoc.methods.training.estimator import PUSample, typed
from puoc.methods.training.nets import net_for
from puoc.registry import method

SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


class Shifted(nn.Module):
    """A network minus an offset, which is no parameter."""

    offset: Tensor

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net
        self.register_buffer("offset", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        """Return shifted logits (b,) of rows."""
        shifted: Tensor = self.net(x) - self.offset
        return shifted


@method("pusb")
@typed
class PUSB(NNPU):
    """The network and the risk of nnPU; the score is the logit minus its quantile 1 - alpha over U.

    Its order is nnPU's, and so is the AUC. A row is called positive where its score is above 0.
    """

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return Shifted(net_for(shape))

    def _fitted(self, sample: PUSample, net: nn.Module, curve: list[float], lane_map: str) -> Self:
        one = super()._fitted(sample, net, curve, lane_map)
        if sample.X_u is not None and sample.alpha is not None:
            of_u = one.decision_function(sample.X_u)
            with torch.no_grad():
                net.get_buffer("offset").fill_(float(np.quantile(of_u, 1 - sample.alpha)))
        return one
