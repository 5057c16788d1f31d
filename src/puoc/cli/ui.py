"""``puoc ui``: the MLflow UI, reachable from this machine only."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puoc.cli.console import STORAGE_ERROR, exit_on_invalid_input, exit_on_storage_error, planned, say, working

if TYPE_CHECKING:
    import subprocess

HOST = "127.0.0.1"


def ui(port: Annotated[int, typer.Option(help="Port of 127.0.0.1 to listen on.")] = 5000) -> None:
    """Serve the MLflow UI on 127.0.0.1, so that only this machine can reach it."""
    with exit_on_invalid_input(), exit_on_storage_error():
        _check_free(port)
        if not (Path() / "mlruns" / "mlflow.db").exists():  # MLflow would create it in any folder
            planned(Path())
        from puoc.store.extras import check_installed

        check_installed("mlflow")
        from puoc.reporting.tracking import server_command

        command, environment = server_command(Path(), port)
    code = _serve(command, environment, port)
    if code:
        say(f"the MLflow server stopped with exit code {code}")
        raise typer.Exit(code)


def _check_free(port: int) -> None:
    if not 1 <= port <= 65535:
        raise ValueError(f"--port: got {port}; expected 1 to 65535")
    import socket

    with socket.socket() as probe:
        # The server sets this option too, so a port that was released a moment ago counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            expected = "expected a free port: puoc ui --port NUMBER"
            raise ValueError(f"--port: got {port}, which is not available ({error.strerror}); {expected}") from error


def _wait_for_answer(server: subprocess.Popen[bytes], port: int, ended: Callable[[], bool]) -> bool:
    """Wait until the server answers a request. Return False if it stops or ``ended`` is true before that."""
    from http.client import HTTPConnection, HTTPException

    while server.poll() is None and not ended():
        connection = HTTPConnection(HOST, port, timeout=5)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status < 500:
                return True
        except (OSError, HTTPException):
            pass
        finally:
            connection.close()
        time.sleep(0.2)
    return False


def _serve(words: Sequence[str], environment: Mapping[str, str], port: int) -> int:
    """Run the server until a signal arrives (returns 0) or the server stops; MLflow itself exits with 0 in any case.

    The address is printed when the server answers.
    """
    import subprocess

    from puoc.run.executors.process_lifetime import die_with_parent

    server, signalled, parent = None, False, os.getpid()

    def end(*_: object) -> None:
        nonlocal signalled
        signalled = True
        if server is not None:
            server.terminate()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    # In its own session the server gets one signal only, also with Ctrl-C. If this process is killed, the kernel
    # sends that signal.
    server = subprocess.Popen(
        words,
        env=environment,
        start_new_session=True,
        preexec_fn=lambda: die_with_parent(parent, signal.SIGTERM),
    )
    if signalled:
        server.terminate()
    with working("the MLflow server starts"):
        answers = _wait_for_answer(server, port, lambda: signalled)
    if answers:
        say(f"MLflow UI: http://{HOST}:{port}/#/experiments?workflowType=machine_learning (stop it with Ctrl-C)")
    code = server.wait()
    for number, handler in before.items():
        signal.signal(number, handler)
    if signalled:
        return 0
    return 128 - code if code < 0 else code or STORAGE_ERROR
