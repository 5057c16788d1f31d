"""Runs with a budget that are killed, and ``dvc repro`` with a budget: nothing is lost, and the next run continues."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable

import pytest
from project import Project

from puoc.run.stages import PipelineStatus, pipeline_status
from puoc.store import ledger_archive as archive
from puoc.store.ledger import Ledger

New = Callable[..., Project]

KILLS = 20


def with_more_seeds(project: Project) -> Project:
    project.edit("params.yaml", "epochs: 3,", "epochs: 20,")
    project.edit("params.yaml", "seeds: 2\n    configs", "seeds: 20\n    configs")
    assert [project.puoc(word).code for word in ("plan", "select")] == [0, 0]
    return project


@pytest.mark.slow
def test_a_budget_run_that_is_killed_twenty_times_loses_no_record(finished_copy: New) -> None:
    project, reference = with_more_seeds(finished_copy()), with_more_seeds(finished_copy("reference"))
    moments, grown = random.Random(15), 0
    for _ in range(KILLS):
        before = project.records()
        process = project.start("puoc", "run", "one_vs_all", "--budget", "1h", "--nice", "1")
        until = time.monotonic() + 60
        while process.poll() is None and len(project.records()) == len(before):
            assert time.monotonic() < until
            time.sleep(0.005)
        time.sleep(moments.uniform(0.0, 0.2))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert project.survivors(5.0) == []
        now = project.records()
        assert {name: now.get(name) for name in before} == before
        grown += len(now) > len(before)
    assert grown == KILLS  # each was killed while it computed
    last = project.puoc("run", "one_vs_all", "--budget", "1h")
    assert last.code == 0, last.output
    assert "budget used up" not in last.output
    whole = reference.puoc("run", "one_vs_all")
    assert whole.code == 0, whole.output
    assert project.answers() == reference.answers()
    assert set(project.records()) == set(reference.records())
    assert not list((project.root / "ledger").rglob("*.claim"))
    assert archive.verify(Ledger(project.root / "ledger")) == []
    assert pipeline_status(project.root) == PipelineStatus()


@pytest.mark.slow
def test_dvc_repro_runs_a_table_again_as_long_as_its_budget_left_trials(new_project: New) -> None:
    project = new_project()
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
