"""Order of the fits of a run with a budget: cheapest entry first, and within an entry seed by seed over all cells.

The order depends on the plan and on forecasts alone, so neither on results nor on what the ledger has already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from puoc.plan.bind import PlannedTrial
from puoc.plan.forecast.costs import Forecast, encoding_seconds, estimate
from puoc.records import Encoding, Fit, TestSet
from puoc.store.plans import TablePlan


class TableTrials(NamedTuple):
    """A table and its planned trials."""

    plan: TablePlan
    trials: Sequence[PlannedTrial]


class Group(NamedTuple):
    """The fits of one entry with one seed over all cells of a table. A fit is in the first group that has it."""

    table: str
    entry: str
    seed: int
    fits: tuple[Fit, ...]


@dataclass
class _Entry:
    """The fits of one entry of a table, each once, by seed."""

    table: str
    name: str
    seeds: dict[int, dict[str, Fit]] = field(default_factory=dict)

    def fits(self) -> Iterator[Fit]:
        for fits in self.seeds.values():
            yield from fits.values()


def sets_to_score(tables: Sequence[TableTrials]) -> dict[str, dict[str, TestSet]]:
    """Return the test sets of each fit over all tables, by fit and by trial, without trials that do not apply."""
    tests: dict[str, dict[str, TestSet]] = {}
    for _, trials in tables:
        for planned in trials:
            if planned.skip is None:
                tests.setdefault(planned.trial.fit.id, {})[planned.trial.id] = planned.trial.test
    return tests


def ordered(tables: Sequence[TableTrials], forecast: Forecast) -> list[Group]:
    """Return the groups of all tables in the order in which a run with a budget starts them.

    Entries come in the order of their forecast seconds per fit, which include the encoders and the estimates of the
    class prior that a fit needs. Entries of unknown cost come last. Equal entries keep the order of the tables.
    """
    tests, entries = sets_to_score(tables), list[_Entry]()
    for plan, trials in tables:
        by_name: dict[str, _Entry] = {}
        for planned in trials:
            if planned.skip is None:
                entry = by_name.setdefault(planned.entry, _Entry(plan.table, planned.entry))
                entry.seeds.setdefault(planned.seed, {})[planned.trial.fit.id] = planned.trial.fit
        entries += by_name.values()
    entries.sort(key=lambda entry: _seconds_per_fit(entry, tests, forecast))
    placed: set[str] = set()
    groups = []
    for entry in entries:
        for seed, fits in entry.seeds.items():
            new = tuple(fit for fit_id, fit in fits.items() if fit_id not in placed)
            placed.update(fit.id for fit in new)
            if new:
                groups.append(Group(entry.table, entry.name, seed, new))
    return groups


def needs_of(fit: Fit) -> Iterator[Fit]:
    """Yield the fits that a fit needs, and those that they need."""
    for need in fit.needs():
        yield from needs_of(need)
        yield need


def _seconds_per_fit(entry: _Entry, tests: Mapping[str, Mapping[str, TestSet]], forecast: Forecast) -> float:
    """Return the mean seconds of an entry's fits with what they need; infinity if one is unknown."""
    total, n_fits, frozen = 0.0, 0, dict[tuple[str, str], tuple[Encoding, str]]()
    for fit in entry.fits():
        n_fits += 1
        for needed in (*needs_of(fit), fit):
            seconds = forecast.seconds_of(estimate(needed, tests.get(needed.id, {}).values()))
            total += inf if seconds is None else seconds
            if (encoding := needed.frozen_encoder()) is not None:
                frozen[needed.sample.dataset, encoding.id] = encoding, needed.sample.dataset
    for encoding, dataset in frozen.values():
        seconds = feature_seconds(encoding, dataset, forecast)
        total += inf if seconds is None else seconds
    return total / n_fits


def feature_seconds(encoding: Encoding, dataset: str, forecast: Forecast) -> float | None:
    """Return the seconds of one process for the features of a dataset; None if no cost is known."""
    return encoding_seconds(encoding, dataset) if forecast.kind == "cpu" else None
