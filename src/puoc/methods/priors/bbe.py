"""Best Bin Estimation (Garg et al., 2021): the class prior by the rows that a classifier of P against U ranks highest.

If hardly any negative is above a threshold, the share of U above it is alpha times that of P. The threshold is the one
with the smallest upper confidence bound on this quotient: negatives above a lower one raise the quotient, the rows
above a higher one are too few.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field, NonNegativeFloat

from puoc.methods.priors.crossfit import CrossFit
from puoc.methods.training.estimator import Compute, PriorEstimator, PUSample, typed
from puoc.records import Array
from puoc.registry import prior


@prior("bbe")
@typed
class BBE(CrossFit, PriorEstimator):
    """Perceptron on vectors, small convolutional network on images, trained on the CPU."""

    inputs = frozenset({"image", "vector"})
    libraries = ("torch._dynamo",)

    folds: int = Field(ge=2)  # of rows that a classifier was fitted on too few are as low as others
    delta: float = Field(gt=0, lt=1)  # chance of a wrong bound
    gamma: NonNegativeFloat  # widens the bounds by 1 + gamma

    def estimate(self, sample: PUSample) -> float:
        """See ``PriorEstimator``."""
        ((_, f_p, f_u),) = self.cross_fit([sample], Compute())
        return self.best_bin(f_p, f_u)

    def best_bin(self, f_p: Array, f_u: Array) -> float:
        """Apply algorithm 1 of the paper to out-of-fold scores (n_p,) of P and (n_u,) of U; at most 1.

        Two Dvoretzky-Kiefer-Wolfowitz bands, of a half-width sqrt(log(4 / delta) / (2 n)) each, make the bound.
        """
        thresholds = np.unique(f_p)  # lower ones, down to the next, have the share of P and no smaller a share of U
        above_p, above_u = (_share_from(f, thresholds) for f in (f_p, f_u))
        bands = sum(np.sqrt(np.log(4 / self.delta) / (2 * len(f))) for f in (f_p, f_u))
        best = np.argmin((above_u + (1 + self.gamma) * bands) / above_p)
        return float(min(above_u[best] / above_p[best], 1))


def _share_from(f: Array, thresholds: Array) -> Array:
    """Return the share of scores at or above each threshold."""
    return 1 - np.searchsorted(np.sort(f), thresholds, side="left") / len(f)
