"""OC-CNN (Oza and Patel, 2018) and PU-CNN (Bagirov et al., section on OC-CNN): a perceptron on ImageNet's features.

Both use the features of a network trained on ImageNet, which is not trained further (encoder ``imagenet``): vectors
(n, d). The features of a row are standardised by their own mean and variance, as in OC-CNN's instance normalisation.
OC-CNN separates them from Gaussian noise, PU-CNN from the unlabelled rows by the non-negative risk. A score is a logit.

The paper's table hp2 has lr 1e-4, 10 epochs and batches of 256 and nothing else; hidden 4096, dropout .5, sigma .1 and
the logistic loss with a clamp are the released code's. That code also trains all layers and scores in training mode, on
another latent space: ``trainable: all``, ``scoring: train`` and ``latent: head``, each absent by default.
"""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
import torch
from pydantic import Field, PositiveFloat, PositiveInt, model_validator
from torch import Tensor, nn

from puoc.methods.training.cnn_nets import FromImages, Head, ReleasedHead, check_standardised, in_training_mode
from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.imagenet_trunks import WIDTHS, Network, Weights
from puoc.methods.training.lanes import Lane
from puoc.methods.training.risks import LOSSES, Correction, logistic, mean, non_negative
from puoc.records import Array
from puoc.registry import method

_AT_ONCE = 512  # rows scored in training mode, as released


class Begins:
    """A plain class, since the source of a network's weights is no hyperparameter."""

    pretrained = True  # False while a fitted model, which has its weights, is restored


