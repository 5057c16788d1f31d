"""Means by entry and cell, each with its n and with the trials that are missing from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from puoc.analysis.tables.grid import UNSCORED, Floats, Grid, Outcomes
from puoc.store.plans import EntryPlan, TablePlan

#: Name of the column of class-averaged AUC; ``is_average`` distinguishes it from a cell with that name.
AVERAGE = "average"
#: The AUC of uninformative scores.
CHANCE = 0.5


class Statistics(NamedTuple):
    """Number, mean, standard deviation (ddof 1) and range of some values."""

    n: int
    mean: float | None
    std: float | None
    min: float | None
    max: float | None


@dataclass(frozen=True, kw_only=True)
class SummaryRow:
    """One entry in one column of a table: a cell, or the average over the cells."""

    table: str
    scenario: str
    dataset: str
    entry: str
    method: str
    kind: str
    twin: str | None
    labels: str
    configs: str
    metric: str = "auc"  # what the mean is of
    cell: str
    cell_index: int
    is_average: bool
    n: int  # values behind the mean: rows of a cell, complete seeds of the average
    mean: float | None  # of the metric
    std: float | None  # ddof 1
    min: float | None
    max: float | None
    rank: float | None = None  # 1 = best mean of the column; None for oracles and means over fewer values than others
    n_train_pool: int
    mean_train_pool: float | None
    std_train_pool: float | None
    min_train_pool: float | None
    max_train_pool: float | None
    n_val_pu: int  # of auc_val_pu, in tables that withhold rows of P and U
    mean_val_pu: float | None
    std_val_pu: float | None
    min_val_pu: float | None
    max_val_pu: float | None
    n_planned: int
    n_ok: int
    n_failed: int
    n_skipped: int
    n_missing: int
    reasons: str
    below_chance: str = ""  # of an average: its cells with a mean AUC below .5, which the average hides
    state: str = ""  # ok, partial, failed, skipped, not run; untested: no labelled test rows, auc_val_pu alone
    trial_ids: str  # JSON list of the trials behind the mean

    @property
    def held_out(self) -> Statistics:
        """Return the statistics of the AUC on held-out rows."""
        return Statistics(self.n, self.mean, self.std, self.min, self.max)

    @property
    def train_pool(self) -> Statistics:
        """Return the statistics of the AUC on the training pool."""
        return Statistics(
            self.n_train_pool, self.mean_train_pool, self.std_train_pool, self.min_train_pool, self.max_train_pool
        )


def summarise(plan: TablePlan, rows: pd.DataFrame | None, metric: str = "auc") -> list[SummaryRow]:
    """Return one row per entry and column (cells, then the average). The plan alone determines shape and order.

    Parameters
    ----------
    plan : the plan of the table.
    rows : as returned by ``planned_rows``; None if the table was not run.
    metric : name of what the column ``auc`` of the rows has.
    """
    grid = None if rows is None else Grid.from_rows(plan, rows)
    why = "" if rows is None else _why_undetermined(plan, rows)
    summary = []
    for position, entry in enumerate(plan.entries):
        for index in (*range(len(plan.cells)), None):
            row = _unrun_row(plan, entry, index) if grid is None else _run_row(grid, position, index)
            if metric != "auc" and plan.tested:
                row = replace(row, reasons=row.reasons.replace(UNSCORED, f"{UNSCORED} of {metric}, {why}"))
            summary.append(replace(row, metric=metric, state=_state(row, plan.tested)))
        cells, average = summary[-1 - len(plan.cells) : -1], summary[-1]
        if metric == "auc":  # other metrics have another level of chance
            summary[-1] = replace(average, below_chance=below_chance({row.cell: row.mean for row in cells}))
    return _ranked(summary)


def _why_undetermined(plan: TablePlan, rows: pd.DataFrame) -> str:
    """Return why rows that are ok may lack a metric."""
    ok_rows = rows[rows["status"] == "ok"]
    if "metrics" not in rows or ok_rows["metrics"].isna().any():
        return f"since an earlier version wrote the rows; puoc run {plan.table} writes them again without a fit"
    return "which the stored results do not determine"


def below_chance(mean_by_cell: Mapping[str, float | None]) -> str:
    """Describe the cells whose mean AUC is below .5; empty if there are none."""
    low = {cell: mean for cell, mean in mean_by_cell.items() if mean is not None and mean < CHANCE}
    return ", ".join(f"{mean:.2f} at {cell}" for cell, mean in sorted(low.items(), key=lambda item: item[1]))


def _run_row(grid: Grid, position: int, cell: int | None) -> SummaryRow:
    """Summarise an entry in a cell, or its average if there is no cell."""
    plan, main_score = grid.plan, "auc" if grid.plan.tested else "auc_val_pu"
    columns = ("auc", "auc_train_pool", "auc_val_pu")
    if cell is None:
        values = {column: grid.averages(position, column) for column in columns}
    else:
        values = {"auc": grid.auc, "auc_train_pool": grid.auc_train_pool, "auc_val_pu": grid.auc_val_pu}
        values = {column: scores[position, cell] for column, scores in values.items()}
    outcomes, n, n_seeds = grid.outcomes(position, cell), statistics(values["auc"]).n, len(plan.seeds)
    if cell is None and plan.tested and n < n_seeds and outcomes.n_ok:
        holes = f"{n} of {n_seeds} seeds have every cell"
        outcomes = outcomes._replace(reasons="; ".join(filter(None, (holes, outcomes.reasons))))
    behind = grid.trials(position, cell, ~np.isnan(values[main_score]))
    scores = tuple(statistics(values[column]) for column in columns)
    return _row(plan, plan.entries[position], cell, scores, outcomes, behind)


def _unrun_row(plan: TablePlan, entry: EntryPlan, cell: int | None) -> SummaryRow:
    scores = (statistics(np.empty(0)),) * 3
    n_trials = len(plan.seeds) * (len(plan.cells) if cell is None else 1)
    return _row(plan, entry, cell, scores, Outcomes(0, 0, 0, n_trials, "the table was not run"), [])


def _row(
    plan: TablePlan,
    entry: EntryPlan,
    cell: int | None,
    scores: Sequence[Statistics],
    outcomes: Outcomes,
    trial_ids: list[str],
) -> SummaryRow:
    held_out, train_pool, val_pu = scores
    return SummaryRow(
        table=plan.table,
        scenario=plan.scenario,
        dataset=plan.dataset,
        entry=entry.entry,
        method=entry.method,
        kind=entry.kind,
        twin=entry.twin,
        labels=entry.labels,
        configs=plan.configs,
        cell=AVERAGE if cell is None else plan.cell_names[cell],
        cell_index=len(plan.cells) if cell is None else cell,
        is_average=cell is None,
        n=held_out.n,
        mean=held_out.mean,
        std=held_out.std,
        min=held_out.min,
        max=held_out.max,
        n_train_pool=train_pool.n,
        mean_train_pool=train_pool.mean,
        std_train_pool=train_pool.std,
        min_train_pool=train_pool.min,
        max_train_pool=train_pool.max,
        n_val_pu=val_pu.n,
        mean_val_pu=val_pu.mean,
        std_val_pu=val_pu.std,
        min_val_pu=val_pu.min,
        max_val_pu=val_pu.max,
        n_planned=len(plan.seeds),
        n_ok=outcomes.n_ok,
        n_failed=outcomes.n_failed,
        n_skipped=outcomes.n_skipped,
        n_missing=outcomes.n_missing,
        reasons=outcomes.reasons,
        trial_ids=json.dumps(trial_ids),
    )


def statistics(values: Floats) -> Statistics:
    """Compute n, mean, standard deviation and range of the values that are not NaN."""
    known = values[~np.isnan(values)]
    n = len(known)
    return Statistics(
        n=n,
        mean=float(known.mean()) if n else None,
        std=float(known.std(ddof=1)) if n > 1 else None,
        min=float(known.min()) if n else None,
        max=float(known.max()) if n else None,
    )


def _state(row: SummaryRow, tested: bool) -> str:
    if not tested and row.n_val_pu:
        return "untested"
    if row.n:
        return "ok" if row.n == row.n_planned else "partial"
    if row.n_failed or row.n_ok:
        return "partial" if row.is_average and row.n_ok else "failed"
    if row.n_skipped and not row.n_missing:
        return "skipped"
    return "partial" if row.is_average and row.n_skipped else "not run"


def _ranked(summary: list[SummaryRow]) -> list[SummaryRow]:
    """Rank entries within a column by mean; ties share the better rank.

    Only entries with as many values as the entry that has the most are ranked.
    """
    honest = [row for row in summary if row.labels != "oracle" and row.mean is not None]
    most_values: dict[int, int] = {}
    for row in honest:
        most_values[row.cell_index] = max(row.n, most_values.get(row.cell_index, 0))
    means: dict[int, dict[str, float]] = {}
    for row in honest:
        if row.n == most_values[row.cell_index] and row.mean is not None:
            means.setdefault(row.cell_index, {})[row.entry] = float(np.round(row.mean, 10))
    ranked = []
    for row in summary:
        of_column = means.get(row.cell_index, {})
        mean = of_column.get(row.entry)
        rank = None if mean is None else 1.0 + sum(other > mean for other in of_column.values())
        ranked.append(replace(row, rank=rank))
    return ranked
