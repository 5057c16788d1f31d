"""Progress display: a bar on a terminal, otherwise a line a minute."""

from __future__ import annotations

import threading
import time
from math import inf
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from puoc.run.runner import Progress as State

SECONDS_UNSEEN = 2.0  # a step that is shorter shows nothing
SECONDS_TO_FIRST_LINE = 30.0  # where the output is not a terminal
SECONDS_BETWEEN_LINES = 60.0


class Eta:
    """The time that is left, by the rate so far. Between two steps it only falls."""

    def __init__(self, started: float | None = None):
        self.started = time.monotonic() if started is None else started
        self._done, self._left, self._at = 0.0, 0.0, self.started

    def text(self, done: float, remaining: float, first: str = "step") -> str:
        """Return the time that is left as text. ``first`` names the step after which it is known."""
        now = time.monotonic()
        if not done:
            return f"ETA after the first {first}"
        if done != self._done:  # at another time, the rate would fall while one waits for a step, and the ETA rise
            self._left, self._at = (now - self.started) / done * remaining, now
            self._done = done
        left = self._left - (now - self._at)
        return f"ETA {_clock(left)}" if left > -1 else f"ETA passed {_clock(-left)} ago"

    def left(self, done: float) -> float:
        """Return the seconds that are left; infinity if nothing is done yet. Call ``text`` first."""
        return self._left - (time.monotonic() - self._at) if done else inf


class LineTimer:
    """Decides when a line is due where the output is not a terminal."""

    def __init__(self, started: float):
        self._next = started + SECONDS_TO_FIRST_LINE

    def due(self) -> bool:
        """Check whether a line is due; if so, the next one is due a minute later."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + SECONDS_BETWEEN_LINES
        return True


class Reporter:
    """Context manager that shows the state of a run; pass ``update`` to the runner as ``on_progress``.

    Parameters
    ----------
    budget : seconds after which no fit starts any more; what is left of them is shown in place of a longer ETA.
    """

    def __init__(self, title: str, console: Console, budget: float | None = None):
        self.title, self.console, self.budget = title, console, budget
        self.started = time.monotonic()
        self._lines = LineTimer(self.started)
        self._eta: Eta | None = None
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            transient=True,
            # With redirection, a worker forked while the bar's thread holds its lock would block at its first warning.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task(title, total=None, note="")

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def update(self, state: State) -> None:
        """Show the state of the run."""
        if self.console.is_terminal:
            done = state.ok + state.failed
            self._bar.update(self._task, total=state.wanted, completed=done, note=self._note(state))
        elif self._lines.due():
            done_of = f"{state.ok + state.failed:,}/{state.wanted:,} {state.what}"
            self.console.print(f"{self.title}: {done_of}, {self._note(state)}", highlight=False, soft_wrap=True)

    def _note(self, state: State) -> str:
        parts = [f"{state.failed:,} failed"] if state.failed else []
        if state.waiting:
            parts.append(
                f"{state.waiting:,} computed elsewhere" + (f" by {state.waiting_for}" if state.waiting_for else "")
            )
        if state.running is not None:
            parts.append(f"{state.running:,} running, {state.remaining:,} remaining")
        unit = "fit" if state.running is None else "configuration"
        self._eta = self._eta or Eta(self.started)
        eta = self._eta.text(state.ok + state.failed, state.remaining, unit)
        if self.budget is not None:
            rest = self.budget - (time.monotonic() - self.started)
            if self._eta.left(state.ok + state.failed) > rest:
                eta = f"{_clock(rest)} of the budget left" if rest > 0 else "budget used up, running fits end"
        return ", ".join([*parts, eta])


class Working:
    """Context manager that shows that a step of a command is running, also while it says nothing itself.

    A step that ends within two seconds shows nothing. Do not fork worker processes inside: a thread writes the display.

    Parameters
    ----------
    title : the step, for example "MLflow".
    console : of the standard error, because the standard output of some commands is a result.
    total : the sum of the weights that ``advance`` will get, if known.
    """

    def __init__(self, title: str, console: Console, total: float | None = None):
        self.title, self.console = title, console
        self._done, self._total = 0.0, total
        self._unit = ""
        self._started = time.monotonic()
        self._eta = Eta(self._started)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()

    def begin(self, title: str) -> None:
        """Begin another stage of the step, whose time counts anew."""
        self.title, self._done, self._total, self._unit = title, 0.0, None, ""
        self._started = time.monotonic()

    def update(self, done: float, total: float, unit: str = "") -> None:
        """Set how much is done, for example 120 of 700 ``runs``."""
        if not self._done:
            self._eta = Eta()  # what came before the first step says nothing about the rate
        self._done, self._total, self._unit = done, total, unit

    def advance(self, weight: float = 1.0) -> None:
        """Add to what is done."""
        self._done += weight

    def text(self) -> str:
        """Return the state as text."""
        if not self._total:
            return f"{self.title}: {_clock(time.monotonic() - self._started)} so far"
        done = min(self._done, self._total)
        if not self._unit and done < 0.01 * self._total:  # loading libraries is most of the time so far
            return f"{self.title}: 0%, {_clock(time.monotonic() - self._started)} so far"
        left = self._eta.text(done, self._total - done)
        progress = f"{done:,.0f}/{self._total:,.0f} {self._unit}" if self._unit else f"{done / self._total:.0%}"
        return f"{self.title}: {progress}, {left}"

    def _show(self) -> None:
        if self._end.wait(SECONDS_UNSEEN):
            return
        if self.console.is_terminal:
            columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False))
            with Progress(
                *columns, console=self.console, transient=True, redirect_stdout=False, redirect_stderr=False
            ) as bar:
                task = bar.add_task(self.text())
                while not self._end.wait(0.2):
                    bar.update(task, description=self.text())
            return
        lines = LineTimer(self._started)
        while not self._end.wait(0.2):
            if lines.due():
                self.console.print(self.text(), highlight=False, soft_wrap=True, markup=False)


def _clock(seconds: float) -> str:
    """Return minutes and seconds, from an hour on hours too, and from two days on days and hours."""
    minutes, rest = divmod(max(round(seconds), 0), 60)
    hours, of_hour = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours}:{of_hour:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