@typed
class OnFeatures(Begins, Deep):
    """Base of both methods: the perceptron and its dropout. The rest is optional behaviour of the released code."""

    inputs = frozenset({"image", "vector"})  # images with ``trainable: all`` and then alone

    hidden: PositiveInt  # units
    dropout: float = Field(ge=0, lt=1)  # share of hidden units dropped in a step
    latent: Literal["head"] | None = None  # where OC-CNN's noise lies: behind two layers that learn (``ReleasedHead``)
    trainable: Literal["all"] | None = None  # the network that gives the features learns too: rows are images
    network: Network | None = None  # this and the next two: of ``trainable: all``
    weights: Weights | None = None
    pixels: PositiveInt | None = None  # side to which images are resized; absent: none is
    scoring: Literal["train"] | None = None  # dropout and statistics of the batch in scores, which then depend on both

    @model_validator(mode="after")
    def _what_is_trained(self) -> Self:
        of_all = ("network", "weights", "pixels")
        if self.trainable is None and any(getattr(self, name) is not None for name in of_all):
            raise ValueError(
                f"{', '.join(of_all)} are for trainable: all; leave them out, an encoder gives the features"
            )
        missing = [repr(name) for name in of_all[:2] if getattr(self, name) is None]
        if self.trainable == "all" and missing:
            raise ValueError(f"missing hyperparameter {', '.join(missing)}; trainable: all needs them")
        return self

    @property
    def takes(self) -> frozenset[str]:
        """Return the kind of rows that it takes with these hyperparameters."""
        return frozenset({"vector" if self.trainable is None else "image"})

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``.

        Raises
        ------
        ValueError : rows that are no vectors of 3 values or more, or with ``trainable: all`` no images of one or three
            channels.
        """
        if self.network is not None:
            if len(shape) != 3 or shape[0] not in (1, 3):
                raise ValueError(
                    f"{self.name} with trainable: all takes images of 1 or 3 channels, got rows of shape {shape}"
                )
            return FromImages(self._head(WIDTHS[self.network]), self.network, self._begins, self.pixels)
        if len(shape) != 1:
            raise ValueError(f"{self.name} takes vectors, got rows of shape {shape}; an encoder may help")
        if self.latent is None:
            check_standardised(self.name, shape[0])
        return self._head(shape[0])

    def sizes(self, n_p: int, n_u: int) -> list[tuple[int, int]]:
        """See ``Deep``. Raises ValueError if a batch of one row would be normalised by its own statistics."""
        found = super().sizes(n_p, n_u)
        if self.trainable == "all" and any(sum(of) < 2 for of in found):
            got = f"got 1 of {n_p} labelled positives by batch_size {self.batch_size}"
            raise ValueError(f"{self.name} with trainable: all: at least 2 rows a step expected, {got}")
        return found

    def _head(self, d: int) -> nn.Module:
        return Head(d, self.hidden) if self.latent is None else ReleasedHead(d, self.hidden)

    @property
    def _begins(self) -> str | None:
        return self.weights if self.pretrained else None

    def restore(self, state: dict[str, Array], shape: tuple[int, ...]) -> Self:
        """See ``FittedNet``; no file of weights is looked for."""
        self.pretrained = False
        try:
            return super().restore(state, shape)
        finally:
            del self.pretrained

    def latent_width(self, x: Tensor) -> int:
        """Return the number of values of a point in the latent space, for rows x."""
        if self.latent == "head":
            return self.hidden
        return x.shape[1] if self.network is None else WIDTHS[self.network]

    def mask(self, b: int, like: Tensor, gen: torch.Generator) -> Tensor:
        """Draw a dropout mask (b, hidden); kept units are scaled by 1 / (1 - dropout)."""
        kept = torch.rand(b, self.hidden, generator=gen) >= self.dropout
        return kept.to(like.dtype) / (1 - self.dropout)

    def decision_function(self, X: Array) -> Array:
        """Return logits (n,) in the precision of the fit.

        With ``scoring: train`` rows are scored in batches of 512, in the order given, with dropout from the same seed
        in each call. So the score of a row depends on its place and on the other rows. The released code orders test
        rows by their class, which is unknown here.

        Raises
        ------
        ValueError : a single row, which has no statistics of its own.
        """
        if self.scoring is None or len(X) == 0:
            return super().decision_function(X)
        if len(X) == 1 and self.trainable == "all":
            raise ValueError(
                f"{self.name} with scoring: train normalises rows by each other, at least 2 expected, got 1"
            )
        gen, like = torch.Generator().manual_seed(0), next(self.net_.parameters())
        scores = []
        for rows in np.split(X, range(_AT_ONCE, len(X) - 1, _AT_ONCE)):  # no row is left over alone
            x = torch.tensor(rows).to(like)
            with torch.no_grad():
                scores.append(in_training_mode(self.net_, x, self.mask(len(x), x, gen).to(like)).cpu().numpy())
        found: Array = np.concatenate(scores)
        return found


SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("oc_cnn")
@typed
class OCCNN(OnFeatures):
    """Labelled positives against as many points N(0, sigma^2 I) in the latent space."""

    kind = "oc"

    sigma: PositiveFloat

    def draws(self, x_p: Tensor, x_u: Tensor, gen: torch.Generator) -> Noise:
        """Draw the pseudo-negatives, and the dropout masks of both."""
        points = torch.randn(len(x_p), self.latent_width(x_p), generator=gen, dtype=x_p.dtype)
        return {"points": self.sigma * points, "kept": self.mask(2 * len(x_p), x_p, gen)}

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return the cross-entropy of positives against 1 and of noise against 0."""
        b, points, kept = len(x_p), noise["points"], noise["kept"]
        of_p = logistic(net(x_p, kept[:b]))
        of_points = logistic(-net(points, kept[b:], part="head"))
        return (mean(of_p) + mean(of_points)) / 2


@method("pu_cnn")
@typed
class PUCNN(OnFeatures):
    """Unlabelled rows instead of noise; it needs the class prior."""

    kind = "pu_oc"
    twin = "oc_cnn"

    surrogate: Literal["logistic", "sigmoid"]  # the paper's text names the sigmoid, its code takes the logistic one
    correction: Correction

    def draws(self, x_p: Tensor, x_u: Tensor, gen: torch.Generator) -> Noise:
        """Draw the dropout masks."""
        return {"kept": self.mask(len(x_p) + len(x_u), x_p, gen)}

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return R_nn = alpha R_p_pos + max(0, R_u_neg - alpha R_p_neg), Kiryo et al. (2017)."""
        b, kept = len(x_p), noise["kept"]
        if self.trainable == "all":  # together, so that the same batch statistics normalise both
            f = net(torch.cat([x_p, x_u]), kept)
            f_p, f_u = f[:b], f[b:]
        else:
            f_p, f_u = net(x_p, kept[:b]), net(x_u, kept[b:])
        return non_negative(LOSSES[self.surrogate], f_p, f_u, alpha, self.correction)
