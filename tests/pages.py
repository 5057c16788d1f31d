"""Pages whose blocks are run in order, in one folder, as a reader would.

A block ``sh`` holds commands; a block ``text`` after it, lines that they print, in order, where ``...`` stands for any
text. A block with a title is a file of that name, ``pycon`` a session of Python, ``python`` a script in the same
session, ``yaml`` a part of params.yaml, which is laid over the default profile and checked, and one titled
*another terminal* a command that keeps running to the end of the page. A comment ``<!-- not run: REASON -->`` before a
block says why it is not run, and ``<!-- run by tests/FILE.py -->`` or ``<!-- run by tests/FILE.py::TEST -->`` which
test runs it.
"""

from __future__ import annotations

import doctest
import os
import re
import runpy
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from own_files import invoke
from project import REPOSITORY
from ruamel.yaml import YAML

from puoc.plan.params import read_params

_BLOCK = re.compile(
    r'(?:<!-- (?:not run: ([^>]+)|run by ([^>]+)) -->\n)?^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$',
    re.DOTALL | re.MULTILINE,
)
_ELSEWHERE = "another terminal"


class Block(NamedTuple):
    """A block of a page."""

    not_run: str
    run_by: str
    language: str
    title: str
    text: str


def blocks(page: Path) -> list[Block]:
    """The blocks of a page; each of its fences is one."""
    text = page.read_text()
    found = [Block(*block) for block in _BLOCK.findall(text)]
    assert len(found) * 2 == len(re.findall(r"^```", text, re.MULTILINE)), f"{page.name}: a block of another form"
    return found


def run_page(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the blocks of a page in a folder; what a block promises must hold."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.syspath_prepend(folder)
    names: dict[str, object] = {"__name__": page.stem}
    port, said = _free_port(), ""
    started: list[subprocess.Popen[bytes]] = []
    try:
        for block in blocks(page):
            text = block.text.replace("127.0.0.1:5000", f"127.0.0.1:{port}").replace("--port 5000", f"--port {port}")
            if block.not_run or block.run_by:
                continue
            if (block.language, block.title) == ("text", ""):
                assert missing_line(text, said) == "", f"{page.name}: {missing_line(text, said)!r} in\n{said}"
            elif block.title == _ELSEWHERE:
                started.append(_start(shlex.split(text)))
                _wait(started[-1], port)
            elif block.title:
                (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
                (folder / block.title).write_text(text)
            elif block.language == "pycon":
                _session(text, names, page)
            elif block.language == "python":
                exec(compile(text, page.name, "exec"), names)
            elif block.language == "yaml":
                _check_settings(text, folder)
            else:
                assert block.language == "sh", f"{page.name}: a block of {block.language} without a title"
                said = "".join(_command(line, monkeypatch) for line in _lines(text))
    finally:
        for process in started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)  # with the workers that it started
            process.wait(60)


def _check_settings(text: str, folder: Path) -> None:
    """Lay a part of params.yaml over the default profile, where it must be valid.

    An unfinished table has the rest from one of the same scenario.
    """
    yaml = YAML(typ="safe")
    whole: dict[str, Any] = yaml.load((REPOSITORY / "profiles" / "quick.yaml").read_text())
    for section, value in yaml.load(text).items():
        if section == "tables":
            alike = {table["scenario"]: table for table in reversed(list(whole["tables"].values()))}
            value = {name: alike.get(table["scenario"], {}) | table for name, table in value.items()}
        whole[section] = whole.get(section, {}) | value if isinstance(value, dict) else value
    checked = folder / "checked-settings"
    checked.mkdir(exist_ok=True)
    if not (checked / "tuning").exists():
        (checked / "tuning").symlink_to(REPOSITORY / "tuning")
    yaml.dump(whole, checked / "params.yaml")
    assert read_params(checked / "params.yaml").tables


def _lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line


def _command(line: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command prints; it must end with 0."""
    words = shlex.split(line, comments=True)
    with monkeypatch.context() as setting:
        while re.fullmatch(r"[A-Z_]+=\S*", words[0]):
            setting.setenv(*words.pop(0).split("=", 1))
        if words[0] == "puoc" and not {"|", ">", "&&"} & set(words):
            done = invoke(*words[1:])
            assert done.exit_code == 0, f"{line}\n{done.output}"
            return done.output
        if words[0] == "python" and len(words) == 2:
            told = StringIO()
            with redirect_stdout(told):
                runpy.run_path(words[1], run_name="__main__")
            return told.getvalue()
        ran = subprocess.run(["bash", "-ec", line], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, f"{line}\n{ran.stdout}{ran.stderr}"
        return ran.stdout


def _session(text: str, names: dict[str, object], page: Path) -> None:
    test = doctest.DocTestParser().get_doctest(text, names, page.name, None, 0)
    told: list[str] = []
    done = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append, clear_globs=False)
    assert done.failed == 0, "".join(told)
    names.update(test.globs)


def missing_line(text: str, said: str) -> str:
    """The first line of a text that is not among the printed lines after those before it; nothing if all are."""
    printed = iter(" ".join(line.split()) for line in said.splitlines())
    for line in text.splitlines():
        wanted = [re.escape(part.strip()) for part in " ".join(line.split()).split("...")]
        if any(wanted) and not any(re.search(".*".join(wanted), one) for one in printed):
            return line
    return ""


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _start(words: list[str]) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL
    return subprocess.Popen(words, stdout=quiet, stderr=quiet, start_new_session=True)


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until a server answers, however slow the machine is; the time limit of the test ends it."""
    while process.poll() is None:
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"{process.args!r} ended")
