"""``puoc ui``: a port that cannot be had is told before anything is announced, and the server's end is passed on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import psutil
import pytest
from own_files import puoc
from project import REPOSITORY, Project

from puoc.cli import ui
from puoc.cli.ui import _serve
from puoc.plan.make_plan import make_plan
from puoc.plan.params import read_params


@pytest.mark.parametrize("port", ["0", "-1", "65536", "99999", str(10**30)])
def test_a_port_that_is_none_is_refused(port: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert puoc("ui", "--port", port) == (2, f"--port: got {port}; expected 1 to 65535\n")
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, said = puoc("ui", "--port", port)
    assert code == 2, said
    assert said.startswith(f"--port: got {port}, which is not available (Address already in use); expected a free port")
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_no_project_is_refused_and_nothing_is_made_in_it(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "puoc", "ui", "--port", str(_free_port())]
    done = subprocess.run(
        words, cwd=tmp_path, env=Project(REPOSITORY).env, capture_output=True, text=True, check=False, timeout=240
    )
    refused = f"no params.yaml here, in {tmp_path}; run this command in the folder of params.yaml\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", refused)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("program", "code"), [("exit 3", 3), ("exit 0", 1), ("kill -KILL $$", 137)])
def test_a_server_that_ends_by_itself_is_no_success(program: str, code: int) -> None:
    assert _serve(["sh", "-c", program], os.environ, _free_port()) == code


SERVER = """
import http.server, sys, time
time.sleep(0.7)
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        self.send_response(200); self.end_headers()
        if self.path == "/end": self.server.shutdown()
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Quiet)
server.serve_forever()
"""


def test_the_address_is_printed_when_the_server_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    port, said = _free_port(), []

    def print_and_end(line: str) -> None:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/end", timeout=60) as answer:
            said.append((line, answer.status))

    monkeypatch.setattr(ui, "say", print_and_end)
    _serve([sys.executable, "-c", SERVER, str(port)], os.environ, port)
    address = f"http://127.0.0.1:{port}/#/experiments?workflowType=machine_learning"
    assert said == [(f"MLflow UI: {address} (stop it with Ctrl-C)", 200)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_server_and_is_no_fault(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    started = time.monotonic()
    # the server itself sends it: by then the command waits for a signal
    assert _serve(["sh", "-c", f"kill -{int(number)} $PPID; exec sleep 600"], os.environ, _free_port()) == 0
    assert time.monotonic() - started < 300
    assert signal.getsignal(number) is before


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_the_pages_are_served_and_nothing_is_left_when_the_command_ends(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    make_plan(read_params(REPOSITORY / "profiles" / "tiny.yaml", REPOSITORY)).write(tmp_path)
    port = _free_port()
    words = [sys.executable, "-m", "puoc", "ui", "--port", str(port)]
    env = Project(REPOSITORY).env | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    with (tmp_path / "log").open("w") as log:
        command = subprocess.Popen(words, cwd=tmp_path, env=env, stdout=log, stderr=log)
    try:
        _answers(f"http://127.0.0.1:{port}/health", command)
        until = time.monotonic() + 240
        while f"MLflow UI: http://127.0.0.1:{port}" not in (tmp_path / "log").read_text():
            assert time.monotonic() < until
            time.sleep(0.05)
        below = psutil.Process(command.pid).children(recursive=True)
        assert below
        command.send_signal(number)
        assert command.wait(240) == code
        _, alive = psutil.wait_procs(below, 240)
        assert alive == []
    finally:
        if command.poll() is None:
            command.kill()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _answers(url: str, command: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 240
    while time.monotonic() < until:
        assert command.poll() is None
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            time.sleep(0.3)
    raise AssertionError(f"{url} does not answer")
