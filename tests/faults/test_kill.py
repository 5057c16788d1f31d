"""Whatever is killed, whenever: the same command goes on, nothing is computed twice, nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing

import psutil
import pytest
from project import File, Project, Repro, fresh

New = Callable[..., Project]
Reference = tuple[Project, Repro]

MOMENTS = 10


def with_longer_fits(project: Project) -> Project:
    """Fits that a kill can hit: the tiny profile's take hundredths of a second."""
    project.edit("params.yaml", "epochs: 3,", "epochs: 40,")
    return project


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    project = with_longer_fits(fresh(tmp_path_factory.mktemp("undisturbed") / "project"))
    return project, project.repro_passes()


def final_records(project: Project) -> dict[str, File]:
    return {name: file for name, file in project.records().items() if ".failed-" not in name}


def is_as_undisturbed(project: Project, undisturbed: Reference) -> None:
    """Same fits, same outcomes to the last bit, whole views, no claim left."""
    reference = undisturbed[0]
    assert project.answers() == reference.answers()
    assert set(project.records()) == set(reference.records())
    assert not list((project.root / "ledger").rglob("*.claim"))
    assert project.puoc("ledger", "verify").code == 0
    assert project.puoc("status").code == 0
    with closing(sqlite3.connect(project.root / "mlruns" / "mlflow.db")) as store:
        statuses = Counter(s for (s,) in store.execute("select status from runs where lifecycle_stage = 'active'"))
        running = store.execute("select count(*) from runs where status = 'RUNNING'").fetchone()[0]
    assert set(statuses) == {"FINISHED"}
    assert running == 0
    assert (project.root / "reports" / "index.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(MOMENTS))
def test_a_job_whose_dvc_was_killed_goes_on_where_it_was(undisturbed: Reference, new_project: New, moment: int) -> None:
    project = with_longer_fits(new_project())
    process = project.start("dvc", "repro")
    time.sleep(undisturbed[1].seconds * (moment + 0.5) / MOMENTS)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert project.survivors(1.0) == []
    before = final_records(project)
    project.repro_passes()
    now = final_records(project)
    assert {name: now.get(name) for name in before} == before
    is_as_undisturbed(project, undisturbed)


def workers(project: Project) -> list[psutil.Process]:
    """Forks of a running puoc."""
    alive = {process.pid: process for process in project.processes()}
    found = []
    for process in alive.values():
        try:
            parent = alive.get(process.ppid())
            if parent is not None and parent.cmdline() == process.cmdline() and "puoc" in " ".join(parent.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.5, 1.0])
def test_a_killed_worker_is_replaced_and_its_fits_are_computed_by_another(
    undisturbed: Reference, new_project: New, seconds: float
) -> None:
    project = with_longer_fits(new_project())
    process = project.start("dvc", "repro")
    killed: set[int] = set()
    stages_hit: set[tuple[str, ...]] = set()
    while process.poll() is None:
        for worker in workers(project):
            stage = tuple(worker.cmdline())
            if stage in stages_hit:
                continue
            time.sleep(seconds)
            try:
                worker.kill()
            except psutil.NoSuchProcess:
                continue  # its stage was done sooner
            killed.add(worker.pid)
            stages_hit.add(stage)
        time.sleep(0.02)
    output = process.communicate()[0]
    assert process.returncode == 0, output
    assert killed, output
    is_as_undisturbed(project, undisturbed)


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
    assert json.loads(held[0].read_text())["pid"] in {worker.pid for worker in workers(project)}
    started = time.monotonic()
    if how == "Ctrl-C":
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to everybody in the foreground
    else:
        process.terminate()
    output = process.communicate(timeout=30)[0]
    assert time.monotonic() - started < 5
    assert process.returncode == 130, output
    assert "interrupted; the same command goes on from here" in output
    assert "Traceback" not in output
    assert project.survivors(1.0) == []
    before = final_records(project)
    again = project.puoc("run", "one_vs_all")
    assert again.code == 0, again.output
    now = final_records(project)
    assert {name: now.get(name) for name in before} == before
    assert {row["status"] for row in project.rows("one_vs_all")} == {"ok"}


@pytest.mark.slow
def test_ctrl_c_on_dvc_repro_ends_it_within_seconds_and_the_next_goes_on(
    undisturbed: Reference, new_project: New
) -> None:
    project = with_longer_fits(new_project())
    process = project.start("dvc", "repro")
    until = time.monotonic() + 120
    while not workers(project):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert project.survivors(5.0) == []
    project.repro_passes()
    is_as_undisturbed(project, undisturbed)
