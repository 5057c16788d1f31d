"""Commands and options that any page names exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from project import REPOSITORY
from typer.main import get_command

from puoc.cli.app import app
from puoc.methods import METHODS

pytestmark = pytest.mark.slow

DOCS = REPOSITORY / "docs"
NAMED = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "tuning/README.md")]
PAGES = sorted([*NAMED, *DOCS.rglob("*.md")])
_FENCED = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
#: Methods of examples, which a reader adds.
_ADDED = {"my_upu", "centroid", "nearest_mean", "x"}
#: Options of other programs that pages name in the running text.
_ELSEWHERE = {
    "--allowed-hosts",
    "--check",
    "--durations",
    "--glob",
    "--no-assess",  # of bench/audit.py
    "--no-compile",
    "--puoc-contract",
    "--puoc-contract-params",
    "--strict",
    "--time",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_each_command_of_a_page_exists_with_its_options(page: Path) -> None:
    faults = [f"{line}: {fault}" for line in commands(page) for fault in faults_of(line)]
    assert faults == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_an_option_in_the_running_text_exists(page: Path) -> None:
    words = {word for code in inline(page) if code.startswith("--") for word in re.findall(r"^--[a-z][a-z-]*", code)}
    assert sorted(words - known_options() - _ELSEWHERE) == []


def test_faults_of_commands_are_found() -> None:
    for line, fault in (
        ("puoc scores --model m new.csv", "no command"),
        ("puoc score --modell m new.csv", "--modell"),
        ("puoc ledger verifi", "no command"),
        ("puoc fit --method pu_svn --positives p.csv", "pu_svn"),
        ("make tests", "no target"),
        ("python bench/lanes.py --devise cuda", "--devise"),
        ("python bench/lane.py", "no file"),
        ("cp profiles/papr.yaml params.yaml && puoc plann", "no command"),
    ):
        assert any(fault in found for found in faults_of(line)), line
    assert list(faults_of("puoc ledger verify --recompute 20 && make docs")) == []


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """Language, title and text of each block of a page."""
    return _FENCED.findall(page.read_text())


def inline(page: Path) -> list[str]:
    """Code in the running text."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [" ".join(code.split()) for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", text)]


def commands(page: Path) -> Iterator[str]:
    """Lines of the blocks ``sh``, and code in the running text that begins as a command does."""
    for language, _, text in blocks(page):
        if language == "sh":
            yield from (line for line in re.sub(r"\\\n", " ", text).splitlines() if re.match(r"[a-zA-Z.]", line))
    yield from (code for code in inline(page) if re.match(r"(puoc|make|python) [a-z]", code))


def faults_of(line: str) -> Iterator[str]:
    """What a line names that does not exist; words of other programs are not looked at."""
    for part in re.split(r"&&|\||;|\$\(|`", re.sub(r"\s#.*|'[^']*'", " x", line)):
        words = [word for word in shlex.split(part) if not re.match(r"[A-Z_]+=|\d?>|<", word)]
        if words[:1] == ["puoc"]:
            yield from _of_puoc(words[1:])
        elif words[:1] == ["make"]:
            yield from (f"no target {word}" for word in words[1:2] if word not in targets())
        elif words[:1] == ["python"] and len(words) > 1 and words[1].endswith(".py"):
            yield from _of_script(words[1], words[2:])


def _of_puoc(words: list[str]) -> Iterator[str]:
    command: Any = get_command(app)
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        if not re.fullmatch(r"[a-z-]+", words[0]):
            return  # COMMAND, or an ellipsis
        if words[0] not in command.commands:
            yield f"no command {words[0]}"
            return
        command, words = command.commands[words[0]], words[1:]
    options = {name: one for one in command.params for name in (*one.opts, *one.secondary_opts)}
    common = {"--help", "-h", "--version"}
    for word, after in zip(words, [*words[1:], ""], strict=False):
        name, _, value = word.partition("=")
        if not re.match(r"--?[a-z]", name) or name in common:
            continue
        if name not in options:
            yield f"{command.name} has no {name}"
            continue
        value = value or after
        if name == "--method" and re.fullmatch(r"[a-z_]+", value) and value not in METHODS.keys() | _ADDED:
            yield f"no method {value}"


def _of_script(name: str, words: list[str]) -> Iterator[str]:
    path = REPOSITORY / name
    if "/" not in name:
        return  # a file of the reader
    if not path.is_file():
        yield f"no file {name}"
        return
    text = path.read_text() + "".join(other.read_text() for other in path.parent.glob("*.py"))
    yield from (f"{name} has no {word}" for word in words if word.startswith("--") and f'"{word}"' not in text)


@cache
def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))


@cache
def known_options() -> set[str]:
    """Options of puoc's commands and of the repository's scripts."""

    def of(command: Any) -> set[str]:
        inner = getattr(command, "commands", {}).values()
        own = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        return own.union({"--help", "--version"}, *map(of, inner))

    scripts = [path for folder in (".ci", "bench", "docs") for path in (REPOSITORY / folder).glob("*.py")]
    return of(get_command(app)).union(*(re.findall(r'"(--[a-z-]+)"', path.read_text()) for path in scripts))
