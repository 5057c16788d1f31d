"""The Ray cluster of a sweep: joined or started, and what its nodes are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from puoc.run.sweep.ray_nodes import alive

_JOINED = 20.0  # seconds to join a cluster
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


@contextmanager
def connected(wanted: Wanted, workers: int) -> Iterator[ModuleType]:
    """Ray, for a block. What was started for it ends with it; a cluster that was joined stays.

    Raises
    ------
    ValueError : no cluster answers at the address.
    OSError : Ray does not start on this machine.
    """
    from puoc.run.sweep.ray_start import start

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


def present_in(ray: ModuleType) -> Present:
    """CPUs, GPUs and living nodes of the cluster."""
    total = ray.cluster_resources()
    return Present(int(total.get("CPU", 0)), int(total.get("GPU", 0)), len(alive(ray)))


def cpus_of(address: str) -> int | None:
    """CPUs of the cluster at an address; None where none says so within seconds.

    Asked by another process: Ray tries for minutes to join a cluster that is ending, or that wants another token.
    """
    joins = "import sys; from puoc.run.sweep.ray_start import start; ray = start(1, 0, sys.argv[1])"
    script = f"{joins}; print(int(ray.cluster_resources()['CPU']))"
    try:
        done = subprocess.run(
            [sys.executable, "-c", script, address], capture_output=True, text=True, timeout=_JOINED, check=False
        )
        return int(done.stdout.split()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError):
        return None
