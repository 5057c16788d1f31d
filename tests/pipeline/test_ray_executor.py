"""Jobs on real Ray actors: the same results as worker processes give, actors reused and replaced."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from puoc.datasets.prepare.arrays import prepare
from puoc.plan.make_plan import make_plan
from puoc.plan.params import read_params
from puoc.run.executors.local import WorkerDied
from puoc.run.stages import answer
from puoc.store.checked_parquet import read_rows
from puoc.store.result_rows import ResultRow

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def own_ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cluster that is started for a test, not one that the environment names."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    yield
    import ray

    assert not ray.is_initialized()


def project(root: Path, executor: str) -> Path:
    text = (REPOSITORY / "profiles" / "tiny.yaml").read_text()
    text = text.replace("workers: auto", f"executor: {executor}, workers: 2").replace(
        "configs: selected", "configs: published"
    )
    root.mkdir()
    (root / "params.yaml").write_text(text)
    shutil.copytree(REPOSITORY / "tuning", root / "tuning")
    make_plan(read_params(root / "params.yaml")).write(root)
    prepare("digits", root / "data", root / "work" / "prepared")
    return root


@pytest.mark.usefixtures("own_ray")
def test_two_actors_give_what_worker_processes_give(tmp_path: Path) -> None:
    found = {}
    for executor in ("local", "ray"):
        root = project(tmp_path / executor, executor)
        assert answer(root, "tables", "one_vs_all")["ok"] == 12
        rows = read_rows(root / "results" / "tables" / "one_vs_all.parquet", ResultRow)
        found[executor] = {row.trial_id: (row.status, row.auc, row.auc_train_pool) for row in rows}
    assert found["ray"] == found["local"]
    assert {status for status, *_ in found["ray"].values()} == {"ok"}


def _do(job: str) -> int:
    if job == "wait":
        time.sleep(60)
    if job == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if job == "refuse":
        raise OSError(28, "No space left on device")
    return os.getpid()


@pytest.mark.slow
@pytest.mark.usefixtures("own_ray")
def test_actors_are_reused_replaced_when_they_die_and_stop_for_what_all_jobs_lack() -> None:
    from puoc.run.executors.ray import RayExecutor

    with RayExecutor(2, _do) as executor:
        pids = Counter(pid for _, pid in executor.run(["work"] * 8))
        assert sum(pids.values()) == 8
        assert 1 <= len(pids) <= 2
        outcomes = dict(executor.run(["die"]))
        assert isinstance(outcomes["die"], WorkerDied)
        assert "gone" in str(outcomes["die"])
        assert len(list(executor.run(["work"] * 4))) == 4
        with pytest.raises(OSError, match="No space left"):
            list(executor.run(["refuse"]))


@pytest.mark.slow
@pytest.mark.usefixtures("own_ray")
def test_a_job_that_ray_ends_for_memory_is_one_that_died(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray is told that any use of memory is too much, so that its monitor ends what runs, as it does on a full node."""
    from puoc.run.executors.ray import RayExecutor

    monkeypatch.setenv("RAY_memory_usage_threshold", "0.0001")
    monkeypatch.setenv("RAY_memory_monitor_refresh_ms", "100")
    outcomes = []
    with RayExecutor(1, _do) as executor, suppress(OSError):
        for _, outcome in executor.run(["wait", "wait"]):
            outcomes.append(outcome)
        assert len(outcomes) == 2
    assert [type(outcome) for outcome in outcomes] == [WorkerDied] * len(outcomes)


@pytest.mark.slow
@pytest.mark.usefixtures("own_ray")
def test_workers_that_end_as_they_start_end_the_run_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from puoc.run.executors import ray as executors

    def ends(_: Any, call: Any) -> None:
        os._exit(1)

    monkeypatch.setattr(executors._Actor, "__init__", ends)
    with executors.RayExecutor(2, _do) as executor, pytest.raises(OSError, match="workers of Ray end as they start: "):
        list(executor.run(["wait"] * 3))


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "nowhere", "127.0.0.1:99999"])
def test_an_address_that_does_not_answer_is_refused_at_once_with_who_named_it(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from puoc.run.executors.ray import RayExecutor, start

    monkeypatch.setenv("RAY_ADDRESS", address)
    before = time.monotonic()
    with pytest.raises(
        ValueError, match=f"^RAY_ADDRESS: got {address}, which does not answer .*; expected auto, or HOST"
    ):
        RayExecutor(1, _do)
    with pytest.raises(ValueError, match=f"^--address: got {address}, which does not answer"):
        start(1, address=address)
    with pytest.raises(ValueError, match=f"^--address: got auto, here {address}, which does not answer"):
        start(1, address="auto")
    assert time.monotonic() - before < 15


@pytest.mark.slow
@pytest.mark.usefixtures("own_ray")
@pytest.mark.parametrize("address", ["", "local"])
def test_an_address_that_names_no_cluster_starts_one(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from puoc.run.executors.ray import RayExecutor

    monkeypatch.setenv("RAY_ADDRESS", address)
    with RayExecutor(1, _do) as executor:
        assert executor.ray.cluster_resources()["CPU"] == 1
