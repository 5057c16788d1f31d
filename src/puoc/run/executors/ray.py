"""Workers as Ray actors: the same jobs, on this machine or on a cluster that shares the project's folder."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from puoc.run.executors.local import WorkerDied
from puoc.run.executors.process_lifetime import raise_if_interrupted
from puoc.run.executors.ray_nodes import ask_nodes, unequal, unshared

J = TypeVar("J")
R = TypeVar("R")

# Ray's defaults report usage and generate a token that half of its own commands then refuse: say both before it loads.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_USAGE_STATS_REPORT_URL", "http://127.0.0.1:9")
if "ray" not in sys.modules:  # it has read the mode otherwise, and what it starts would read another
    os.environ.setdefault("RAY_AUTH_MODE", "token")

_STARTS = 3
_REACHED = 5.0  # seconds to reach a cluster's address
_PLACED = 120.0  # seconds in which one worker at least has to find a CPU
_AGAIN = 60.0  # seconds after which a worker that ended as it started is tried again, while others work
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

    def is_there(self) -> None:
        """Answers when the worker has been placed and has loaded what it needs."""

    def answer(self, job: Any) -> Any:
        return self.call(job)


class RayExecutor:
    """Runs jobs on actors of one core each; the interface of ``LocalExecutor``.

    It joins the cluster that ``RAY_ADDRESS`` names, else it starts one on this machine and ends it when left.

    Parameters
    ----------
    n_workers : how many; None: one for each CPU of the cluster, or that this process may use.
    call : what a worker does with a job.
    shared : a folder that the nodes of a joined cluster must share with this process.

    Raises
    ------
    ValueError : no cluster answers, it has fewer CPUs than workers are asked, or its nodes do not share the folder or
        run other versions.
    OSError : Ray does not start on this machine.
    """

    def __init__(self, n_workers: int | None, call: Callable[[J], R], shared: Path | None = None):
        import ray

        self.ray: Any = ray
        self._call = call
        self._started = not self.ray.is_initialized()
        named = os.environ.get("RAY_ADDRESS") or "local"
        n_here = n_workers or len(os.sched_getaffinity(0))
        if self._started:
            start(n_here, address=None if named == "local" else named, named_by="RAY_ADDRESS")
        try:
            if self._started and named != "local":
                n_here = self._may_have(n_workers)
                if shared is not None:
                    self._refuse_strangers(shared)
            self._free: list[Any] = []
            self._coming: dict[Any, Any] = {}  # actors that have not answered yet, by their answer
            # actors that ended before they answered: since one did, and those not replaced; the last one's end
            self._in_vain, self._lacking, self._why = 0, 0, Exception()
            self._again = 0.0  # when one more is tried beside others
            for _ in range(n_here):
                self._new()
        except BaseException:
            self.__exit__()
            raise

    def _may_have(self, n_workers: int | None) -> int:
        """How many workers the cluster can place."""
        there = int(self.ray.cluster_resources().get("CPU", 0))
        if (n_workers or 1) > there:
            expected = f"expected at most {there}, the CPUs of the cluster that RAY_ADDRESS names, or auto"
            raise ValueError(f"compute.workers in params.yaml: got {n_workers or 'auto'}; {expected}")
        return n_workers or there

    def _refuse_strangers(self, shared: Path) -> None:
        """What a node wrote into a folder of its own would be lost in silence."""
        shared.mkdir(parents=True, exist_ok=True)
        nodes = ask_nodes(self.ray, shared)
        if faults := [*unshared(nodes), *unequal(nodes)]:
            raise ValueError("\n".join(faults))

    def _new(self) -> None:
        actor = self.ray.remote(num_cpus=1)(_Actor).remote(self._call)
        self._coming[actor.is_there.remote()] = actor

    def __enter__(self) -> RayExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        if self._started:
            self.ray.shutdown()

    def run(self, jobs: Sequence[J], tick: Callable[[], None] = lambda: None) -> Iterator[tuple[J, R | WorkerDied]]:
        """Yield each job with its outcome, as they come. ``tick`` is called at least every half second.

        Raises
        ------
        OSError, ValueError : what a call raised, or that no worker starts; other jobs are given up.
        """
        queue = list(reversed(jobs))
        busy: dict[Any, tuple[Any, J]] = {}
        since = time.monotonic()
        while queue or busy:
            raise_if_interrupted()
            while queue and self._free:  # a worker that has no CPU yet gets no job, which would wait with it
                actor, job = self._free.pop(), queue.pop()
                busy[actor.answer.remote(job)] = actor, job
            alone = not (busy or self._free or self._coming)
            if alone and self._in_vain > _STARTS:
                raise OSError(f"workers of Ray end as they start: {' '.join(str(self._why).split())[-400:]}")
            if alone or (self._lacking and time.monotonic() > self._again):
                self._lacking, self._again = self._lacking - 1, time.monotonic() + _AGAIN
                self._new()
            if busy:
                since = time.monotonic()
            elif time.monotonic() - since > _PLACED:
                raise TimeoutError(self._not_placed())
            ready, _ = self.ray.wait([*busy, *self._coming], timeout=0.5)
            for reference in ready:
                if reference in self._coming:
                    self._actor_ready(reference)
                    continue
                actor, job = busy.pop(reference)
                yield job, self._receive(reference, actor)
            tick()

    def _not_placed(self) -> str:
        there, free = (of().get("CPU", 0.0) for of in (self.ray.cluster_resources, self.ray.available_resources))
        which = f"of the cluster's {there:g} CPUs {free:g} are free (ray status tells what has them)"
        return f"Ray placed no worker within {_PLACED:g} s: {which}"

    def _actor_ready(self, reference: Any) -> None:
        actor = self._coming.pop(reference)
        try:
            self.ray.get(reference)
        except self._gone() as error:
            self._in_vain, self._lacking, self._why = self._in_vain + 1, self._lacking + 1, error
            self._again = time.monotonic() + _AGAIN
        else:
            self._in_vain = 0
            self._free.append(actor)

    def _gone(self) -> tuple[type[Exception], ...]:
        """What Ray raises where an actor, its node or its answer is gone; being killed for memory is a kind apart."""
        of = self.ray.exceptions
        return of.RayActorError, of.OutOfMemoryError, of.NodeDiedError, of.WorkerCrashedError, of.ObjectLostError

    def _receive(self, reference: Any, actor: Any) -> Any:
        try:
            outcome = self.ray.get(reference)
        except self._gone():
            self._new()
            return WorkerDied(None)
        except self.ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, (OSError, ValueError)):
                raise error.cause from None
            raise
        self._free.append(actor)
        return outcome
