"""A node that joins a cluster after the checks computes nothing unless it has the same folder and versions."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from planned import Data
from sweep_project import unrun

from puoc.run.sweep.budget import Budget
from puoc.run.sweep.cluster import MachineRequest, connected
from puoc.run.sweep.gpu_packing import Packing
from puoc.run.sweep.ray_nodes import versions_here
from puoc.run.sweep.request import SweepRequest, resolve_sweep
from puoc.run.sweep.trainable import REFUSED, Configuration, Task
from puoc.run.sweep.tuner import Tuner
from puoc.store.plan_files import read_compute


@pytest.fixture
def root(tmp_path: Path, prepared_data: Data) -> Path:
    """A planned project in which nothing was run."""
    return unrun(tmp_path, prepared_data)


def step(root: Path, marker: Path, versions: dict[str, str]) -> Any:
    """What an actor answers for the first configuration of a sweep."""
    sweep = resolve_sweep(root, SweepRequest("pu_svm"))
    first = sweep.configs[0]
    task = Task(root, read_compute(root), "a test", sweep, {first.config_id: first.params}, marker, versions)
    actor = object.__new__(Configuration)  # without Ray, which only hands these two over
    actor.setup({"config_id": first.config_id}, task)
    return actor.step()


def test_a_node_of_other_versions_or_another_folder_refuses_its_trials(root: Path) -> None:
    marker = root / "work" / "sweep"
    marker.touch()
    other = step(root, marker, versions_here() | {"numpy": "0.1", "sources of puoc": "older"})[REFUSED]
    assert f"has numpy {versions_here()['numpy']}; expected 0.1" in other
    assert "has sources of puoc" in other
    assert other.endswith("then give the same command again, which continues the sweep")
    elsewhere = step(root, root / "work" / "none", versions_here())[REFUSED]
    assert "is not visible there: expected one folder of the project that all nodes share" in elsewhere
    assert not [path for path in (root / "ledger").rglob("*") if path.is_file()]
    same = step(root, marker, versions_here())
    assert REFUSED not in same
    assert same["ok"] > 0


def may_unshare() -> bool:
    try:
        return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not may_unshare(), reason="no right to hide a folder from a node")
def test_a_node_that_joins_without_the_projects_folder_stops_the_sweep_with_its_name(root: Path) -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    start = f"{sys.executable} -m ray.scripts.scripts start --address {cluster.address} --num-cpus 1 --block"
    node = None
    try:
        with connected(MachineRequest(address=cluster.address), 1) as ray:
            hidden = f"mount -t tmpfs none {root / 'work' / 'ray'} && exec {start}"
            (root / "work" / "ray").mkdir()
            node = subprocess.Popen(["unshare", "-m", "sh", "-c", hidden], stdout=subprocess.DEVNULL)
            until = time.monotonic() + 600
            while ray.cluster_resources().get("CPU", 0) < 1:
                assert time.monotonic() < until, "the node does not join"
                time.sleep(0.5)
            sweep = resolve_sweep(root, SweepRequest("pu_svm"))
            with pytest.raises(ValueError, match="is not visible there: expected one folder"):
                Tuner(root, sweep, Packing(gpus=0, cpus=1), Budget(), 0.0).run()
    finally:
        if node is not None:
            node.terminate()
            node.wait()
        cluster.shutdown()
    assert not [path for path in (root / "ledger").rglob("*") if path.is_file()]
