"""Two-sample tests of scores, as in the procedures of Bagirov et al. that identify unreliable unlabelled data.

Higher score = more likely positive. The text (section on identifying unreliable data) does not specify which rows to
score. On rows that the model was trained on, the procedures do not keep their level (docs/reliability.md).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from puoc.records import Array

Test = Literal["mann_whitney", "t"]


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
