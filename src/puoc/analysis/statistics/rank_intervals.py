"""Intervals of ranks: between which ranks an entry of a cell lies, by the exact signed-rank test.

An entry is compared with every other one over the seeds that both have, and the p-values of these comparisons are
adjusted by Holm. Each significantly better entry raises the lower end of the interval by one, and each significantly
worse one lowers the upper end (Mogstad, Romano, Shaikh and Wilhelm, 2024, Review of Economic Studies, on the
marginal confidence set of a rank). An interval holds for one entry at a time, at 95 %.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.analysis.statistics.effects import bayesian_signed_rank
from puoc.analysis.statistics.holm import holm
from puoc.analysis.statistics.signed_rank import signed_rank_test

_LEVEL = 0.05
_DIGITS = 10  # means that agree to these digits are equal


class RankInterval(NamedTuple):
    """The ranks that an entry may have among ``of`` entries, 1 the best."""

    low: int
    high: int
    of: int


class AgainstBest(NamedTuple):
    """Chances against the best other entry of the cell, by the Bayesian signed-rank test."""

    rival: int  # position of the other entry
    worse: float  # lower by more than the region of practical equivalence
    equal: float
    better: float


def rank_intervals(values: NDArray[np.float64]) -> list[RankInterval | None]:
    """Return the interval of each entry's rank; None for an entry without values or without a rival.

    Parameters
    ----------
    values : (E, S) of entries x seeds, higher is better; NaN where a seed is missing.

    Examples
    --------
    >>> import numpy as np
    >>> steps = np.arange(8) / 100
    >>> [tuple(one) for one in rank_intervals(np.stack([0.9 + steps, 0.5 + 2 * steps]))]
    [(1, 1, 2), (2, 2, 2)]
    """
    known = ~np.isnan(values)
    compared = [index for index in range(len(values)) if known[index].any()]
    p_by_pair: dict[tuple[int, int], float] = {}
    sign: dict[tuple[int, int], float] = {}
    for first, second in combinations(compared, 2):
        both = known[first] & known[second]
        differences = values[first, both] - values[second, both]
        p = signed_rank_test(differences).p if len(differences) else 1.0
        mean = float(np.sort(differences).mean()) if len(differences) else 0.0
        p_by_pair[first, second] = p_by_pair[second, first] = p
        sign[first, second], sign[second, first] = mean, -mean
    found: list[RankInterval | None] = [None] * len(values)
    for index in compared:
        others = [other for other in compared if other != index]
        if not others:
            continue
        adjusted = holm([p_by_pair[index, other] for other in others])
        above = [sign[other, index] > 0 for other, p in zip(others, adjusted, strict=True) if p < _LEVEL]
        low, high = 1 + sum(above), len(compared) - (len(above) - sum(above))
        found[index] = RankInterval(low, high, len(compared))
    return found


def against_best(values: NDArray[np.float64]) -> list[AgainstBest | None]:
    """Return the chances of each entry against the other entry with the best mean; None without common seeds.

    Parameters
    ----------
    values : as in ``rank_intervals``.
    """
    known = ~np.isnan(values)
    n = known.sum(axis=1)
    means = [
        round(float(np.sort(row[mask]).mean()), _DIGITS) if mask.any() else -np.inf
        for row, mask in zip(values, known, strict=True)
    ]
    most = int(n.max(initial=0))
    order = sorted((i for i in range(len(values)) if n[i] == most and most), key=lambda i: -means[i])
    found: list[AgainstBest | None] = []
    for index in range(len(values)):
        rival = next((other for other in order if other != index), None)
        both = known[index] & known[rival] if rival is not None else np.zeros(values.shape[1], dtype=bool)
        if rival is None or not both.any():
            found.append(None)
            continue
        chances = bayesian_signed_rank(values[index, both] - values[rival, both])
        found.append(AgainstBest(rival, chances.lower, chances.equal, chances.higher))
    return found
