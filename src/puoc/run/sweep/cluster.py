"""Start or join the Ray cluster of a sweep, and count its CPUs, GPUs and nodes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from puoc.run.sweep.ray_nodes import living_nodes

_JOIN_SECONDS = 20.0  # time to join a cluster
_GPU_DRIVERS = ("nvidia[0-9]*", "dxg", "kfd")  # device files of CUDA, of CUDA in WSL, and of ROCm


class MachineRequest(NamedTuple):
    """Machines that a sweep requests."""

    workers: int | None = None  # None: one for each CPU
    gpus: int = 0
    address: str | None = None  # address of a cluster; None: this machine


class MachineResources(NamedTuple):
    """CPUs, GPUs and nodes that are present."""

    cpus: int
    gpus: int
    nodes: int


@contextmanager
def connected(request: MachineRequest, workers: int) -> Iterator[ModuleType]:
    """Connect to Ray for the duration of the block. Processes started here end with it; a joined cluster keeps running.

    Raises
    ------
    ValueError : no cluster answers at the address.
    OSError : Ray does not start on this machine.
    """
    from puoc.run.sweep.ray_start import start

    ray = start(workers, request.gpus, request.address)
    try:
        yield ray
    finally:
        ray.shutdown()


def present_here() -> MachineResources:
    """Count the CPUs and CUDA devices of this machine that this process may use."""
    return MachineResources(len(os.sched_getaffinity(0)), _gpus_here(), 1)


def _gpus_here() -> int:
    if not any(list(Path("/dev").glob(pattern)) for pattern in _GPU_DRIVERS) and sys.platform == "linux":
        return 0  # decided without importing torch
    import torch

    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # otherwise the check makes CUDA unusable after a fork
    return int(torch.cuda.device_count()) if torch.cuda.is_available() else 0


def present_in(ray: ModuleType) -> MachineResources:
    """Count the CPUs, GPUs and living nodes of the cluster."""
    total = ray.cluster_resources()
    return MachineResources(int(total.get("CPU", 0)), int(total.get("GPU", 0)), len(living_nodes(ray)))


def cpus_of(address: str) -> int | None:
    """Return the number of CPUs of the cluster at an address; None if it does not answer within seconds.

    A separate process asks, because Ray tries for minutes to join a cluster that is ending or that
    expects another token.
    """
    joins = "import sys; from puoc.run.sweep.ray_start import start; ray = start(1, 0, sys.argv[1])"
    script = f"{joins}; print(int(ray.cluster_resources()['CPU']))"
    try:
        done = subprocess.run(
            [sys.executable, "-c", script, address], capture_output=True, text=True, timeout=_JOIN_SECONDS, check=False
        )
        return int(done.stdout.split()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError):
        return None
