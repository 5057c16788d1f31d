"""Comparison of many methods over many columns by Friedman's test and average ranks (after Demsar, 2006).

A block is a seed. Cells of one seed share labelled positives, often unlabelled rows and test rows, and, for a one-class
method, even the fit. As separate blocks they would count one draw several times. Entries are therefore ranked within
each seed and cell, the ranks of a seed are averaged over its cells, and entries are permuted within seeds. Differences
between entries hold for these cells over new draws from one dataset, not for other cells or datasets.

The level holds for entries whose distributions are equal. As with Friedman's test, entries with equal means but
different spreads over seeds, such as an unstable network and an SVM, are found to differ more often than the level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from puoc.analysis.statistics.signed_rank import midranks
from puoc.analysis.tables.grid import Grid
from puoc.analysis.tables.results import UNTESTED
from puoc.store.counting import counted
from puoc.store.plans import TablePlan

_DIGITS = 10
_LEVEL = 0.05
_PERMUTATIONS = 9999
_SEED = 0
_ROUNDING = 1e-9  # equal sums of ranks may differ by this much


@dataclass(frozen=True, kw_only=True)
class RankRow:
    """The rank of one entry over the cells of a table."""

    table: str
    entry: str
    average_rank: float | None = None  # 1 = best in every seed and cell
    wins: int = 0  # cells in which it alone has the best mean
    ties: int = 0  # cells in which it shares the best mean
    losses: int = 0
    n_seeds: int
    n_cells: int  # cells in which every entry has a full mean
    n_entries: int
    friedman: float | None = None  # chi-squared with n_entries - 1 degrees of freedom
    p: float | None = None  # by permutations within the seeds
    critical_difference: float | None = None  # of average ranks, by the same permutations, at .05
    groups: str | None = None  # letters: entries that share one do not differ
    note: str


@dataclass(frozen=True)
class Friedman:
    """Result of Friedman's test of k methods in n blocks, with the critical difference of average ranks."""

    average_ranks: tuple[float, ...]  # in the order of the columns; 1 = highest value
    chi_squared: float
    p: float  # by permutations of the methods within each block
    critical_difference: float  # average ranks further apart differ, at level .05 over all pairs


def friedman(values: ArrayLike) -> Friedman:
    """Test whether methods rank equally over blocks; higher values are better, ties share midranks.

    The critical difference replaces Nemenyi's, which assumes that a block is one ranking. It is the same quantile of
    the same statistic, the range of average ranks, under the permutations.

    Parameters
    ----------
    values : (n, k) blocks by methods, or (n, c, k) with c cells in each block, whose ranks are averaged; rounded to 10
        digits before ranking.

    Raises
    ------
    ValueError : no block, fewer than two methods, or a value that is not finite.
    """
    table = _checked(values)
    ranks = midranks(-table).mean(axis=1)
    k = ranks.shape[1]
    centred = ranks - (k + 1) / 2
    means = ranks.mean(axis=0)
    # the denominator is the spread of the ranks, as for ties (Conover, 1999, section 5.8)
    spread = float((centred**2).sum())
    chi = 0.0 if spread <= _ROUNDING else float((k - 1) * (centred.sum(axis=0) ** 2).sum() / spread)
    p, difference = _permuted(centred)
    return Friedman(tuple(float(mean) for mean in means), chi, p, difference)


def _permuted(centred: NDArray[np.float64]) -> tuple[float, float]:
    """Compute the p-value of the average ranks under permutations within each block, and the quantile of their range.

    Blocks are sorted first, so that their order changes nothing.
    """
    n, k = centred.shape
    ordered = centred[np.lexsort(centred.T)]
    drawn = np.random.default_rng(_SEED).random((_PERMUTATIONS, n, k)).argsort(axis=2)
    sums = np.take_along_axis(ordered[None], drawn, axis=2).sum(axis=1)
    observed = ordered.sum(axis=0)
    as_far = ((sums**2).sum(axis=1) >= (observed**2).sum() - _ROUNDING).sum()
    ranges = np.append(np.ptp(sums, axis=1), np.ptp(observed))
    difference = float(np.quantile(ranges, 1 - _LEVEL, method="higher")) / n
    return float((1 + as_far) / (1 + _PERMUTATIONS)), difference


def groups(average_ranks: ArrayLike, difference: float) -> list[tuple[int, ...]]:
    """Return the largest runs of neighbouring ranks within ``difference``, best first.

    A method that differs from all others is a group of one.
    """
    ranks = np.asarray(average_ranks, dtype=float)
    order = np.argsort(ranks, kind="stable")
    runs: list[tuple[int, ...]] = []
    reached = 0
    for start in range(len(order)):
        stop = start + 1
        while stop < len(order) and ranks[order[stop]] - ranks[order[start]] <= difference + 1e-12:
            stop += 1
        if stop > reached:
            runs.append(tuple(int(method) for method in order[start:stop]))
            reached = stop
    return runs


