"""Tracking while a run computes. A failure of tracking does not end the run."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from puoc.reporting.tracking import Tracker
    from puoc.store.result_rows import ResultRow

_WRITE_INTERVAL = 5.0  # seconds
_FIRST_IN_STAGE = 30.0  # seconds: loading mlflow and its models takes processor time from the workers of a short stage


class LiveTracking:
    """Writes rows to MLflow every few seconds from the first fit on, and at the end.

    A DVC stage begins later. If it ends before its first write, nothing is written and mlflow is not loaded; the stage
    report tracks the new rows. Without mlflow the results are the same, but not tracked. After the store fails, nothing
    more is written to it: ``failure`` has the reason, and ``puoc track`` writes the rest.
    """

    def __init__(self, root: Path):
        self.root = root
        self._rows: list[ResultRow] = []
        self._in_stage = "DVC_STAGE" in os.environ
        self._tracker: Tracker | None = None
        self._last: float | None = None  # write; before it, the start of the first fit
        self._off = find_spec("mlflow") is None
        self.failure: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None or (self._tracker is None and self._in_stage):
            return
        self._write(last=True)

    def add(self, rows: Sequence[ResultRow]) -> None:
        """Add rows of fits whose record was just written."""
        if self._off:
            return
        self._rows += rows
        if self._last is None:  # libraries take seconds to load, so time counts from the start of the first fit
            self._last = time.monotonic() - max((row.fit_seconds or 0.0 for row in rows), default=0.0)
        first = self._in_stage and self._tracker is None
        if time.monotonic() - self._last > (_FIRST_IN_STAGE if first else _WRITE_INTERVAL):
            self._write()
            self._last = time.monotonic()

    def _write(self, last: bool = False) -> None:
        if self._off or not (self._rows or self._tracker):
            return
        try:
            if self._tracker is None:
                from puoc.reporting.tracking import Tracker

                self._tracker = Tracker(self.root)
            rows, self._rows = self._rows, []
            self._tracker.add(rows)
            if last:
                self._tracker.close()
        except (OSError, ValueError, sqlite3.Error) as error:
            self.failure, self._off = str(error), True
