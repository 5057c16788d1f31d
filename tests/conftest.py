"""Fixtures made once for all tests: raw files from a mirror, and projects as users have them, one of them finished."""

from __future__ import annotations

import gc
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache, wraps
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import typer.testing
from filelock import FileLock
from hypothesis import HealthCheck, settings
from planned import prepared_in
from project import Project, Repro, clone, fresh

from puoc.datasets.prepare.word_vectors import word_vectors
from puoc.reporting.tracking.store import Store

New = Callable[..., Project]
Mirror = Callable[[str], Path]
Finished = tuple[Project, Repro]

# Ray reads both once a process, when it is imported by whichever test comes first; its clusters and the commands of
# tests share them.
os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_AUTH_TOKEN", uuid.uuid4().hex * 2)

# A forecast of a larger profile measures this machine for seconds.
os.environ.setdefault("PUOC_MEASURE_SECONDS", "0")

# No test may depend on how busy the machine is, and Hypothesis fails one whose examples come slowly.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# A command line is made of annotations anew for each call of a CliRunner, which takes longer than many a command.
typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]

LONGER_FITS = ("epochs: 3,", "epochs: 40,")  # those of the tiny profile take hundredths of a second


def pytest_configure() -> None:
    """Collect no garbage while test modules are imported: what they make stays, and each collection looks at it all."""
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect unchanged deliberate faults, and begin with the tests of the highest time limits.

    So at the end no process waits for the long test of another one.
    """
    _deselect_unchanged_faults(config, items)

    def limit(item: pytest.Item) -> float:
        mark = item.get_closest_marker("timeout")
        return float(mark.args[0]) if mark else 0.0

    items.sort(key=limit, reverse=True)


def _deselect_unchanged_faults(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out a deliberate fault if neither its file nor its tests have changed; test-mutations applies all."""
    faults = [item for item in items if getattr(item, "originalname", "") == "test_a_deliberate_fault_is_seen"]
    if not faults:
        return
    module = faults[0].module  # type: ignore[attr-defined]
    chosen = module.chosen(module.MUTATIONS, module.ROOT)
    unchanged = [item for item in faults if item.callspec.params["mutation"] not in chosen]  # type: ignore[attr-defined]
    config.hook.pytest_deselected(items=unchanged)
    items[:] = [item for item in items if item not in unchanged]


def pytest_collection_finish() -> None:
    """Keep modules and thousands of test items out of each later garbage collection, which would look at all of them.

    Statsmodels collects garbage at each call, and forked workers copy fewer pages. Tests make much that is no garbage,
    such as modules that they import, so that rarer collections save a tenth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


def _once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Any]) -> tuple[Path, Any]:
    """A folder made by the first of the test processes that asks for it, and what making it gave (JSON)."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder, made = shared / name, shared / f"{name}.json"
    with FileLock(shared / f"{name}.lock"):
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of one that failed
            made.write_text(json.dumps(make(folder)))
    return folder, json.loads(made.read_text())


def _after_first_repro(source: Path, root: Path, *edits: tuple[str, str]) -> dict[str, Any]:
    project = clone(Project(source), root)
    for old, new in edits:
        project.edit("params.yaml", old, new)
    return project.repro_passes()._asdict()


@pytest.fixture(scope="session", autouse=True)
def _empty_mlflow_tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Copy the tables of a new MLflow store, since its fifty migrations take over a second each time.

    This holds for stores that a test process makes itself; commands in processes of their own make theirs, and a test
    of what migrations meet takes ``Store._begin_creation.__wrapped__``.
    """
    begin = Store._begin_creation

    def make(folder: Path) -> None:
        from mlflow import MlflowClient

        folder.mkdir()
        MlflowClient(f"sqlite:///{folder}/made.db").search_experiments()
        with (
            closing(sqlite3.connect(folder / "made.db")) as made,
            closing(sqlite3.connect(folder / "empty.db")) as empty,
        ):
            made.backup(empty)
            empty.execute("delete from experiments")  # MLflow makes its first experiment for the folder of each store
            empty.commit()

    @wraps(begin)
    def begin_with_tables(store: Store) -> bool:
        is_new = begin(store)
        if is_new and store.database is not None:
            folder, _ = _once(tmp_path_factory, "mlflow-tables", make)
            shutil.copy(folder / "empty.db", store.database)
        return is_new

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "_begin_creation", begin_with_tables)
        yield


@pytest.fixture(autouse=True)
def _same_environment() -> Iterator[None]:
    """Restore the environment after each test, since libraries such as MLflow write to it."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        if not name.startswith("PYTEST_"):
            del os.environ[name]
    for name, value in before.items():
        if not name.startswith("PYTEST_") and os.environ.get(name) != value:
            os.environ[name] = value


