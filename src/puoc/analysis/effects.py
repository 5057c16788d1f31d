"""How large a paired difference is, beside whether it is there: effect sizes with intervals, and a Bayesian view.

Every number depends on the set of differences alone: they are sorted before anything is drawn, and draws start from a
fixed seed, so the order of rows changes nothing, to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from puoc.analysis.signed_rank import midranks, rounded_differences

Floats = NDArray[np.float64]

#: Half-width of the region of practical equivalence, in AUC: differences within it matter to nobody.
ROPE = 0.01
#: Fewest pairs for which a bootstrap interval is given; of fewer there are too few distinct samples.
PAIRS_FOR_BOOTSTRAP = 5
_SAMPLES = 4000
_SEED = 0


def rank_biserial(differences: ArrayLike) -> float:
    """Matched-pairs rank-biserial correlation (Kerby, 2014): (R+ - R-) / (R+ + R-), in [-1, 1]; 0 if nothing differs.

    Parameters
    ----------
    differences : (n,) of first minus second; 1 means that the first is never lower.

    Raises
    ------
    ValueError : as ``signed_rank_test``.
    """
    return float(_rank_biserial(np.sort(rounded_differences(differences))[None, :])[0])


def rank_biserial_interval(differences: ArrayLike, level: float = 0.95) -> tuple[float | None, float | None]:
    """Percentile bootstrap interval of ``rank_biserial``; None below ``PAIRS_FOR_BOOTSTRAP`` pairs."""
    return _bootstrap(differences, _rank_biserial, level)


def shift_bootstrap(differences: ArrayLike, level: float = 0.95) -> tuple[float | None, float | None]:
    """Percentile bootstrap interval of the Hodges-Lehmann shift, beside the one that inverts the test."""
    return _bootstrap(differences, _hodges_lehmann, level)


@dataclass(frozen=True)
class Practical:
    """Posterior chances that the first is lower by more than the ROPE, practically equal, higher by more than it."""

    lower: float
    equal: float
    higher: float


def bayesian_signed_rank(differences: ArrayLike, rope: float = ROPE, prior_strength: float = 0.5) -> Practical:
    """Bayesian signed-rank test (Benavoli, Corani, Demsar and Zaffalon, 2017, section 4.2).

    The differences' distribution has a Dirichlet process prior with weight ``prior_strength`` on no difference; a
    sample of its posterior says how likely the sum of two new differences lies below, within or above twice the ROPE.
    Returned is how often each of the three is the likeliest.

    Raises
    ------
    ValueError : as ``signed_rank_test``, or a negative ROPE.
    """
    if rope < 0:
        raise ValueError(f"rope is {rope}, at least 0 expected")
    values = np.concatenate([[0.0], np.sort(rounded_differences(differences))])
    sums = values[:, None] + values[None, :]
    strengths = np.concatenate([[prior_strength], np.ones(len(values) - 1)])
    weights = np.random.default_rng(_SEED).dirichlet(strengths, _SAMPLES)
    # rounded: .01 + .01 is no more than twice .01
    lower, higher = (
        np.einsum("si,ij,sj->s", weights, side.astype(float), weights, optimize=True)
        for side in (np.round(sums + 2 * rope, 10) < 0, np.round(sums - 2 * rope, 10) > 0)
    )
    chances = np.stack([lower, 1 - lower - higher, higher], axis=1)
    # where two are equally likely, as they are by symmetry when nothing differs at all, each gets its part
    best = np.isclose(chances, chances.max(axis=1, keepdims=True), rtol=0, atol=1e-12)
    shares = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    return Practical(*(float(share) for share in shares))


def _bootstrap(
    differences: ArrayLike, statistic: Callable[[Floats], Floats], level: float
) -> tuple[float | None, float | None]:
    values = np.sort(rounded_differences(differences))
    if len(values) < PAIRS_FOR_BOOTSTRAP:
        return None, None
    drawn = np.random.default_rng(_SEED).integers(0, len(values), (_SAMPLES, len(values)))
    tail = (1 - level) / 2
    low, high = np.quantile(statistic(values[drawn]), [tail, 1 - tail])
    return float(low), float(high)


def _rank_biserial(samples: Floats) -> Floats:
    """Of each row of (s, n)."""
    moved = samples != 0
    ranks = midranks(np.where(moved, np.abs(samples), -1.0)) - (~moved).sum(axis=1, keepdims=True)
    ranks = np.where(moved, ranks, 0.0)
    total = ranks.sum(axis=1)
    correlations = np.zeros(len(samples))
    np.divide((np.sign(samples) * ranks).sum(axis=1), total, out=correlations, where=total > 0)
    return correlations


def _hodges_lehmann(samples: Floats) -> Floats:
    first, second = np.triu_indices(samples.shape[1])
    medians: Floats = np.median((samples[:, first] + samples[:, second]) / 2, axis=1)
    return medians
