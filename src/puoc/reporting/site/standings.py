"""Every number of a table with its rank, its chance against the best rival and its cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from puoc.analysis.statistics.rank_intervals import AgainstBest, RankInterval, against_best, rank_intervals
from puoc.analysis.statistics.significance import SignificanceRow
from puoc.analysis.tables.grid import Grid
from puoc.analysis.tables.metric_tables import MetricRow
from puoc.analysis.tables.summary import SummaryRow
from puoc.reporting.page.format import p_value, signed
from puoc.reporting.page.places import passport
from puoc.reporting.page.section import Table
from puoc.reporting.page.significance import verdict
from puoc.reporting.page.tables import column_heads
from puoc.store.plans import EntryPlan, TablePlan

#: Words and CSS class of each family.
FAMILIES = {"oc": ("OC", "fam-oc"), "pu": ("PU", "fam-pu"), "pu_oc": ("PU-OC", "fam-pu-oc")}


@dataclass(frozen=True)
class Standing:
    """An entry in a column of a table: a cell, or the average over the cells."""

    table: str
    title: str
    scenario: str
    dataset: str
    entry: EntryPlan
    entry_index: int
    column: int
    cell: str
    is_average: bool
    is_last: bool  # the average, or the only cell of a table
    summary: SummaryRow
    interval: RankInterval | None  # of the rank; None for references and without a rival
    chance: AgainstBest | None  # against the best other entry
    rival: str  # that entry; empty without one
    twins: list[SignificanceRow]  # tests of a PU-OC entry against the OC entries that it extends
    seconds: float | None  # mean wall time of a fit
    metrics: dict[str, float]  # means of all metrics of test rows, by name

    @property
    def href(self) -> str:
        """Return the address of the passport, from the folder of the reports."""
        return passport(self.table, self.entry_index, self.column)

    @property
    def family(self) -> str:
        """Return the family of the method in words, or *reference*."""
        return "reference" if self.entry.oracle else FAMILIES[self.entry.kind][0]

    @property
    def against_twins(self) -> str:
        """Return the differences to the twins with their p-values after Holm and verdicts; empty without a test."""
        return "; ".join(
            f"{signed(test.mean_difference)} to {test.twin_entry}, p {p_value(test.p_adjusted)}: {verdict(test)}"
            for test in self.twins
            if test.p is not None
        )

    @property
    def look(self) -> str:
        """Return the CSS class of the family."""
        return "fam-reference" if self.entry.oracle else FAMILIES[self.entry.kind][1]


def standings(table: Table) -> list[Standing]:
    """Return one standing per entry and column of a table, in the order of the plan; none if it was not run."""
    plan, rows = table.plan, table.rows
    if rows is None:
        return []
    heads = column_heads(plan)
    grid = Grid.from_rows(plan, rows)
    ranked = [index for index, entry in enumerate(plan.entries) if not entry.oracle]
    places = [_places(grid, ranked, column, column == len(plan.cells)) for column in range(len(heads))]
    seconds = _seconds(rows)
    metrics = _metrics(table.metrics)
    by_key = {(row.entry, row.cell_index): row for row in table.summary}
    found = []
    for index, entry in enumerate(plan.entries):
        for column, cell in enumerate(heads):
            interval, chance, rival = places[column].get(index, (None, None, None))
            average = column == len(plan.cells)
            standing = Standing(
                table=plan.table,
                title=plan.title,
                scenario=plan.scenario,
                dataset=plan.dataset,
                entry=entry,
                entry_index=index,
                column=column,
                cell=cell,
                is_average=average,
                is_last=column == len(heads) - 1,
                summary=by_key[entry.entry, column],
                interval=interval,
                chance=chance,
                rival="" if rival is None else plan.entries[rival].entry,
                twins=[test for test in table.tests if (test.entry, test.cell_index) == (entry.entry, column)],
                seconds=seconds.get((entry.entry, None if average else cell)),
                metrics=metrics.get((entry.entry, cell), {}) if not average else _averaged(metrics, entry.entry, plan),
            )
            found.append(standing)
    return found


_Place = tuple[RankInterval | None, AgainstBest | None, int | None]


def _places(grid: Grid, ranked: list[int], column: int, average: bool) -> dict[int, _Place]:
    """Return interval, chance and rival by position of the entry; nothing where seeds are no replication."""
    if not grid.plan.tested or not grid.plan.redraws or len(ranked) < 2:
        return {}
    values = np.stack([grid.averages(index) if average else grid.auc[index, column] for index in ranked])
    places = {}
    for index, interval, chance in zip(ranked, rank_intervals(values), against_best(values), strict=True):
        places[index] = (interval, chance, None if chance is None else ranked[chance.rival])
    return places


def _seconds(rows: pd.DataFrame) -> dict[tuple[str, str | None], float]:
    """Return the mean wall time of a fit by entry and cell, and by entry over all cells."""
    if "fit_seconds" not in rows:
        return {}
    known = rows[rows["fit_seconds"].notna() & (rows["status"] == "ok")]
    # sorted, so that the order of rows changes no digit
    found = {key: float(np.sort(group).mean()) for key, group in known.groupby(["entry", "cell"])["fit_seconds"]}
    each: dict[tuple[str, str | None], float] = {(str(entry), str(cell)): v for (entry, cell), v in found.items()}
    for entry, group in known.groupby("entry")["fit_seconds"]:
        each[str(entry), None] = float(np.sort(group).mean())
    return each


def _metrics(rows: Sequence[MetricRow]) -> dict[tuple[str, str], dict[str, float]]:
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        if row.mean is not None and row.n == row.n_ok:
            found.setdefault((row.entry, row.cell), {})[row.metric] = row.mean
    return found


def _averaged(metrics: dict[tuple[str, str], dict[str, float]], entry: str, plan: TablePlan) -> dict[str, float]:
    """Return the means over the cells of the metrics that every cell has."""
    of_cells = [metrics.get((entry, cell), {}) for cell in plan.cell_names]
    names = set.intersection(*(set(each) for each in of_cells)) if of_cells else set()
    return {name: float(np.mean([each[name] for each in of_cells])) for name in sorted(names)}


def best_names(best: Sequence[Standing]) -> str:
    """Return the names of the best entries of a column; of more than three the first two, and how many others."""
    names = [one.entry.label for one in best]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]} and {len(names) - 2} others"
