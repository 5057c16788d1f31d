"""``puoc run`` and ``puoc tune``: compute the fits of tables and of sweeps that the ledger does not contain yet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puoc.cli.console import exit_on_invalid_input, exit_on_storage_error, hint, planned, say, shown_console
from puoc.cli.output import result
from puoc.store.counting import counted

if TYPE_CHECKING:
    from collections import Counter

    from puoc.run.budget_tasks import Remaining
    from puoc.run.stages import Part

ROOT = Path()
_NAMED = 4  # tables that a line of progress names
_MAX_NICE = 19  # the lowest priority

Tables = Annotated[list[str], typer.Argument(help="Names of tables in params.yaml.", metavar="TABLE")]
Entry = Annotated[str, typer.Argument(help="Name of an entry in the section tune of params.yaml.")]
Budget = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Start no fit whose forecast time does not fit in the rest of this time: 90s, 30m, 1h30m. "
        "Default: compute.budget of params.yaml, or no limit.",
    ),
]
Nice = Annotated[
    str | None,
    typer.Option(metavar="N", help=f"Lower the priority of the processes by N, from 0 to {_MAX_NICE} (the lowest)."),
]


def tune(entry: Entry) -> None:
    """Fit the configurations of a sweep that the ledger does not contain yet, and write the rows to results/tune."""
    with exit_on_invalid_input(), exit_on_storage_error():
        _check("tune", [entry])
    _run_part("tune", entry)


def run(tables: Tables, budget: Budget = None, nice: Nice = None) -> None:
    """Fit the models of tables that the ledger does not contain yet, and write the rows to results/tables.

    Without a budget, the tables are computed one after the other. With a budget, their fits are computed together: the
    entry with the cheapest fits first, and within an entry one seed after the other over all cells. The same command
    continues the run. Trials that are left have rows with the status "missing". If the data of a table are missing, the
    other tables are computed, and the command ends with exit code 2 and the names of the missing files.
    """
    names = list(dict.fromkeys(tables))
    with exit_on_invalid_input(), exit_on_storage_error():
        priority, seconds = _priority(nice), _seconds("--budget", budget)
        _check("tables", names)
        if seconds is None:
            seconds = _planned_budget()
        os.nice(priority)
    from puoc.run.stages import lacking_data

    failures: dict[str, str] = {}
    if seconds is None:
        for name in names:
            with exit_on_storage_error():
                try:
                    _compute_part("tables", name)
                except ValueError as error:  # the other tables do not need what this one lacks
                    failures[name] = lacking_data(ROOT, [name]).get(name, str(error))
    else:
        with exit_on_invalid_input(), exit_on_storage_error():
            failures = lacking_data(ROOT, names)
        if computable := [name for name in names if name not in failures]:
            _run_within(computable, seconds)
    with exit_on_invalid_input():
        if failures:
            _raise_failures(failures, len(names))
    hint(f"puoc show {names[0]} prints the results; puoc report writes the page")


def _raise_failures(failures: dict[str, str], n_tables: int) -> None:
    if n_tables == 1:
        raise ValueError(*failures.values())
    lines = [f"{name} was not computed: {message}" for name, message in failures.items()]
    others = n_tables - len(failures)
    raise ValueError(
        "\n".join([*lines, f"{counted(others, 'other table')} computed" if others else "nothing computed"])
    )


def _priority(nice: str | None) -> int:
    if nice is None:
        return 0
    if not nice.strip().isdecimal() or int(nice) > _MAX_NICE:
        raise ValueError(f"--nice: got {nice!r}; expected a whole number from 0 to {_MAX_NICE}")
    return int(nice)


def _seconds(option: str, budget: str | None) -> int | None:
    from puoc.store.times import EXPECTED, read_time

    if budget is None:
        return None
    seconds = read_time(budget)
    if seconds is None:
        raise ValueError(f"{option}: got {budget!r}; expected {EXPECTED}")
    return seconds


def _planned_budget() -> int | None:
    from puoc.store.plan_files import read_compute

    return _seconds("compute.budget", read_compute(ROOT).budget)


def _check(part: Part, names: list[str]) -> None:
    """Check that there is a plan of each table or sweep, before anything is computed."""
    planned(ROOT, computes=True)
    from puoc.run.stages import planned_trials

    for name in names:
        planned_trials(ROOT, part, name)


def _run_part(part: Part, name: str) -> None:
    with exit_on_invalid_input(), exit_on_storage_error():
        _compute_part(part, name)


def _compute_part(part: Part, name: str) -> None:
    from puoc.cli.progress import Reporter
    from puoc.reporting.tracking.live import LiveTracking
    from puoc.run.stages import run_part

    with LiveTracking(ROOT) as tracking, Reporter(name, shown_console(stderr=False)) as reporter:
        counts = run_part(ROOT, part, name, on_rows=tracking.add, on_progress=reporter.update)
    _say_counts(name, counts, tracking.failure)


def _run_within(names: list[str], seconds: int) -> None:
    from puoc.cli.progress import Reporter
    from puoc.reporting.tracking.live import LiveTracking
    from puoc.run.stages import run_tables

    title = ", ".join(names) if len(names) <= _NAMED else counted(len(names), "table")
    with (
        exit_on_invalid_input(),
        exit_on_storage_error(),
        LiveTracking(ROOT) as tracking,
        Reporter(title, shown_console(stderr=False), seconds) as reporter,
    ):
        counts, remaining = run_tables(ROOT, names, seconds, on_rows=tracking.add, on_progress=reporter.update)
    _say_counts(title, counts, tracking.failure, remaining.fits)
    if remaining.fits:
        say(_left(remaining))


def _say_counts(title: str, counts: Counter[str], failure: str | None, left: int = 0) -> None:
    numbers = {"computed": counts["ok"], "failed": counts["failed"], "computed_elsewhere": counts["known"]}
    result(runs=[{"name": title, **numbers, "not_started": left, "not_tracked": failure}])
    elsewhere = f", {counts['known']:,} computed by another run" if counts["known"] else ""
    say(f"{title}: {counted(counts['ok'], 'fit')} computed, {counts['failed']:,} failed{elsewhere}")
    if failure:
        say(f"some of them are not in MLflow yet ({failure}); run puoc track to add them")


def _left(remaining: Remaining) -> str:
    """Return the line about fits that were not started."""
    from puoc.plan.forecast.costs import duration
    from puoc.store.times import limit_text

    forecast = f"forecast {duration(remaining.seconds)} of computing time"
    if remaining.unknown:
        forecast += f" and {counted(remaining.unknown, 'fit')} of unknown cost"
    next_one = ""
    if remaining.next_seconds is not None:
        next_one = f"; the smallest budget that starts the next one is {limit_text(remaining.next_seconds)}"
    return f"budget used up: {counted(remaining.fits, 'fit')} not started, {forecast}{next_one}"
