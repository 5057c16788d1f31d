"""Worker processes on this machine, one thread each. A worker that dies is replaced and its job reported."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import NamedTuple, TypeVar

from puoc.run.executors.process_lifetime import (
    die_with_parent,
    give_way_to_other_sessions,
    leave_signals_to_parent,
    raise_if_interrupted,
    signals_held,
)

J = TypeVar("J")
R = TypeVar("R")


class WorkerDied(NamedTuple):
    """A worker ended before its job was done: it was killed, had no memory, or crashed in native code."""

    exit_code: int | None

    def __str__(self) -> str:
        code = self.exit_code
        if code is None:
            return "the worker, or the node it ran on, is gone"
        if code < 0:
            return f"the worker was killed by signal {-code} ({signal.strsignal(-code)})"
        return f"the worker ended with exit code {code}"


class WorkerError(NamedTuple):
    """Error of a call that concerns all jobs, such as a full disk; errors of one job are part of its outcome."""

    error: Exception


class _Worker:
    def __init__(self, call: Callable[[J], R]):
        # fork, not spawn: the parent has loaded torch once for all of them
        context = multiprocessing.get_context("fork")
        self.connection, child = context.Pipe()
        self.process = context.Process(target=_serve, args=(child, self.connection, call, os.getpid()), daemon=True)
        with signals_held():
            self.process.start()
        child.close()
        self.job: object = None

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


class LocalExecutor:
    """Run jobs in ``n_workers`` processes. Use it as a context manager: its end ends every worker at once."""

    def __init__(self, n_workers: int, call: Callable[[J], R]):
        self.call = call
        self.n_workers = n_workers
        self.workers: list[_Worker] = []

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.end()
        self.workers.clear()

    def run(self, jobs: Sequence[J], tick: Callable[[], None] = lambda: None) -> Iterator[tuple[J, R | WorkerDied]]:
        """Yield each job with its outcome, in the order in which they end. ``tick`` is called every half second.

        Raises
        ------
        OSError, ValueError : a call raised it, for example because the ledger's disk is full; other jobs are dropped.
        """
        queue = list(reversed(jobs))
        return self.run_from(lambda: queue.pop() if queue else None, tick)

    def run_from(
        self, next_job: Callable[[], J | None], tick: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[J, R | WorkerDied]]:
        """Run jobs as ``run``. ``next_job`` returns the next one when a worker is idle, or None if there is none yet.

        The iteration ends when no job is running and ``next_job`` returns None.
        """
        while True:
            raise_if_interrupted()
            self._feed(next_job)
            busy = {worker.connection: worker for worker in self.workers if worker.job is not None}
            if not busy:
                return
            for ready in wait(list(busy), timeout=0.5):
                yield self._receive(busy[ready])  # type: ignore[index,misc]
                self._feed(next_job)
            tick()

    def _feed(self, next_job: Callable[[], J | None]) -> None:
        """Send a job to each worker without one. A worker is started when it is needed."""
        idle = [worker for worker in self.workers if worker.job is None]
        while idle or len(self.workers) < self.n_workers:
            job = next_job()
            if job is None:
                return
            if not idle:
                idle.append(_Worker(self.call))
                self.workers += idle
            self._send(idle.pop(0), job)

    def _send(self, worker: _Worker, job: object) -> None:
        worker.job = job
        with suppress(ConnectionError):  # it died; _receive finds the closed pipe and reports the job
            worker.connection.send(worker.job)

    def _receive(self, worker: _Worker) -> tuple[object, object]:
        job, worker.job = worker.job, None
        try:
            outcome = worker.connection.recv()
        except (EOFError, OSError):  # the second: it died while it sent
            worker.process.join()
            self.workers.remove(worker)
            worker.connection.close()
            return job, WorkerDied(worker.process.exitcode)
        if isinstance(outcome, WorkerError):
            raise outcome.error
        return job, outcome


def _serve(connection: Connection, parents: Connection, call: Callable[[J], R], parent: int) -> None:
    die_with_parent(parent)
    parents.close()
    leave_signals_to_parent()
    give_way_to_other_sessions()
    import torch

    torch.set_num_threads(1)
    while True:
        try:
            job = connection.recv()
        except EOFError:
            return
        try:
            outcome: object = call(job)
        except (OSError, ValueError) as error:
            outcome = WorkerError(error)
        connection.send(outcome)
