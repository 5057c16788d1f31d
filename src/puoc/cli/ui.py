"""``puoc ui``: MLflow's pages on this machine alone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from puoc.cli.console import STORAGE_ERROR, exit_on_invalid_input, exit_on_storage_error, planned, say
from puoc.run.executors.process_lifetime import die_with_parent

HOST = "127.0.0.1"


def ui(port: Annotated[int, typer.Option(help="Port on this machine.")] = 5000) -> None:
    """Serve the MLflow UI on this machine alone (127.0.0.1)."""
    with exit_on_invalid_input(), exit_on_storage_error():
        _check_free(port)
        if not (Path() / "mlruns" / "mlflow.db").exists():  # it would be made, also in a folder that is no project
            planned(Path())
        from puoc.reporting.tracking import server_command

        command, environment = server_command(Path(), port)
    say(f"MLflow UI: http://{HOST}:{port} (Ctrl-C ends it)")
    code = _serve(command, environment)
    if code:
        say(f"the MLflow server ended by itself, with exit code {code}")
        raise typer.Exit(code)


def _check_free(port: int) -> None:
    if not 1 <= port <= 65535:
        raise ValueError(f"--port: got {port}; expected 1 to 65535")
    with socket.socket() as tried:
        # as the server does, which may follow one that has just ended
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
        except OSError as error:
            expected = "expected one that is free: puoc ui --port NUMBER"
            raise ValueError(f"--port: got {port}, which cannot be had ({error.strerror}); {expected}") from error


def _serve(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Serve until a signal comes, which is 0, or the server ends by itself, where MLflow says 0 whatever it was."""
    server, asked, parent = None, False, os.getpid()

    def end(*_: object) -> None:
        nonlocal asked
        asked = True
        if server is not None:
            server.terminate()

    before = {one: signal.signal(one, end) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    # in a session of its own it is told once to end, also by Ctrl-C, and by the kernel where this process was killed
    server = subprocess.Popen(
        words,
        env=environment,
        start_new_session=True,
        preexec_fn=lambda: die_with_parent(parent, signal.SIGTERM),
    )
    if asked:
        server.terminate()
    code = server.wait()
    for number, handler in before.items():
        signal.signal(number, handler)
    if asked:
        return 0
    return 128 - code if code < 0 else code or STORAGE_ERROR
