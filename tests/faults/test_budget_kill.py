"""Runs with a budget that are killed, and ``dvc repro`` with a budget: nothing is lost, and the next run continues."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import two_tables
from forked import forked, start_forked
from planned import Data, Planned
from project import PATIENCE, File, Project

from puoc.run.executors.requirements import load_libraries
from puoc.run.stages import run_part
from puoc.run.status import PipelineStatus, pipeline_status
from puoc.store import ledger_upkeep as upkeep
from puoc.store.checked_parquet import read_rows
from puoc.store.ledger import Ledger
from puoc.store.result_rows import ResultRow

New = Callable[..., Project]

KILLS = 20


PARAMS = two_tables.PARAMS.replace("seeds: 2", "seeds: 30").replace("[nnpu, pu_svm, oc_svm]", "[nnpu, pu_svm]")
PLANNED = Planned(PARAMS, "digits")
BOTH = ("first", "second")


def records(root: Path) -> dict[str, File]:
    return {
        str(path.relative_to(root)): File.of(path)
        for path in (root / "ledger").rglob("*.json")
        if "tmp" not in path.name
    }


def results(root: Path) -> list[tuple[object, ...]]:
    found = [row for name in BOTH for row in read_rows(root / "results" / "tables" / f"{name}.parquet", ResultRow)]
    return [(r.table, r.entry, r.cell, r.seed, r.trial_id, r.status, r.auc, r.auc_train_pool, r.alpha) for r in found]


def workers_of(pid: int) -> list[psutil.Process]:
    """Forks of a process, without the git that it starts. A git that ends meanwhile has no name any more."""
    found = []
    for child in psutil.Process(pid).children():
        with suppress(psutil.NoSuchProcess):
            if "git" not in child.name():
                found.append(child)
    return found


def _project(root: Path, data: Data) -> Path:
    root.mkdir()
    return PLANNED.at(root, data)


def _wait_for_work(root: Path, pid: int, before: dict[str, File] | None) -> None:
    """Wait until a run has workers (and a record more than ``before``), or has ended."""
    until = time.monotonic() + PATIENCE
    while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if workers_of(pid) and (before is None or len(records(root)) > len(before)):
            return
        assert time.monotonic() < until
        time.sleep(0.005)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_budget_runs_that_are_killed_twenty_times_lose_no_record(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, prepared_data: Data
) -> None:
    words = ("run", *BOTH, "--budget", "1h", "--nice", "1")
    root, roots = _project(tmp_path / "0", prepared_data), []
    moments, killed, grown = random.Random(15), 0, 0
    load_libraries({"nnpu", "pu_svm", "tice"})  # once for all forks
    while killed < KILLS:
        before = records(root)
        pid = start_forked(root, *words, DVC_STAGE="run@first")
        _wait_for_work(root, pid, before if killed % 2 else None)
        time.sleep(moments.uniform(0.0, 0.4))
        workers = workers_of(pid)
        os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert psutil.wait_procs(workers, timeout=PATIENCE)[1] == []
        now = records(root)
        assert {name: now.get(name) for name in before} == before
        if code == 0:  # a fast machine ended it before it was killed: go on in another project
            roots.append(root)
            root = _project(tmp_path / str(len(roots)), prepared_data)
            continue
        assert code == -signal.SIGKILL
        killed += 1
        grown += len(now) > len(before)
    assert grown >= KILLS // 2
    assert forked(root, *words, DVC_STAGE="run@first").code == 0
    other = PLANNED.at(tmp_path_factory.mktemp("whole"), prepared_data)
    for name in BOTH:
        run_part(other, "tables", name)
    assert {row[5] for row in results(other)} == {"ok"}
    for done in (*roots, root):
        assert results(done) == results(other)
        ledger = Ledger(done / "ledger")
        assert set(ledger.ids()) == set(Ledger(other / "ledger").ids())
        assert upkeep.verify(ledger) == []
        assert pipeline_status(done) == PipelineStatus()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_dvc_repro_runs_a_table_again_as_long_as_its_budget_left_trials(new_prepared: New) -> None:
    project = new_prepared()
    project.edit("params.yaml", "models: all, device: cpu", "models: all, device: cpu, budget: 0s")
    first = project.repro_passes()
    assert "run@one_vs_all" in first.stages
    assert "budget used up: 12 fits not started" in first.output
    assert {row.status for row in project.rows("one_vs_all")} == {"missing"}
    assert {row.status for row in project.rows("pu_svm", "tune/val")} == {"ok"}  # sweeps have no budget
    again = project.repro_passes()
    assert [stage for stage in again.stages if stage in ("plan", "run@one_vs_all")] == ["run@one_vs_all"]
    assert "budget used up: 12 fits not started" in again.output
    project.edit("params.yaml", "budget: 0s", "budget: 1h")
    whole = project.repro_passes()
    assert {"run@one_vs_all", "compare", "report"} <= set(whole.stages)
    assert {row.status for row in project.rows("one_vs_all")} == {"ok"}
    assert pipeline_status(project.root) == PipelineStatus()
    assert project.repro_passes().stages == ["pending"]
    project.edit("params.yaml", ", budget: 1h", "")
    assert set(project.repro_passes().stages) <= {"plan", "pending"}
