"""Spreads over seeds that the columns of a table share, for the intervals of the verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from puoc.analysis.statistics.moderated import moderated_variances
from puoc.analysis.tables.summary import Statistics, SummaryRow

#: Which of the two AUCs of a fit.
HELD_OUT, TRAIN_POOL = "held out", "training pool"


class Spread(NamedTuple):
    """Standard deviation over seeds, in AUC, with its degrees of freedom."""

    std: float
    df: float


#: By table, entry, cell and AUC.
Spreads = dict[tuple[str, str, str, str], Spread]


def own_spread(statistics: Statistics) -> Spread | None:
    """Return the spread that a column has by itself; None for fewer than two seeds."""
    return None if statistics.std is None else Spread(statistics.std, statistics.n - 1)


def moderated_spreads(summary: Sequence[SummaryRow]) -> Spreads:
    """Estimate the spread of each cell of an entry from all cells of that entry in the table (Smyth 2004).

    A cell with one seed has no spread: that of the others says little about it, since spreads grow where methods fail.
    Averages over cells have none here either, nor have entries with fewer than two cells of two seeds.
    """
    by_entry: dict[tuple[str, str], list[SummaryRow]] = defaultdict(list)
    for row in summary:
        if not row.is_average:
            by_entry[row.table, row.entry].append(row)
    spreads: Spreads = {}
    for (table, entry), cells in by_entry.items():
        for scored_on in (HELD_OUT, TRAIN_POOL):
            pairs = [(row.cell, row.held_out if scored_on == HELD_OUT else row.train_pool) for row in cells]
            run = [(cell, statistics) for cell, statistics in pairs if statistics.n]
            moderated = moderated_variances(
                [(statistics.std or 0.0) ** 2 for _, statistics in run], [statistics.n - 1 for _, statistics in run]
            )
            if moderated is not None:
                values = zip(run, moderated.variances, moderated.df, strict=True)
                spreads |= {
                    (table, entry, cell, scored_on): Spread(float(variance) ** 0.5, float(df))
                    for (cell, statistics), variance, df in values
                    if statistics.n > 1
                }
    return spreads
