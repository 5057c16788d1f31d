"""The results table for the page: one view per cell, with the remarks that the number needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from puoc.analysis.paper.verdicts import student
from puoc.analysis.statistics.significance import SignificanceRow
from puoc.analysis.tables.results import UNTESTED
from puoc.analysis.tables.summary import AVERAGE, CHANCE, SummaryRow
from puoc.reporting.page.format import DASH, number, spread
from puoc.reporting.page.places import passport_id
from puoc.reporting.page.significance import ALPHA
from puoc.reporting.page.sources import config_badge
from puoc.store.plans import EntryPlan, TablePlan

_KINDS = {"oc": "OC", "pu": "PU", "pu_oc": "PU-OC"}


@dataclass(frozen=True)
class CellView:
    """One cell as shown."""

    text: str
    note: str  # shown small below: holes, and what an average hides
    title: str  # on hover
    href: str  # link to its trials; empty if there are none
    best: bool  # equal, as printed, to the best mean of the column
    mark: str  # "", "raw" or "holm": significantly better than its twin


@dataclass(frozen=True)
class RowView:
    """One entry as shown."""

    name: str
    method: str
    kind: str
    oracle: bool
    told_alpha: bool  # the fit gets the true share of positives in U
    configs: str  # selected, published, default; empty if nothing was recorded
    cells: list[CellView]


def column_heads(plan: TablePlan) -> list[str]:
    """Return the names of the columns. A table with one cell has no average column."""
    return [*plan.cell_names, *([AVERAGE] if len(plan.cells) > 1 else [])]


def row_views(
    anchor: str,
    plan: TablePlan,
    rows: pd.DataFrame | None,
    summary: Sequence[SummaryRow],
    tests: Sequence[SignificanceRow],
) -> list[RowView]:
    """Return all rows of a table in the order of the plan."""
    marks = _marks(tests)
    columns = range(len(column_heads(plan)))
    by_key = {(row.entry, row.cell_index): row for row in summary}
    best = {row.cell_index: number(row.mean) for row in summary if row.rank == 1}
    return [
        RowView(
            name=entry.entry,
            method=entry.method,
            kind=_KINDS.get(entry.kind, entry.kind),
            oracle=entry.oracle,
            told_alpha=entry.told_alpha,
            configs=config_badge(rows, entry),
            cells=[
                _cell_view(
                    by_key[entry.entry, column], _target(anchor, index, entry, column, plan), marks, best.get(column)
                )
                for column in columns
            ],
        )
        for index, entry in enumerate(plan.entries)
    ]


def empty_notes(summary: Sequence[SummaryRow]) -> list[tuple[str, str]]:
    """Return why cells are empty or incomplete: (entry and cells, reasons); equal reasons of an entry are merged."""
    cells: dict[tuple[str, str], list[str]] = {}
    for row in summary:
        if row.reasons and row.state != "ok" and not row.is_average:
            cells.setdefault((row.entry, row.reasons), []).append(row.cell)
    return [(f"{entry}: {', '.join(names)}", reasons) for (entry, reasons), names in cells.items()]


def chance_notes(summary: Sequence[SummaryRow]) -> list[str]:
    """Return the entries that rank worse than chance: the 95 % t interval of the mean AUC over seeds is below .5."""
    cells: dict[str, list[tuple[str, str]]] = {}
    for row in summary:
        if row.is_average or row.metric != "auc" or row.mean is None or row.std is None:
            continue
        error = row.std / row.n**0.5
        if row.mean + student(row.n - 1) * error < CHANCE:
            cells.setdefault(row.entry, []).append((row.cell, f"({spread(row.mean, error)}, n = {row.n})"))
    notes = []
    for entry, cells_with_means in cells.items():
        if len(cells_with_means) == 1:
            notes.append(f"{entry} at {cells_with_means[0][0]} ranks worse than chance {cells_with_means[0][1]}")
        else:
            where = ", ".join(f"{cell} {values}" for cell, values in cells_with_means)
            notes.append(f"{entry} ranks worse than chance at {where}")
    return notes


def constant_notes(rows: pd.DataFrame | None) -> list[str]:
    """Return the trials whose scores are probably all equal: an AUC of exactly one half by both protocols.

    The results do not contain the scores. If all scores are tied, both AUCs are .5; other causes are improbable.
    """
    if rows is None:
        return []
    pool = rows["auc_train_pool"]  # none of user data, whose U has unknown classes
    level = rows[(rows["status"] == "ok") & (rows["auc"] == CHANCE) & ((pool == CHANCE) | pool.isna())]
    notes = []
    for (entry, cell), group in level.groupby(["entry", "cell"], sort=False):
        seeds = ", ".join(str(seed) for seed in sorted(group["seed"]))
        also = "" if group["auc_train_pool"].isna().any() else " and on the training pool"
        notes.append(
            f"{entry} at {cell}, seed {seeds}: an AUC of exactly .5 on held-out rows{also}; it "
            "probably gives all rows equal scores because the training failed"
        )
    return notes


def _target(anchor: str, index: int, entry: EntryPlan, column: int, plan: TablePlan) -> str:
    if column < len(plan.cells):
        return f"{anchor}#{passport_id(index, column)}"
    return f"{anchor}#{passport_id(index, len(plan.cells) if len(plan.cells) > 1 else 0)}"  # the average


def _cell_view(row: SummaryRow, target: str, marks: dict[tuple[str, int], str], best: str | None) -> CellView:
    text, note, title = _words(row)
    return CellView(
        text=text,
        note=note,
        title=title,
        href=target if row.n_ok or row.n_failed or row.n_skipped else "",
        best=row.rank is not None and number(row.mean) == best,
        mark=marks.get((row.entry, row.cell_index), "") if row.n else "",
    )


def _words(row: SummaryRow) -> tuple[str, str, str]:
    """Return text, note and title of a cell."""
    if row.n:
        title = f"n = {row.n}, min {number(row.min, 3)}, max {number(row.max, 3)}"
        note = "" if row.n == row.n_planned else f"n = {row.n} of {row.n_planned}"
        note = "; ".join(filter(None, (note, row.below_chance and f"hides {row.below_chance}")))
        return spread(row.mean, row.std), note, "; ".join(filter(None, (title, row.reasons)))
    if row.is_average and row.state == "partial":
        return DASH, "no full seed", row.reasons
    if row.state == "untested":
        note = "" if row.n_val_pu == row.n_planned else f"n = {row.n_val_pu} of {row.n_planned}"
        return spread(row.mean_val_pu, row.std_val_pu), note, "; ".join(filter(None, (UNTESTED, row.reasons)))
    words = {"failed": f"failed ({row.n_failed})", "skipped": "n/a"}
    text = words.get(row.state, "not run")
    if row.state == "failed" and not row.n_failed:
        text = "no AUC" if row.metric == "auc" else f"no {row.metric}"
    return text, "", row.reasons or "not run yet"


def _marks(tests: Sequence[SignificanceRow]) -> dict[tuple[str, int], str]:
    """Return which entry of each twin pair is significantly better, by column: after Holm, or by its raw p only."""
    marks: dict[tuple[str, int], str] = {}
    for test in tests:
        if test.p is None or test.shift is None or not test.p < ALPHA:
            continue
        better = test.entry if test.shift > 0 else test.twin_entry
        level = "holm" if test.p_adjusted is not None and test.p_adjusted < ALPHA else "raw"
        key = (better, test.cell_index)
        marks[key] = "holm" if "holm" in (level, marks.get(key)) else "raw"
    return marks
