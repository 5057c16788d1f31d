"""Elo ratings of entries from their pairwise wins, by the model of Bradley and Terry.

An entry *i* of strength *s_i* wins against *j* with probability *s_i* / (*s_i* + *s_j*), and its rating is
400 log10 *s_i*, so that 400 points are odds of 10 to 1. The strengths are the maximum of the likelihood, found by the
algorithm of Hunter (2004, https://doi.org/10.1214/aos/1079120141). So the order of the comparisons has no influence,
unlike in the ratings of chess. Such ratings are used by Chatbot Arena (Chiang et al., 2024,
https://arxiv.org/abs/2403.04132) and TabArena (Erickson et al., 2025, https://arxiv.org/abs/2506.16791).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CENTRE = 1000.0  # mean rating of the entries
RESAMPLES = 200
_PRIOR = 0.5  # wins and losses of each entry against one of mean strength: with no loss at all, ratings stay finite
_MOST, _TOLERANCE = 2000, 1e-6
Floats = NDArray[np.float64]


class Rating(NamedTuple):
    """Rating of one entry."""

    entry: str
    elo: float
    low: float  # 95 % interval over resampled tables
    high: float
    n_cells: int  # compared with another entry
    n_tables: int


def elo_ratings(cells: Sequence[tuple[str, dict[str, float]]], seed: int = 0) -> list[Rating]:
    """Return the ratings, best first.

    Ratings of entries are only comparable if other entries connect them. Of several groups without a common entry, the
    one with the most cells is rated.

    Parameters
    ----------
    cells : table and mean by entry of each cell; higher = better. The higher mean wins, equal ones are half a win each.
    seed : of the bootstrap. Tables are resampled as a whole, because their cells share data.
    """
    compared = _connected([(table, means) for table, means in cells if len(means) > 1])
    entries = sorted({entry for _, means in compared for entry in means})
    tables = sorted({table for table, _ in compared})
    if not entries:
        return []
    place = {entry: at for at, entry in enumerate(entries)}
    wins = np.zeros((len(tables), len(entries), len(entries)))
    for table, means in compared:
        here = np.array([place[entry] for entry in means])
        values = np.array(list(means.values()))
        won = (values[:, None] > values) + 0.5 * (values[:, None] == values)
        np.fill_diagonal(won, 0)
        wins[tables.index(table)][np.ix_(here, here)] += won
    times = np.random.default_rng(seed).multinomial(len(tables), np.full(len(tables), 1 / len(tables)), RESAMPLES)
    sums = np.concatenate([wins.sum(axis=0)[None], np.tensordot(times.astype(float), wins, axes=1)])
    ratings = _fitted(sums)
    low, high = np.quantile(ratings[1:], (0.025, 0.975), axis=0)
    found = []
    for at, entry in enumerate(entries):
        of_entry = [table for table, means in compared if entry in means]
        found.append(
            Rating(entry, float(ratings[0, at]), float(low[at]), float(high[at]), len(of_entry), len(set(of_entry)))
        )
    return sorted(found, key=lambda rating: (-rating.elo, rating.entry))


def _connected(cells: list[tuple[str, dict[str, float]]]) -> list[tuple[str, dict[str, float]]]:
    """Return the cells of the largest group of entries that met, directly or by way of others."""
    groups: list[set[str]] = []
    for _, means in cells:
        joined = set(means).union(*(group for group in groups if group & set(means)))
        groups = [group for group in groups if not group & joined] + [joined]
    of_groups = [[cell for cell in cells if set(cell[1]) <= group] for group in groups]
    return max(of_groups, key=len, default=[])


def _fitted(wins: Floats) -> Floats:
    """Return ratings (B, E) from wins (B, E, E) of the entry of the row against that of the column."""
    games = wins + wins.swapaxes(1, 2)
    won = wins.sum(axis=2) + _PRIOR
    strength = np.ones(won.shape)
    for _ in range(_MOST):
        before = strength
        expected = (games / (strength[:, :, None] + strength[:, None, :])).sum(axis=2)
        strength = won / (expected + 2 * _PRIOR / (strength + 1.0))
        if np.abs(np.log(strength / before)).max() < _TOLERANCE:
            break
    logs = 400 * np.log10(strength)
    ratings: Floats = logs - logs.mean(axis=1, keepdims=True) + CENTRE
    return ratings
