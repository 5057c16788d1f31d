"""Several runs at the same moment: one record a fit, the work shared, a store that works."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress

import pytest
from project import PATIENCE, Project

New = Callable[..., Project]


def computed(output: str) -> tuple[int, int]:
    """How many fits a run says it computed, and how many it found computed by another."""
    found = re.search(r"one_vs_all: (\d+) fits computed, 0 failed(?:, (\d+) computed by another run)?", output)
    assert found, output
    return int(found[1]), int(found[2] or 0)


def anew(project: Project, epochs: int, seeds: int = 2) -> set[str]:
    """Ask for longer fits of nnpu than those in the ledger; ids of the records that there are."""
    known = set(project.records())
    project.edit("params.yaml", "epochs: 3,", f"epochs: {epochs},")
    project.edit("params.yaml", "seeds: 2\n    configs", f"seeds: {seeds}\n    configs")
    project.each("plan", "select")
    return known


def wait_for(condition: Callable[[], object], seconds: float, what: str) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def owners(project: Project) -> list[int]:
    """Processes that are named in a claim; one that is released meanwhile names none."""
    found = []
    for path in (project.root / "ledger").rglob("*.claim"):
        with suppress(OSError, ValueError):
            found.append(int(json.loads(path.read_text())["pid"]))
    return found


def claims(project: Project) -> list[str]:
    return sorted(path.name for path in (project.root / "ledger").rglob("*.claim"))


@pytest.mark.slow
def test_two_runs_of_one_table_share_the_work(finished_copy: New) -> None:
    project = finished_copy()
    known = anew(project, epochs=20, seeds=4)
    runs = [project.start("puoc", "run", "one_vs_all") for _ in range(2)]
    said = [run.communicate(timeout=PATIENCE)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    new = set(project.records()) - known
    assert len(new) == 8 + 4 + 4  # all of nnpu, and two more seeds of the other two methods
    assert sum(computed(text)[0] for text in said) == len(new), said
    assert {row.status for row in project.rows("one_vs_all")} == {"ok"}
    assert not claims(project)


@pytest.mark.slow
def test_a_run_waits_for_what_another_computes_says_for_whom_and_takes_over_when_that_dies(finished_copy: New) -> None:
    project = finished_copy()
    project.edit("params.yaml", "workers: auto", "workers: 1")
    anew(project, epochs=400, seeds=1)  # a second a fit, of which there are two
    first = project.start("puoc", "run", "one_vs_all")
    held: list[int] = []
    wait_for(lambda: held.extend(owners(project)) or held, PATIENCE, "the first run claimed nothing")
    holder = held[0]
    os.kill(holder, signal.SIGSTOP)  # its fit lasts until the second run has said where it stands, on any machine
    # a terminal has the state at once, and a log its first line after half a minute, when a silent claim expires
    at_terminal = Project(project.root, {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "300"})
    second = at_terminal.start("puoc", "run", "one_vs_all")
    assert second.stdout is not None
    output, said = second.stdout.fileno(), b""
    while f"1 computed elsewhere by process {holder} on ".encode() not in said:
        part = os.read(output, 2**16)
        assert part, f"the second run never said that it waits: {said.decode()}"
        said += part
    first.send_signal(signal.SIGKILL)
    first.wait()
    while part := os.read(output, 2**16):
        said += part
    assert second.wait() == 0
    assert computed(said.decode())[0] == 2
    assert {row.status for row in project.rows("one_vs_all")} == {"ok"}
    assert not claims(project)


@pytest.mark.slow
def test_four_first_writers_at_once_leave_a_working_store(finished_copy: New) -> None:
    project = finished_copy()
    anew(project, epochs=4)
    assert not list((project.root / "mlruns").glob("mlflow.db*"))
    commands = (("run", "one_vs_all"), ("track",), ("run", "one_vs_all"), ("track",))
    writers = [project.start("puoc", *words) for words in commands]
    said = [writer.communicate(timeout=PATIENCE)[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0, 0], said
    tracked = project.puoc("track")
    assert tracked.code == 0, tracked.output
    asked = [row.trial_id for row in project.rows("one_vs_all") + project.rows("pu_svm", "tune/val")]
    with closing(sqlite3.connect(project.root / "mlruns" / "mlflow.db")) as store:
        query = (
            "select value, status from tags join runs using (run_uuid) "
            "where key = 'trial_id' and lifecycle_stage = 'active'"
        )
        runs = store.execute(query).fetchall()
    assert Counter(trial for trial, _ in runs) == Counter(asked)
    assert {status for _, status in runs} == {"FINISHED"}
