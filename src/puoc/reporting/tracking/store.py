"""Where runs are kept: a local SQLite file made by one process at a time, or whatever MLFLOW_TRACKING_URI names.

Several processes that open a fresh SQLite store at once destroy it, so it is made under a file lock, and a marker tells
a store whose making was cut short. The lock also keeps writers apart: one at a time.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from filelock import FileLock, Timeout

from puoc.reporting.tracking.address import TrackingError, sqlite_file, tracking_uri
from puoc.reporting.tracking.database import is_database, reached, without_password

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment, Run
    from mlflow.store.entities import PagedList

T = TypeVar("T")

_SETTINGS = {  # read by mlflow when it is imported; what the user has set stays
    "DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",  # a server that is down must not hold up a run for minutes
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
for _name, _value in _SETTINGS.items():
    os.environ.setdefault(_name, _value)

PAGE = 1000  # results a search returns at once; without paging more are left out in silence
OURS = "puoc"  # tag of our experiments
_SHARED = ".shared"  # file in the folder of artifacts: a store that is not the project's own keeps files there, too
_PARTS = ("", "-wal", "-shm", "-journal")  # the files of a SQLite database
_DEPRECATED = "ignore::UserWarning:mlflow.server.fastapi_app"  # mlflow's own business, told at each start of a server

_opened: dict[Path, list[int]] = {}  # databases this process has opened, by path: their inodes


class Busy(Exception):  # noqa: N818 - a state, not a fault
    """Another process is writing just now."""


def server_command(root: Path | str, port: int) -> tuple[list[str], dict[str, str]]:
    """Words and environment of the command that serves the UI on this machine alone, after the store has been made.

    A database's URI may hold a password, and words of a command are for all users of a machine to see.
    """
    store = Store(root)
    if store.database is not None:
        with store.lock(60):
            store.open()
    store.share_artifacts()
    warned = ",".join(filter(None, (os.environ.get("PYTHONWARNINGS"), _DEPRECATED)))
    command = [sys.executable, "-m", "mlflow", "server", "--workers", "1", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--artifacts-destination", str(store.artifacts)]
    return command, os.environ | {"PYTHONWARNINGS": warned, "MLFLOW_BACKEND_STORE_URI": store.uri}


class Store:
    """The store of one project. Open it under its lock before use."""

    def __init__(self, root: Path | str):
        self.root = Path(root).resolve()
        self.uri = tracking_uri(self.root)
        self.name = without_password(self.uri)  # for messages
        self.database = sqlite_file(self.uri)
        self.artifacts = self.root / "mlruns" / "artifacts"
        self.is_server = self.uri.startswith(("http://", "https://"))
        self.is_own = self.database == self.root / "mlruns" / "mlflow.db"  # shared with no other project
        self._folder = self.database.parent if self.database else self.root / "mlruns"
        self._client: MlflowClient | None = None
        self._inode: int | None = None

    @contextmanager
    def lock(self, seconds: float) -> Iterator[None]:
        """Be the one writer. Raises Busy when another process still writes after this many seconds."""
        self._folder.mkdir(parents=True, exist_ok=True)
        held = FileLock(self._folder / ".writing.lock")
        try:
            held.acquire(timeout=seconds)
        except Timeout as error:
            raise Busy(f"another process has been writing to {self.name} for {seconds:g} s") from error
        try:
            yield
        finally:
            held.release()

    @property
    def client(self) -> MlflowClient:
        """The client of the opened store."""
        if self._client is None:
            raise RuntimeError("the store is not open")
        return self._client

    def open(self) -> None:
        """Make the store if there is none and check it; to be called under the lock.

        Raises
        ------
        TrackingError : the store was made at another place, by another version of mlflow, or cannot be reached.
        """
        if self._client is not None and self._inode == self._find_inode():
            return
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        logging.getLogger("mlflow.store.db.utils").setLevel(
            logging.CRITICAL
        )  # tells by traceback what it raises anyway
        made = self._begin_making()
        try:
            with reached(self.uri) if is_database(self.uri) else nullcontext():
                client = MlflowClient(self._uri_of_file(), registry_uri=os.environ.get("MLFLOW_REGISTRY_URI"))
                found = list(pages(lambda token: client.search_experiments(max_results=PAGE, page_token=token)))
            self._use_wal()
        except (MlflowException, SQLAlchemyError, sqlite3.Error, ImportError) as error:
            raise self._refusal(error) from error
        finally:
            self._note_file()
        if made is not None:
            made.unlink()
        self._check_place(found)
        self.share_artifacts()
        self._client, self._inode = client, self._find_inode()

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Raise TrackingError where the database refuses something; other errors of mlflow pass."""
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except (MlflowException, SQLAlchemyError) as error:
            if not isinstance(error, SQLAlchemyError) and not isinstance(error.__cause__, SQLAlchemyError):
                raise
            raise self._refusal(error) from error

    def share_artifacts(self) -> None:
        """Leave a note that keeps the artifacts where the project's own database is made anew: not all are its."""
        if not self.is_own and not self.is_server:
            self.artifacts.mkdir(parents=True, exist_ok=True)
            (self.artifacts / _SHARED).touch()

    def experiment(self, name: str) -> tuple[str, bool]:
        """Id of an experiment, made where there is none; True where it had been deleted and was restored."""
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
        """Our experiments: id to name."""
        found = pages(lambda token: self.client.search_experiments(max_results=PAGE, page_token=token))
        return {one.experiment_id: one.name for one in found if OURS in one.tags}

    def runs(self, experiments: list[str]) -> Iterator[Run]:
        """Every run of these experiments (ids), those deleted in MLflow's sense included, page by page."""
        from mlflow.entities import ViewType

        if experiments:
            yield from pages(
                lambda token: self.client.search_runs(
                    experiments, run_view_type=ViewType.ALL, max_results=PAGE, page_token=token
                )
            )

    def last_writer(self) -> str | None:
        """Token of the process that wrote last, so that one that finds its own knows that nothing has changed."""
        try:
            return (self._folder / ".last-writer").read_text()
        except FileNotFoundError:
            return None

    def sign(self, token: str) -> None:
        """Leave the token of this writer."""
        temporary = self._folder / f".{uuid.uuid4().hex[:8]}"
        temporary.write_text(token)
        temporary.replace(self._folder / ".last-writer")

    def _begin_making(self) -> Path | None:
        """Mark that a database is being made, and remove what is left of one that was deleted or never finished."""
        if self.database is None:
            return None
        marker = self.database.with_name(f".{self.database.name}.making")
        if self.database.exists() and not marker.exists():
            return None
        marker.touch()
        for suffix in _PARTS:  # with the -wal and -shm of another file, SQLite says: disk I/O error
            Path(f"{self.database}{suffix}").unlink(missing_ok=True)
        (self._folder / ".last-writer").unlink(missing_ok=True)
        self._remove_artifacts()
        return marker

    def _remove_artifacts(self) -> None:
        """Files of a deleted database belong to nobody, and would stay beside those that replace them."""
        ours = self.is_own and self.artifacts.is_dir() and not self.artifacts.is_symlink()
        if ours and not (self.artifacts / _SHARED).exists():
            shutil.rmtree(self.artifacts)

    def _find_inode(self) -> int | None:
        return self.database.stat().st_ino if self.database is not None and self.database.exists() else None

    def _note_file(self) -> None:
        inode = self._find_inode()
        if self.database is not None and inode is not None and inode not in _opened.setdefault(self.database, []):
            _opened[self.database].append(inode)

    def _uri_of_file(self) -> str:
        """The URI, varied where another file has been open under it: mlflow keeps connections by URI, and would go on
        writing to a database that was deleted."""
        known = _opened.get(self.database, []) if self.database is not None else []
        inode = self._find_inode()
        number = known.index(inode) if inode in known else len(known)
        return self.uri if number == 0 else f"{self.uri}{'&' if '?' in self.uri else '?'}timeout={20 + number}"

    def _use_wal(self) -> None:
        """Readers (the UI) and the writer do not wait for each other, and a commit costs a fraction; not for NFS."""
        if self.database is not None:
            with closing(sqlite3.connect(self.database, timeout=20)) as connection:
                connection.execute("pragma journal_mode=wal")

    def _check_place(self, experiments: list[Experiment]) -> None:
        if self.is_server:
            return
        for experiment in experiments:
            place = str(experiment.artifact_location).removeprefix("file://")
            if OURS in experiment.tags and Path(place).resolve() != self.artifacts:
                gone = "" if Path(place).exists() else ", which does not exist"
                raise TrackingError(
                    f"{self.name} keeps its files in {place}{gone}, {self.artifacts} expected: the project was "
                    f"moved or copied. {self._remedy()}"
                )

    def _refusal(self, error: Exception) -> TrackingError:
        found = [f"{self.database}{suffix}" for suffix in _PARTS if self.database is not None]
        there = ", ".join(path.name for path in map(Path, found) if path.exists())
        stands = f" ({there} in {self._folder})" if there else ""
        said = first_line(error).replace(self.uri, self.name)
        return TrackingError(f"{self.name} cannot be used: {said}{stands}. {self._remedy(error)}")

    def _remedy(self, error: Exception | None = None) -> str:
        from mlflow.exceptions import MlflowException

        if isinstance(error, ImportError):
            return "Install the driver of its database: make install EXTRAS=dev,postgresql has that of PostgreSQL."
        if self.is_own:
            advice = "delete mlruns/mlflow.db* and run `puoc track` again (end `make ui` first)"
            return f"Nothing in mlruns/ is original: {advice}."
        if self.is_server or (is_database(self.uri) and not isinstance(error, MlflowException)):
            return "See that the server runs, or name another store by MLFLOW_TRACKING_URI."
        return f"Back it up and run `mlflow db upgrade {self.name}`, or name another store by MLFLOW_TRACKING_URI."


def first_line(error: Exception) -> str:
    """What an error says, without the statement and the addresses that SQLAlchemy adds in further lines."""
    return str(error).partition("\n")[0].rstrip(".")


def pages(search: Callable[[str | None], PagedList[T]]) -> Iterator[T]:
    """Everything a paged search of the client finds."""
    page = search(None)
    yield from page
    while page.token:
        page = search(page.token)
        yield from page
