"""A store in a database server.

The connection is checked before MLflow, which would retry for minutes, and one process at a time creates the tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

if TYPE_CHECKING:
    from sqlalchemy import URL

_MAKING = 0x70756F63  # number of the advisory lock for creating or upgrading MLflow's tables
_CONNECTS = 10  # seconds in which the server must answer
#: In a key of the URI's query: password, sslpassword, passwd, pwd, and keys of which these are a part.
_SECRET = re.compile(r"pass|pwd|secret|token|odbc_connect", re.IGNORECASE)


def is_database(uri: str) -> bool:
    """Check whether the URI names a database server that MLflow supports."""
    return re.match(r"(postgresql|mysql|mssql)(\+\w+)?://", uri) is not None


def without_password(uri: str) -> str:
    """Return the URI for display, without passwords of the server or in keys of the query."""
    hidden = re.sub(
        r"(://[^:]*):.*@", r"\1:***@", uri, flags=re.DOTALL
    )  # up to the last @, because a password may contain one
    address, mark, query = hidden.partition("?")
    return address + mark + "&".join(map(_without_secret, query.split("&")))


def _without_secret(pair: str) -> str:
    key, sign, _ = pair.partition("=")
    return f"{key}{sign}***" if sign and _SECRET.search(unquote_plus(key)) else pair


def _parsed(uri: str) -> URL:
    """Parse the URI. Raises ArgumentError if an @ in the password splits it: errors would show the rest as the host."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(uri)
        cut = url.password is not None and "@" in f"{url.host}{url.database}"
    except ValueError:  # the port is not a number
        cut = True
    if cut:
        raise ArgumentError("name, password, host and port cannot be told apart; expected an @ in a password as %40")
    return url


@contextmanager
def reached(uri: str) -> Iterator[None]:
    """Check that the database answers. During the block, no other process of puoc opens a PostgreSQL database.

    MLflow creates its tables when it opens an empty database. Several processes that do so at once break it.

    Raises
    ------
    ImportError : the driver of this kind of database is not installed.
    sqlalchemy.exc.SQLAlchemyError : the URI cannot be read, or the database does not answer or rejects the connection.
    """
    from sqlalchemy import create_engine, text
    from sqlalchemy.pool import NullPool

    is_postgresql = _parsed(uri).get_backend_name() == "postgresql"
    more = {"connect_timeout": _CONNECTS} if is_postgresql else {}
    engine = create_engine(uri, poolclass=NullPool, connect_args=more, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        if is_postgresql:  # the lock ends with the connection
            connection.execute(text("select pg_advisory_lock(:making)"), {"making": _MAKING})
        yield
