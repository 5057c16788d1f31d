"""What is shown of a place in the results: its rows as texts for readers, and as values for programs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final, NamedTuple, TypeVar

import pandas as pd

from puoc.analysis.statistics.significance import SignificanceRow
from puoc.analysis.tables.metric_tables import as_metric
from puoc.analysis.tables.results import UNTESTED
from puoc.analysis.tables.summary import AVERAGE, SummaryRow
from puoc.reporting.page.format import DASH, number, p_value, signed, spread
from puoc.reporting.page.metrics import label_of
from puoc.reporting.page.sources import draw_sentence
from puoc.reporting.page.tables import CellView, chance_notes, column_heads, empty_notes, row_views
from puoc.reporting.show.find import Place
from puoc.store.plans import TablePlan

Value = str | int | float | bool | None
R = TypeVar("R", SummaryRow, SignificanceRow)


class Cell(NamedTuple):
    """A text of a view, and how it stands out."""

    text: str
    best: bool = False  # the best mean of its column, as printed
    better: bool = False  # significantly better than its twin, after Holm


@dataclass(frozen=True)
class View:
    """A titled table of texts with notes, and the same rows as values."""

    title: str
    heads: list[str]
    rows: list[list[Cell]]
    notes: list[str]
    values: list[dict[str, Value]]


@dataclass(frozen=True)
class Results:
    """The results of the planned tables.

    Parameters
    ----------
    metric : what the means and the tests are of.
    rows : the recorded rows by table; a table that was not run has none.
    """

    plans: Sequence[TablePlan]
    metric: str
    rows: dict[str, pd.DataFrame | None]
    summary: Sequence[SummaryRow]
    tests: Sequence[SignificanceRow]


def view(results: Results, place: Place, digits: int = 2) -> View:
    """Return the view of a place.

    Parameters
    ----------
    digits : digits after the point of means and standard deviations.
    """
    if place.plan is None:
        return _tables(results, digits)
    if place.column is None:
        return _table(results, place.plan, digits)
    if place.entry is None:
        return _column(results, place.plan, place.column, digits)
    return _trials(results, place.plan, place.column, place.entry)


def _tables(results: Results, digits: int) -> View:
    """Show each table with its number of trials and its best entry."""
    lines, notes, values = [], list[str](), list[dict[str, Value]]()
    for plan in results.plans:
        rows = results.rows.get(plan.table)
        planned = len(plan.entries) * len(plan.cells) * len(plan.seeds)
        done = 0 if rows is None else int((rows["status"] == "ok").sum())
        last = len(column_heads(plan)) - 1
        best = [row for row in _of(results.summary, plan) if row.cell_index == last and row.rank == 1]
        texts = [f"{plan.label(row.entry)} {spread(row.mean, row.std, digits)}" for row in best]
        notes += [f"{plan.table}: {note}" for note in _hidden_notes(plan, best)]
        lines.append([plan.table, plan.scenario, plan.dataset, f"{done:,} of {planned:,}", ", ".join(texts) or DASH])
        values.append(
            {
                "table": plan.table,
                "scenario": plan.scenario,
                "dataset": plan.dataset,
                "trials": done,
                "planned": planned,
                "best": ", ".join(row.entry for row in best) or None,
                "metric": results.metric,
                "mean": best[0].mean if best else None,
                "told_alpha": any(plan.entries_by_name[row.entry].told_alpha for row in best),
                "below_chance": best[0].below_chance if best else "",
            }
        )
    heads = ["table", "scenario", "dataset", "trials", "best entry on average"]
    return View(f"Tables of the plan, by {_held_out(results.metric)}", heads, _plain(lines), notes, values)


def _table(results: Results, plan: TablePlan, digits: int) -> View:
    """Show the entries of a table over its cells."""
    heads = column_heads(plan)
    summary = [row for row in _of(results.summary, plan) if row.cell_index < len(heads)]
    lines = row_views(plan.table, plan, results.rows.get(plan.table), summary, _of(results.tests, plan))
    rows = []
    for line, entry in zip(lines, plan.entries, strict=True):
        means = [row for row in summary if row.entry == entry.entry]
        shown = [_cell(cell, row, digits) for cell, row in zip(line.cells, means, strict=True)]
        rows.append([Cell(entry.label), Cell("reference" if line.oracle else line.kind), *shown])
    score = _score_name(plan, results.metric)
    title = f"{plan.table}: {plan.scenario} on {plan.dataset}, {score}, mean \N{PLUS-MINUS SIGN} sd"
    notes = [f"{len(plan.seeds)} seeds planned", *_notes(results, plan, summary)]
    return View(title, ["entry", "kind", *heads], rows, notes, [_values(plan, row) for row in summary])


def _notes(results: Results, plan: TablePlan, summary: Sequence[SummaryRow]) -> list[str]:
    """Return why means are missing, which entries rank worse than chance, and which averages hide such cells."""
    if results.rows.get(plan.table) is None:
        return [f"not run yet; puoc run {plan.table} computes it"]
    notes = [f"{where}: {reasons}" for where, reasons in empty_notes(summary)]
    return notes + chance_notes(summary) + _hidden_notes(plan, summary)


def _hidden_notes(plan: TablePlan, summary: Sequence[SummaryRow]) -> list[str]:
    """Return the cells with a mean AUC below .5 that averages hide."""
    return [f"the average of {plan.label(row.entry)} hides {row.below_chance}" for row in summary if row.below_chance]


def _column(results: Results, plan: TablePlan, column: str, digits: int) -> View:
    """Show the entries of a table in one cell, the best one first, with the tests against their twins."""
    index = column_heads(plan).index(column)
    summary = [row for row in _of(results.summary, plan) if row.cell_index == index]
    summary.sort(key=lambda row: -2.0 if (mean := _mean(plan, row)) is None else -mean)
    tests = [test for test in _of(results.tests, plan) if test.cell_index == index]
    lines = []
    for row in summary:
        against = [
            f"{signed(test.mean_difference)} to {plan.label(test.twin_entry)}, p {p_value(test.p)}, after Holm "
            f"{p_value(test.p_adjusted)}"
            for test in tests
            if test.entry == row.entry
        ]
        rank = DASH if row.rank is None else f"{row.rank:g}"
        best = f"{number(row.min, digits)} to {number(row.max, digits)}" if row.n else DASH
        lines.append(
            [
                plan.label(row.entry),
                rank,
                _spread(plan, row, digits),
                f"{row.n} of {row.n_planned}",
                best,
                "; ".join(against),
            ]
        )
    heads = ["entry", "rank", "mean \N{PLUS-MINUS SIGN} sd", "n", "range", "difference to the one-class twin"]
    title = f"{plan.table}, {column}: {_score_name(plan, results.metric)}"
    values = [
        _values(plan, row) | {"tests": json.dumps([asdict(test) for test in tests if test.entry == row.entry])}
        for row in summary
    ]
    return View(title, heads, _plain(lines), _notes(results, plan, summary), values)


def _trials(results: Results, plan: TablePlan, column: str, entry: str) -> View:
    """Show the trials of an entry in a cell, or in all cells, with what they are made of."""
    title, score = f"{plan.table}, {column}, {plan.label(entry)}", label_of(results.metric) if plan.tested else "AUC"
    heads = ["cell", "seed", score, "status", "seconds", "trial", "fit"]
    rows = results.rows.get(plan.table)
    chosen = None if rows is None else rows[rows["entry"] == entry]
    if chosen is not None and column != AVERAGE:
        chosen = chosen[chosen["cell"] == column]
    if chosen is None or chosen.empty:
        return View(title, heads, [], [f"not run yet; puoc run {plan.table} computes it"], [])
    metric = results.metric if plan.tested else "auc_val_pu"
    of_metric = as_metric(chosen, metric)["auc"] if plan.tested else chosen["auc_val_pu"]
    values = [
        _record(row) | {"metric": metric, "value": _value(value)}
        for row, value in zip(chosen.to_dict("records"), of_metric, strict=True)
    ]
    lines = [
        [
            str(row["cell"]),
            str(row["seed"]),
            _digits(row["value"], 6),
            " ".join(filter(None, (str(row["status"]), str(row.get("reason") or "")))),
            _digits(row.get("fit_seconds"), 2),
            str(row["trial_id"]),
            str(row.get("record_fit_id") or row["fit_id"]),  # that of the ledger, where other code computed it
        ]
        for row in values
    ]
    return View(title, heads, _plain(lines), _origin(plan, column, entry, chosen), values)


#: What is said in place of a command that computes records again.
OTHER_CODE: Final = "other code computed these records, so puoc ledger verify compares none of these fits"
#: Columns of rows that belong to an entry, with their words.
ORIGIN = (
    ("config_source", "configuration"),
    ("params", "hyperparameters"),
    ("encoder", "encoder"),
    ("prior", "class prior"),
    ("numerics", "numerics"),
    ("code_digest", "code digest"),
    ("draw_digest", "digest of the draws"),
    ("scoring_digest", "digest of the scoring"),
    ("torch_version", "torch"),
    ("device", "device"),
    ("lane_map", "lane map"),
    ("imported_from", "published results"),
    ("computed_by", "computed by"),
    ("adopted_from", "adopted from the fits"),
    ("marks", "warnings"),
)


def _origin(plan: TablePlan, cell: str, entry: str, rows: pd.DataFrame) -> list[str]:
    """Return how the trials were made, and where they are found again."""
    notes = [f"method: {plan.entries_by_name[entry].method}", draw_sentence(rows)]
    for column, words in ORIGIN:
        texts = sorted({str(value) for value in rows[column].dropna()}) if column in rows else []
        if texts:
            notes.append(f"{words}: {', '.join(texts)}")
    trial = rows["trial_id"].iloc[0]
    notes.append(f"in MLflow: search for tags.trial_id = '{trial}' (puoc ui)")
    ok = rows[rows["status"] == "ok"]
    if ok.empty:
        return notes
    if "record_fit_id" in ok and ok["record_fit_id"].notna().all():
        notes.append(OTHER_CODE)
    else:
        place = shlex.quote(f"{plan.table}/{cell}/{entry}")
        most = " --recompute 20" if cell == AVERAGE else ""  # of many cells, the fits that take the least time
        notes.append(f"compute records again and compare: puoc ledger verify --place {place}{most}")
    return notes


def _of(rows: Sequence[R], plan: TablePlan) -> list[R]:
    return [row for row in rows if row.table == plan.table]


def _cell(cell: CellView, row: SummaryRow, digits: int) -> Cell:
    if row.n:
        text = spread(row.mean, row.std, digits)
    elif row.state == "untested":
        text = spread(row.mean_val_pu, row.std_val_pu, digits)
    else:
        text = cell.text
    incomplete = f" (n = {row.n})" if row.n and row.n != row.n_planned else ""
    return Cell(text + incomplete, cell.best, cell.mark == "holm")


def _mean(plan: TablePlan, row: SummaryRow) -> float | None:
    return row.mean if plan.tested else row.mean_val_pu


def _spread(plan: TablePlan, row: SummaryRow, digits: int) -> str:
    return spread(_mean(plan, row), row.std if plan.tested else row.std_val_pu, digits)


def _score_name(plan: TablePlan, metric: str) -> str:
    return _held_out(metric) if plan.tested else f"AUC of withheld P against withheld U ({UNTESTED})"


def _held_out(metric: str) -> str:
    return f"{label_of(metric)} on held-out rows"


def _plain(lines: Sequence[Sequence[str]]) -> list[list[Cell]]:
    return [[Cell(text) for text in line] for line in lines]


def _values(plan: TablePlan, row: SummaryRow) -> dict[str, Value]:
    return asdict(row) | {"told_alpha": plan.entries_by_name[row.entry].told_alpha}


def _record(row: dict[object, object]) -> dict[str, Value]:
    """Return a row with None for an empty value, and with plain numbers."""
    return {str(name): _value(value) for name, value in row.items()}


def _value(value: object) -> Value:
    if value is None or value != value:  # NaN is not equal to itself
        return None
    plain = value.item() if hasattr(value, "item") else value
    return plain if isinstance(plain, str | int | float | bool) else str(plain)


def _digits(value: Value, digits: int) -> str:
    return f"{value:.{digits}f}" if isinstance(value, int | float) else DASH
