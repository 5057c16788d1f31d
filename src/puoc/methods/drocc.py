"""DROCC (Goyal et al., 2020) and PU-DROCC (Bagirov et al., section on DROCC): positives against points near the data.

Pseudo-negatives are found by gradient ascent on the network's own logit, in a shell around each row and, as Bagirov et
al. change DROCC, in the space of its middle layer. DROCC searches around labelled positives, PU-DROCC around unlabelled
rows, so that without latent negatives the two are one algorithm.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt
from torch import Tensor, nn
from torch.func import grad

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import halves_for, middle
from puoc.methods.training.risks import logistic, mean
from puoc.registry import method

_PROJECTED_EVERY = 10  # steps of the ascent
_TINY = 1e-12  # deviation 10: a gradient is 0 where all units are dead

SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@typed
class ShellSearch(Deep):
    """Perceptron on vectors; on images the LeNet of DROCC's authors or the paper's small convolutional network.

    The score is a logit. Published (table hp4, by positive class; one column for PU-DROCC): lam, radius, gamma,
    ascent_step, ascent_steps, lr, lr_decay, epochs and batch_size. The released code has warmup_epochs 6 (an
    older class of PU-DROCC 2) and ``space: feature``; the paper does not name the network.
    """

    inputs = frozenset({"image", "vector"})

    lam: PositiveFloat  # weight of the adversarial loss
    radius: PositiveFloat  # pseudo-negatives lie at radius .. gamma radius from the row they start at
    gamma: float = Field(ge=1)
    ascent_step: PositiveFloat  # length of a step; the search begins at a distance of about sqrt(number of values)
    ascent_steps: PositiveInt
    warmup_epochs: NonNegativeInt  # first epochs without the adversarial loss (deviation 12)
    net: Literal["lenet", "net"]  # for images (deviation 9)
    space: Literal["feature", "input"]  # in which the search takes place
    #: sigmoid, as released: what the losses and the search take for a logit, and the score, is its sigmoid
    output: Literal["sigmoid"] | None = None

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        net = halves_for(shape, self.net)
        if self.output == "sigmoid":
            net.head.append(nn.Sigmoid())
        return net

    def draws(self, x_p: Tensor, x_u: Tensor, gen: torch.Generator) -> Noise:
        """Draw the start of the search: N(0, I), a point for each anchor."""
        rows = self.anchors(x_p, x_u)
        shape = rows.shape[1:] if self.space == "input" else middle(tuple(rows.shape[1:]), self.net)
        return {"start": torch.randn(len(rows), *shape, generator=gen, dtype=rows.dtype)}

    @abstractmethod
    def anchors(self, of_p: Tensor, of_u: Tensor) -> Tensor:
        """Return the rows, or their features, to search around."""

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return the cross-entropy of P against 1 + lam cross-entropy of the pseudo-negatives against 0.

        In feature space the first part learns from the first term alone, since the points have no gradient to it.
        """
        # P and U are passed together, so that the same batch statistics normalise both
        b_p, x, in_input = len(x_p), torch.cat([x_p, x_u]), self.space == "input"
        z = net(x, part="features")
        of_p = mean(logistic(net(z, part="head")[:b_p]))
        searched = x if in_input else z
        anchors = self.anchors(searched[:b_p], searched[b_p:])
        if epoch < self.warmup_epochs or len(anchors) == 0:
            return of_p
        score = partial(net, part="all" if in_input else "head", track=False)  # deviation 11
        points = self.search(score, anchors, noise["start"])
        return of_p + self.lam * mean(logistic(-score(points)))

    def search(self, score: Callable[[Tensor], Tensor], anchors: Tensor, noise: Tensor) -> Tensor:
        """Search points (b, *shape) with higher ``score`` (logits) than the noise around the anchors.

        A step has a fixed length along the gradient of the cross-entropy against 0. Every tenth step and the last end
        on the shell.
        """
        cross_entropy = grad(lambda points: logistic(-score(points)).sum())
        anchors = anchors.detach()
        with torch.no_grad():
            points = anchors + noise
            for step in range(1, self.ascent_steps + 1):
                slope = cross_entropy(points)
                points = points + self.ascent_step * slope / _norms(slope)
                if step % _PROJECTED_EVERY == 0 or step == self.ascent_steps:
                    points = anchors + self._onto_shell(points - anchors)
        return points

    def _onto_shell(self, offset: Tensor) -> Tensor:
        norms = _norms(offset)
        return offset / norms * norms.clamp(self.radius, self.gamma * self.radius)


@method("drocc")
@typed
class DROCC(ShellSearch):
    """Searches around the labelled positives."""

    kind = "oc"

    def anchors(self, of_p: Tensor, of_u: Tensor) -> Tensor:
        """See ``ShellSearch``."""
        return of_p


@method("pu_drocc")
@typed
class PUDROCC(ShellSearch):
    """Searches around the unlabelled rows; it needs no class prior."""

    kind = "pu_oc"
    twin = "drocc"
    needs_alpha = False

    def anchors(self, of_p: Tensor, of_u: Tensor) -> Tensor:
        """See ``ShellSearch``."""
        return of_u


def _norms(x: Tensor) -> Tensor:
    """Return the Euclidean norm of each row, (b, 1, ..., 1), at least 1e-12."""
    norms: Tensor = torch.linalg.vector_norm(x.flatten(1), dim=1).clamp(min=_TINY)
    return norms.view(-1, *[1] * (x.ndim - 1))
