"""Start Ray on this machine, or join a cluster that shares the project's folder."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ray.job_submission import JobSubmissionClient

# By default Ray reports usage, and generates a token that half of its own commands reject: set both before it loads.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_USAGE_STATS_REPORT_URL", "http://127.0.0.1:9")
if "ray" not in sys.modules:  # otherwise Ray has read the mode, and its processes would read another one
    os.environ.setdefault("RAY_AUTH_MODE", "token")

_MAX_STARTS = 3
_CONNECT_SECONDS = 5.0  # to reach the address of a cluster
_STORE_BYTES = 200 * 2**20  # of shared memory for Ray's objects: jobs are small, arrays are read from files


def start(n_cpus: int, n_gpus: int = 0, address: str | None = None) -> ModuleType:
    """Join the Ray cluster at ``address``, or start Ray on this machine with these numbers of CPUs and GPUs.

    Raises
    ------
    ValueError : no cluster answers at the address.
    OSError : Ray does not start on this machine.
    """
    import ray as loaded

    ray: ModuleType = loaded
    if address is not None:
        _reach(address)
    before = signal.getsignal(signal.SIGTERM)
    for attempt in range(_MAX_STARTS):
        try:
            _init(ray, n_cpus, n_gpus, address)
            break
        except Exception as error:  # Ray raises no specific type; on a busy machine its start times out
            reason = " ".join(str(error).split())[:400]
            if address is not None:
                raise ValueError(f"--address: got {address}; no Ray cluster answers there ({reason})") from error
            if attempt == _MAX_STARTS - 1:
                raise OSError(f"Ray does not start on this machine: {reason}") from error
            ray.shutdown()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)  # ray.init replaces it
    return ray


def _reach(address: str) -> None:
    """Check that an address answers at once, since ``ray.init`` tries for half a minute."""
    place = address
    if address == "auto":
        from ray._private.services import get_ray_address_from_environment

        place = get_ray_address_from_environment("auto", None)
        if place in (None, "auto"):
            return  # ray.init says at once that there is no cluster
    host, _, port = place.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        resolved = "" if place == address else f"here {place}, "
        expected = "expected auto, or HOST:PORT of a Ray cluster's head node"
        raise ValueError(f"--address: got {address}, {resolved}which does not answer ({error}); {expected}") from error


def jobs_client(url: str) -> JobSubmissionClient:
    """Return Ray's client of the Jobs API of a cluster. Raises the errors of Ray if no API answers."""
    from ray.job_submission import JobSubmissionClient

    return JobSubmissionClient(url)


def _init(ray: ModuleType, n_cpus: int, n_gpus: int, address: str | None) -> None:
    if address is None:  # by default Ray starts a process for each CPU, which no trial takes: trials have a runtime_env
        os.environ.setdefault("RAY_prestart_worker_first_driver", "0")
    local_options = {
        "num_cpus": n_cpus,
        "num_gpus": n_gpus,
        "object_store_memory": _STORE_BYTES,
        "include_dashboard": False,
    }
    # actors import from the same folders, for a checkout and for an installed package
    paths = os.pathsep.join(path for path in sys.path if path)
    ray.init(
        address=address or "local",
        log_to_driver=False,
        logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}},
        **({} if address else local_options),
    )
