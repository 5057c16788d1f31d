"""Run jobs in the calling process, one after the other, as a Ray trial does, which is a worker itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from puoc.run.executors.local import WorkerDied

J = TypeVar("J")
R = TypeVar("R")


class InlineExecutor:
    """Run jobs in this process, with the interface of ``LocalExecutor``."""

    def __init__(self, call: Callable[[J], R]):
        self._call = call

    def __enter__(self) -> InlineExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, jobs: Sequence[J], tick: Callable[[], None] = lambda: None) -> Iterator[tuple[J, R | WorkerDied]]:
        """Yield each job with its outcome. ``tick`` is called between two jobs.

        Raises
        ------
        OSError, ValueError : a call raised it.
        """
        for job in jobs:
            yield job, self._call(job)  # type: ignore[arg-type, misc]
            tick()
