"""Run ``puoc`` in a fork of the test process: a process of its own, which need not import anything again."""

from __future__ import annotations

import io
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from project import Repro

from puoc.__main__ import main_and_leave


def nothing() -> None:
    """Change nothing."""


def forked(root: Path, *words: str, before: Callable[[], object] = nothing, **env: str) -> Repro:
    """Run a command to its end in a folder, with its output in one text; ``before`` is called in the fork first."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        pid = os.fork()
        if pid == 0:
            _become(root, words, before, env, output.fileno())
        _, status = os.waitpid(pid, 0)
        output.seek(0)
        text = output.read().decode()
    return Repro(os.waitstatus_to_exitcode(status), text, time.monotonic() - started)


def start_forked(root: Path, *words: str, **env: str) -> int:
    """Start a command in a folder without its output, and return the number of its process."""
    pid = os.fork()
    if pid == 0:
        _become(root, words, nothing, env, os.open(os.devnull, os.O_WRONLY))
    return pid


def _become(root: Path, words: tuple[str, ...], before: Callable[[], object], env: dict[str, str], output: int) -> None:
    try:
        for stream in (1, 2):
            os.dup2(output, stream)
        sys.stdout, sys.stderr = (io.TextIOWrapper(io.FileIO(stream, "w"), write_through=True) for stream in (1, 2))
        os.chdir(root)
        os.environ.update(env)
        sys.argv = ["puoc", *words]
        before()
        main_and_leave()
    except SystemExit as end:  # a text for standard error
        os.write(2, f"{end}\n".encode())
        os._exit(1)
    except BaseException:  # noqa: BLE001
        os.write(2, traceback.format_exc().encode())
        os._exit(1)
