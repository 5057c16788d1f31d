"""Many methods over many columns: Friedman's test, average ranks and which of them differ (Demsar, 2006).

A block is a cell of a table (a class, a shift, a share): its mean AUC by entry. Blocks of one table draw from one
dataset, so a rank says what holds over its cells, not over datasets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from puoc.analysis.frames import frame
from puoc.analysis.plans import UNTESTED, TablePlan
from puoc.analysis.signed_rank import midranks

RANKS = {
    "table": "text",
    "entry": "text",
    "average_rank": "float",  # 1 = best in every cell
    "wins": "int",  # cells in which it has the best mean, alone
    "ties": "int",  # or shares it
    "losses": "int",
    "n_cells": "int",  # cells in which every entry has a full mean
    "n_entries": "int",
    "friedman": "float",  # chi-squared with n_entries - 1 degrees of freedom
    "p": "float",  # by permutations within the cells
    "critical_difference": "float",  # Nemenyi, at .05
    "groups": "text",  # letters: entries that share one do not differ
    "note": "text",
}

_DIGITS = 10
_LEVEL = 0.05
_PERMUTATIONS = 9999
_SEED = 0


@dataclass(frozen=True)
class Friedman:
    """Friedman's test of k methods in n blocks."""

    average_ranks: tuple[float, ...]  # in the order of the columns; 1 = highest value
    chi_squared: float
    p: float  # by permutations of the ranks within each block


def friedman(values: ArrayLike) -> Friedman:
    """Test whether methods rank alike over blocks; higher values are better, ties share midranks.

    Parameters
    ----------
    values : (n, k) blocks by methods, rounded to 10 digits before ranking.

    Raises
    ------
    ValueError : fewer than two blocks or methods, or a value that is not finite.
    """
    table = _checked(values)
    n, k = table.shape
    ranks = midranks(-table)
    means = ranks.mean(axis=0)
    # with ties the ranks' own spread stands in the denominator (Conover, 1999, section 5.8)
    spread = float(((ranks - (k + 1) / 2) ** 2).sum())
    chi = 0.0 if spread == 0 else float((k - 1) * n**2 * ((means - (k + 1) / 2) ** 2).sum() / spread)
    return Friedman(tuple(float(mean) for mean in means), chi, _permutation_p(ranks))


def _permutation_p(ranks: NDArray[np.float64]) -> float:
    """Chance of column sums as far apart, if each block's ranks fall anyhow; of few blocks no distribution is needed.

    Blocks are sorted first, so their order changes nothing.
    """
    n, k = ranks.shape
    ordered = ranks[np.lexsort(ranks.T)]
    drawn = np.random.default_rng(_SEED).random((_PERMUTATIONS, n, k)).argsort(axis=2)
    sums = np.take_along_axis(ordered[None], drawn, axis=2).sum(axis=1)
    spread, observed = ((sums - n * (k + 1) / 2) ** 2).sum(axis=1), ((ordered.sum(axis=0) - n * (k + 1) / 2) ** 2).sum()
    return float((1 + (spread >= observed - 1e-9).sum()) / (1 + _PERMUTATIONS))


def critical_difference(n_blocks: int, n_methods: int, level: float = 0.05) -> float:
    """Nemenyi's: average ranks that are further apart differ (Demsar, 2006, section 3.2.2)."""
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - level, n_methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_blocks)))


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


def rank_table(plan: TablePlan, summary: pd.DataFrame) -> pd.DataFrame:
    """One row an entry of a table; oracles stay out, and so do entries that lack half of the cells.

    Of the others, cells in which one has a hole are left out, so that all are ranked over the same cells.

    Parameters
    ----------
    summary : rows of ``summarise`` for this table.
    """
    names = [entry.entry for entry in plan.entries if not entry.oracle]
    cells = summary[~summary["is_average"] & summary["entry"].isin(names)]
    full = cells[(cells["n"] == cells["n_planned"]) & (cells["n"] > 0)]
    means = full.pivot(index="cell_index", columns="entry", values="mean").reindex(columns=names)
    lacking = [name for name in names if 2 * means[name].notna().sum() <= len(plan.cells)]
    names = [name for name in names if name not in lacking]
    whole = means[names].dropna(axis=0, how="any")
    head: dict[str, Any] = {"table": plan.table, "n_cells": len(whole), "n_entries": len(names)}
    said = [f"full in half of the cells or fewer: {', '.join(lacking)}"] if lacking and plan.tested else []
    said += [] if plan.tested else [UNTESTED]
    if len(whole) < len(plan.cells) and len(names):
        said.append(f"{len(whole)} of {len(plan.cells)} cells have every entry")
    if len(names) < 2 or len(whole) < 2:
        said.append("fewer than two entries or two cells: nothing to rank")
        counts = {"wins": 0, "ties": 0, "losses": 0}
        return frame([_row(head | counts, name, said) for name in [*names, *lacking]], RANKS)
    values = np.round(whole.to_numpy(dtype=float), _DIGITS)
    test = friedman(values)
    difference = critical_difference(len(whole), len(names))
    alike = [tuple(range(len(names)))]  # where Friedman's test tells nothing apart, no pair is
    letters = _letters(groups(test.average_ranks, difference) if test.p < _LEVEL else alike, len(names))
    best = values.max(axis=1, keepdims=True)
    is_best, alone = values == best, (values == best).sum(axis=1, keepdims=True) == 1
    rows = []
    for at, name in enumerate(names):
        wins, ties = int((is_best & alone)[:, at].sum()), int((is_best & ~alone)[:, at].sum())
        numbers = {"average_rank": test.average_ranks[at], "friedman": test.chi_squared, "p": test.p}
        numbers |= {"wins": wins, "ties": ties, "losses": len(whole) - wins - ties}
        rows.append(_row(head | numbers | {"critical_difference": difference, "groups": letters[at]}, name, said))
    empty = {"wins": 0, "ties": 0, "losses": 0}
    return frame([*rows, *(_row(head | empty, name, said) for name in lacking)], RANKS)


def _row(values: dict[str, Any], entry: str, said: list[str]) -> dict[str, Any]:
    return dict.fromkeys(RANKS) | values | {"entry": entry, "note": "; ".join(said)}


def _letters(found: list[tuple[int, ...]], n: int) -> list[str]:
    members: list[list[str]] = [[] for _ in range(n)]
    for number, group in enumerate(found):
        for at in group:
            members[at].append(chr(ord("a") + number))
    return ["".join(letters) for letters in members]


def _checked(values: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(values)
    if table.ndim != 2 or table.dtype.kind not in "fiu" or min(table.shape) < 2:
        raise ValueError(
            f"got an array of shape {table.shape} and type {table.dtype}, "
            "numbers of at least two blocks and two methods expected"
        )
    lost = int((~np.isfinite(table)).sum())
    if lost:
        raise ValueError(f"{lost} of {table.size} values are not finite; leave such blocks out and say so")
    return np.round(table.astype(float), _DIGITS)
