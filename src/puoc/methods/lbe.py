"""LBE (Gong et al., 2021): a second network for the chance that a positive row is labelled, by the EM algorithm.

A positive row x is labelled with the chance eta(x), and a negative one never: p(s=1 | x) = h(x) eta(x) with
h(x) = p(y=1 | x). The expected label of an unlabelled row is h (1 - eta) / (1 - h eta).
"""

from __future__ import annotations

import torch
from pydantic import Field, NonNegativeInt
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.nn.functional import logsigmoid

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.propensity import WithPropensity
from puoc.methods.training.risks import logistic
from puoc.registry import method

SETTING = "single_training_set"  # that the likelihood assumes, see docs/glossary.md


@method("lbe")
@typed
class LBE(Deep):
    """Two perceptrons on vectors, two small convolutional networks on images; the score is the logit of h.

    Both networks start as classifiers of P against U, in which both samples have the same weight. The likelihood is
    the same if h and eta change places, so this start and ``kept``, which only concerns h, tell them apart. The authors
    fix the expected labels for several steps; here each step has its own. ``curve_`` is -mean log p(s | x) throughout.
    """

    kind = "pu"
    inputs = frozenset({"image", "vector"})
    needs_alpha = False

    warmup_epochs: NonNegativeInt  # first epochs, of P against U
    kept: float = Field(gt=0, le=1)  # share of the rows, those of least loss, that teach h in a step; the authors: .8

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        return WithPropensity(shape)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return -mean log p(s | x), with the gradient of the step of this epoch.

        In an M step, h is fitted to the expected labels y (1 in P) by their cross-entropy, and eta to s by the
        logistic loss with the weights y.
        """
        rows = torch.cat([x_p, x_u])
        h, eta = net(rows), net(rows, of="propensity")
        n_p, n = len(x_p), len(rows)
        log_u = log_unlabelled(h[n_p:], eta[n_p:])
        value = (logistic(h[:n_p]).sum() + logistic(eta[:n_p]).sum() - log_u.sum()).detach() / n
        if epoch < self.warmup_epochs:
            followed = (_apart(h, n_p) + _apart(eta, n_p)) / n
        else:
            y = torch.cat([torch.ones_like(h[:n_p]), expected_label(h[n_p:], eta[n_p:])]).detach()
            of_h = cross_entropy(h, y, reduction="none")
            n_kept = max(int(self.kept * n), 1)
            kept = (of_h.detach().argsort().argsort() < n_kept).to(of_h)  # a weight, since lanes keep different rows
            of_eta = y * torch.cat([logistic(eta[:n_p]), logistic(-eta[n_p:])])
            followed = (kept * of_h).sum() / n_kept + of_eta.sum() / n
        return value + (followed - followed.detach())


def log_unlabelled(h: Tensor, eta: Tensor) -> Tensor:
    """Return log(1 - h eta) of the probabilities with these logits, as log(1 - h + h (1 - eta))."""
    return torch.logaddexp(logsigmoid(-h), logsigmoid(h) + logsigmoid(-eta))


def expected_label(h: Tensor, eta: Tensor) -> Tensor:
    """Return h (1 - eta) / (1 - h eta), p(y=1 | x, s=0), of the probabilities with these logits."""
    return (logsigmoid(h) + logsigmoid(-eta) - log_unlabelled(h, eta)).exp()


def _apart(logits: Tensor, n_p: int) -> Tensor:
    """Return the logistic loss of P against U, summed, with weights by which both samples weigh the same.

    A row of P has the weight n_u / n and one of U the weight n_p / n.
    """
    n, n_u = len(logits), len(logits) - n_p
    return (n_u * logistic(logits[:n_p]).sum() + n_p * logistic(-logits[n_p:]).sum()) / n
