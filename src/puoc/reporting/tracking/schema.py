"""The schema of an MLflow database: its version, and a backup before an upgrade.

MLflow upgrades an older database when it opens it, without a backup, if tables are missing; otherwise it raises an
error. So the version is read first, without MLflow's store.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple


class Schema(NamedTuple):
    """Versions of MLflow's schema, as alembic names them."""

    found: str | None  # None: an empty database, or one that MLflow did not make
    expected: str
    is_older: bool  # the installed version of MLflow can upgrade it


def schema_of_file(database: Path) -> Schema:
    """Read the schema of a SQLite database without changing it.

    Raises
    ------
    sqlite3.Error : it is not a database, or it is damaged.
    """
    with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True, timeout=20)) as connection:
        tables = connection.execute("select count(*) from sqlite_master where name = 'alembic_version'").fetchone()[0]
        row = connection.execute("select version_num from alembic_version").fetchone() if tables else None
    return _compared(None if row is None else str(row[0]))


def places_of_file(database: Path) -> list[str]:
    """Return where the experiments of puoc keep their artifacts. Raises sqlite3.Error as ``schema_of_file`` does."""
    select = "select artifact_location from experiments join experiment_tags using (experiment_id) where key = 'puoc'"
    with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True, timeout=20)) as connection:
        return [str(place) for (place,) in connection.execute(select)]


def schema_of_server(uri: str) -> Schema:
    """Read the schema of a database on a server without changing it. Raises SQLAlchemyError if it does not answer."""
    from alembic.migration import MigrationContext
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    with create_engine(uri, poolclass=NullPool).connect() as connection:
        return _compared(MigrationContext.configure(connection).get_current_revision())


def _compared(found: str | None) -> Schema:
    from alembic.script import ScriptDirectory
    from alembic.util.exc import CommandError
    from mlflow.store.db.utils import _get_alembic_config

    scripts = ScriptDirectory.from_config(_get_alembic_config(db_url=""))  # type: ignore[no-untyped-call]
    expected = str(scripts.get_current_head())
    try:
        is_known = found is not None and scripts.get_revision(found) is not None
    except CommandError:  # of a newer MLflow
        is_known = False
    return Schema(found, expected, is_known and found != expected)


def backup_of(database: Path, schema: Schema) -> Path:
    """Return the path of the backup that is made before a database of this schema is upgraded."""
    return database.with_name(f"{database.name}.before-{schema.expected}")


def upgrade(database: Path, uri: str, schema: Schema) -> Path:
    """Copy a SQLite database, and upgrade it to the installed version of MLflow; return the path of the copy.

    An earlier copy of the same upgrade, which was interrupted, is kept.

    Raises
    ------
    OSError, sqlite3.Error : the copy cannot be written; nothing was upgraded.
    sqlalchemy.exc.SQLAlchemyError, mlflow.exceptions.MlflowException : the upgrade failed.
    """
    from mlflow.store.db.utils import _upgrade_db
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    backup = backup_of(database, schema)
    if not backup.exists():
        unfinished = backup.with_name(f".{backup.name}")
        unfinished.unlink(missing_ok=True)
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(unfinished)) as copy:
            source.backup(copy)  # with what is still in the write-ahead log
        unfinished.replace(backup)
    _upgrade_db(create_engine(uri, poolclass=NullPool))  # type: ignore[no-untyped-call]
    return backup
