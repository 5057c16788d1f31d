"""The Ray cluster of a sweep: joined or started, and what its nodes are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import puoc
from puoc.provenance import versions

_JOINED = 20.0  # seconds to join a cluster
_ANSWERS = 60.0  # seconds a node has to answer
_GPU_DRIVERS = ("nvidia[0-9]*", "dxg", "kfd")  # device files: of CUDA, of CUDA in WSL, of ROCm


class Wanted(NamedTuple):
    """What a sweep wants of the machines."""

    workers: int | None = None  # None: one a CPU
    gpus: int = 0
    address: str | None = None  # of a cluster; None: this machine


class Present(NamedTuple):
    """What the machines have."""

    cpus: int
    gpus: int
    nodes: int


class NodeReport(NamedTuple):
    """What one node of a cluster says."""

    host: str
    versions: dict[str, str]
    free: int  # bytes on the file system of the ledger
    wrote: str | None  # name of the file it wrote beside the ledger's folders
    fault: str | None  # why it could not


@contextmanager
def connected(wanted: Wanted, workers: int) -> Iterator[Any]:
    """Ray, for a block. What was started for it ends with it; a cluster that was joined stays.

    Raises
    ------
    ValueError : no cluster answers at the address.
    OSError : Ray does not start on this machine.
    """
    from puoc.executors.ray import start

    ray = start(workers, wanted.gpus, wanted.address)
    try:
        yield ray
    finally:
        ray.shutdown()


def present_here() -> Present:
    """CPUs and CUDA devices of this machine that this process may use."""
    return Present(len(os.sched_getaffinity(0)), _gpus_here(), 1)


def _gpus_here() -> int:
    if not any(list(Path("/dev").glob(pattern)) for pattern in _GPU_DRIVERS) and sys.platform == "linux":
        return 0  # seen at once, without torch
    import torch

    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # else asking makes CUDA unusable after a fork
    return int(torch.cuda.device_count()) if torch.cuda.is_available() else 0


def present_in(ray: Any) -> Present:
    """CPUs, GPUs and living nodes of the cluster."""
    total = ray.cluster_resources()
    return Present(int(total.get("CPU", 0)), int(total.get("GPU", 0)), len(_alive(ray)))


def cpus_of(address: str) -> int | None:
    """CPUs of the cluster at an address; None where none says so within seconds.

    Asked by another process: Ray tries for minutes to join a cluster that is ending, or that wants another token.
    """
    joins = "import sys; from puoc.executors.ray import start; ray = start(1, 0, sys.argv[1])"
    script = f"{joins}; print(int(ray.cluster_resources()['CPU']))"
    try:
        done = subprocess.run(
            [sys.executable, "-c", script, address], capture_output=True, text=True, timeout=_JOINED, check=False
        )
        return int(done.stdout.split()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError):
        return None


def ask_nodes(ray: Any, ledger: Path) -> list[NodeReport]:
    """What every living node says; each writes a file beside the ledger, which this process must then see.

    Raises
    ------
    ValueError : a node does not answer within a minute.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nodes = _alive(ray)
    task = ray.remote(num_cpus=0)(report)
    asked = [
        task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)).remote(ledger)
        for node in nodes
    ]
    found: list[NodeReport] = []
    for node, answer in zip(nodes, asked, strict=True):
        try:
            found.append(ray.get(answer, timeout=_ANSWERS))
        except ray.exceptions.GetTimeoutError as error:
            raise ValueError(
                f"a node of the cluster did not answer within {_ANSWERS:.0f} s; see `ray status`"
            ) from error
        except ray.exceptions.RayError as error:
            if node["NodeID"] not in {one["NodeID"] for one in _alive(ray)}:
                continue  # it died before Ray had noticed: others do its work
            reason = " ".join(str(error).split())[-300:]
            raise ValueError(f"a node of the cluster cannot run puoc: {reason}") from error
    for i, one in enumerate(found):
        if one.wrote is not None:
            path = ledger / one.wrote
            if not path.exists():
                fault = f"what it writes to {ledger} is not seen here: expected one folder that all nodes share"
                found[i] = one._replace(fault=fault)
            with suppress(FileNotFoundError):
                path.unlink()
    return found


def report(ledger: Path) -> NodeReport:
    """What this machine has to say as a node, after trying to write beside the ledger."""
    name: str | None = f".doctor-{uuid.uuid4().hex[:12]}"
    fault = None
    try:
        (ledger / str(name)).write_text(os.uname().nodename)
        free = shutil.disk_usage(ledger).free
    except OSError as error:
        name, fault, free = None, f"{ledger} cannot be written there: {error.strerror}", 0
    return NodeReport(os.uname().nodename, versions_here(), free, name, fault)


def versions_here() -> dict[str, str]:
    """Versions that nodes must share, the digest of puoc's own sources among them."""
    folder, sources = Path(puoc.__file__).parent, blake2b(digest_size=8)
    for path in sorted(folder.rglob("*.py")):
        sources.update(str(path.relative_to(folder)).encode())
        sources.update(path.read_bytes())
    return {**versions(), "ray": version("ray"), "sources of puoc": sources.hexdigest()}


def _alive(ray: Any) -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]
