"""Whatever is killed, whenever: the same command goes on, nothing is computed twice, nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest
from conftest import LONGER_FITS
from project import PATIENCE, File, Project, Repro

from puoc.run.status import PipelineStatus, pipeline_status
from puoc.store import ledger_upkeep as upkeep
from puoc.store.ledger import Ledger

New = Callable[..., Project]
Reference = tuple[Project, Repro]


def final_records(project: Project) -> dict[str, File]:
    return {name: file for name, file in project.records().items() if ".failed-" not in name}


def is_as_undisturbed(project: Project, undisturbed: Reference) -> None:
    """Same fits, same outcomes to the last bit, whole views, no claim left."""
    reference = undisturbed[0]
    assert project.answers() == reference.answers()
    assert set(project.records()) == set(reference.records())
    assert not list((project.root / "ledger").rglob("*.claim"))
    assert upkeep.verify(Ledger(project.root / "ledger")) == []
    assert pipeline_status(project.root) == PipelineStatus()
    with closing(sqlite3.connect(project.root / "mlruns" / "mlflow.db")) as store:
        statuses = Counter(s for (s,) in store.execute("select status from runs where lifecycle_stage = 'active'"))
        running = store.execute("select count(*) from runs where status = 'RUNNING'").fetchone()[0]
    assert set(statuses) == {"FINISHED"}
    assert running == 0
    assert (project.root / "reports" / "index.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0.2, 0.7], ids=["data", "fits"])
def test_a_job_whose_dvc_was_killed_goes_on_where_it_was(
    undisturbed: Reference, new_project: New, new_prepared: New, moment: float
) -> None:
    """Any stage may be hit: in a project without data rather one that makes them, else one that computes."""
    disturbed = new_project() if moment < 0.5 else new_prepared()
    disturbed.edit("params.yaml", *LONGER_FITS)
    process = disturbed.start("dvc", "repro")
    time.sleep(undisturbed[1].seconds * moment)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert disturbed.survivors() == []
    before = final_records(disturbed)
    done = disturbed.repro()
    # it was killed while it wrote one of its files: docs/getting-started.md says what to do, and make repro does it
    for message, file in (
        ("Unable to read RWLock-file", ".dvc/tmp/rwlock"),
        ("dvc.lock' validation failed", "dvc.lock"),
    ):
        if message in done.output:
            (disturbed.root / file).unlink()
            done = disturbed.repro()
    assert done.code == 0, done.output
    now = final_records(disturbed)
    assert {name: now.get(name) for name in before} == before
    is_as_undisturbed(disturbed, undisturbed)


def workers(pid: int) -> list[psutil.Process]:
    """Forks of a puoc below a process. A shell whose command names puoc, caught between fork and exec, is none."""
    try:
        top = psutil.Process(pid)
        alive = {process.pid: process for process in (top, *top.children(recursive=True))}
    except psutil.NoSuchProcess:  # it has ended
        return []
    found = []
    for process in alive.values():
        try:
            parent = alive.get(process.ppid())
            words = process.cmdline()
            if parent is not None and parent.cmdline() == words and Path(words[1]).name == "puoc":
                found.append(process)
        except (psutil.Error, IndexError):  # it has ended, and an ended one has no words
            continue
    return found


def owners(project: Project) -> set[int]:
    """Processes that are named in a claim; one that is released meanwhile names none."""
    found = set()
    for path in (project.root / "ledger").rglob("*.claim"):
        with suppress(OSError, ValueError):
            found.add(int(json.loads(path.read_text())["pid"]))
    return found


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_its_fits_are_computed_by_another(
    undisturbed: Reference, disturbed: Project
) -> None:
    """A worker of the sweep is killed at once, and one of the table after three of its twelve fits are recorded."""
    process = disturbed.start("dvc", "repro")
    wanted = {"tune": 0, "run": 3}  # records of a stage before its worker is killed
    before: dict[str, int] = {}  # records when the stage's first worker was seen
    killed: set[str] = set()
    while process.poll() is None:
        for worker in workers(process.pid):
            with suppress(psutil.NoSuchProcess):  # its stage was done sooner
                stage = worker.cmdline()[2]
                recorded = len(list((disturbed.root / "ledger").glob("*/*.json")))
                since = recorded - before.setdefault(stage, recorded)
                if stage in wanted.keys() - killed and since >= wanted[stage]:
                    worker.kill()
                    killed.add(stage)
        time.sleep(0.02)
    output = process.communicate()[0]
    assert process.returncode == 0, output
    is_as_undisturbed(disturbed, undisturbed)
    assert killed, output


@pytest.mark.slow
def test_a_stage_that_starts_after_its_dvc_was_killed_ends_at_once(finished_copy: New) -> None:
    project = finished_copy()
    script = "while kill -0 $0 2>/dev/null; do sleep 0.05; done; .venv/bin/puoc status; echo $? > code"
    launcher = f"import os, subprocess; subprocess.Popen(['sh', '-c', {script!r}, str(os.getpid())]); os._exit(0)"
    env = project.env | {"DVC_STAGE": "run@one_vs_all"}
    subprocess.run([sys.executable, "-c", launcher], cwd=project.root, env=env, start_new_session=True, check=True)
    assert project.survivors() == []
    assert (project.root / "code").read_text() == "130\n"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM"])
def test_an_interrupted_run_ends_within_seconds_with_130_and_goes_on_later(finished_copy: New, how: str) -> None:
    project = finished_copy()
    project.edit("params.yaml", "epochs: 3,", "epochs: 400,")
    project.each("plan", "select")
    process = project.start("puoc", "run", "one_vs_all")
    until = time.monotonic() + PATIENCE
    while not owners(project) & {worker.pid for worker in workers(process.pid)}:
        assert process.poll() is None
        assert time.monotonic() < until, "no worker has a claim"
        time.sleep(0.02)
    if how == "Ctrl-C":
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to everybody in the foreground
    else:
        process.terminate()
    output = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 130, output
    assert "interrupted; run the same command again to continue" in output
    assert "Traceback" not in output
    assert project.survivors() == []
    if how == "SIGTERM":  # what was recorded, and what the next run does, does not depend on the signal
        return
    before = final_records(project)
    again = project.puoc("run", "one_vs_all")
    assert again.code == 0, again.output
    now = final_records(project)
    assert {name: now.get(name) for name in before} == before
    assert {row.status for row in project.rows("one_vs_all")} == {"ok"}


@pytest.mark.slow
def test_ctrl_c_on_dvc_repro_ends_it_within_seconds_and_the_next_goes_on(
    undisturbed: Reference, disturbed: Project
) -> None:
    process = disturbed.start("dvc", "repro")
    until = time.monotonic() + PATIENCE
    while not workers(process.pid):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    assert disturbed.survivors() == []
    disturbed.repro_passes()
    is_as_undisturbed(disturbed, undisturbed)
