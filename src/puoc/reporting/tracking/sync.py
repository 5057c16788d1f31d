"""Track results while they are computed, and synchronise the store with all results afterwards."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from puoc.reporting.tracking import project_trials
from puoc.reporting.tracking.address import TrackingError, first_line
from puoc.reporting.tracking.artifacts import Artifacts
from puoc.reporting.tracking.places import unpack_places
from puoc.reporting.tracking.report_links import link_report
from puoc.reporting.tracking.store import Store, StoreBusy
from puoc.reporting.tracking.writer import OnProgress, Writer, silent
from puoc.store.ledger import Ledger
from puoc.store.result_rows import ResultRow

WAIT_ADD = 0.2  # seconds that a tracker waits for another writer before it keeps its rows for later
WAIT_CLOSE = 20.0  # the same when it is closed, before it leaves the rows to ``track``
WAIT_TRACK = 600.0


class Tracker:
    """Tracks rows as they come in.

    Tracking never delays or ends a run of fits. While another process writes, rows are kept for later. An error of the
    store is raised when the tracker is closed. ``track`` writes the missing runs from the rows and the ledger.

    Parameters
    ----------
    root : the project's folder.
    run_context : tags for the runs that are created, for example the stage that computes.

    Raises
    ------
    TrackingError : the store cannot be used; nothing has been computed yet.
    """

    def __init__(self, root: Path | str, run_context: Mapping[str, object] | None = None):
        self.root = Path(root).resolve()
        self.failure: str | None = None  # reason why tracking stopped
        self._store = Store(self.root)
        self._writer = Writer(self._store, run_context)
        self._token = uuid.uuid4().hex
        self._waiting: list[ResultRow] = []
        self._ledger = Ledger(self.root / "ledger")
        try:
            with self._store.lock(WAIT_CLOSE):
                self._store.open()
        except StoreBusy:
            return  # the store is opened with the first rows

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()

    def add(self, rows: Sequence[ResultRow], ledger: Ledger | None = None) -> bool:
        """Track rows of results. Return False if they wait for another writer or the store has failed."""
        self._ledger = ledger or self._ledger
        self._waiting += rows
        return self._flush(WAIT_ADD)

    def close(self) -> bool:
        """Write the waiting rows. Return False if another writer holds the store; ``track`` then writes them.

        Raises
        ------
        TrackingError : the store raised an error.
        """
        done = self._flush(WAIT_CLOSE)
        if self.failure is not None:
            safe = f"The results are safe; `puoc track` writes the rest into {self._store.name}"
            raise TrackingError(f"tracking stopped: {self.failure}. {safe}")
        return done

    def _flush(self, seconds: float) -> bool:
        if self.failure is not None:
            return False
        if not self._waiting:
            return True
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with self._store.lock(seconds):
                self._write()
        except StoreBusy:
            return False
        except (MlflowException, SQLAlchemyError, OSError) as error:
            self.failure = first_line(error)
            return False
        self._waiting = []
        return True

    def _write(self) -> None:
        self._store.open()
        if self._store.last_writer() != self._token:
            self._writer.load()
            self._store.sign(self._token)
        self._writer.sync_runs(self._waiting, self._ledger)


def track(root: Path | str, on_progress: OnProgress = silent, artifacts: Artifacts = "auto") -> dict[str, int]:
    """Synchronise the store with the rows of all planned tables and sweeps; return the trials by experiment.

    Runs of a table that is no longer planned are deleted in MLflow's sense, and restored with the table. In a store
    that other projects may use they are kept: another branch, machine or project may plan a table of this name.

    Parameters
    ----------
    on_progress : called with the number of runs that are written, and of those that differ.
    artifacts : which runs of trials get artifacts and training curves; a run keeps those that it has.

    Raises
    ------
    TrackingError : another process keeps writing, the store cannot be used, or it does not hold each trial once.
    """
    store = Store(root)
    rows, complete_sources = project_trials.read_results_of_project(store.root)
    try:
        with store.lock(WAIT_TRACK), store.database_errors():
            store.open()
            writer = Writer(store, artifacts=artifacts)
            writer.load()
            unplanned = _unplanned(writer) if store.is_own else frozenset()
            writer.sync_runs(rows, Ledger(store.root / "ledger"), complete_sources | unplanned, on_progress)
            if writer.written:
                store.sign(uuid.uuid4().hex)
                store.analyse()
                writer.load()
            counts = _count_trials(writer, rows)
            link_report(store.root, store.experiments())
            return counts
    except StoreBusy as busy:
        raise TrackingError(f"{busy}; wait until it ends, or stop it, and run `puoc track` again") from busy


def _unplanned(writer: Writer) -> frozenset[str]:
    """Return the sources of runs that are tables without a plan. A sweep is left out: it may be about to write rows."""
    planned = {f"tables/{path.stem}" for path in (writer.store.root / "work" / "plan" / "tables").glob("*.json")}
    stored_runs = (stored for runs in writer.runs.values() for stored in runs.values())
    sources = {place.source for stored in stored_runs for place in unpack_places(stored.tags).values()}
    return frozenset(source for source in sources - planned if source.startswith("tables/"))


def _count_trials(writer: Writer, rows: list[ResultRow]) -> dict[str, int]:
    """Count the trials by experiment. Raises TrackingError if the store lacks a trial or has another status of it."""
    trials = project_trials.trials(project_trials.rows_with_outcome(rows))
    for key, trial in trials.items():
        stored = writer.runs["trial"].get(key)
        if stored is None or stored.tags.get("status") != trial.row.status:
            got = "no run" if stored is None else f"a run with status {stored.tags.get('status')}"
            raise TrackingError(
                f"experiment {key[0]}, trial {key[1]}: {got} in {writer.store.name}; expected one with status "
                f"{trial.row.status}; run `puoc track` again"
            )
    return dict(sorted(Counter(experiment for experiment, _ in trials).items()))
