"""HRN (Hu et al., 2020): logits of labelled positives are raised against a penalty on their slope at the rows.

In Bagirov et al. a baseline among the one-class methods (appendix, table of OC methods). Their released code departs
from that of HRN's authors in four places; each is a switch here.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field, NonNegativeFloat, PositiveFloat
from torch import Tensor, nn
from torch.func import grad

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import Shape, net_for
from puoc.methods.training.risks import mean
from puoc.registry import method

Normalisation = Literal["row", "batch"]
Part = Literal["all", "rows", "net"]

_TINY = 1e-12  # norm of a row, or of a pixel over the batch, that is 0 throughout


class Branches(nn.Module):
    """The network by which HRN's authors learn CIFAR-10: a layer of 300 units for each channel, two for all of them.

    No layer has a bias; all weights begin in U(-.001, .001).
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        channels, height, width = shape
        self.branches = nn.ModuleList(nn.Linear(height * width, 300, bias=False) for _ in range(channels))
        self.head = nn.Sequential(
            nn.LeakyReLU(0.01),
            *(nn.Linear(300 * channels, 300, bias=False), nn.LeakyReLU(0.01)),
            *(nn.Linear(300, 1, bias=False), nn.Flatten(0)),
        )
        _uniform(self, 1e-3)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (b,) of images (b, channels, height, width)."""
        per_channel = [branch(x[:, i].flatten(1)) for i, branch in enumerate(self.branches)]
        logits: Tensor = self.head(torch.cat(per_channel, dim=1))
        return logits


def one_branch(d: int) -> nn.Sequential:
    """Build the network of HRN's authors for MNIST, for vectors of length ``d``: 100 units, no bias."""
    layers = nn.Linear(d, 100, bias=False), nn.LeakyReLU(0.01), nn.Linear(100, 1, bias=False), nn.Flatten(0)
    net = nn.Sequential(*layers)
    _uniform(net, 2000**-0.5)
    return net


def _uniform(net: nn.Module, bound: float) -> None:
    for weight in net.parameters():
        nn.init.uniform_(weight, -bound, bound)


class Normalised(nn.Module):
    """A network behind the normalisation of its rows, so that it scores raw ones.

    ``row``: each row is divided by its Euclidean norm and centred at ``centre``. ``batch``, as in the released code:
    in training each value is divided by its norm over the batch, at test nothing is.
    """

    def __init__(self, net: nn.Module, how: Normalisation, centre: float) -> None:
        super().__init__()
        self.net, self.how, self.centre = net, how, centre

    def forward(self, x: Tensor, part: Part = "all") -> Tensor:
        """Return logits (b,) of raw rows, normalised rows of raw rows, or logits of normalised rows."""
        if part != "net":
            x = self._normalise(x)
        out: Tensor = x if part == "rows" else self.net(x)
        return out

    def _normalise(self, x: Tensor) -> Tensor:
        if self.how == "batch":
            return x / torch.linalg.vector_norm(x, dim=0).clamp(min=_TINY) if self.training else x
        values = tuple(range(1, x.ndim))
        x = x / torch.linalg.vector_norm(x, dim=values, keepdim=True).clamp(min=_TINY)
        return x - x.mean(dim=values, keepdim=True) + self.centre


@method("hrn")
@typed
class HRN(Deep):
    """Networks of HRN's authors, or the paper's: the small convolutional one on images, the perceptron on vectors.

    The authors' have no bias, so the only constant they can become is 0; the paper's may call every row positive alike.
    The score is a logit. The paper prints no values. HRN's authors on CIFAR-10: lam .1, power 12, floor .01, SGD of lr
    .1 and momentum .9, 50 epochs, batches of 100; released: lam .5, floor 1e-8, Adam.
    """

    kind = "oc"
    inputs = frozenset({"image", "vector"})

    lam: NonNegativeFloat  # weight of the penalty
    power: float = Field(ge=2)  # of the slope
    floor: PositiveFloat  # added to the probability, whose logarithm is the loss
    momentum: float = Field(ge=0, lt=1)  # of SGD; Adam does not look at it
    net: Literal["branches", "net"]  # released: net
    normalise: Normalisation  # released: batch
    slope_of: Literal["logit", "sigmoid"]  # released: sigmoid
    optim: Literal["sgd", "adam"]  # released: adam

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``.

        Raises
        ------
        ValueError : rows of a single value, of which centring leaves nothing; else as ``net_for``.
        """
        if self.normalise == "row" and shape == (1,):
            raise ValueError("hrn centres each row: vectors of at least 2 values expected, got 1")
        if self.net == "net" or len(shape) not in (1, 3):
            net = net_for(shape)
        else:
            net = Branches(shape) if len(shape) == 3 else one_branch(shape[0])
        return Normalised(net, self.normalise, 0.006 if len(shape) == 3 else 0.0)

    def optimizer(self, params: list[Tensor]) -> torch.optim.Optimizer:
        """See ``Deep``."""
        if self.optim == "adam":
            return super().optimizer(params)
        return torch.optim.SGD(params, lr=self.lr, momentum=self.momentum)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return -mean log(p + floor) + lam mean ||slope||^power, p the sigmoid of the logit.

        The slope is taken at the normalised rows. Its norm is over the channels of each pixel, (b, height, width), of a
        vector over all of it, (b,), as in the code of HRN's authors.
        """
        rows = net(x_p, part="rows")
        p = net(rows, part="net").sigmoid()

        def total(rows: Tensor) -> Tensor:
            logits = net(rows, part="net")
            return (logits if self.slope_of == "logit" else logits.sigmoid()).sum()

        # no row's output depends on another row, so the gradient of the sum is that of each
        squared = grad(total)(rows).square().sum(dim=1)
        return -mean((p + self.floor).log()) + self.lam * mean(squared.pow(self.power / 2))
