"""Which family of methods ranks best over alpha, |U| and shifts: OC, PU or PU-OC.

The families of a cell are compared by their best methods, by the mean AUC on held-out rows. A family wins if its best
method is above each method of the other families: the interval of the mean paired difference over seeds (Student's t)
is above 0. The winner is chosen among all compared methods on the same seeds, so the intervals hold jointly for that
many choices (Bonferroni). Otherwise the cell is *not decided*. It is *not run* if no method has an AUC.

Methods with one seed are left out if others have more. References that use true classes are never compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from puoc.analysis.paper.claims import mean_interval
from puoc.analysis.tables.results import scored
from puoc.store.plans import EntryPlan, TablePlan

#: Names of the kinds of methods, in the order of ties.
FAMILIES = {"oc": "OC", "pu": "PU", "pu_oc": "PU-OC"}
#: All outcomes of a cell, in the order of counts.
OUTCOMES = (*FAMILIES.values(), "not decided", "not run")
#: What varies over the cells of a scenario.
AXES = {"alpha_sweep": "alpha", "size_sweep": "|U|", "neg_shift": "shift", "named_shift": "shift"}
_MIN_SEEDS = 2  # of a method, for an interval

_Aucs = Mapping[int, float]  # by seed


@dataclass(frozen=True)
class FamilyBest:
    """The method of a family with the highest mean AUC in a cell; empty if none has a result."""

    entry: str | None = None
    mean: float | None = None


@dataclass(frozen=True, kw_only=True)
class FamilyWinRow:
    """The comparison of the three families in one cell of a table."""

    table: str
    published: str | None  # the table of the paper that it is compared with
    axis: str  # alpha, |U| or shift
    dataset: str
    cell: str
    cell_index: int
    outcome: str = "not run"  # OC, PU, PU-OC, not decided, not run
    best_family: str | None = None  # with the highest mean, decided or not
    best_entry: str | None = None
    best_mean: float | None = None
    next_family: str | None = None
    next_entry: str | None = None
    next_mean: float | None = None
    n: int = 0  # seeds that both have
    difference: float | None = None  # mean over these seeds, best - next, in AUC
    low: float | None = None  # of its joint 95 % interval
    high: float | None = None
    oc: FamilyBest = FamilyBest()
    pu: FamilyBest = FamilyBest()
    pu_oc: FamilyBest = FamilyBest()
    n_methods: int = 0  # compared
    note: str = ""


class _Method(NamedTuple):
    entry: EntryPlan
    aucs: _Aucs

    @property
    def mean(self) -> float:
        return round(float(np.mean(list(self.aucs.values()))), 10)


class _Difference(NamedTuple):
    """The paired difference of two methods over the seeds that both have."""

    n: int
    mean: float | None
    low: float | None
    high: float | None


def family_wins(
    plans: Sequence[TablePlan], results: Mapping[str, pd.DataFrame | None], axes: Mapping[str, str] = AXES
) -> list[FamilyWinRow]:
    """Return one row per cell of each table over alpha, |U| or a shift that plans at least two families.

    Parameters
    ----------
    plans : the planned tables; those of user data are left out.
    results : recorded rows by table; None if the table was not run.
    axes : what the cells of a scenario vary; tables of other scenarios are left out.
    """
    compared = [plan for plan in plans if plan.scenario in axes and _has_families(plan)]
    return [row for plan in compared for row in _rows(plan, results.get(plan.table), axes[plan.scenario])]


def _has_families(plan: TablePlan) -> bool:
    kinds = {entry.kind for entry in plan.entries if not entry.oracle}
    return plan.user_data is None and len(kinds) > 1


def _rows(plan: TablePlan, rows: pd.DataFrame | None, axis: str) -> list[FamilyWinRow]:
    aucs: dict[tuple[str, str], dict[int, float]] = {}
    entries = [entry for entry in plan.entries if not entry.oracle]
    for entry in entries:
        if rows is None:
            break
        ok_rows = scored(rows, entry.entry)
        for cell, seed, auc in zip(ok_rows["cell"], ok_rows["seed"], ok_rows["auc"], strict=True):
            aucs.setdefault((entry.entry, str(cell)), {})[int(seed)] = float(auc)
    compared = []
    for index, name in enumerate(plan.cell_names):
        row = FamilyWinRow(
            table=plan.table,
            published=plan.published,
            axis=axis,
            dataset=plan.dataset,
            cell=name,
            cell_index=index,
        )
        compared.append(_decided(row, [_Method(entry, aucs.get((entry.entry, name), {})) for entry in entries]))
    return compared


def _decided(row: FamilyWinRow, planned: list[_Method]) -> FamilyWinRow:
    run = [method for method in planned if method.aucs]
    if not run:
        return row
    enough = [method for method in run if len(method.aucs) >= _MIN_SEEDS] or run
    ranked = sorted(enough, key=lambda method: -method.mean)
    best_by_kind = {kind: next((m for m in ranked if m.entry.kind == kind), None) for kind in FAMILIES}
    row = replace(
        row,
        n_methods=len(enough),
        best_family=FAMILIES[ranked[0].entry.kind],
        best_entry=ranked[0].entry.entry,
        best_mean=ranked[0].mean,
        oc=_best(best_by_kind["oc"]),
        pu=_best(best_by_kind["pu"]),
        pu_oc=_best(best_by_kind["pu_oc"]),
    )
    best, rivals = ranked[0], [method for method in ranked if method.entry.kind != ranked[0].entry.kind]
    notes = _holes(planned, enough)
    if not rivals:
        return replace(row, outcome="not decided", note="; ".join([*notes, "no other family has a result"]))
    differences = [_difference(best, rival, len(enough)) for rival in rivals]
    unbeaten = [r.entry.entry for r, d in zip(rivals, differences, strict=True) if d.low is None or d.low <= 0]
    absent = [FAMILIES[m.entry.kind] for m in planned if best_by_kind[m.entry.kind] is None]
    notes += [f"not shown to be above {', '.join(unbeaten)}"] if unbeaten else []
    notes += [f"no result of {', '.join(dict.fromkeys(absent))}"] if absent else []
    return replace(
        row,
        outcome="not decided" if unbeaten or absent else FAMILIES[best.entry.kind],
        next_family=FAMILIES[rivals[0].entry.kind],
        next_entry=rivals[0].entry.entry,
        next_mean=rivals[0].mean,
        n=differences[0].n,
        difference=differences[0].mean,
        low=differences[0].low,
        high=differences[0].high,
        note="; ".join(notes),
    )


def _difference(first: _Method, second: _Method, choices: int) -> _Difference:
    values = np.array([auc - second.aucs[seed] for seed, auc in sorted(first.aucs.items()) if seed in second.aucs])
    if len(values) < _MIN_SEEDS:
        return _Difference(len(values), float(values.mean()) if len(values) else None, None, None)
    return _Difference(len(values), round(float(values.mean()), 10), *mean_interval(values, choices))


def _best(method: _Method | None) -> FamilyBest:
    return FamilyBest(method.entry.entry, method.mean) if method else FamilyBest()


def _holes(planned: list[_Method], compared: list[_Method]) -> list[str]:
    """Name the methods that are not compared: without a result, or with one seed while others have more."""
    without = [method.entry.entry for method in planned if not method.aucs]
    single = [method.entry.entry for method in planned if method.aucs and method not in compared]
    return [
        *([f"without a result: {', '.join(without)}"] if without else []),
        *([f"left out for its single seed: {', '.join(single)}"] if single else []),
    ]
