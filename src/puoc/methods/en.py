"""EN (Elkan and Noto, 2008): a classifier g of P against U, calibrated by c = p(s=1 | y=1), its mean over positives.

The posterior of an unlabelled row is (1 - c) / c g / (1 - g). It rises with g, so that EN ranks as g does and c tells
only how many positives U holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import torch
from pydantic import Field

from puoc.methods.priors.crossfit import PvsU
from puoc.methods.training.deep import batch_sizes
from puoc.methods.training.estimator import Compute, PUSample, check_sample, typed
from puoc.records import Array
from puoc.registry import method

_TINY = 1e-12  # a network may call no positive labelled
SETTING = "single_training_set"  # that the risk assumes, see docs/glossary.md


@method("en")
@typed
class EN(PvsU):
    """Perceptron on vectors, small convolutional network on images; the score is the logit of g.

    The paper prints no values and no code of it is released; a released script gives lr 1e-3, lr_decay .99, 20 epochs.
    """

    estimates_alpha = True

    held_out: float = Field(gt=0, lt=1)  # share of P that g does not learn from, for c

    def check_counts(self, n_p: int, n_u: int) -> None:
        """See ``RowChecks``: one labelled positive is learned from and another is held out."""
        if n_p < 2:
            raise ValueError(f"{self.name} holds out labelled positives: got {n_p}, at least 2 expected")
        super().check_counts(n_p, n_u)

    def fit_lanes(self, samples: Sequence[PUSample], compute: Compute = Compute()) -> list[Self]:  # noqa: B008
        """Fit one copy per sample, then estimate c (their e1) and alpha.

        Raises
        ------
        ValueError : a single labelled positive, which cannot both be learned from and held out; as ``Deep.fit_lanes``.
        """
        parts = [self._parts(sample) for sample in samples]
        fitted = super().fit_lanes([kept for kept, _ in parts], compute)
        for one, (kept, held) in zip(fitted, parts, strict=True):
            one.alpha_hat_ = one._alpha(kept, held)
        return fitted

    def _parts(self, sample: PUSample) -> tuple[PUSample, Array]:
        """Return the sample to learn from and the labelled positives that are held out."""
        check_sample(self, sample)
        n_p = len(sample.X_p)
        if n_p < 2:
            raise ValueError(f"{self.name}: got {n_p} labelled positive, at least 2 expected: one is held out")
        n_held = min(max(round(self.held_out * n_p), 1), n_p - 1)
        order = np.random.default_rng(sample.seed).permutation(n_p)
        return sample._replace(X_p=sample.X_p[order[n_held:]]), sample.X_p[order[:n_held]]

    def _alpha(self, kept: PUSample, held: Array) -> float:
        logits = torch.from_numpy(self.decision_function(held)).double()
        c = max(float(torch.sigmoid(logits).mean()), _TINY)
        # c is a share of the positives in a batch: b_p labelled ones and alpha b_u others
        sizes = batch_sizes(len(kept.X_p), len(np.asarray(kept.X_u)), self.batch_size, self.batching)
        b_p, b_u = np.sum(sizes, axis=0)
        return float(min(b_p * (1 - c) / (c * b_u), 1))
