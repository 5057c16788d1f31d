"""The procedures of Bagirov et al. that identify unreliable unlabelled data, as described in their text.

All procedures compare scores by a two-sample test; higher score = more likely positive. The text (section on
identifying unreliable data) does not specify which rows to score. On rows that the model was trained on, the procedures
do not keep their level (docs/reliability.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

import numpy as np

from puoc.records import Array

Test = Literal["mann_whitney", "t"]
Advice = Literal["PU", "OC or PU-OC"]

P_CRIT: Final = 0.1


class Procedure(NamedTuple):
    """Result of a procedure."""

    p: float
    p_crit: float
    advice: Advice


def two_sample_p(first: Array, second: Array, test: Test = "mann_whitney") -> float:
    """Compute the two-sided p-value that two samples of scores, (n,) and (m,), come from one distribution.

    It is 1 if all scores are equal.

    Raises
    ------
    ValueError : a sample is empty (for ``t`` shorter than 2), or a score is not finite.
    """
    return float(two_sample_ps(first[None], second[None], test)[0])


def two_sample_ps(first: Array, second: Array, test: Test = "mann_whitney") -> Array:
    """Compute the p-values (r,) of r pairs of samples, (r, n) and (r, m); see ``two_sample_p``."""
    min_scores = 2 if test == "t" else 1
    for sample in (first, second):
        if sample.shape[1] < min_scores:
            raise ValueError(
                f"got a sample of {sample.shape[1]} scores, expected at least {min_scores} for the test {test}"
            )
        if not np.isfinite(sample).all():
            raise ValueError("got a score that is not finite")
    from scipy import stats

    pooled = np.concatenate([first, second], axis=1)
    varied = np.ptp(pooled, axis=1) > 0
    p = np.ones(len(first))
    if test == "mann_whitney":
        p[varied] = stats.mannwhitneyu(first[varied], second[varied], axis=1).pvalue
        return p
    # two constants that differ have an infinite statistic
    spread = np.maximum(np.ptp(first, axis=1), np.ptp(second, axis=1)) > 0
    p[varied] = 0.0
    p[spread] = stats.ttest_ind(first[spread], second[spread], axis=1).pvalue
    return p


def high_alpha(f_p: Array, f_u: Array, test: Test = "mann_whitney", p_crit: float = P_CRIT) -> Procedure:
    """Apply the first procedure to scores of P and U: PU only if the null hypothesis of no difference is rejected."""
    p = two_sample_p(f_p, f_u, test)
    return Procedure(p, p_crit, "OC or PU-OC" if p > p_crit else "PU")


def split_p_crit(scores: Array, rng: np.random.Generator, test: Test = "mann_whitney", splits: int = 1) -> float:
    """Compute p_crit as the p-value between two subsamples of one sample (the scores, halved at random).

    The text can be read in two ways. Its list uses subsamples of the labelled data; the sentence before it uses two
    samples "from train distribution", which is that of U. ``scores`` may be of either. With one split, as in the list,
    p_crit is a uniform number. With several splits the .1 quantile is used.

    Raises
    ------
    ValueError : too few scores to halve.
    """
    if len(scores) < 4:
        raise ValueError(f"got {len(scores)} scores, expected at least 4, because they are halved")
    p_values = []
    for _ in range(splits):
        order = rng.permutation(len(scores))
        half = len(scores) // 2
        p_values.append(two_sample_p(scores[order[:half]], scores[order[half:]], test))
    return p_values[0] if splits == 1 else float(np.quantile(p_values, P_CRIT))


def shift(f_u: Array, f_v: Array, p_crit: float, test: Test = "mann_whitney") -> Procedure:
    """Apply the second procedure to scores of the unlabelled rows of training and of incoming rows."""
    p = two_sample_p(f_u, f_v, test)
    return Procedure(p, p_crit, "OC or PU-OC" if p < p_crit else "PU")


def random_networks(
    score: Callable[[int, Array], Array], X_p: Array, X_u: Array, seeds: range, test: Test = "mann_whitney"
) -> list[float]:
    """Apply the third procedure: return p-values of P against U by untrained networks, one per seed.

    Parameters
    ----------
    score : function that returns scores (n,) of rows by the network of a seed. The network is not trained, so no rows
        have to be withheld.
    """
    return [two_sample_p(score(seed, X_p), score(seed, X_u), test) for seed in seeds]