def rank_table(plan: TablePlan, rows: pd.DataFrame | None) -> list[RankRow]:
    """Return one row per entry of a table, without oracles.

    Entries that lack half of the cells are listed but not ranked. The others are ranked over the cells that are
    complete for each of them, so that all are ranked over the same cells.

    Parameters
    ----------
    rows : as returned by ``planned_rows``; None if the table was not run.
    """
    entries = [index for index, entry in enumerate(plan.entries) if not entry.oracle]
    shape = (len(plan.entries), len(plan.cells), len(plan.seeds))
    scores = np.full(shape, np.nan) if rows is None else Grid.from_rows(plan, rows).auc
    full: NDArray[np.bool_] = ~np.asarray(np.isnan(scores).any(axis=2))
    kept = [index for index in entries if 2 * full[index].sum() > len(plan.cells)]
    lacking = [plan.entries[index].entry for index in entries if index not in kept]
    names = [plan.entries[index].entry for index in kept]
    complete = np.logical_and.reduce(full[kept]) if kept else np.zeros(len(plan.cells), dtype=np.bool_)
    values = scores[kept][:, complete].transpose(2, 1, 0)  # (seeds, cells, entries)
    n_seeds, n_cells, n_entries = values.shape
    notes = [f"full in half of the cells or fewer: {', '.join(lacking)}"] if lacking and plan.tested else []
    notes += [] if plan.tested else [UNTESTED]
    if n_cells < len(plan.cells) and names:
        notes.append(f"{n_cells} of {len(plan.cells)} cells have every entry")
    comparable = n_entries >= 2 and n_cells > 0
    if not comparable:
        notes.append("fewer than two entries or no cell: nothing to rank")
    elif (smallest := 1 / math.factorial(n_entries) ** (n_seeds - 1)) >= _LEVEL:
        notes.append(f"{counted(n_seeds, 'seed')} of {n_entries} entries can give no p below {smallest:.2g}")
    unranked = [
        RankRow(
            table=plan.table,
            entry=name,
            n_seeds=n_seeds,
            n_cells=n_cells,
            n_entries=n_entries,
            note="; ".join(notes),
        )
        for name in (*names, *lacking)
    ]
    return [*_ranked(unranked[:n_entries], values), *unranked[n_entries:]] if comparable else unranked


def _ranked(rows: list[RankRow], values: NDArray[np.float64]) -> list[RankRow]:
    """Return the rows with ranks, from the AUCs (seeds, cells, entries) of their entries."""
    n_entries, n_cells = len(rows), values.shape[1]
    test = friedman(values)
    one_group = [tuple(range(n_entries))]  # if Friedman's test does not reject, no pair differs
    entry_groups = groups(test.average_ranks, test.critical_difference) if test.p < _LEVEL else one_group
    letters = _letters(entry_groups, n_entries)
    means = np.round(values.mean(axis=0), _DIGITS)
    best = means.max(axis=1, keepdims=True)
    is_best, alone = means == best, (means == best).sum(axis=1, keepdims=True) == 1
    ranked = []
    for index, row in enumerate(rows):
        wins, ties = int((is_best & alone)[:, index].sum()), int((is_best & ~alone)[:, index].sum())
        ranked.append(
            replace(
                row,
                average_rank=test.average_ranks[index],
                wins=wins,
                ties=ties,
                losses=n_cells - wins - ties,
                friedman=test.chi_squared,
                p=test.p,
                critical_difference=test.critical_difference,
                groups=letters[index],
            )
        )
    return ranked


def _letters(entry_groups: list[tuple[int, ...]], n: int) -> list[str]:
    members: list[list[str]] = [[] for _ in range(n)]
    for number, group in enumerate(entry_groups):
        for index in group:
            members[index].append(chr(ord("a") + number))
    return ["".join(letters) for letters in members]


def _checked(values: ArrayLike) -> NDArray[np.float64]:
    """Return the values as (n, c, k), rounded. Raises ValueError as ``friedman``."""
    table = np.asarray(values)
    table = table[:, None] if table.ndim == 2 else table
    if table.ndim != 3 or table.dtype.kind not in "fiu" or 0 in table.shape or table.shape[2] < 2:
        raise ValueError(
            f"got an array of shape {np.shape(values)} and type {table.dtype}, "
            "expected numbers of at least one block and two methods"
        )
    n_invalid = int((~np.isfinite(table)).sum())
    if n_invalid:
        raise ValueError(f"{n_invalid} of {table.size} values are not finite; leave such blocks out and report that")
    return np.round(table.astype(float), _DIGITS)
