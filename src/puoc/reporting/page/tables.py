"""The results table: one view per cell, with what a reader has to know to trust the number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from puoc.analysis.paper.verdicts import student
from puoc.analysis.tables.frames import present, records
from puoc.analysis.tables.plans import UNTESTED, EntryPlan, TablePlan
from puoc.analysis.tables.summary import AVERAGE
from puoc.reporting.page.format import DASH, number, spread
from puoc.reporting.page.significance import ALPHA
from puoc.reporting.page.sources import config_badge

_CHANCE = 0.5  # the AUC of scores that say nothing
_KINDS = {"oc": "OC", "pu": "PU", "pu_oc": "PU-OC"}


@dataclass(frozen=True)
class CellView:
    """One cell as shown."""

    text: str
    note: str  # shown small below: holes
    title: str  # on hover
    href: str  # to its trials; empty where there are none
    best: bool  # printed as the best ranked mean of the column is
    mark: str  # "", "raw" or "holm": significantly better than its twin


@dataclass(frozen=True)
class RowView:
    """One entry as shown."""

    name: str
    kind: str
    oracle: bool
    configs: str  # selected, published; empty where nothing was recorded
    cells: list[CellView]


def column_heads(plan: TablePlan) -> list[str]:
    """Names of the columns; one cell is its own average, so it gets no average column."""
    return [*plan.cells, *([AVERAGE] if len(plan.cells) > 1 else [])]


def row_views(
    anchor: str, plan: TablePlan, rows: pd.DataFrame | None, summary: pd.DataFrame, tests: pd.DataFrame
) -> list[RowView]:
    """All rows of a table in the plan's order."""
    marks = _marks(tests)
    columns = range(len(column_heads(plan)))
    by_key = {(row["entry"], row["cell_index"]): row for row in records(summary)}
    best = {row["cell_index"]: number(row["mean"]) for row in by_key.values() if row["rank"] == 1}
    return [
        RowView(
            name=entry.entry,
            kind=_KINDS.get(entry.kind, entry.kind),
            oracle=entry.oracle,
            configs=config_badge(rows, entry.entry),
            cells=[
                _cell_view(
                    by_key[entry.entry, column], _target(anchor, at, entry, column, plan), marks, best.get(column)
                )
                for column in columns
            ],
        )
        for at, entry in enumerate(plan.entries)
    ]


def empty_notes(summary: pd.DataFrame) -> list[tuple[str, str]]:
    """Why cells are empty or have holes: (entry and cells, reasons), equal reasons of an entry told once."""
    told = summary[~summary["is_average"] & summary["reasons"].fillna("").ne("") & summary["state"].ne("ok")]
    notes = []
    for (entry, reasons), group in told.groupby(["entry", "reasons"], sort=False):
        notes.append((f"{entry}: {', '.join(group['cell'])}", str(reasons)))
    return notes


def chance_notes(summary: pd.DataFrame) -> list[str]:
    """Entries that rank worse than chance: the 95 % interval of the mean AUC over seeds (Student's) lies below .5."""
    cells = summary[~summary["is_average"] & (summary["n"] > 1)]
    cells = cells.assign(error=cells["std"] / cells["n"] ** 0.5, reach=[student(int(n)) for n in cells["n"]])
    notes = []
    for entry, group in cells[cells["mean"] + cells["reach"] * cells["error"] < _CHANCE].groupby("entry", sort=False):
        found = [(row["cell"], f"({spread(row['mean'], row['error'])}, n = {row['n']})") for row in records(group)]
        if len(found) == 1:
            notes.append(f"{entry} at {found[0][0]} ranks worse than chance {found[0][1]}")
        else:
            where = ", ".join(f"{cell} {values}" for cell, values in found)
            notes.append(f"{entry} ranks worse than chance at {where}")
    return notes


def constant_notes(rows: pd.DataFrame | None) -> list[str]:
    """Trials whose scores are probably all the same: an AUC of exactly one half by both protocols.

    The scores themselves are not among the results; ties in all of them give this AUC, and little else does twice.
    """
    if rows is None:
        return []
    level = rows[(rows["status"] == "ok") & (rows["auc"] == _CHANCE) & (rows["auc_train_pool"] == _CHANCE)]
    notes = []
    for (entry, cell), group in level.groupby(["entry", "cell"], sort=False):
        seeds = ", ".join(str(seed) for seed in sorted(group["seed"]))
        notes.append(
            f"{entry} at {cell}, seed {seeds}: an AUC of exactly .5 on held-out rows and on the training pool; it "
            "probably scores all rows alike, as after a training that came to nothing"
        )
    return notes


def _target(anchor: str, at: int, entry: EntryPlan, column: int, plan: TablePlan) -> str:
    if column < len(plan.cells):
        return f"#{anchor}-e{at}-c{column}"
    return f"#{anchor}-e{at}" if len(plan.cells) > 1 else f"#{anchor}-e{at}-c0"  # the average


def _cell_view(row: dict[str, Any], target: str, marks: dict[tuple[str, int], str], best: str | None) -> CellView:
    reasons = row["reasons"] if present(row["reasons"]) else ""
    text, note, title = _words(row, reasons)
    return CellView(
        text=text,
        note=note,
        title=title,
        href=target if row["n_ok"] or row["n_failed"] or row["n_skipped"] else "",
        best=present(row["rank"]) and number(row["mean"]) == best,
        mark=marks.get((row["entry"], row["cell_index"]), "") if row["n"] else "",
    )


def _words(row: dict[str, Any], reasons: str) -> tuple[str, str, str]:
    """Text, note and title of a cell."""
    if row["n"]:
        text = spread(row["mean"], row["std"])
        title = f"n = {row['n']}, min {number(row['min'], 3)}, max {number(row['max'], 3)}"
        whole = row["n"] == row["n_planned"]
        return text, "" if whole else f"n = {row['n']} of {row['n_planned']}", "; ".join(filter(None, (title, reasons)))
    if row["is_average"] and row["state"] == "partial":
        return DASH, "no full seed", reasons
    if row["state"] == "untested":
        note = "" if row["n_val_pu"] == row["n_planned"] else f"n = {row['n_val_pu']} of {row['n_planned']}"
        return spread(row["mean_val_pu"], row["std_val_pu"]), note, "; ".join(filter(None, (UNTESTED, reasons)))
    words = {"failed": f"failed ({row['n_failed']})", "skipped": "n/a"}
    text = words.get(row["state"], "not run")
    if row["state"] == "failed" and not row["n_failed"]:
        text = "no AUC"
    return text, "", reasons or "not run yet"


def _marks(tests: pd.DataFrame) -> dict[tuple[str, int], str]:
    """Which entry of a twin pair is the better one, by column: after Holm, or by its raw p alone."""
    marks: dict[tuple[str, int], str] = {}
    for test in records(tests):
        if not present(test["p"]) or not test["p"] < ALPHA:
            continue
        better = test["entry"] if test["shift"] > 0 else test["twin_entry"]
        level = "holm" if present(test["p_adjusted"]) and test["p_adjusted"] < ALPHA else "raw"
        key = (better, test["cell_index"])
        marks[key] = "holm" if "holm" in (level, marks.get(key)) else "raw"
    return marks
