"""P3Mix (Li et al., 2022): unlabelled rows near the boundary are mixed with labelled positives near it.

A network of P against U puts its boundary too near to the positives. A mixture of a row of U that it is unsure about
with a positive near the boundary has a label that is more precise, and draws the boundary back. The variant with
corrected labels ("P3Mix-C") also takes rows of U that look positive for positives.
"""

from __future__ import annotations

import numpy as np
import torch
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import net_for
from puoc.methods.training.risks import mean
from puoc.registry import method


@method("p3mix")
@typed
class P3Mix(Deep):
    """Perceptron on vectors, small convolutional network on images; the score is the logit of p.

    The authors rank all rows of P once an epoch and take partners from the first ones; here they are the first of the
    batch. ``curve_`` is the cross-entropy of P and U to their labels, without mixtures.
    """

    kind = "pu"
    inputs = frozenset({"image", "vector"})
    needs_alpha = False

    mixup: PositiveFloat  # both parameters of the Beta distribution of the shares in which rows are mixed
    sure: float = Field(
        gt=0.5, le=1
    )  # p from which a row of U counts as positive; at most 1 - p, it counts as negative
    pool: float = Field(gt=0, le=1)  # share of P, those with p nearest to 1/2, whose rows are partners of unsure ones
    unlabelled: PositiveFloat  # weight of the mixtures of a row of U; those of a row of P have 1
    entropy: NonNegativeFloat  # weight of the entropy of the mixtures
    warmup_epochs: NonNegativeInt  # first epochs, with partners at random and without corrected labels

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return net_for(shape)

    def draws(self, x_p: Tensor, x_u: Tensor, gen: torch.Generator) -> Noise:
        """Draw the share of the first row, at least 1/2, a partner of each row, and places in the pool for U."""
        rng = np.random.default_rng(int(torch.randint(2**62, (), generator=gen)))
        share = rng.beta(self.mixup, self.mixup)
        n, in_pool = len(x_p) + len(x_u), self.size_of_pool(len(x_p))
        return {
            "share": torch.tensor(max(share, 1 - share), dtype=x_p.dtype),
            "partner": torch.randint(max(n, 1), (n,), generator=gen),
            "place": torch.randint(in_pool, (len(x_u),), generator=gen),
        }

    def size_of_pool(self, n_p: int) -> int:
        """Return the number of rows of P of a batch that are partners of unsure rows."""
        return max(round(self.pool * n_p), 1)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return the cross-entropy to the labels, with the gradient of L_p + unlabelled L_u + entropy H.

        L_p and L_u are mean cross-entropies of mixtures of a row of P, and of U, with its partner to the mixture of
        their labels, and H is the mean entropy of all mixtures.
        """
        f_p, f_u, n_p = net(x_p), net(x_u), len(x_p)
        of_u = torch.zeros_like(f_u)
        rows, partner = torch.cat([x_p, x_u]), noise["partner"]
        later = epoch >= self.warmup_epochs and n_p > 0 and len(x_u) > 0
        p_u = torch.sigmoid(f_u.detach())
        if later:
            of_u = (p_u >= self.sure).to(f_u)
        labels = torch.cat([torch.ones_like(f_p), of_u])
        value = mean(cross_entropy(torch.cat([f_p, f_u]), labels, reduction="none"))
        others, other_labels = rows[partner], labels[partner]
        if later:
            nearest = f_p.detach().abs().argsort()[: self.size_of_pool(n_p)]  # p is nearest to 1/2
            unsure = torch.cat([torch.zeros_like(f_p), ((p_u < self.sure) & (p_u > 1 - self.sure)).to(f_u)])
            positives = torch.cat([x_p, x_p[nearest[noise["place"]]]])
            at = unsure.view(-1, *[1] * (rows.dim() - 1))
            others = at * positives + (1 - at) * others
            other_labels = unsure + (1 - unsure) * other_labels
        share = noise["share"]
        mixed = net(share * rows + (1 - share) * others)
        each = cross_entropy(mixed, share * labels + (1 - share) * other_labels, reduction="none")
        of_mixtures = mean(each[:n_p]) + self.unlabelled * mean(each[n_p:])
        of_mixtures = of_mixtures + self.entropy * mean(cross_entropy(mixed, torch.sigmoid(mixed), reduction="none"))
        return value.detach() + (of_mixtures - of_mixtures.detach())
