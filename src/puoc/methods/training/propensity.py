"""Two networks: one for the class of a row, and one for its propensity, the chance that it is labelled if positive."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from puoc.methods.training.nets import Shape, net_for

Part = Literal["label", "propensity"]


class WithPropensity(nn.Module):
    """Both networks, of equal architecture; a call without a name uses the one that scores."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.label, self.propensity = net_for(shape), net_for(shape)

    def forward(self, x: Tensor, of: Part = "label") -> Tensor:
        """Return logits (b,) of one of the two."""
        logits: Tensor = (self.label if of == "label" else self.propensity)(x)
        return logits
