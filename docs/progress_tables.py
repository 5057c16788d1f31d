"""The table in docs/published.md on how far the paper's tables are computed, and what the rest costs."""

from __future__ import annotations

from collections import defaultdict

from answer_tables import PUBLISHED, published_tables
from evidence_plans import Lines

from puoc.plan.bind import PlannedTrial, bind
from puoc.plan.forecast.costs import Forecast, estimate
from puoc.plan.make_plan import make_plan
from puoc.plan.params import read_params
from puoc.records import Fit, TestSet

ROOT = PUBLISHED.parents[1]
_SEEDS = 5  # from which an entry counts as computed in a cell
_SHOWN = 3  # the methods that take most of the rest


def paper_progress() -> Lines:
    """Trials with a result by table, cells with five seeds, and processor hours of the rest by the table of costs.

    A fit that several tables share is counted in the first of them.
    """
    plan = make_plan(read_params(PUBLISHED / "params.yaml", ROOT))
    rows = {table.table: found[found["status"] == "ok"] for table, found in published_tables()}
    forecast = Forecast()
    counted: set[str] = set()
    lines = [
        [
            "table",
            "trials with a result",
            "entries x cells with 5 seeds",
            "hours of one core for the rest",
            "most of it",
        ]
    ]
    totals = [0, 0, 0, 0, 0.0]
    for name, table in plan.tables.items():
        planned = [trial for trial in bind(table, plan.configs[name]) if trial.skip is None]
        done = set()
        if name in rows:
            done = set(rows[name][["entry", "cell", "seed"]].itertuples(index=False, name=None))
        seeds = defaultdict[tuple[str, str], int](int)
        for entry, cell, _ in done:
            seeds[entry, cell] += 1
        hours = _hours(planned, done, counted, forecast)
        of_table = [len(done), len(planned), sum(n >= _SEEDS for n in seeds.values())]
        of_table += [len({(trial.entry, trial.cell.name) for trial in planned}), sum(hours.values())]
        totals = [total + n for total, n in zip(totals, of_table, strict=True)]
        dearest = sorted(hours, key=lambda method: -hours[method])[:_SHOWN]
        lines.append(_line(f"`{name}`", of_table, ", ".join(f"`{method}` {hours[method]:.1f}" for method in dearest)))
    return [lines[0], _line("**all**", totals, ""), *lines[1:]]


def _line(name: str, numbers: list[float], dearest: str) -> list[str]:
    trials, planned, whole, cells, hours = numbers
    return [name, f"{trials:,} of {planned:,}", f"{whole:,} of {cells:,}", f"{hours:.1f}", dearest]


def _hours(
    planned: list[PlannedTrial], done: set[tuple[str, str, int]], counted: set[str], forecast: Forecast
) -> dict[str, float]:
    """Return the hours by method of the fits without a result, and of the encoders and estimates that they need."""
    tests = defaultdict[str, set[TestSet]](set)
    fits: dict[str, Fit] = {}
    for trial in planned:
        fit = trial.trial.fit
        if (trial.entry, trial.cell.name, trial.seed) in done:
            counted |= {fit.id, *(need.id for need in fit.all_needs())}
        else:
            fits[fit.id] = fit
            tests[fit.id].add(trial.trial.test)
    hours = defaultdict[str, float](float)
    for fit in fits.values():
        for part in (fit, *fit.all_needs()):
            if part.id not in counted:
                counted.add(part.id)
                hours[part.method] += forecast.seconds_by(part.method, estimate(part, tests[part.id])) / 3600
    return hours
