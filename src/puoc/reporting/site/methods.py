"""The page of a method: its numbers in all tables, hyperparameters, curves, cost and failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from sys import modules

import pandas as pd

from puoc.reporting.page.places import table_page
from puoc.reporting.page.section import Table
from puoc.reporting.page.sweeps import SweepView
from puoc.reporting.site.curves import Curve, Series, curve
from puoc.reporting.site.leaderboard import rank_text
from puoc.reporting.site.method_charts import MethodCharts, method_charts
from puoc.reporting.site.recorded_curves import EntryCurves
from puoc.reporting.site.standings import FAMILIES, Standing, best_names

_NEEDED = ["entry", "status", "reason", "fit_id", "fit_seconds", "peak_memory"]


@dataclass(frozen=True)
class MethodLine:
    """An entry of the method in one table."""

    table: str
    title: str
    href: str
    entry: str
    cells: list[Standing]  # the last one is the average, in a table of several cells
    rank: str
    best: str  # the best entry of the table in its last column
    best_text: float | None

    @property
    def run(self) -> list[Standing]:
        """Return the cells that were run."""
        return [one for one in self.cells if not one.is_average and one.summary.state != "not run"]

    @property
    def n_not_run(self) -> int:
        """Return the number of cells that were not run."""
        return sum(not one.is_average for one in self.cells) - len(self.run)


@dataclass(frozen=True)
class MethodView:
    """The content of the page."""

    name: str
    family: str
    look: str
    twin: str
    twins: list[str]  # methods that extend it
    said: list[str]  # paragraphs of its documentation
    lines: list[MethodLine]
    planned: list[str]  # tables that plan it and were not run
    curves: list[Curve]  # over the cells of a table
    charts: MethodCharts  # while training, and ROC
    configs: list[dict[str, str]]  # with the tables that use it
    sweeps: list[SweepView]  # of its hyperparameters
    seconds: float | None  # all its fits together
    n_trials: int
    peak_memory: float | None  # in bytes
    failures: list[tuple[str, str, str, str, int]]  # table, entry, status, reason, trials

    @property
    def n_best(self) -> int:
        """Return the number of tables in which one of its entries has the best average."""
        return len({line.table for line in self.lines if line.cells[-1].summary.rank == 1})

    @property
    def n_failed(self) -> int:
        """Return the number of trials that ended in an error."""
        return sum(n for *_, status, _, n in self.failures if status == "failed")

    @property
    def seconds_each(self) -> float | None:
        """Return the wall time of its fits by scored trial."""
        return None if self.seconds is None or not self.n_trials else self.seconds / self.n_trials


def method_views(
    tables: Sequence[Table],
    standings: Mapping[str, Sequence[Standing]],
    configs: Mapping[str, Sequence[dict[str, str]]],
    recorded: Mapping[str, Sequence[EntryCurves]],
    sweeps: Sequence[SweepView],
) -> list[MethodView]:
    """Return the content of the page of each method that a table plans, by name.

    Parameters
    ----------
    standings, configs, recorded : those of each table, by its name.
    """
    narrow = {
        t.plan.table: {str(entry): rows for entry, rows in t.rows.reindex(columns=_NEEDED).groupby("entry")}
        for t in tables
        if t.rows is not None
    }
    kinds = {entry.method: entry.kind for table in tables for entry in table.plan.entries}
    twins = {entry.method: entry.twin or "" for table in tables for entry in table.plan.entries}
    return [
        _view(name, kinds[name], twins, tables, narrow, standings, configs, recorded, sweeps) for name in sorted(kinds)
    ]


def _view(
    name: str,
    kind: str,
    twins: Mapping[str, str],
    tables: Sequence[Table],
    narrow: Mapping[str, Mapping[str, pd.DataFrame]],
    standings: Mapping[str, Sequence[Standing]],
    configs: Mapping[str, Sequence[dict[str, str]]],
    recorded: Mapping[str, Sequence[EntryCurves]],
    sweeps: Sequence[SweepView],
) -> MethodView:
    lines, curves, own, failures, planned = [], [], list[dict[str, str]](), [], []
    charted: list[tuple[str, Sequence[EntryCurves]]] = []
    seconds, n_trials, memory = 0.0, 0, []
    for table in tables:
        entries = [entry for entry in table.plan.entries if entry.method == name]
        if not entries:
            continue
        if table.rows is None:
            planned.append(table.plan.table)
            continue
        of_table = standings[table.plan.table]
        names = {entry.entry for entry in entries}
        own += [row | {"table": table.plan.table} for row in configs[table.plan.table] if row["entry"] in names]
        run = {one.entry.entry for one in of_table if one.summary.state != "not run"}
        lines += [_line(table, entry.entry, of_table) for entry in entries if entry.entry in run]
        if not names & run:
            planned.append(table.plan.table)
            continue
        if drawn := _curve(table, names, of_table):
            curves.append(drawn)
        if kept := [one for one in recorded.get(table.plan.table, ()) if one.entry in names]:
            charted.append((table.plan.title, kept))
        rows = pd.concat([narrow[table.plan.table][each] for each in sorted(names & run)])
        n_trials += int((rows["status"] == "ok").sum())
        once = rows.drop_duplicates("fit_id")
        seconds += float(once["fit_seconds"].dropna().sort_values().sum())
        if rows["peak_memory"].notna().any():
            memory.append(float(rows["peak_memory"].max()))
        bad = rows[rows["status"].isin(["failed", "skipped"])]
        bad = bad.assign(reason=bad["reason"].fillna("no reason recorded"))
        for (entry, status, reason), group in bad.groupby(["entry", "status", "reason"]):
            failures.append((table.plan.table, str(entry), str(status), str(reason), len(group)))
    family, look = FAMILIES[kind]
    return MethodView(
        name=name,
        family=family,
        look=look,
        twin=twins[name],
        twins=sorted(other for other, twin in twins.items() if twin == name),
        said=_said(name),
        lines=lines,
        planned=planned,
        curves=curves,
        charts=method_charts(charted),
        configs=_merged(own),
        sweeps=[one for one in sweeps if one.row.method == name],
        seconds=seconds if n_trials else None,
        n_trials=n_trials,
        peak_memory=max(memory, default=None),
        failures=failures,
    )


def _line(table: Table, entry: str, standings: Sequence[Standing]) -> MethodLine:
    cells = [one for one in standings if one.entry.entry == entry]
    last = cells[-1]
    rivals = [one for one in standings if one.column == last.column and one.summary.rank == 1]
    return MethodLine(
        table=table.plan.table,
        title=table.plan.title,
        href=table_page(table.plan.table),
        entry=cells[0].entry.label,
        cells=cells,
        rank=rank_text(last),
        best=best_names(rivals),
        best_text=rivals[0].summary.mean if rivals else None,
    )


def _curve(table: Table, names: set[str], standings: Sequence[Standing]) -> Curve | None:
    """Draw the entries of the method over the cells, beside the best value of each cell."""
    cells = table.plan.cell_names
    if len(cells) < 2:
        return None

    def values(entry: str) -> list[Standing]:
        return [one for one in standings if one.entry.entry == entry and not one.is_average]

    best: list[float | None] = [
        next((one.summary.mean for one in standings if one.column == column and one.summary.rank == 1), None)
        for column in range(len(cells))
    ]
    drawn = [Series("best of the table", "fam-best", best, [None] * len(cells), faint=True)]
    for entry in table.plan.entries:
        if entry.entry in names:
            of_entry = values(entry.entry)
            drawn.append(
                Series(
                    entry.label,
                    of_entry[0].look,
                    [one.summary.mean for one in of_entry],
                    [one.summary.std for one in of_entry],
                )
            )
    if not any(value is not None for one in drawn[1:] for value in one.values):
        return None
    return curve(table.plan.title, cells, drawn)


def _merged(configs: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return each configuration of an entry once, with all its tables."""
    tables: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for config in configs:
        tables.setdefault(tuple((k, v) for k, v in config.items() if k != "table"), []).append(config["table"])
    return [dict(config) | {"table": ", ".join(names)} for config, names in tables.items()]


def _said(name: str) -> list[str]:
    """Return the first paragraphs of the method's documentation; none if it is not registered."""
    from puoc.registry import METHODS

    known = METHODS.get(name)
    if known is None:
        return []
    parts = [" ".join(part.split()) for part in cleandoc(modules[known.__module__].__doc__ or "").split("\n\n")]
    own = " ".join(cleandoc(known.__doc__ or "").split("\n\n")[0].split())
    return [part for part in (*parts[:2], own) if part]
