"""Passports: of each number of a table, what it was computed from and how it can be computed again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from shlex import quote

import pandas as pd

from puoc.reporting.page.kinds.leaderboard import rank_text
from puoc.reporting.page.kinds.places import passport_id
from puoc.reporting.page.kinds.standings import Standing
from puoc.reporting.page.section import Table
from puoc.reporting.page.sources import draw_sentence
from puoc.reporting.page.tables import column_heads
from puoc.store.cells import Cell
from puoc.store.counting import counted
from puoc.store.plans import EntryPlan, TablePlan

#: Columns of rows that belong to an entry, with their words.
_FACTS = (
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
    ("lane_map", "batching"),
    ("imported_from", "published results"),
    ("computed_by", "computed by"),
    ("adopted_from", "adopted from the fits"),
    ("marks", "warnings"),
)
_SHOWN = 3  # more values than this are counted


@dataclass(frozen=True)
class TrialLine:
    """One trial of a number."""

    seed: str
    status: str
    reason: str
    value: float | None
    criterion: float | None
    seconds: float | None
    trial_id: str
    fit_id: str


@dataclass(frozen=True)
class CellPassport:
    """The passport of one number."""

    id: str
    cell: str
    text: str  # the value
    facts: list[tuple[str, str]]
    show: str  # the command that prints it in the terminal
    recompute: str  # the command that computes its fits again and compares them; empty without a fit
    runs: str  # what to search for in the MLflow UI
    trials: list[TrialLine]


@dataclass(frozen=True)
class EntryPassport:
    """What all numbers of an entry share, and its numbers."""

    id: str
    entry: EntryPlan
    look: str  # CSS class of the family
    facts: list[tuple[str, str]]
    cells: list[CellPassport]


def entry_passports(table: Table, standings: list[Standing], texts: dict[tuple[str, int], str]) -> list[EntryPassport]:
    """Return the passports of a table, by entry; none if it was not run.

    Parameters
    ----------
    texts : the numbers as the page of the table shows them, by entry and column.
    """
    if table.rows is None:
        return []
    found = []
    for index, entry in enumerate(table.plan.entries):
        rows = table.rows[table.rows["entry"] == entry.entry]
        if rows.empty:
            continue
        places = {one.column: one for one in standings if one.entry_index == index}
        cells = [
            _passport(table, rows, places[column], texts[entry.entry, column])
            for column in range(len(column_heads(table.plan)))
        ]
        look = places[0].look
        found.append(EntryPassport(passport_id(index), entry, look, _facts(table.plan, rows), cells))
    return found


def _facts(plan: TablePlan, rows: pd.DataFrame) -> list[tuple[str, str]]:
    facts = [("digest of the data", plan.data_digest)] if plan.data_digest else []
    return facts + [(words, text) for name, words in _FACTS if (text := _texts(rows, name))]


def _texts(rows: pd.DataFrame, name: str) -> str:
    values = sorted({str(value) for value in rows[name].dropna()}) if name in rows else []
    if len(values) > _SHOWN:
        return f"{values[0]} and {len(values) - 1} others"
    return "; ".join(values)


def _passport(table: Table, rows: pd.DataFrame, one: Standing, text: str) -> CellPassport:
    plan = table.plan
    here = rows if one.is_average else rows[rows["cell"] == one.cell]
    place = f"{plan.table}/{one.cell}/{one.entry.entry}"
    cell = None if one.is_average else plan.cells[one.column]
    facts = [("trials", _outcomes(one)), ("seeds", _seeds(here))]
    facts += [("rank", rank)] if (rank := rank_text(one)) else []
    facts += [("against the best other entry", chance)] if (chance := _chance(one)) else []
    facts += [("training rows", draw)] if (draw := draw_sentence(here)) else []
    facts += _protocol(cell) if cell is not None else []
    if one.seconds is not None:
        total = float(here["fit_seconds"].dropna().sort_values().sum())
        facts.append(("time", f"{one.seconds:.3g} s for a fit on average, {total:.3g} s for all trials listed"))
    of_place = f"tags.member_of LIKE '%|{plan.table}/{one.cell}/{one.entry.entry}|%'"
    of_entry = f"tags.member_of LIKE '%|{plan.table}/%/{one.entry.entry}|%'"
    return CellPassport(
        id=passport_id(one.entry_index, one.column),
        cell=one.cell,
        text=text,
        facts=facts,
        show=f"puoc show {quote(place)}",
        recompute="",
        runs=of_entry if one.is_average else of_place,
        trials=[] if one.is_average else _trials(here),
    )


def _outcomes(one: Standing) -> str:
    row = one.summary
    parts = [(row.n_ok, "scored"), (row.n_failed, "failed"), (row.n_skipped, "not applicable"), (row.n_missing, "not run")]
    return ", ".join(f"{n} {words}" for n, words in parts if n) or "none"


def _seeds(rows: pd.DataFrame) -> str:
    seeds = sorted({int(seed) for seed in rows.loc[rows["status"] == "ok", "seed"]})
    if seeds and seeds == list(range(seeds[0], seeds[-1] + 1)) and len(seeds) > 2:
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds)) or "none"


def _chance(one: Standing) -> str:
    chance = one.chance
    if chance is None:
        return ""
    return (
        f"better than {one.rival} with chance {chance.better:.2f}, practically equal (within .01) {chance.equal:.2f}, "
        f"worse {chance.worse:.2f} (Bayesian signed-rank test over common seeds)"
    )


def _protocol(cell: Cell) -> list[tuple[str, str]]:
    """Return what the cell fixes: classes, labelling, setting."""
    parts = [("positive", cell.pos), ("negative in U", cell.neg), ("negative at test", cell.neg_test)]
    words = [f"{name}: {_classes(value)}" for name, value in parts if value is not None]
    facts = [("classes", "; ".join(words))]
    if cell.labelling is not None:
        facts.append(("labelling", json.dumps(cell.labelling.canonical(), sort_keys=True)))
    if cell.setting is not None:
        facts.append(("setting", "single training set"))
    if cell.n_noise is not None:
        facts.append(("noise", f"{counted(cell.n_noise, 'negative')} among the labelled rows"))
    if cell.holdout is not None:
        facts.append(("withheld", f"{cell.holdout:g} of P and U"))
    return facts


def _classes(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    start, stop, of = (getattr(value, name) for name in ("start", "stop", "of"))
    return f"{stop - start} drawn by the seed out of {', '.join(map(str, of))}"


def _trials(rows: pd.DataFrame) -> list[TrialLine]:
    names = ["seed", "status", "reason", "auc", "auc_val_pu", "fit_seconds", "trial_id", "fit_id"]
    values = rows.reindex(columns=names).astype(object)
    values = values.where(values.notna(), None)
    return [
        TrialLine(*(_text(v) for v in first), *(None if v is None else float(v) for v in numbers), *map(_text, ids))
        for *first, auc, criterion, seconds, trial, fit in values.itertuples(index=False, name=None)
        for numbers, ids in [((auc, criterion, seconds), (trial, fit))]
    ]


def _text(value: object) -> str:
    return "" if value is None else str(value)
