"""Many methods over many columns: Friedman's test, average ranks and which of them differ (after Demsar, 2006).

A block is a seed. Cells of one seed share labelled positives, often unlabelled and test rows too, and of a one-class
method even the fit: as blocks of their own they would count one draw several times. So entries are ranked within each
seed and cell, ranks of a seed are averaged over its cells, and what is permuted is the entries within seeds. What is
told apart holds for these cells over new draws from one dataset, not for other cells or datasets.

The level is that of entries that are alike in everything. As with Friedman's test, entries of equal means but unlike
spreads over seeds, an unstable network beside an SVM, are told apart more often.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from puoc.analysis.statistics.signed_rank import midranks
from puoc.analysis.tables.frames import frame
from puoc.analysis.tables.grid import Grid
from puoc.analysis.tables.plans import UNTESTED, TablePlan
from puoc.store.counting import counted

RANKS = {
    "table": "text",
    "entry": "text",
    "average_rank": "float",  # 1 = best in every seed and cell
    "wins": "int",  # cells in which it has the best mean, alone
    "ties": "int",  # or shares it
    "losses": "int",
    "n_seeds": "int",
    "n_cells": "int",  # cells in which every entry has a full mean
    "n_entries": "int",
    "friedman": "float",  # chi-squared with n_entries - 1 degrees of freedom
    "p": "float",  # by permutations within the seeds
    "critical_difference": "float",  # of average ranks, by the same permutations, at .05
    "groups": "text",  # letters: entries that share one do not differ
    "note": "text",
}

_DIGITS = 10
_LEVEL = 0.05
_PERMUTATIONS = 9999
_SEED = 0
_NOTHING = 1e-9  # what sums of ranks may differ by through rounding


@dataclass(frozen=True)
class Friedman:
    """Friedman's test of k methods in n blocks, and which average ranks differ where it rejects."""

    average_ranks: tuple[float, ...]  # in the order of the columns; 1 = highest value
    chi_squared: float
    p: float  # by permutations of the methods within each block
    critical_difference: float  # average ranks further apart differ, at level .05 over all pairs


