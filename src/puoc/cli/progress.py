"""Progress display: a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from puoc.run.runner import Progress as State

_SECONDS_BETWEEN_LINES = 5.0  # where the output is not a terminal


class Reporter:
    """Context manager that shows the state of a run; pass ``update`` to the runner as ``on_progress``."""

    def __init__(self, title: str, console: Console):
        self.title, self.console = title, console
        self.started = time.monotonic()
        self._last = self.started
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
        note = self._note(state)
        if self.console.is_terminal:
            self._bar.update(self._task, total=state.wanted, completed=state.ok + state.failed, note=note)
        elif time.monotonic() - self._last > _SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            done = f"{state.ok + state.failed}/{state.wanted} {state.what}"
            self.console.print(f"{self.title}: {done}, {note}", highlight=False, soft_wrap=True)

    def _note(self, state: State) -> str:
        parts = [f"{state.failed} failed"] if state.failed else []
        if state.waiting:
            parts.append(
                f"{state.waiting} computed elsewhere" + (f" by {state.waiting_for}" if state.waiting_for else "")
            )
        if state.running is not None:
            parts.append(f"{state.running} running, {state.remaining} remaining")
        unit, done = "fit" if state.running is None else "configuration", state.ok + state.failed
        seconds_left = (time.monotonic() - self.started) / done * state.remaining if done else None
        parts.append(f"ETA {_clock(seconds_left)}" if seconds_left is not None else f"ETA after the first {unit}")
        return ", ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
