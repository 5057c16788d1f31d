"""The MLflow store: a local SQLite file, or the store that MLFLOW_TRACKING_URI names.

Several processes that open a new SQLite store at once destroy it. So it is created under a file lock, and a marker
file shows that its creation was interrupted. Writers take the same lock, one at a time.

The file is longer than others, because opening, upgrading and looking all depend on the state of the same file.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
import uuid
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from puoc.reporting.tracking.address import TrackingError, first_line, sqlite_file, tracking_uri
from puoc.reporting.tracking.database import is_database, reached, without_password
from puoc.reporting.tracking.notes import NOTE, VIEW_TAG, experiment_note, is_edited, view_state
from puoc.reporting.tracking.pages import PAGE, pages
from puoc.reporting.tracking.schema import backup_of, places_of_file, schema_of_file, schema_of_server, upgrade
from puoc.reporting.tracking.sqlite_database import SqliteDatabase

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment, Run


_SETTINGS = {  # mlflow reads them when it is imported; values that the user has set are kept
    "DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",  # a server that is down must not delay a run for minutes
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
for _name, _value in _SETTINGS.items():
    os.environ.setdefault(_name, _value)

OURS = "puoc"  # tag of experiments that puoc created
#: MLflow opens these experiments in the view "Model training", and draws this metric first.
EXPERIMENT_TAGS = {
    "mlflow.experimentKind": "custom_model_development",
    "mlflow.experiment.primaryMetric.name": "auc",
    "mlflow.experiment.primaryMetric.greaterIsBetter": "True",
}
_SHARED = ".shared"  # file in the folder of artifacts; it shows that a store outside the project keeps files there too


class StoreBusy(Exception):  # noqa: N818 - a state, not a fault
    """Raised if another process is writing."""


class Store:
    """The store of one project. Open it under its lock before use."""

    def __init__(self, root: Path | str):
        self.root = Path(root).resolve()
        self.uri = tracking_uri(self.root)
        self.name = without_password(self.uri)  # for messages
        self.database = sqlite_file(self.uri)
        self._file = SqliteDatabase(self.database, self.uri) if self.database is not None else None
        self.artifacts = self.root / "mlruns" / "artifacts"
        self.is_server = self.uri.startswith(("http://", "https://"))
        self.is_own = self.database == self.root / "mlruns" / "mlflow.db"  # shared with no other project
        self._folder = self.database.parent if self.database else self.root / "mlruns"
        self._client: MlflowClient | None = None
        self._inode: int | None = None

    @contextmanager
    def lock(self, seconds: float) -> Iterator[None]:
        """Hold the writers' lock. Raises StoreBusy if another process is still writing after this many seconds."""
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._folder / ".writing.lock")
        try:
            lock.acquire(timeout=seconds)
        except Timeout as error:
            raise StoreBusy(f"another process has been writing to {self.name} for {seconds:g} s") from error
        try:
            yield
        finally:
            lock.release()

    @property
    def client(self) -> MlflowClient:
        """Return the client of the opened store."""
        if self._client is None:
            raise RuntimeError("the store is not open")
        return self._client

    def open(self) -> None:
        """Create the store if there is none, and check it. The caller must hold the lock.

        Raises
        ------
        TrackingError : the store was created in another folder or by another version of mlflow, or cannot be reached.
        """
        if self._client is not None and self._inode == self._inode_now():
            return
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        # it logs the traceback of errors that it also raises
        logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
        is_new = self._begin_creation()
        try:
            with reached(self.uri) if is_database(self.uri) else nullcontext():
                self._upgrade()
                uri = self._file.uri() if self._file is not None else self.uri
                client = MlflowClient(uri, registry_uri=os.environ.get("MLFLOW_REGISTRY_URI"))
                experiments = list(pages(lambda token: client.search_experiments(max_results=PAGE, page_token=token)))
            if self._file is not None:
                self._file.use_wal()
        except (MlflowException, SQLAlchemyError, sqlite3.Error, ImportError) as error:
            raise self._tracking_error(error) from error
        finally:
            if self._file is not None:
                self._file.note_opened()
        if is_new and self._file is not None:
            self._file.end()
        self._check_place([str(each.artifact_location) for each in experiments if OURS in each.tags])
        self.share_artifacts()
        self._client, self._inode = client, self._inode_now()

    @contextmanager
    def database_errors(self) -> Iterator[None]:
        """Convert errors of the database to TrackingError; other errors of mlflow are raised unchanged."""
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except (MlflowException, SQLAlchemyError) as error:
            if not isinstance(error, SQLAlchemyError) and not isinstance(error.__cause__, SQLAlchemyError):
                raise
            raise self._tracking_error(error) from error

    def share_artifacts(self) -> None:
        """Mark the artifacts as shared with another store, so that puoc never deletes them."""
        if not self.is_own and not self.is_server:
            self.artifacts.mkdir(parents=True, exist_ok=True)
            (self.artifacts / _SHARED).touch()

    def experiment(self, name: str) -> tuple[str, bool]:
        """Return the id of an experiment, created if needed, and whether it had been deleted and was restored."""
        known = self.client.get_experiment_by_name(name)
        if known is None:
            place = None if self.is_server else str(self.artifacts)
            return self.client.create_experiment(name, place, {OURS: "1"}), False
        restored = known.lifecycle_stage == "deleted"
        if restored:
            self.client.restore_experiment(known.experiment_id)
        self.client.set_experiment_tag(known.experiment_id, OURS, "1")
        return known.experiment_id, restored

    def experiments(self) -> dict[str, str]:
        """Return the names of the experiments that puoc created, by id."""
        return {each.experiment_id: each.name for each in self.own_experiments()}

    def own_experiments(self) -> list[Experiment]:
        """Return the experiments that puoc created."""
        experiments = pages(lambda token: self.client.search_experiments(max_results=PAGE, page_token=token))
        return [each for each in experiments if OURS in each.tags]

    def describe(self, experiment: str, name: str, tags: Mapping[str, str]) -> None:
        """Set the tags by which MLflow shows an experiment, where they differ from those that it has."""
        note = experiment_note(name, self.root if self.is_own else None, experiment)
        wanted = EXPERIMENT_TAGS | {NOTE: note, VIEW_TAG: json.dumps(view_state(name))}
        if is_edited(tags.get(NOTE)):
            del wanted[NOTE]
        for key, text in wanted.items():
            if tags.get(key) != text:
                self.client.set_experiment_tag(experiment, key, text)

    def runs(self, experiments: list[str]) -> Iterator[Run]:
        """Yield every run of these experiments (ids), page by page, including deleted ones."""
        from mlflow.entities import ViewType

        if experiments:
            yield from pages(
                lambda token: self.client.search_runs(
                    experiments, run_view_type=ViewType.ALL, max_results=PAGE, page_token=token
                )
            )

    def analyse(self) -> None:
        """Update the statistics of a SQLite store; a database server does so itself."""
        if self._file is not None:
            self._file.analyse()

    def last_writer(self) -> str | None:
        """Return the token of the last writer. If a process finds its own token, nothing has changed since it wrote."""
        try:
            return (self._folder / ".last-writer").read_text()
        except FileNotFoundError:
            return None

    def sign(self, token: str) -> None:
        """Write the token of this writer."""
        temporary = self._folder / f".{uuid.uuid4().hex[:8]}"
        temporary.write_text(token)
        temporary.replace(self._folder / ".last-writer")

    def _begin_creation(self) -> bool:
        """Begin the creation of a database, without what an earlier one left. Return False if there is one."""
        if self._file is None or not self._file.begin():
            return False
        (self._folder / ".last-writer").unlink(missing_ok=True)
        self._remove_artifacts()
        return True

    def _remove_artifacts(self) -> None:
        """Remove the artifacts of a deleted database, unless another store shares their folder."""
        removable = self.is_own and self.artifacts.is_dir() and not self.artifacts.is_symlink()
        if removable and not (self.artifacts / _SHARED).exists():
            shutil.rmtree(self.artifacts)

    def _inode_now(self) -> int | None:
        return self._file.inode() if self._file is not None else None

    def _upgrade(self) -> None:
        """Upgrade a database of an older MLflow; a SQLite file is copied first. Raises TrackingError for a server."""
        if self._file is None:
            self._refuse_older()
            return
        schema = schema_of_file(self._file.path) if self._file.path.exists() else None
        if schema is not None and schema.is_older:
            backup = upgrade(self._file.path, self._file.uri(), schema)
            warnings.warn(
                f"{self.name} was written by an older MLflow (schema {schema.found}). It was upgraded to the installed "
                f"version (schema {schema.expected}); {backup} is a copy of it before the upgrade",
                stacklevel=2,
            )

    def _refuse_older(self) -> None:
        """Raise TrackingError for an older database on a server, which other projects may use with an older MLflow."""
        schema = schema_of_server(self.uri) if is_database(self.uri) else None
        if schema is not None and schema.is_older:
            raise TrackingError(
                f"{self.name} has MLflow's schema {schema.found}; expected {schema.expected}. {self._remedy(None)}"
            )

    def look(self) -> str:
        """Check without writing whether the store can be used; return what was found as text.

        Raises
        ------
        TrackingError : the store was created in another folder, is damaged, or cannot be reached.
        """
        if self.database is not None and not self.database.exists():
            return f"no store at {self.name} yet"
        if self._file is not None and self._file.being_made:
            return f"{self.name} is being made, or that was interrupted; the next command that writes makes it anew"
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        try:
            if self.database is None:
                self._look_at_server()
                return f"{self.name} answers, and has the schema of the installed version"
            schema = schema_of_file(self.database)
            if schema.is_older:
                backup = backup_of(self.database, schema).name
                return (
                    f"{self.name} was written by an older MLflow. The next command that writes to it copies it to "
                    f"{backup}, and upgrades it"
                )
            if schema.found != schema.expected:
                raise TrackingError(
                    f"{self.name} has MLflow's schema {schema.found}; expected {schema.expected}, or an older one. "
                    f"{self._remedy()}"
                )
            self._check_place(places_of_file(self.database))
        except (MlflowException, SQLAlchemyError, sqlite3.Error, ImportError) as error:
            raise self._tracking_error(error) from error
        return f"{self.name} has the schema of the installed version"

    def _look_at_server(self) -> None:
        if is_database(self.uri):
            with reached(self.uri):
                self._refuse_older()
            return
        from mlflow import MlflowClient

        MlflowClient(self.uri).search_experiments(max_results=1)

    def _check_place(self, locations: list[str]) -> None:
        """Raise TrackingError if experiments of puoc keep their artifacts (addresses) elsewhere."""
        if self.is_server:
            return
        for location in locations:
            place = location.removeprefix("file://")
            if Path(place).resolve() != self.artifacts:
                gone = "" if Path(place).exists() else ", which does not exist"
                raise TrackingError(
                    f"{self.name} keeps its files in {place}{gone}; expected {self.artifacts}. The project was "
                    f"moved or copied. {self._remedy()}"
                )

    def _tracking_error(self, error: Exception) -> TrackingError:
        parts = self._file.files() if self._file is not None else []
        names = ", ".join(path.name for path in parts if path.exists())
        files = f" ({names} in {self._folder})" if names else ""
        reason = first_line(error).replace(self.uri, self.name)
        return TrackingError(f"{self.name} cannot be used: {reason}{files}. {self._remedy(error)}")

    def _remedy(self, error: Exception | None = None) -> str:
        from mlflow.exceptions import MlflowException

        if isinstance(error, ImportError):
            brought = "pip install 'puoc[postgresql]', or make install EXTRAS=dev,postgresql in a checkout"
            return f"Install the driver of its database. That of PostgreSQL: {brought}."
        if self.is_own:
            advice = "delete mlruns/mlflow.db* and run `puoc track` again (stop `make ui` first)"
            return f"mlruns/ contains no original data: {advice}."
        if self.is_server or (is_database(self.uri) and not isinstance(error, MlflowException)):
            return "Check that the server runs, or name another store in MLFLOW_TRACKING_URI."
        return f"Back it up and run `mlflow db upgrade {self.name}`, or name another store in MLFLOW_TRACKING_URI."
