"""A PostgreSQL server for one test module: started from the binaries that are installed, gone afterwards."""

from __future__ import annotations

import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMED_BY = "PUOC_POSTGRESQL"  # environment: the folder of the binaries; set, nothing is skipped
_DEBIAN = Path("/usr/lib/postgresql")
_OTHERS = ("postgres", "nobody")  # whom root becomes, since the server refuses root
_PATIENCE = 240.0  # seconds for the server to answer

NewDatabase = Callable[[], str]


def binaries() -> Path:
    """The folder of ``initdb`` and ``postgres``; skips the test where there is none."""
    named = os.environ.get(NAMED_BY)
    if named is not None:
        assert (Path(named) / "initdb").is_file(), f"{NAMED_BY}={named}: expected the folder of initdb and postgres"
        return Path(named)
    found = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: int(re.sub(r"\D", "", path.parts[-3]) or 0))
    on_path = shutil.which("initdb")
    folders = [*(path.parent for path in found), *([Path(on_path).resolve().parent] if on_path else [])]
    if not folders:
        pytest.skip(f"PostgreSQL is not installed; {NAMED_BY} names the folder of its binaries where it lies elsewhere")
    return folders[-1]


@contextmanager
def server() -> Iterator[NewDatabase]:
    """A server on a free port of this machine's loopback address; makes an empty database and gives its URI."""
    folder, port, password = Path(tempfile.mkdtemp(prefix="puoc-postgresql-")), free_port(), secrets.token_hex(16)
    bin_, who = binaries(), _unprivileged(folder)
    try:
        secret, data, log = folder / "password", folder / "data", folder / "log"
        secret.write_text(password)
        making = [bin_ / "initdb", "-D", data, "-U", "puoc", "--auth=scram-sha-256", f"--pwfile={secret}", "--no-sync"]
        secret.chmod(0o644)  # the folder is closed to others
        made = subprocess.run(making, cwd=folder, capture_output=True, text=True, **who)
        assert made.returncode == 0, made.stderr
        settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": folder, "fsync": "off"}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with log.open("w") as told:
            running = subprocess.Popen([bin_ / "postgres", "-D", data, *words], cwd=folder, stderr=told, **who)
        try:
            address = f"puoc:{password}@127.0.0.1:{port}"
            _wait_for(f"postgresql://{address}/postgres", running, log)
            yield lambda: _new_database(address)
        finally:
            running.send_signal(signal.SIGINT)  # does not wait for MLflow's open connections
            running.wait(timeout=_PATIENCE)
    finally:
        shutil.rmtree(folder)


def _unprivileged(folder: Path) -> dict[str, Any]:
    """Arguments of a process that may be a server; root gives the folder to another and becomes that one."""
    if os.geteuid() != 0:
        return {}
    name = next(name for name in _OTHERS if name in {user.pw_name for user in pwd.getpwall()})
    user = pwd.getpwnam(name)
    os.chown(folder, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def free_port() -> int:
    """A port that nothing listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _connection(uri: str) -> Any:
    import psycopg

    return psycopg.connect(uri, autocommit=True)


def _wait_for(uri: str, running: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg

    until = time.monotonic() + _PATIENCE
    while True:
        try:
            _connection(uri).close()
            return
        except psycopg.OperationalError:
            assert running.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.1)


def _new_database(address: str) -> str:
    name = f"mlflow_{secrets.token_hex(4)}"
    with closing(_connection(f"postgresql://{address}/postgres")) as connection, connection.cursor() as cursor:
        cursor.execute(f"create database {name}")
    return f"postgresql+psycopg://{address}/{name}"  # SQLAlchemy takes other drivers for postgresql:// by version
