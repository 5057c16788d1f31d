"""A store in a database server: asked once before MLflow asks it for minutes, and made by one process at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

_MAKING = 0x70756F63  # number of the lock that says: making or upgrading MLflow's tables
_CONNECTS = 10  # seconds the server has to answer


def is_database(uri: str) -> bool:
    """Whether the URI names a database server, of those that MLflow knows."""
    return re.match(r"(postgresql|mysql|mssql)(\+\w+)?://", uri) is not None


def without_password(uri: str) -> str:
    """The URI as it may be shown."""
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", uri)


@contextmanager
def reached(uri: str) -> Iterator[None]:
    """Ask the database whether it answers; a PostgreSQL is opened by no other process of puoc during the block.

    MLflow makes its tables when it opens an empty database, and several that do so at once break one another.

    Raises
    ------
    ImportError : the driver of this kind of database is not installed.
    sqlalchemy.exc.SQLAlchemyError : the database does not answer or refuses.
    """
    from sqlalchemy import create_engine, make_url, text
    from sqlalchemy.pool import NullPool

    is_postgresql = make_url(uri).get_backend_name() == "postgresql"
    more = {"connect_timeout": _CONNECTS} if is_postgresql else {}
    engine = create_engine(uri, poolclass=NullPool, connect_args=more, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        if is_postgresql:  # the lock ends with the connection
            connection.execute(text("select pg_advisory_lock(:making)"), {"making": _MAKING})
        yield