def friedman(values: ArrayLike) -> Friedman:
    """Test whether methods rank alike over blocks; higher values are better, ties share midranks.

    In place of Nemenyi's critical difference, which takes a block for one ranking, stands the same quantile of the same
    statistic, the range of average ranks, under the permutations.

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
    apart = ranks - (k + 1) / 2
    means = ranks.mean(axis=0)
    # the ranks' own spread stands in the denominator, as with ties (Conover, 1999, section 5.8)
    spread = float((apart**2).sum())
    chi = 0.0 if spread <= _NOTHING else float((k - 1) * (apart.sum(axis=0) ** 2).sum() / spread)
    p, difference = _permuted(apart)
    return Friedman(tuple(float(mean) for mean in means), chi, p, difference)


def _permuted(apart: NDArray[np.float64]) -> tuple[float, float]:
    """Chance of average ranks as far apart if each block's fall anyhow, and the quantile of their range.

    Blocks are sorted first, so their order changes nothing.
    """
    n, k = apart.shape
    ordered = apart[np.lexsort(apart.T)]
    drawn = np.random.default_rng(_SEED).random((_PERMUTATIONS, n, k)).argsort(axis=2)
    sums = np.take_along_axis(ordered[None], drawn, axis=2).sum(axis=1)
    observed = ordered.sum(axis=0)
    as_far = ((sums**2).sum(axis=1) >= (observed**2).sum() - _NOTHING).sum()
    ranges = np.append(np.ptp(sums, axis=1), np.ptp(observed))
    difference = float(np.quantile(ranges, 1 - _LEVEL, method="higher")) / n
    return float((1 + as_far) / (1 + _PERMUTATIONS)), difference


def groups(average_ranks: ArrayLike, difference: float) -> list[tuple[int, ...]]:
    """The largest runs of neighbouring ranks within ``difference``, best first; a method alone is a group of one."""
    ranks = np.asarray(average_ranks, dtype=float)
    order = np.argsort(ranks, kind="stable")
    found: list[tuple[int, ...]] = []
    reached = 0
    for start in range(len(order)):
        stop = start + 1
        while stop < len(order) and ranks[order[stop]] - ranks[order[start]] <= difference + 1e-12:
            stop += 1
        if stop > reached:
            found.append(tuple(int(at) for at in order[start:stop]))
            reached = stop
    return found


def rank_table(plan: TablePlan, rows: pd.DataFrame | None) -> pd.DataFrame:
    """One row an entry of a table; oracles stay out, and so do entries that lack half of the cells.

    Of the others, cells in which one has a hole are left out, so that all are ranked over the same cells.

    Parameters
    ----------
    rows : as ``planned_rows`` gives them; None where the table was not run.
    """
    entries = [at for at, entry in enumerate(plan.entries) if not entry.oracle]
    shape = (len(plan.entries), len(plan.cells), len(plan.seeds))
    scores = np.full(shape, np.nan) if rows is None else Grid.of(plan, rows).auc
    full: NDArray[np.bool_] = ~np.asarray(np.isnan(scores).any(axis=2))
    kept = [at for at in entries if 2 * full[at].sum() > len(plan.cells)]
    lacking = [plan.entries[at].entry for at in entries if at not in kept]
    names = [plan.entries[at].entry for at in kept]
    whole = np.logical_and.reduce(full[kept]) if kept else np.zeros(len(plan.cells), dtype=np.bool_)
    values = scores[kept][:, whole].transpose(2, 1, 0)  # (seeds, cells, entries)
    n_seeds, n_cells, n_entries = values.shape
    head: dict[str, Any] = {"table": plan.table, "n_cells": n_cells, "n_entries": n_entries, "n_seeds": n_seeds}
    said = [f"full in half of the cells or fewer: {', '.join(lacking)}"] if lacking and plan.tested else []
    said += [] if plan.tested else [UNTESTED]
    if n_cells < len(plan.cells) and names:
        said.append(f"{n_cells} of {len(plan.cells)} cells have every entry")
    empty = {"wins": 0, "ties": 0, "losses": 0}
    if n_entries < 2 or n_cells == 0:
        said.append("fewer than two entries or no cell: nothing to rank")
        return frame([_row(head | empty, name, said) for name in [*names, *lacking]], RANKS)
    if (least := 1 / math.factorial(n_entries) ** (n_seeds - 1)) >= _LEVEL:
        said.append(f"{counted(n_seeds, 'seed')} of {n_entries} entries can give no p below {least:.2g}")
    test = friedman(values)
    alike = [tuple(range(n_entries))]  # where Friedman's test tells nothing apart, no pair is
    told = groups(test.average_ranks, test.critical_difference) if test.p < _LEVEL else alike
    letters = _letters(told, n_entries)
    means = np.round(values.mean(axis=0), _DIGITS)
    best = means.max(axis=1, keepdims=True)
    is_best, alone = means == best, (means == best).sum(axis=1, keepdims=True) == 1
    table = []
    for at, name in enumerate(names):
        wins, ties = int((is_best & alone)[:, at].sum()), int((is_best & ~alone)[:, at].sum())
        numbers: dict[str, Any] = {"average_rank": test.average_ranks[at], "friedman": test.chi_squared, "p": test.p}
        numbers |= {"wins": wins, "ties": ties, "losses": n_cells - wins - ties}
        numbers |= {"critical_difference": test.critical_difference, "groups": letters[at]}
        table.append(_row(head | numbers, name, said))
    return frame([*table, *(_row(head | empty, name, said) for name in lacking)], RANKS)


def _row(values: dict[str, Any], entry: str, said: list[str]) -> dict[str, Any]:
    return dict.fromkeys(RANKS) | values | {"entry": entry, "note": "; ".join(said)}


def _letters(found: list[tuple[int, ...]], n: int) -> list[str]:
    members: list[list[str]] = [[] for _ in range(n)]
    for number, group in enumerate(found):
        for at in group:
            members[at].append(chr(ord("a") + number))
    return ["".join(letters) for letters in members]


def _checked(values: ArrayLike) -> NDArray[np.float64]:
    """(n, c, k), rounded."""
    table = np.asarray(values)
    table = table[:, None] if table.ndim == 2 else table
    if table.ndim != 3 or table.dtype.kind not in "fiu" or 0 in table.shape or table.shape[2] < 2:
        raise ValueError(
            f"got an array of shape {np.shape(values)} and type {table.dtype}, "
            "numbers of at least one block and two methods expected"
        )
    lost = int((~np.isfinite(table)).sum())
    if lost:
        raise ValueError(f"{lost} of {table.size} values are not finite; leave such blocks out and say so")
    return np.round(table.astype(float), _DIGITS)
