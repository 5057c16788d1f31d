"""Steps of a long computation, reported to whoever shows its progress, through packages that know nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[float], None]] = []


@contextmanager
def heard_by(listener: Callable[[float], None]) -> Iterator[None]:
    """Report the steps of the block to ``listener``, with the weight of each step."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def advance(weight: float = 1.0) -> None:
    """Report that a step is done. ``weight`` is its share of the work, in units that the caller of the block knows."""
    for listener in _listeners:
        listener(weight)
