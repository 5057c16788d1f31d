"""``executor: ray`` on a cluster that others use too, or that is not what it should be: no wait for ever, no loss."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from project import Project
from sweeping import call, records, two_nodes

New = Callable[..., Project]

#: Takes one CPU of the cluster until its standard input ends.
HOLDS = """
import sys, ray
class Holder:
    def is_there(self): return True
ray.init(sys.argv[1], log_to_driver=False, logging_level="ERROR")
held = [ray.remote(num_cpus=1)(Holder).remote() for _ in range(int(sys.argv[2]))]
ray.get([one.is_there.remote() for one in held])
print("held", flush=True)
sys.stdin.read()
"""
RAY = Path(sys.executable).parent / "ray"
#: A node for which the ledger's folder is another one, as on a machine without the shared folder.
APART = """
mount -t tmpfs none "$1" && exec "$2" start --address "$3" --num-cpus 1 --disable-usage-stats --block
"""


@pytest.fixture
def project(new_project: New) -> Project:
    found = new_project()
    found.edit("params.yaml", "workers: auto", "executor: ray, workers: auto")
    found.edit("params.yaml", "configs: selected", "configs: published")
    for word in ("plan", "fetch", "prepare"):
        done = call(found, "puoc", word)
        assert done.code == 0, done.output
    return found


@pytest.fixture
def cluster(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of two nodes of one CPU each, which the project's commands join."""
    with two_nodes(project) as (address, env, _):
        for name, value in (env | {"RAY_ADDRESS": address}).items():
            monkeypatch.setenv(name, value)
        yield address


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_the_cluster_cannot_place_is_refused_or_waits_while_the_rest_is_done(
    project: Project, cluster: str
) -> None:
    project.edit("params.yaml", "workers: auto", "workers: 3")
    assert call(project, "puoc", "plan").code == 0
    refused = call(project, "puoc", "run", "one_vs_all")
    assert refused.code == 2
    assert "compute.workers in params.yaml: got 3; expected at most 2, the CPUs of the cluster" in refused.output
    project.edit("params.yaml", "workers: 3", "workers: 2")
    assert call(project, "puoc", "plan").code == 0
    with holding(project, cluster, 1):
        done = call(project, "puoc", "run", "one_vs_all")
    assert done.code == 0, done.output
    assert {row.status for row in project.rows("one_vs_all")} == {"ok"}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_cluster_without_a_free_cpu_is_told_and_costs_nothing(project: Project, cluster: str) -> None:
    with holding(project, cluster, 2):
        done = call(project, "puoc", "run", "one_vs_all")
    assert done.code == 1
    assert "Ray placed no worker within 120 s: of the cluster's 2 CPUs 0 are free" in done.output
    assert not records(project)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_node_without_the_shared_folder_is_refused_before_anything_is_computed(
    project: Project, cluster: str
) -> None:
    (project.root / "ledger").mkdir(exist_ok=True)
    if subprocess.run(["unshare", "--mount", "--map-root-user", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine gives no mount namespaces, which stand for another machine's file system")
    node = subprocess.Popen(
        ["unshare", "--mount", "--map-root-user", "sh", "-c", APART, "sh", project.root / "ledger", RAY, cluster],
        env=os.environ | project.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for_cpus(project, cluster, 3)
        done = call(project, "puoc", "run", "one_vs_all")
    finally:
        node.kill()
        node.wait()
    assert done.code == 2, done.output
    assert f"what it writes to {project.root / 'ledger'} is not seen here" in done.output
    assert not records(project)


def holding(project: Project, address: str, n_cpus: int) -> subprocess.Popen[str]:
    """A process of somebody else that has CPUs of the cluster while the context lasts."""
    held = subprocess.Popen(
        [sys.executable, "-c", HOLDS, address, str(n_cpus)],
        env=os.environ | project.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert held.stdout is not None
    assert held.stdout.readline() == "held\n"
    return held


def wait_for_cpus(project: Project, address: str, n_cpus: int) -> None:
    """Wait until a cluster has so many CPUs."""
    script = "import sys, time, ray; ray.init(sys.argv[1], log_to_driver=False, logging_level='ERROR')\n"
    script += "while ray.cluster_resources().get('CPU', 0) < int(sys.argv[2]): time.sleep(0.5)"
    subprocess.run(
        [sys.executable, "-c", script, address, str(n_cpus)], env=os.environ | project.env, check=True, timeout=300
    )
