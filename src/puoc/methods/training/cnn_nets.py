"""Networks of OC-CNN and PU-CNN, with a latent space in which OC-CNN draws its noise.

Part ``latent`` maps rows to the latent space, ``head`` maps its points to logits (b,), and ``all`` maps rows to logits.
Dropout is passed as a mask (b, hidden), already scaled by 1 / (1 - p).
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn
from torch.func import functional_call

from puoc.methods.training.imagenet_trunks import Network, seen, trunk

Part = Literal["all", "latent", "head"]


class Head(nn.Module):
    """Perceptron of one hidden layer, with dropout there; the latent space is that of standardised features (b, d)."""

    def __init__(self, d: int, hidden: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(d, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x: Tensor, kept: Tensor | None = None, part: Part = "all") -> Tensor:
        """See the module."""
        if part != "head":
            x = standardised(x)
        if part == "latent":
            return x
        h = self.hidden(x).relu()
        logits: Tensor = self.out(h if kept is None else h * kept)
        return logits.squeeze(1)


class ReleasedHead(nn.Module):
    """Head of the released code: two linear layers with dropout between them; the latent space is their output."""

    def __init__(self, d: int, hidden: int) -> None:
        super().__init__()
        self.first = nn.Linear(d, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x: Tensor, kept: Tensor | None = None, part: Part = "all") -> Tensor:
        """See the module."""
        if part != "head":
            h = self.first(x).relu()
            x = standardised(self.second(h if kept is None else h * kept))
        if part == "latent":
            return x
        logits: Tensor = self.out(x.relu())
        return logits.squeeze(1)


class FromImages(nn.Module):
    """A head on a network with weights of ImageNet that is trained further; rows are images."""

    def __init__(self, head: nn.Module, network: Network, weights: str | None, pixels: int | None) -> None:
        super().__init__()
        self.head, self.trunk, self.pixels = head, trunk(network, weights), pixels

    def forward(self, x: Tensor, kept: Tensor | None = None, part: Part = "all") -> Tensor:
        """See the module. Training normalises a batch by its own statistics, evaluation by the running ones."""
        if part != "head":
            x = self.trunk(seen(x, self.pixels)).mean((2, 3))
        out: Tensor = self.head(x, kept, part)
        return out


def standardised(x: Tensor) -> Tensor:
    """Standardise each row of (b, d) to mean 0 and variance 1 over its own values."""
    centred = x - x.mean(1, keepdim=True)
    return centred / (centred.square().mean(1, keepdim=True) + 1e-5).sqrt()


def check_standardised(name: str, d: int) -> None:
    """Raise ValueError for rows of fewer than 3 values, of which standardising leaves at most a sign."""
    if d < 3:
        raise ValueError(
            f"{name} standardises each row by its own values: vectors of at least 3 values expected, got {d}"
        )


def in_training_mode(net: nn.Module, x: Tensor, kept: Tensor) -> Tensor:
    """Return logits with this dropout and the batch's own statistics; the running statistics are kept."""
    net.train()
    try:
        out: Tensor = functional_call(net, {name: value.clone() for name, value in net.named_buffers()}, (x, kept))
    finally:
        net.eval()
    return out
