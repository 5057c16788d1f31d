"""Sweeps on real Ray nodes: whatever is killed, every configuration once, with the undisturbed answers."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import dead_claims
import pytest
from project import PATIENCE, Project, clone
from sweeping import (
    CONFIGURATIONS,
    EPOCHS,
    Answers,
    answers,
    asks_sixty_fits,
    call,
    claimants,
    kill_at_random,
    records,
    two_nodes,
    wait_for,
)

from puoc.store.ledger import Ledger

New = Callable[..., Project]

MOMENTS = 4


@pytest.fixture(scope="module")
def asking(pristine: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project that asks sixty fits, and in which nothing was computed. To be copied."""
    return asks_sixty_fits(clone(pristine, tmp_path_factory.mktemp("asking") / "project"))


@pytest.fixture(scope="module")
def undisturbed(asking: Project, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What worker processes without Ray answer."""
    project = clone(asking, tmp_path_factory.mktemp("undisturbed") / "project")
    done = call(project, "puoc", "tune", "nnpu")
    assert done.code == 0, done.output
    found = answers(project)
    assert len(found) == 2 * CONFIGURATIONS
    assert {status for status, _ in found.values()} == {"ok"}
    return found


@pytest.fixture
def project(asking: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    copied = clone(asking, tmp_path_factory.mktemp("disturbed") / "project")
    yield copied
    copied.end_all()


def answered(output: str) -> tuple[int, int, int]:
    """Configurations that a sweep says it answered, that failed, that were known."""
    found = re.search(r"(\d+) configurations computed, (\d+) failed, (\d+) known before", output)
    assert found, output
    return int(found[1]), int(found[2]), int(found[3])


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_two_nodes_one_killed_in_the_middle_then_the_driver_and_the_same_command_goes_on(
    project: Project, undisturbed: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    with two_nodes(project) as (address, env, tell):
        words = ("puoc", "sweep", "--method", "nnpu", "--address", address)
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        first = project.start(*words)
        assert wait_for(lambda: len(records(project)) >= 12, first), first.communicate()
        tell("kill")
        assert wait_for(lambda: len(records(project)) >= 24, first), first.communicate()
        first.send_signal(signal.SIGKILL)
        first.wait()
        standing = records(project)
        assert len(standing) < 2 * CONFIGURATIONS, "nothing was left to go on with"
        tell("add")
        again = project.start(*words)
        output = again.communicate(timeout=1200)[0]
        assert again.returncode == 0, output
    done, failed, known = answered(output)
    assert (done + known, failed) == (CONFIGURATIONS, 0)
    now = records(project)
    assert {name: now.get(name) for name in standing} == standing  # none computed again
    assert answers(project) == undisturbed
    assert len(project.records()) == len(now), "an attempt failed"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_killed_at_random_moments_it_ends_as_undisturbed(project: Project, undisturbed: Answers) -> None:
    killed, output = kill_at_random(project, MOMENTS, 6, "--method", "nnpu")
    assert sum(killed) >= 1, "the sweep was over before anything was killed"
    assert answers(project) == undisturbed, output
    tuned = call(project, "puoc", "tune", "nnpu")
    assert "nnpu: 0 fits computed, 0 failed" in tuned.output


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_two_schedulers_at_once_record_each_fit_once(project: Project, undisturbed: Answers) -> None:
    project.edit("tuning/spaces/nnpu.yaml", "step: 1.0e-3}\n", "step: 3.0e-3}\n")
    assert call(project, "puoc", "plan").code == 0
    sweeps = [project.start("puoc", "sweep", "--method", "nnpu", "--workers", "1") for _ in range(2)]
    said = [sweep.communicate(timeout=1200)[0] for sweep in sweeps]
    assert [sweep.returncode for sweep in sweeps] == [0, 0], said
    found = answers(project)
    assert len(project.records()) == len(found)
    assert {key: undisturbed.get(key) for key in found} == found
    # what both say together may count a configuration twice that one waited for, and misses none
    assert sum(answered(text)[0] for text in said) >= len(found) / 2
    assert not claimants(project)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_wider_grid_reuses_what_is_there_a_narrower_hides_it_and_dvc_computes_nothing_after_a_sweep(
    project: Project,
) -> None:
    spaces = "tuning/spaces/nnpu.yaml"
    project.edit(spaces, "high: 3.0e-2, step: 1.0e-3}\n", "high: 3.0e-3, step: 1.0e-3}\n")
    said = project.each("plan", "tune nnpu")
    assert "nnpu: 8 fits computed, 0 failed" in said  # of the published lr, 1.0e-2, and three
    project.edit(spaces, "high: 3.0e-3, step: 1.0e-3}\n", "high: 5.0e-3, step: 1.0e-3}\n")
    assert answered(project.each("plan", "sweep --method nnpu")) == (2, 0, 4)
    ledger = Ledger(project.root / "ledger")
    dead_claims.leave(ledger, ledger.ids())
    assert answered(project.each("sweep --method nnpu")) == (0, 0, 6)
    assert dead_claims.left(ledger) == set()
    project.edit(spaces, "low: 1.0e-3, high: 5.0e-3,", "low: 3.0e-3, high: 4.0e-3,")
    repro = call(project, "dvc", "repro", "tune@nnpu")
    assert repro.code == 0, repro.output
    assert "nnpu: 0 fits computed, 0 failed" in repro.output
    assert len({row.config_id for row in project.rows("nnpu", "tune/val")}) == 3
    assert len(records(project)) == 12


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_sweep_ends_within_seconds_with_130_and_leaves_nobody_computing(
    project: Project, number: signal.Signals
) -> None:
    project.edit("params.yaml", f"epochs: {EPOCHS},", "epochs: 1000000,")
    assert call(project, "puoc", "plan").code == 0
    process = project.start("puoc", "sweep", "--method", "nnpu")
    assert wait_for(lambda: len(claimants(project)) == 2, process), process.communicate()
    busy = claimants(project)
    process.send_signal(number)
    output = process.communicate(timeout=PATIENCE)[0]  # a fit lasts longer
    assert process.returncode == 130, output
    assert "interrupted; run the same command again to continue" in output
    assert "Traceback" not in output
    until = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{pid}").exists() for pid in busy):
        assert time.monotonic() < until, "a worker goes on"
        time.sleep(0.05)
