"""What leaving out a column does to the answer of ``puoc assess``, measured on a sample of the rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from puoc.datasets.audit.result import Audited, Verdict
from puoc.datasets.readers.columns import profile_of
from puoc.datasets.readers.doubts import DoubtfulColumns
from puoc.datasets.readers.options import How
from puoc.datasets.readers.preprocess import TablePreparing, fit_table
from puoc.datasets.readers.raw_table import RawTable
from puoc.records import Array, Record
from puoc.userdata.assess.cross_scores import crossed
from puoc.userdata.assess.decision import Answer, decide
from puoc.userdata.assess.evidence import evidence_of
from puoc.userdata.assess.input_rows import MIN_ROWS, checked
from puoc.userdata.assess.reference_methods import Family

MOST_ROWS: Final = 500  # of P and of U that are drawn
MOST_COLUMNS: Final = 200  # those that say most
#: Columns whose effect is measured by itself, by verdict.
MEASURED: Final[Mapping[Verdict, int]] = {"asked": 3, "noted": 2, "shown": 2}
_MOST_FEATURES: Final = 50  # of one column; a category for each row says nothing about other rows

#: Positions of the features of each column.
Places = Mapping[str, Sequence[int]]


class Outcome(Record):
    """Answer of an assessment with some of the columns."""

    columns: int
    alpha_low: float  # share of positives in U, from the bound under an assumption to the guaranteed one
    alpha_high: float
    answer: Answer
    advice: Family  # recommended family, also where the answer is not clear

    def __str__(self) -> str:
        alpha = f"{100 * self.alpha_low:.0f} to {100 * self.alpha_high:.0f} % positives in U"
        return f"{alpha}, {self.advice}{' (not clear)' if self.answer == 'cannot tell' else ''}"


class Effect(Record):
    """Answers with and without one column, beside the columns that are not in doubt."""

    column: str
    verdict: Verdict
    with_it: Outcome
    without: Outcome

    def __str__(self) -> str:
        return f"with column {self.column!r}: {self.with_it}; without it: {self.without}"

    @property
    def matters(self) -> bool:
        """Return True if the recommended family changes, or if the intervals have no value in common."""
        return _differ(self.with_it, self.without)


class Effects(Record):
    """Effects of the columns in doubt, and of those that say most, on the answer of an assessment."""

    n_p: int  # rows that were drawn
    n_u: int
    of_columns: int  # of the files; the outcomes have those that say most
    everything: Outcome | None  # with all columns, also those in doubt; absent: no answer could be given
    without_asked: Outcome | None = None  # absent: no column is asked about, or the others give no answer
    without_noted: Outcome | None = None  # without the columns asked about and noted; absent: as before
    effects: tuple[Effect, ...] = ()

    def of(self, column: str) -> Effect | None:
        """Return the effect of a column, if it was measured."""
        return next((effect for effect in self.effects if effect.column == column), None)

    def lines(self) -> list[str]:
        """Return a sentence for each outcome."""
        rows = f"{self.n_p} rows of P and {self.n_u} of U"
        found = [f"assessed on {rows}, with all columns: {self.everything}"] if self.everything else []
        if self.without_asked:
            found.append(f"without the columns in doubt: {self.without_asked}")
        if self.without_noted:
            found.append(f"without the columns in doubt or noted: {self.without_noted}")
        asked = [effect for effect in self.effects if effect.verdict == "asked"]
        said = asked if len(asked) == 1 else []  # of a single column, by the lines above
        return [*found, *(str(effect) for effect in self.effects if effect.matters and effect not in said)]


class Sample(NamedTuple):
    """Prepared rows, drawn at random."""

    X_p: Array  # (n_p, d) float32
    X_u: Array
    places: Places


def sample_of(P: RawTable, U: RawTable, how: How, audited: Audited, seed: int = 0) -> Sample | None:
    """Draw rows of a user's tables and prepare them with the columns in doubt as well.

    Returns None if the rows are too few, or if no column can be read.
    """
    if min(len(P), len(U)) < MIN_ROWS:
        return None
    rng = np.random.default_rng([seed, 3])
    drawn = [_drawn(table, rng) for table in (P, U)]
    wanted = {column.name: column.read_as for column in audited.columns[:MOST_COLUMNS]}
    asked = {column.name for column in audited.of("asked")}
    while wanted:
        tables = [replace(part, cells=part.cells.select(list(wanted)), unread={}) for part in drawn]
        kept = {
            kind: tuple(n for n in wanted if n in given or (n in asked and wanted[n] == kind))
            for kind, given in (("number", how.number), ("category", how.category))
        }
        plain = how.model_copy(update={"drop": (), **kept})
        try:
            preparing = fit_table(tables, profile_of(tables, plain), plain)
            X_p, X_u = (preparing.apply(table).X for table in tables)
        except DoubtfulColumns as error:
            left = {doubt.column for doubt in error.doubts}
            wanted = {name: kind for name, kind in wanted.items() if name not in left}
            continue
        except ValueError:  # no column varies
            return None
        return Sample(X_p, X_u, places_of(preparing))
    return None


def places_of(preparing: TablePreparing) -> Places:
    """Return the positions of the features of each column that is not of a category for nearly every row."""
    places: dict[str, Sequence[int]] = {}
    at = 0
    for column in preparing.columns:
        width = len(column.features)
        if width <= _MOST_FEATURES:
            places[column.name] = range(at, at + width)
        at += width
    return places


def drawn_from(X_p: Array, X_u: Array, places: Places, audited: Audited, seed: int = 0) -> Sample:
    """Draw rows of those that are prepared already."""
    rng = np.random.default_rng([seed, 3])
    first = [column.name for column in audited.columns if column.name in places][:MOST_COLUMNS]
    parts = [X[np.sort(rng.permutation(len(X))[:MOST_ROWS])] for X in (X_p, X_u)]
    return Sample(parts[0], parts[1], {name: places[name] for name in first})


def effects_of(sample: Sample, audited: Audited, seed: int = 0) -> Effects:
    """Assess the rows with and without each of the first columns of an audit.

    A column that is asked about is added to the columns that are not, and any other one is left out of them, so that
    no second column in doubt hides what it does.
    """
    asked, noted = ({column.name for column in audited.of(verdict)} for verdict in ("asked", "noted"))
    names = list(sample.places)
    base = [name for name in names if name not in asked]
    assessed = _Assessed(sample, seed)
    return Effects(
        n_p=len(sample.X_p),
        n_u=len(sample.X_u),
        of_columns=len(audited.columns),
        everything=assessed.outcome(names),
        without_asked=assessed.outcome(base) if asked else None,
        without_noted=assessed.outcome([name for name in base if name not in noted]) if noted else None,
        effects=tuple(_effects(assessed, audited, base)),
    )


class _Assessed:
    """Assesses a sample with some of its columns, each choice of columns once."""

    def __init__(self, sample: Sample, seed: int):
        self.sample, self._seed = sample, seed
        self._known: dict[frozenset[str], Outcome | None] = {}

    def outcome(self, names: Collection[str]) -> Outcome | None:
        """Return the answer; None if there is none, such as without a column that varies."""
        key = frozenset(names)
        if key not in self._known:
            self._known[key] = _outcome(self.sample, key, self._seed)
        return self._known[key]


def _effects(assessed: _Assessed, audited: Audited, base: Sequence[str]) -> Iterator[Effect]:
    of_base = assessed.outcome(base)
    if of_base is None:
        return
    for verdict, most in MEASURED.items():
        names = [column.name for column in audited.of(verdict) if column.name in assessed.sample.places]
        for column in names[:most]:
            inside = column in base
            other = assessed.outcome(_without(base, column) if inside else [*base, column])
            if other is not None:
                with_it, without = (of_base, other) if inside else (other, of_base)
                yield Effect(column=column, verdict=verdict, with_it=with_it, without=without)


def _without(names: Collection[str], column: str) -> list[str]:
    return [name for name in names if name != column]


def _outcome(sample: Sample, names: Collection[str], seed: int) -> Outcome | None:
    places = sorted(place for name in names for place in sample.places[name])
    if not places:
        return None
    try:
        rows = checked(sample.X_p[:, places], sample.X_u[:, places], None, seed)
        found = decide(evidence_of(rows, crossed(rows, seed)))
    except ValueError:
        return None
    alpha = found.evidence.alpha
    return Outcome(
        columns=len(names), alpha_low=alpha.low, alpha_high=alpha.high, answer=found.answer, advice=found.advice
    )


def _drawn(table: RawTable, rng: np.random.Generator) -> RawTable:
    mask = np.zeros(len(table), dtype=np.bool_)
    mask[rng.permutation(len(table))[:MOST_ROWS]] = True
    return table.rows(mask)


def _differ(one: Outcome, other: Outcome) -> bool:
    apart = one.alpha_high < other.alpha_low or other.alpha_high < one.alpha_low
    return apart or one.advice != other.advice
