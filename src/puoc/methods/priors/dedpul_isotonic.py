"""DEDPUL's class prior with a ratio of densities that is made monotone by isotonic regression.

``dedpul_alpha`` keeps each peak of the estimated ratio, by a running maximum, and moves it to the likeliest rows, by a
sort. Where negatives are rare, the ratio is almost constant, so its peaks are noise, and alpha comes out too small.
Isotonic regression (Barlow et al., 1972) replaces a fall by the mean of the values that it spans, which averages the
noise. DEDPUL's authors use a rule of their own for this, the "monotonizing trends".
"""

from __future__ import annotations

import numpy as np

from puoc.methods.priors.dedpul import (
    _LARGEST_LOGIT,
    _LARGEST_RATIO,
    DedpulPrior,
    Mixture,
    density,
    fixed_point,
    posteriors,
    running_median,
)
from puoc.methods.training.estimator import typed
from puoc.records import Array
from puoc.registry import prior


@prior("dedpul_isotonic")
@typed
class DedpulIsotonic(DedpulPrior):
    """As ``dedpul_alpha``, with an isotonic ratio."""

    def decompose(self, f_p: Array, f_u: Array) -> Mixture:
        """See ``Densities``."""
        ascending, ratio = isotonic_ratio(f_p, f_u, self.bandwidth_p, self.bandwidth_u)
        alpha = fixed_point(ratio)
        return Mixture(alpha, 1 - alpha, ascending, posteriors(ratio, alpha))


def isotonic_ratio(f_p: Array, f_u: Array, bandwidth_p: float, bandwidth_u: float) -> tuple[Array, Array]:
    """Return the logits (n_u,) of U, ascending, and p_p / p_u there, not descending.

    As ``density_ratio``, with isotonic regression in place of the running maximum and of the sort. The first steps are
    repeated here, because the ids of published fits depend on the code of that function.
    """
    from sklearn.isotonic import isotonic_regression

    p, u = (np.clip(np.sort(f.astype(np.float64)), -_LARGEST_LOGIT, _LARGEST_LOGIT) for f in (f_p, f_u))
    ratio = np.minimum(density(p, u, bandwidth_p) / density(u, u, bandwidth_u), _LARGEST_RATIO)
    smooth = running_median(running_median(ratio, 5), len(u) // 20)
    return u, np.asarray(isotonic_regression(smooth))
