"""The MLflow view on a real PostgreSQL: the same runs as in the local file, also where four write first at once."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from postgresql import NewDatabase, binaries, free_port, server
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool
from test_tracking import AT_ONCE, content, files, opened, python, runs, small, wait_for
from tracked_project import Project

from puoc.reporting.tracking import TrackingError, register_best, server_command, track

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # half a minute on a machine that has time


@pytest.fixture(scope="module")
def new_database() -> Iterator[NewDatabase]:
    with server() as new:
        yield new


@pytest.fixture
def database(new_database: NewDatabase, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty database, named to this test and the processes it starts."""
    uri = new_database()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    return uri


def unshared(root: Path) -> dict[str, int]:
    """Files of the store with their times, but for the note that it keeps files beside those of others."""
    return {path: changed for path, changed in files(root).items() if not path.endswith(".shared")}


def test_postgresql_and_the_local_store_give_the_same_runs(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = small(Project(tmp_path))
    counts = track(tmp_path)
    best = register_best(tmp_path)
    there = content(tmp_path)
    assert not (tmp_path / "mlruns" / "mlflow.db").exists()
    written = unshared(tmp_path)
    assert track(tmp_path) == counts
    assert unshared(tmp_path) == written
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert track(tmp_path) == counts == {"one_vs_all": 7, "shift": 2, "tune/one_vs_all": 2}
    assert content(tmp_path) == there
    assert register_best(tmp_path) == best
    assert {key for (*_, key) in there} >= {row.trial_id for row in project.rows["shift"]}


def test_what_is_asked_no_more_is_put_away_and_comes_back(database: str, tmp_path: Path) -> None:
    project = Project(tmp_path)
    rows = project.ask("ova", "one_vs_all", entries=("oc_svm", "pu_svm"), cells=1)
    track(tmp_path)
    before = {key: run.info.run_id for key, run in runs(tmp_path).items()}
    project.save("ova", rows[:2])
    assert track(tmp_path) == {"one_vs_all": 2}
    assert len(runs(tmp_path)) == 2
    project.save("ova", rows)
    track(tmp_path)
    assert {key: run.info.run_id for key, run in runs(tmp_path).items()} == before


def test_runs_of_an_older_layout_are_written_again_under_their_ids(database: str, tmp_path: Path) -> None:
    Project(tmp_path).ask("ova", "one_vs_all", entries=("pu_svm",), cells=1)
    track(tmp_path)
    before, ids = content(tmp_path), {key: run.info.run_id for key, run in runs(tmp_path).items()}
    engine = create_engine(database, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text("delete from tags where key in ('puoc.layout', 'n')"))
        connection.execute(text("update tags set value = 'older' where key = 'puoc.digest'"))
        columns = "key, value, timestamp, step, is_nan, run_uuid"
        for table in ("metrics", "latest_metrics"):
            connection.execute(text(f"insert into {table} ({columns}) select 'n', 1, 1, 0, false, run_uuid from runs"))
    track(tmp_path)
    assert content(tmp_path) == before
    assert {key: run.info.run_id for key, run in runs(tmp_path).items()} == ids


def test_four_workers_on_a_fresh_database_write_each_trial_once(database: str, tmp_path: Path) -> None:
    Project(tmp_path).ask("ova", "one_vs_all", entries=("oc_svm",), cells=2)
    done = python(AT_ONCE, "track", *[str(tmp_path) for _ in range(4)])
    assert done.returncode == 0, done.stdout
    assert len(runs(tmp_path)) == 4
    assert len(runs(tmp_path, "cell")) == 2
    assert track(tmp_path) == {"one_vs_all": 4}


def test_four_that_share_no_folder_make_the_tables_of_one_fresh_database(database: str, tmp_path: Path) -> None:
    done = python(AT_ONCE, "open", *[str(tmp_path / name) for name in "abcd"])
    assert done.returncode == 0, done.stdout
    assert opened(tmp_path / "a").experiments() == {}


@pytest.mark.parametrize(
    ("replaced", "by", "expected"),
    [
        (r"/mlflow_\w+$", "/no_such_database", "no_such_database.*Check that the server runs"),
        (r":\d+/", ":1/", "refused.*Check that the server runs"),
        (r"\+psycopg", "+pg8000", "pg8000.*Install the driver"),
    ],
)
def test_a_database_that_cannot_be_used_is_told_at_once_in_one_sentence_and_without_its_password(
    database: str, replaced: str, by: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Project(tmp_path).ask("ova", "one_vs_all", entries=("oc_svm",), cells=1)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", re.sub(replaced, by, database))
    started = time.monotonic()
    with pytest.raises(TrackingError, match=expected) as told:
        track(tmp_path)
    assert time.monotonic() - started < 80  # MLflow by itself tries again for 100 seconds
    assert str(told.value).count("\n") == 0
    assert password_of(database) not in str(told.value)
    assert "puoc:***@" in str(told.value)


def password_of(uri: str) -> str:
    return uri.split(":")[2].split("@")[0]


def words_of_all_processes() -> str:
    """What any user of this machine can read of running commands."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            found.append(path.read_text(errors="replace"))
    assert any("mlflow" in words for words in found)
    return "\n".join(found)


@contextmanager
def serving(root: Path, port: int) -> Iterator[str]:
    """MLflow's server on the database of the environment."""
    command, environment = server_command(root, port)
    with (root.parent / "log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=root.parent, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/health", process, 400)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=240)


def test_four_workers_write_through_a_server_whose_database_is_fresh(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Project(tmp_path / "project").ask("ova", "one_vs_all", entries=("pu_svm",), cells=2)
    with serving(tmp_path / "server", free_port()) as address:
        assert password_of(database) not in words_of_all_processes()
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        done = python(AT_ONCE, "track", *[str(tmp_path / "project") for _ in range(4)])
        assert done.returncode == 0, done.stdout
        assert len(runs(tmp_path / "project")) == 4


def test_binaries_that_are_named_and_not_there_are_a_fault_and_no_skip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUOC_POSTGRESQL", str(tmp_path))
    with pytest.raises(AssertionError, match="expected the folder of initdb and postgres"):
        binaries()
