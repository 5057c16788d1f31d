"""Effect sizes of paired differences with intervals, and a Bayesian signed-rank test.

Every number depends only on the set of differences: they are sorted before anything is drawn, and draws start from a
fixed seed. The order of rows therefore changes no digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from puoc.analysis.statistics.signed_rank import rounded_differences

Floats = NDArray[np.float64]

#: Half-width of the region of practical equivalence, in AUC: differences within it do not matter in practice.
ROPE = 0.01
#: Fewest pairs for which a bootstrap interval is given; fewer pairs have too few distinct samples.
PAIRS_FOR_BOOTSTRAP = 5
_SAMPLES = 2000
_SEED = 0


def rank_biserial(differences: ArrayLike) -> float:
    """Compute the matched-pairs rank-biserial correlation (Kerby, 2014).

    It is (R+ - R-) / (R+ + R-), in [-1, 1], and 0 if nothing differs.

    Parameters
    ----------
    differences : (n,) of first minus second; a correlation of 1 means that the first is never lower.

    Raises
    ------
    ValueError : as ``signed_rank_test``.
    """
    values = _by_size(differences)
    once = np.ones((1, len(values)))
    return float(_rank_biserial_of(values, once, np.cumsum(once, axis=1) - once)[0])


def rank_biserial_interval(differences: ArrayLike, level: float = 0.95) -> tuple[float | None, float | None]:
    """Compute the percentile bootstrap interval of ``rank_biserial``; None below ``PAIRS_FOR_BOOTSTRAP`` pairs."""
    values = _by_size(differences)
    if len(values) < PAIRS_FOR_BOOTSTRAP:
        return None, None
    return _percentiles(_rank_biserial_of(values, *_resamples(len(values))), level)


def shift_bootstrap(differences: ArrayLike, level: float = 0.95) -> tuple[float | None, float | None]:
    """Compute the percentile bootstrap interval of the Hodges-Lehmann shift.

    ``shift_with_interval`` computes another interval, which inverts the signed-rank test.
    """
    values = np.sort(rounded_differences(differences))
    if len(values) < PAIRS_FOR_BOOTSTRAP:
        return None, None
    drawn = np.random.default_rng(_SEED).integers(0, len(values), (_SAMPLES, len(values)))
    return _percentiles(_hodges_lehmann(values[drawn]), level)


@dataclass(frozen=True)
class Practical:
    """Posterior probabilities that the first is lower by more than the ROPE, practically equal, or higher by more."""

    lower: float
    equal: float
    higher: float


def bayesian_signed_rank(differences: ArrayLike, rope: float = ROPE, prior_strength: float = 0.5) -> Practical:
    """Compute the Bayesian signed-rank test (Benavoli, Corani, Demsar and Zaffalon, 2017, section 4.2).

    The distribution of the differences has a Dirichlet process prior with weight ``prior_strength`` on no difference.
    A sample of its posterior gives the probabilities that the sum of two new differences is below, within or above
    twice the ROPE. The result is how often each of the three is the most probable.

    Raises
    ------
    ValueError : as ``signed_rank_test``, or a negative ROPE.
    """
    if rope < 0:
        raise ValueError(f"rope is {rope}, at least 0 expected")
    values = np.sort(rounded_differences(differences))
    prior_at = int(np.searchsorted(values, 0.0))
    values = np.insert(values, prior_at, 0.0)
    weights, up_to = _dirichlet(len(values) - 1, prior_at, prior_strength)
    # values ascend, so partners whose sum is below a bound come first; rounded, so that .01 + .01 is not above .02
    below = np.searchsorted(values, np.round(-2 * rope - values, 10), side="left")
    not_above = np.searchsorted(values, np.round(2 * rope - values, 10), side="right")
    lower = np.einsum("sj,sj->s", weights, up_to[:, below])
    higher = 1 - np.einsum("sj,sj->s", weights, up_to[:, not_above])
    chances = np.stack([lower, 1 - lower - higher, higher], axis=1)
    # if several are equally probable, as by symmetry when nothing differs, each gets an equal share
    best = np.isclose(chances, chances.max(axis=1, keepdims=True), rtol=0, atol=1e-12)
    shares = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    return Practical(*(float(share) for share in shares))


@lru_cache(maxsize=32)
def _dirichlet(n: int, prior_at: int, prior_strength: float) -> tuple[Floats, Floats]:
    """Draw weights (s, n + 1) of n observations and, at position ``prior_at``, of the prior; return also their sums.

    The second array, (s, n + 2), has the sum of the weights before each position, and their total.
    """
    gen = np.random.default_rng(_SEED)
    observed, prior = gen.standard_exponential((_SAMPLES, n)), gen.standard_gamma(prior_strength, (_SAMPLES, 1))
    drawn = np.concatenate([observed[:, :prior_at], prior, observed[:, prior_at:]], axis=1)
    weights = drawn / drawn.sum(axis=1, keepdims=True)
    return weights, np.concatenate([np.zeros((_SAMPLES, 1)), np.cumsum(weights, axis=1)], axis=1)


def _percentiles(samples: Floats, level: float) -> tuple[float, float]:
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _by_size(differences: ArrayLike) -> Floats:
    """Sort differences by ascending size; a negative one comes before a positive one of the same size."""
    values = rounded_differences(differences)
    ordered: Floats = values[np.lexsort((values, np.abs(values)))]
    return ordered


@lru_cache(maxsize=8)
def _resamples(n: int) -> tuple[Floats, Floats]:
    """Draw how often each of n ascending values is in each sample, (s, n), and count the draws below it."""
    counts = np.random.default_rng(_SEED).multinomial(n, np.full(n, 1 / n), _SAMPLES).astype(float)
    return counts, np.cumsum(counts, axis=1) - counts


@lru_cache(maxsize=8)
def _drawn_ranks(n: int) -> Floats:
    """Compute the sum of the ranks of each value's draws (s, n), if no two sizes are equal and none is 0."""
    counts, below = _resamples(n)
    ranks: Floats = counts * (below + (counts + 1) / 2)
    return ranks


def _rank_biserial_of(values: Floats, counts: Floats, below: Floats) -> Floats:
    """Compute the correlation of samples of ``values``, whose sizes ascend.

    A sample contains each value ``counts`` times, and ``below`` draws that are smaller.
    """
    sizes = np.abs(values)
    if len(counts) > 1 and len(np.unique(sizes)) == len(values) and values.all():
        drawn_ranks = _drawn_ranks(len(values))
        untied: Floats = drawn_ranks @ np.sign(values) / drawn_ranks[0].sum()
        return untied
    starts = np.flatnonzero(np.concatenate([[True], sizes[1:] != sizes[:-1]]))
    if len(starts) < len(values):  # equal sizes share the midrank of all their draws
        drawn = np.add.reduceat(counts, starts, axis=1)
        group = np.cumsum(np.isin(np.arange(len(values)), starts)) - 1
        ranks = (below[:, starts] + (drawn + 1) / 2)[:, group]
    else:
        ranks = below + (counts + 1) / 2
    ranks = ranks - counts[:, values == 0].sum(axis=1, keepdims=True)
    ranks[:, values == 0] = 0.0
    signed, total = (counts * ranks) @ np.sign(values), (counts * ranks).sum(axis=1)
    correlations: Floats = np.zeros_like(total)
    np.divide(signed, total, out=correlations, where=total > 0)
    return correlations


def _hodges_lehmann(samples: Floats) -> Floats:
    first, second = np.triu_indices(samples.shape[1])
    medians: Floats = np.median((samples[:, first] + samples[:, second]) / 2, axis=1)
    return medians
