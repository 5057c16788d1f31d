"""A store of an older MLflow: copied before it is upgraded, and doctor only looks."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tracked_project import Project

from puoc.cli.doctor import local
from puoc.reporting.tracking import Store, track
from puoc.reporting.tracking.schema import Schema, backup_of, schema_of_file


@pytest.fixture
def older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store with the schema before the present one, as alembic makes it."""
    from alembic import command
    from alembic.script import ScriptDirectory
    from mlflow.store.db.utils import _get_alembic_config
    from mlflow.store.tracking.dbmodels.initial_models import Base
    from sqlalchemy import create_engine

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    database = tmp_path / "mlruns" / "mlflow.db"
    database.parent.mkdir()
    uri = f"sqlite:///{database}"
    engine = create_engine(uri)
    Base.metadata.create_all(engine)
    config = _get_alembic_config(uri)
    head = ScriptDirectory.from_config(config).get_revision("head")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, head.down_revision)
    engine.dispose()
    return database


def test_an_older_store_is_copied_and_upgraded_and_the_user_is_told(older: Path, tmp_path: Path) -> None:
    before = schema_of_file(older)
    assert before.is_older
    Project(tmp_path).ask("ova", "one_vs_all", entries=("oc_svm",), cells=1, seeds=1)
    with pytest.warns(UserWarning, match=r"was upgraded to .* is a copy of it before the upgrade"):
        track(tmp_path)
    copy = backup_of(older, before)
    assert schema_of_file(copy) == before
    assert schema_of_file(older) == Schema(before.expected, before.expected, is_older=False)
    with closing(sqlite3.connect(copy)) as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)


def test_doctor_looks_at_an_older_store_and_writes_nothing(older: Path, tmp_path: Path) -> None:
    before = older.read_bytes()
    (finding,) = (found for found in local(tmp_path) if found.subject == "MLflow")
    assert not finding.is_fault
    assert "copies it to mlflow.db.before-" in finding.message
    assert older.read_bytes() == before
    assert {path.name for path in older.parent.iterdir()} == {"mlflow.db"}


def test_a_store_of_a_newer_mlflow_is_a_fault_and_stays(older: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(older)) as database, database:
        database.execute("update alembic_version set version_num = 'ffffffffffff'")
    (finding,) = (found for found in local(tmp_path) if found.subject == "MLflow")
    assert finding.is_fault
    assert "has MLflow's schema ffffffffffff; expected" in finding.message
    assert Store(tmp_path).database == older
    assert schema_of_file(older).found == "ffffffffffff"
