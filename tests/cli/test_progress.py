"""Signs of life: what a step shows on a terminal and in a log, and an ETA that falls while one waits."""

from __future__ import annotations

import inspect
import io
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from own_files import invoke
from rich.console import Console
from typer.main import get_command

from puoc.cli import progress
from puoc.cli.app import app
from puoc.cli.progress import Eta, Reporter, Working
from puoc.run.runner import Progress
from puoc.store import steps
from puoc.store.steps import advance, heard_by


class Clock:
    """The time as a test sets it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.now = 1000.0
        monkeypatch.setattr(progress.time, "monotonic", lambda: self.now)


def test_an_eta_falls_between_two_steps_and_says_when_it_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    eta = Eta()
    assert eta.text(0, 10) == "ETA after the first step"
    clock.now += 10
    assert eta.text(1, 9) == "ETA 1:30"
    for waited, text in ((30, "1:00"), (30, "0:30"), (30, "0:00")):
        clock.now += waited
        assert eta.text(1, 9) == f"ETA {text}"
    clock.now += 15
    assert eta.text(1, 9) == "ETA passed 0:15 ago"


def test_a_run_prints_a_line_a_minute_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, out = Clock(monkeypatch), io.StringIO()
    with Reporter("table", Console(file=out)) as reporter:
        for second in range(1, 301):
            clock.now += 1
            reporter.update(Progress(300, second, 0, 0))
    lines = [line for line in out.getvalue().splitlines() if line]
    assert lines[:2] == ["table: 30/300 fits, ETA 4:30", "table: 90/300 fits, ETA 3:30"]
    assert len(lines) == 5


@pytest.mark.parametrize(
    ("seconds", "text"), [(9.6, "0:10"), (3599, "59:59"), (3600, "1:00:00"), (896_753, "10 d 9 h")]
)
def test_long_times_are_in_hours_and_days(seconds: float, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    eta = Eta()
    clock.now += seconds
    assert eta.text(1, 1) == f"ETA {text}"


def test_a_run_with_a_budget_shows_what_is_left_of_it_unless_it_ends_before(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, out = Clock(monkeypatch), io.StringIO()
    with Reporter("table", Console(file=out), budget=100) as reporter:
        for second, wanted in ((40, 400), (110, 400), (175, 180)):
            clock.now = 1000 + second
            reporter.update(Progress(wanted, second, 0, 0))
    assert [line for line in out.getvalue().splitlines() if line] == [
        "table: 40/400 fits, 1:00 of the budget left",
        "table: 110/400 fits, budget used up, running fits end",
        "table: 175/180 fits, budget used up, running fits end",
    ]
    with Reporter("table", Console(file=out), budget=100) as reporter:
        clock.now += 40
        reporter.update(Progress(60, 40, 0, 0))
    assert out.getvalue().rstrip().splitlines()[-1] == "table: 40/60 fits, ETA 0:20"


@pytest.mark.parametrize("terminal", [True, False])
def test_a_step_that_says_nothing_itself_shows_that_it_runs(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_UNSEEN", 0.05)
    monkeypatch.setattr(progress, "SECONDS_TO_FIRST_LINE", 0.05)
    out = io.StringIO()
    with Working("MLflow", Console(file=out, force_terminal=terminal)) as shown:
        shown.update(120, 700, "runs")
        until = time.monotonic() + 60
        while "MLflow: 120/700 runs, ETA" not in out.getvalue():
            assert time.monotonic() < until
            time.sleep(0.02)
        shown.update(240, 700, "runs")


def test_a_short_step_shows_nothing() -> None:
    out = io.StringIO()
    with Working("MLflow", Console(file=out, force_terminal=True)) as shown:
        shown.update(1, 2, "runs")
    assert out.getvalue() == ""


def test_less_than_a_hundredth_gives_no_estimate_of_the_time_that_is_left() -> None:
    shown = Working("assess", Console(file=io.StringIO()), total=1000)
    for done in (0.0, 1.0, 8.0):
        shown.advance(done)
        assert re.fullmatch(r"assess: 0%, \d:\d\d so far", shown.text())
    shown.advance(2.0)
    assert shown.text().startswith("assess: 1%, ETA ")


def test_steps_of_lower_packages_are_heard_only_inside_the_block() -> None:
    shown = Working("assess", Console(file=io.StringIO()), total=4)
    with heard_by(shown.advance):
        advance(1)
        assert shown.text().startswith("assess: 25%, ETA ")
        advance(3)
    advance(100)
    assert shown.text() == "assess: 100%, ETA 0:00"


def sources(function: Callable[..., object]) -> str:
    """The source of a function and of those of its module that it names."""
    module = sys.modules[function.__module__]
    found, waiting = {}, [function]
    while waiting:
        one = waiting.pop()
        found[one.__name__] = source = inspect.getsource(one)
        names = set(re.findall(r"\w+", source)) - set(found)
        others = [getattr(module, name, None) for name in names]
        waiting += [each for each in others if inspect.isfunction(each) and each.__module__ == function.__module__]
    return "\n".join(found.values())


#: Commands that only print what is at hand, or write one short file.
QUICK = {"metrics", "new-method"}


def test_every_command_that_may_take_long_shows_its_progress() -> None:
    commands = dict(get_command(app).commands)
    commands |= {f"ledger {name}": part for name, part in commands.pop("ledger").commands.items()}
    silent = {
        name
        for name, command in commands.items()
        if not re.search(r"\b(working|Working|Reporter)\(", sources(inspect.unwrap(command.callback)))
    }
    assert silent == QUICK


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_scoring_counts_the_rows_that_are_left(suffix: str, tmp_path: Path) -> None:
    n = 10_000
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(n, 2)), columns=["a", "b"])
    rows[:60].to_csv(tmp_path / "p.csv", index=False)
    path = tmp_path / f"rows{suffix}"
    if suffix == ".csv":
        rows.to_csv(path, index=False)
    else:
        rows.to_parquet(path)
    fitted = ("fit", "--method", "oc_svm", "--positives", tmp_path / "p.csv", "--out", tmp_path / "model")
    assert invoke(*fitted).exit_code == 0
    heard: list[tuple[float, float, str]] = []
    shown = SimpleNamespace(begin=lambda title: None, update=lambda *of: heard.append(of))
    with steps.shown_by(shown):
        words = ("score", "--model", tmp_path / "model", path, "--out", tmp_path / "s.csv", "--chunk", 1000)
        assert invoke(*words).exit_code == 0
    assert len(heard) > 1
    done, total, units = zip(*heard, strict=True)
    assert list(done) == sorted(done)
    assert done[-1] == n
    assert set(total) <= {n, n + 1}, "the line of the names may count as a row"
    assert set(units) == {"rows"}
