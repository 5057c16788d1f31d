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
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from project import File, Project, Repro

from puoc.run.status import PipelineStatus, pipeline_status
from puoc.store import ledger_upkeep as upkeep
from puoc.store.ledger import Ledger

New = Callable[..., Project]
Reference = tuple[Project, Repro]

MOMENTS = 3


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
@pytest.mark.parametrize("moment", range(MOMENTS))
def test_a_job_whose_dvc_was_killed_goes_on_where_it_was(
    undisturbed: Reference, disturbed: Project, moment: int
) -> None:
    process = disturbed.start("dvc", "repro")
    time.sleep(undisturbed[1].seconds * (moment + 0.5) / MOMENTS)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert disturbed.survivors(2.0) == []  # a second on an idle machine
    before = final_records(disturbed)
    done = disturbed.repro()
    # it was killed while it wrote its lock: docs/getting-started.md says what to do, and make repro does it
    if "Unable to read RWLock-file" in done.output:
        (disturbed.root / ".dvc" / "tmp" / "rwlock").unlink()
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


@pytest.mark.slow
@pytest.mark.parametrize("records", [0, 3])
def test_a_killed_worker_is_replaced_and_its_fits_are_computed_by_another(
    undisturbed: Reference, disturbed: Project, records: int
) -> None:
    """A worker of each stage is killed after so many of the stage's fits have their record: 6 and 12 are asked."""
    process = disturbed.start("dvc", "repro")
    killed: set[int] = set()
    before: dict[tuple[str, ...], int] = {}  # records when the stage's first worker was seen
    stages_hit: set[tuple[str, ...]] = set()
    while process.poll() is None:
        for worker in workers(process.pid):
            try:
                stage = tuple(worker.cmdline())
                recorded = len(list((disturbed.root / "ledger").glob("*/*.json")))
                if stage in stages_hit or recorded - before.setdefault(stage, recorded) < records:
                    continue
                worker.kill()
            except psutil.NoSuchProcess:
                continue  # its stage was done sooner
            killed.add(worker.pid)
            stages_hit.add(stage)
        time.sleep(0.02)
    output = process.communicate()[0]
    assert process.returncode == 0, output
    assert killed, output
    is_as_undisturbed(disturbed, undisturbed)


@pytest.mark.slow
def test_a_stage_that_starts_after_its_dvc_was_killed_ends_at_once(finished_copy: New) -> None:
    project = finished_copy()
    words = ["sh", "-c", "sleep 0.5; .venv/bin/puoc status; echo $? > code"]
    launcher = f"import os, subprocess; subprocess.Popen({words!r}); os._exit(0)"
    env = project.env | {"DVC_STAGE": "run@one_vs_all"}
    subprocess.run([sys.executable, "-c", launcher], cwd=project.root, env=env, start_new_session=True, check=True)
    assert project.survivors(10.0) == []
    assert (project.root / "code").read_text() == "130\n"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM"])
def test_an_interrupted_run_ends_within_seconds_with_130_and_goes_on_later(finished_copy: New, how: str) -> None:
    project = finished_copy()
    project.edit("params.yaml", "epochs: 3,", "epochs: 400,")
    assert [project.puoc(word).code for word in ("plan", "select")] == [0, 0]
    process = project.start("puoc", "run", "one_vs_all")
    until = time.monotonic() + 60
    while not (held := list((project.root / "ledger").rglob("*.claim"))):
        assert time.monotonic() < until
        time.sleep(0.02)
    assert json.loads(held[0].read_text())["pid"] in {worker.pid for worker in workers(process.pid)}
    started = time.monotonic()
    if how == "Ctrl-C":
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to everybody in the foreground
    else:
        process.terminate()
    output = process.communicate(timeout=30)[0]
    assert time.monotonic() - started < 5
    assert process.returncode == 130, output
    assert "interrupted; run the same command again to continue" in output
    assert "Traceback" not in output
    assert project.survivors(1.0) == []
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
    until = time.monotonic() + 120
    while not workers(process.pid):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert disturbed.survivors(5.0) == []
    disturbed.repro_passes()
    is_as_undisturbed(disturbed, undisturbed)
