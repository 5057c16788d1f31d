"""Passports: of each number of a table, what it was computed from and how it can be computed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum
from shlex import quote
from typing import Any

from puoc.reporting.page.format import seconds
from puoc.reporting.page.places import passport_id
from puoc.reporting.page.section import Table
from puoc.reporting.page.sources import draw_sentence
from puoc.reporting.show.views import ORIGIN, OTHER_CODE
from puoc.reporting.site.cell_facts import cell_facts
from puoc.reporting.site.leaderboard import rank_text
from puoc.reporting.site.standings import Standing
from puoc.store.plans import EntryPlan, TablePlan

#: Columns that differ between the trials of an entry.
_SIZES = ["n_pos_lab", "n_pos_unl", "n_neg_unl", "n_unl", "alpha"]
_TRIAL = ["seed", "status", "reason", "auc", "auc_val_pu", "fit_seconds", "trial_id", "fit_id", *_SIZES]
_READ = ["entry", "cell", *_TRIAL, "record_fit_id", *(name for name, _ in ORIGIN)]
#: Facts that hold for a cell of a table, whatever the entry.
_OF_CELLS = ("training rows", "classes", "labelling", "setting", "noise", "withheld")
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
    outcomes: str  # of its trials
    facts: list[tuple[str, str]]  # without those of all numbers of the cell
    show: str  # the command that prints it in the terminal
    recompute: str  # the command that computes its fits again and compares them; empty without such a fit
    no_recompute: str  # why there is no such command, although there is a value
    runs: str  # what to search for in the MLflow UI
    trials: list[TrialLine]  # that ended; none of an average


@dataclass(frozen=True)
class EntryPassport:
    """What all numbers of an entry share, and its numbers."""

    id: str
    entry: EntryPlan
    look: str  # CSS class of the family
    facts: list[tuple[str, str]]  # without those of all numbers of the table
    cells: list[CellPassport]

    @property
    def n_trials(self) -> int:
        """Return the number of its trials that ended."""
        return sum(len(cell.trials) for cell in self.cells)


@dataclass(frozen=True)
class SharedFacts:
    """What all numbers of a cell have in common."""

    id: str
    cell: str
    facts: list[tuple[str, str]]


@dataclass(frozen=True)
class TablePassports:
    """The passports of a table. What several numbers have in common is said once, which keeps the page small."""

    facts: list[tuple[str, str]]  # of all numbers
    cells: list[SharedFacts]
    entries: list[EntryPassport]


def table_passports(table: Table, standings: list[Standing], texts: dict[tuple[str, int], str]) -> TablePassports:
    """Return the passports of a table; none if it was not run.

    Parameters
    ----------
    texts : the numbers as the page of the table shows them, by entry and column.
    """
    if table.rows is None:
        return TablePassports([], [], [])
    from puoc.datasets import DATASETS

    class_names = getattr(DATASETS.get(table.plan.dataset), "classes", ())
    found: list[EntryPassport] = []
    columns = {name: table.rows[name].tolist() if name in table.rows else [None] * len(table.rows) for name in _READ}
    places: dict[str, dict[str, list[int]]] = {}
    for at, (entry_name, cell) in enumerate(zip(columns["entry"], columns["cell"], strict=True)):
        places.setdefault(str(entry_name), {}).setdefault(str(cell), []).append(at)
    for index, entry in enumerate(table.plan.entries):
        by_cell = places.get(entry.entry)
        if by_cell is None:
            continue
        every = [at for of_cell in by_cell.values() for at in of_cell]
        own = [one for one in standings if one.entry_index == index]
        cells = []
        for one in own:
            rows = _taken(columns, every if one.is_average else by_cell.get(one.cell, []))
            cells.append(_passport(table, rows, one, texts[entry.entry, one.column], class_names))
        facts = _facts(table.plan, _taken(columns, every))
        found.append(EntryPassport(passport_id(index), entry, own[0].look, facts, cells))
    return _with_shared(found)


def _with_shared(entries: list[EntryPassport]) -> TablePassports:
    """Take what all entries have in common out of their passports, and what all numbers of a cell have in common."""
    shared = _common([entry.facts for entry in entries if entry.n_trials] or [entry.facts for entry in entries])
    of_cells: list[_Facts] = []
    by_cell = [list(column) for column in zip(*(entry.cells for entry in entries), strict=True)]
    for numbers in by_cell:
        # what only the plan says of a cell that was not run may lack what the trials of others say
        known = [number.facts for number in numbers if number.trials] or [number.facts for number in numbers]
        facts = [fact for fact in _common(known) if fact[0] in _OF_CELLS]
        of_cells.append(facts)
    everywhere = _common(of_cells)
    left = [
        replace(
            entry,
            facts=_without(entry.facts, shared),
            cells=[
                replace(number, facts=_without(number.facts, of_cell))
                for number, of_cell in zip(entry.cells, of_cells, strict=True)
            ],
        )
        for entry in entries
    ]
    cells = [
        SharedFacts(f"c{column}", numbers[0].cell, own)
        for column, (numbers, facts) in enumerate(zip(by_cell, of_cells, strict=True))
        if (own := _without(facts, everywhere))
    ]
    return TablePassports([*shared, *everywhere], cells, left)


_Facts = list[tuple[str, str]]


def _common(lists: list[_Facts]) -> _Facts:
    return [fact for fact in lists[0] if all(fact in others for others in lists[1:])] if lists else []


def _without(facts: _Facts, shared: _Facts) -> _Facts:
    return [fact for fact in facts if fact not in shared]


#: Values of some rows, by column.
_Rows = dict[str, list[Any]]


def _taken(columns: _Rows, places: list[int]) -> _Rows:
    return {name: [values[at] for at in places] for name, values in columns.items()}


def _known(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None and value == value]


def _facts(plan: TablePlan, rows: _Rows) -> list[tuple[str, str]]:
    facts = [("digest of the data", plan.data_digest)] if plan.data_digest else []
    return facts + [(words, text) for name, words in ORIGIN if (text := _texts(rows, name))]


def _texts(rows: _Rows, name: str) -> str:
    values = sorted(set(map(str, _known(rows[name]))))
    if len(values) > _SHOWN:
        return f"{values[0]} and {len(values) - 1} others"
    return "; ".join(values)


def _passport(table: Table, rows: _Rows, one: Standing, text: str, class_names: Sequence[str]) -> CellPassport:
    plan = table.plan
    place = f"{plan.table}/{one.cell}/{one.entry.entry}"
    cell = None if one.is_average else plan.cells[one.column]
    facts = [("seeds", seeds)] if (seeds := _seeds(rows)) else []
    facts += [("rank", rank)] if (rank := rank_text(one)) else []
    facts += [("against the best other entry", chance)] if (chance := _chance(one)) else []
    facts += [("against its twin", one.against_twins)] if one.against_twins else []
    facts += [("training rows", draw)] if (draw := draw_sentence(rows)) else []
    facts += cell_facts(cell, class_names) if cell is not None else []
    if one.seconds is not None:
        total = fsum(_known(rows["fit_seconds"]))
        facts.append(("time", f"{seconds(one.seconds)} s a fit on average, {seconds(total)} s in all"))
    of_place = f"tags.member_of LIKE '%|{plan.table}/{one.cell}/{one.entry.entry}|%'"
    of_entry = f"tags.member_of LIKE '%|{plan.table}/%/{one.entry.entry}|%'"
    computed = [record for record, ok in zip(rows["record_fit_id"], rows["status"], strict=True) if ok == "ok"]
    by_other_code = bool(computed) and len(_known(computed)) == len(computed)
    return CellPassport(
        id=passport_id(one.entry_index, one.column),
        cell=one.cell,
        text=text,
        outcomes=_outcomes(one),
        facts=facts,
        show=f"puoc show {quote(place)}",
        recompute=f"puoc ledger verify --place {quote(place)}" if computed and not by_other_code else "",
        no_recompute=OTHER_CODE if by_other_code else "",
        runs=of_entry if one.is_average else of_place,
        trials=[] if one.is_average else _trials(rows),
    )


def _outcomes(one: Standing) -> str:
    row = one.summary
    counts = (row.n_ok, row.n_failed, row.n_skipped, row.n_missing)
    parts = zip(counts, ("scored", "failed", "not applicable", "not run"), strict=True)
    return ", ".join(f"{n} {words}" for n, words in parts if n) or "none"


def _seeds(rows: _Rows) -> str:
    seeds = sorted({int(seed) for seed, status in zip(rows["seed"], rows["status"], strict=True) if status == "ok"})
    if seeds and seeds == list(range(seeds[0], seeds[-1] + 1)) and len(seeds) > 2:
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _chance(one: Standing) -> str:
    chance = one.chance
    if chance is None:
        return ""
    return (
        f"better than {one.rival} with chance {chance.better:.2f}, practically equal {chance.equal:.2f}, "
        f"worse {chance.worse:.2f}"
    )


def _trials(rows: _Rows) -> list[TrialLine]:
    # the fit's id in the ledger is that of the record, where other code computed it
    ids = [_text(record) or fit for record, fit in zip(rows["record_fit_id"], rows["fit_id"], strict=True)]
    columns = [*(rows[name] for name in _TRIAL[:7]), ids]
    return [
        TrialLine(
            seed=_text(seed),
            status=_text(status),
            reason=_text(reason),
            value=_number(auc),
            criterion=_number(criterion),
            seconds=_number(took),
            trial_id=_text(trial),
            fit_id=_text(fit),
        )
        for seed, status, reason, auc, criterion, took, trial, fit in zip(*columns, strict=True)
        if status != "missing"  # planned and not run
    ]


def _text(value: object) -> str:
    return "" if value is None or value != value else str(value)


def _number(value: float | None) -> float | None:
    return None if value is None or value != value else float(value)
