"""Workers as Ray actors: the same jobs, on this machine or on a cluster that shares the project's folder."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from puoc.executors.lifeline import raise_if_interrupted
from puoc.executors.local import Died

J = TypeVar("J")
R = TypeVar("R")

# Ray's defaults report usage and generate a token that half of its own commands then refuse: say both before it loads.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_USAGE_STATS_REPORT_URL", "http://127.0.0.1:9")
if "ray" not in sys.modules:  # it has read the mode otherwise, and what it starts would read another
    os.environ.setdefault("RAY_AUTH_MODE", "token")

_STARTS = 3
_REACHED = 5.0  # seconds to reach a cluster's address
_STORE = 200 * 2**20  # bytes of shared memory for Ray's objects: jobs are small, arrays are read from files


def start(n_cpus: int, n_gpus: int = 0, address: str | None = None, named_by: str = "--address") -> Any:
    """Ray, joined to the cluster at ``address``, else started on this machine with so many CPUs and GPUs.

    Parameters
    ----------
    named_by : where the address can be changed, for messages.

    Raises
    ------
    ValueError : no cluster answers at the address.
    OSError : Ray does not start on this machine.
    """
    import ray

    if address is not None:
        _reach(address, named_by)
    before = signal.getsignal(signal.SIGTERM)
    for attempt in range(_STARTS):
        try:
            _init(ray, n_cpus, n_gpus, address)
            break
        except Exception as error:  # what Ray raises has no type of its own; on a busy machine its start times out
            reason = " ".join(str(error).split())[:400]
            if address is not None:
                raise ValueError(f"{named_by}: got {address}; no Ray cluster answers there ({reason})") from error
            if attempt == _STARTS - 1:
                raise OSError(f"Ray does not start on this machine: {reason}") from error
            ray.shutdown()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)  # ray.init has put its own in its place
    return ray


def _reach(address: str, named_by: str) -> None:
    """Refuse what does not answer at once: ray.init would try for half a minute."""
    place = address
    if address == "auto":
        from ray._private.services import get_ray_address_from_environment

        place = get_ray_address_from_environment("auto", None)
        if place in (None, "auto"):
            return  # ray.init says at once that there is no cluster
    host, _, port = place.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACHED).close()
    except (OSError, ValueError, OverflowError) as error:
        found = "" if place == address else f"here {place}, "
        expected = "expected auto, or HOST:PORT of a Ray cluster's head node"
        raise ValueError(f"{named_by}: got {address}, {found}which does not answer ({error}); {expected}") from error


def jobs_client(url: str) -> Any:
    """Ray's client of a cluster's Jobs API. Raises what Ray raises where none answers."""
    from ray.job_submission import JobSubmissionClient

    return JobSubmissionClient(url)


def _init(ray: Any, n_cpus: int, n_gpus: int, address: str | None) -> None:
    own = {"num_cpus": n_cpus, "num_gpus": n_gpus, "object_store_memory": _STORE, "include_dashboard": False}
    # actors find what this process finds, from a checkout as from an installed package
    paths = os.pathsep.join(path for path in sys.path if path)
    ray.init(
        address=address or "local",
        log_to_driver=False,
        logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}},
        **({} if address else own),
    )


class _Actor:
    """One worker. It is reused for job after job, since a new one would load torch again."""

    def __init__(self, call: Callable[[J], R]):
        import torch

        torch.set_num_threads(1)
        self.call = call

    def answer(self, job: Any) -> Any:
        return self.call(job)


class RayExecutor:
    """Runs jobs on ``n_workers`` actors of one core each; the interface of ``LocalExecutor``.

    It joins the cluster that ``RAY_ADDRESS`` names, else it starts one on this machine and ends it when left.
    """

    def __init__(self, n_workers: int, call: Callable[[J], R]):
        import ray

        self.ray: Any = ray
        self._started = not self.ray.is_initialized()
        if self._started:
            named = os.environ.get("RAY_ADDRESS")
            start(n_workers, address=None if named in ("", "local") else named, named_by="RAY_ADDRESS")
        self._call = call
        self._free = [self._new() for _ in range(n_workers)]

    def _new(self) -> Any:
        return self.ray.remote(num_cpus=1)(_Actor).remote(self._call)

    def __enter__(self) -> RayExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        if self._started:
            self.ray.shutdown()

    def run(self, jobs: Sequence[J], tick: Callable[[], None] = lambda: None) -> Iterator[tuple[J, R | Died]]:
        """Yield each job with its outcome, as they come. ``tick`` is called at least every half second.

        Raises
        ------
        OSError, ValueError : what a call raised; other jobs are given up.
        """
        queue = list(reversed(jobs))
        busy: dict[Any, tuple[Any, J]] = {}
        while queue or busy:
            raise_if_interrupted()
            while queue and self._free:
                actor, job = self._free.pop(), queue.pop()
                busy[actor.answer.remote(job)] = actor, job
            ready, _ = self.ray.wait(list(busy), timeout=0.5)
            for reference in ready:
                actor, job = busy.pop(reference)
                yield job, self._receive(reference, actor)
            tick()

    def _gone(self) -> tuple[type[Exception], ...]:
        """What Ray raises where an actor, its node or its answer is gone; being killed for memory is a kind apart."""
        of = self.ray.exceptions
        return of.RayActorError, of.OutOfMemoryError, of.NodeDiedError, of.WorkerCrashedError, of.ObjectLostError

    def _receive(self, reference: Any, actor: Any) -> Any:
        try:
            outcome = self.ray.get(reference)
        except self._gone():
            self._free.append(self._new())
            return Died(None)
        except self.ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, (OSError, ValueError)):
                raise error.cause from None
            raise
        self._free.append(actor)
        return outcome
