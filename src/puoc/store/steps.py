"""Steps of a long computation, reported to whoever shows its progress, through packages that know nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

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


class Display(Protocol):
    """Shows the stages of a computation."""

    def begin(self, title: str) -> None:
        """Show that a stage begins."""

    def update(self, done: float, total: float, unit: str = "") -> None:
        """Show how much of the stage is done, for example 12 of 100 ``epochs``."""


_displays: list[Display] = []


@contextmanager
def shown_by(display: Display) -> Iterator[None]:
    """Report the stages of the block to ``display``."""
    _displays.append(display)
    try:
        yield
    finally:
        _displays.remove(display)


def begin(title: str) -> None:
    """Report that a stage begins, for example ``fitting nnpu``."""
    for display in _displays:
        display.begin(title)


def update(done: float, total: float, unit: str) -> None:
    """Report how much of the stage is done."""
    for display in _displays:
        display.update(done, total, unit)