@pytest.fixture(scope="session")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Mirror:
    """The folder that holds a dataset's raw files as its source lays them out; called with the dataset's name.

    PUOC_MIRROR names a folder that either holds them so, or has a program ``lay_out`` that writes them so.
    """
    if not os.environ.get("PUOC_MIRROR"):
        pytest.skip("PUOC_MIRROR is not set: it names a folder with the raw files of datasets")
    given = Path(os.environ["PUOC_MIRROR"])

    def holding(name: str) -> Path:
        if (given / name).is_dir():
            return given

        def lay_out(folder: Path) -> None:
            done = subprocess.run([sys.executable, given / "lay_out", folder, name], capture_output=True, text=True)
            assert done.returncode == 0, f"PUOC_MIRROR={given} does not give {name}: {done.stderr}"

        return _once(tmp_path_factory, f"mirror-{name}", lay_out)[0]

    return holding


@pytest.fixture
def glove(mirror: Mirror, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> str:
    """First digits of the checksum of a mirror's word vectors, which are at hand and read once for all tests."""
    file = mirror("glove") / "glove" / "glove.6B.50d.txt"
    digits = sha256(file.read_bytes()).hexdigest()[:16]
    monkeypatch.setenv("PUOC_MIRROR", str(mirror("glove")))

    def read(cache: Path) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        word_vectors(digits)

    cache, _ = _once(tmp_path_factory, "cache", read)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return digits


@pytest.fixture(scope="session")
def prepared_data(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a prepared dataset that comes with the packages. To be read, not changed."""

    def of(name: str) -> Path:
        folder, _ = _once(tmp_path_factory, f"prepared-{name}", lambda folder: prepared_in(folder, name))
        return folder / "prepared" / name

    return of


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project that all others are copies of, so that all have one code. To be read, not changed."""
    return Project(_once(tmp_path_factory, "pristine", lambda root: str(fresh(root).root))[0])


@pytest.fixture(scope="session")
def prepared_project(pristine: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose data ``dvc repro`` prepared, and in which nothing else was run. To be read, not changed."""

    def make(root: Path) -> str:
        clone(pristine, root).repro_passes("prepare")
        return str(root)

    return Project(_once(tmp_path_factory, "prepared", make)[0])


@pytest.fixture(scope="session")
def finished(pristine: Project, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A tiny project after its first ``dvc repro``, and what that did. To be read, not changed."""
    root, first = _once(tmp_path_factory, "finished", lambda root: _after_first_repro(pristine.root, root))
    return Project(root), Repro(**first)


@pytest.fixture(scope="session")
def undisturbed(prepared_project: Project, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The same with fits long enough to be hit by a kill, for what is disturbed to be compared with."""
    root, first = _once(
        tmp_path_factory, "undisturbed", lambda root: _after_first_repro(prepared_project.root, root, LONGER_FITS)
    )
    return Project(root), Repro(**first)


@pytest.fixture
def new_project(pristine: Project, tmp_path: Path) -> Iterator[New]:
    """Make a project that nothing was run in; called with a name where a test needs several."""
    yield from _made(lambda name: clone(pristine, tmp_path / name))


@pytest.fixture
def new_prepared(prepared_project: Project, tmp_path: Path) -> Iterator[New]:
    """Make a project whose data are prepared; called with a name where a test needs several."""
    yield from _made(lambda name: clone(prepared_project, tmp_path / name))


@pytest.fixture
def disturbed(new_prepared: New) -> Project:
    """A project that asks what ``undisturbed`` has answered, and whose data alone are there."""
    project = new_prepared()
    project.edit("params.yaml", *LONGER_FITS)
    return project


@pytest.fixture
def finished_copy(finished: Finished, tmp_path: Path) -> Iterator[New]:
    """Make a copy of the finished project, to be changed."""
    yield from _made(lambda name: clone(finished[0], tmp_path / name))


def _made(make: Callable[[str], Project]) -> Iterator[New]:
    projects: list[Project] = []

    def new(name: str = "project") -> Project:
        projects.append(make(name))
        return projects[-1]

    yield new
    for project in projects:
        project.end_all()
