"""The procedures of Bagirov et al. that tell unreliable unlabelled data, as their text has them.

Section on identifying unreliable data. All compare scores by a two-sample test; higher score = more likely positive.
They say nothing of which rows to score: on rows that the model was trained on they do not hold their level
(docs/reliability.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Test = Literal["mann_whitney", "t"]
Advice = Literal["PU", "OC or PU-OC"]

P_CRIT: Final = 0.1


class Procedure(NamedTuple):
    """What a procedure found."""

    p: float
    p_crit: float
    advice: Advice


def two_sample_p(one: Array, other: Array, test: Test = "mann_whitney") -> float:
    """Two-sided p-value that two samples of scores, (n,) and (m,), come from one distribution.

    1 where all scores are equal: nothing tells the samples apart.

    Raises
    ------
    ValueError : a sample is empty (for ``t`` shorter than 2), or a score is not finite.
    """
    return float(two_sample_ps(one[None], other[None], test)[0])


def two_sample_ps(one: Array, other: Array, test: Test = "mann_whitney") -> Array:
    """The same for r pairs of samples at once, (r, n) and (r, m): (r,)."""
    least = 2 if test == "t" else 1
    for sample in (one, other):
        if sample.shape[1] < least:
            raise ValueError(f"got a sample of {sample.shape[1]} scores, at least {least} expected by the test {test}")
        if not np.isfinite(sample).all():
            raise ValueError("got a score that is not finite")
    from scipy import stats

    pooled = np.concatenate([one, other], axis=1)
    varied = np.ptp(pooled, axis=1) > 0
    p = np.ones(len(one))
    if test == "mann_whitney":
        p[varied] = stats.mannwhitneyu(one[varied], other[varied], axis=1).pvalue
        return p
    # two constants that differ have an infinite statistic
    spread = np.maximum(np.ptp(one, axis=1), np.ptp(other, axis=1)) > 0
    p[varied] = 0.0
    p[spread] = stats.ttest_ind(one[spread], other[spread], axis=1).pvalue
    return p


def high_alpha(f_p: Array, f_u: Array, test: Test = "mann_whitney", p_crit: float = P_CRIT) -> Procedure:
    """First procedure: scores of P and of U. PU only where the null hypothesis of no difference is not accepted."""
    p = two_sample_p(f_p, f_u, test)
    return Procedure(p, p_crit, "OC or PU-OC" if p > p_crit else "PU")


def split_p_crit(scores: Array, rng: np.random.Generator, test: Test = "mann_whitney", splits: int = 1) -> float:
    """p_crit as the p-value between two subsamples of one sample (the scores, halved at random).

    The text has two readings. Its list takes subsamples of the labelled data, the sentence before it two samples "from
    train distribution", which is that of U: ``scores`` are either's. One split, as the list has it, makes p_crit a
    uniform number; of several the .1 quantile is taken.

    Raises
    ------
    ValueError : too few scores to halve.
    """
    if len(scores) < 4:
        raise ValueError(f"got {len(scores)} scores, at least 4 expected: they are halved")
    found = []
    for _ in range(splits):
        order = rng.permutation(len(scores))
        half = len(scores) // 2
        found.append(two_sample_p(scores[order[:half]], scores[order[half:]], test))
    return found[0] if splits == 1 else float(np.quantile(found, P_CRIT))


def shift(f_u: Array, f_v: Array, p_crit: float, test: Test = "mann_whitney") -> Procedure:
    """Second procedure: scores of the unlabelled rows of training and of those that came in later."""
    p = two_sample_p(f_u, f_v, test)
    return Procedure(p, p_crit, "OC or PU-OC" if p < p_crit else "PU")


def random_networks(
    score: Callable[[int, Array], Array], X_p: Array, X_u: Array, seeds: range, test: Test = "mann_whitney"
) -> list[float]:
    """Third procedure: p-values of P against U by untrained networks, one a seed.

    Parameters
    ----------
    score : scores (n,) of rows by the network of a seed. It sees no row before, so none need be withheld.
    """
    return [two_sample_p(score(seed, X_p), score(seed, X_u), test) for seed in seeds]
