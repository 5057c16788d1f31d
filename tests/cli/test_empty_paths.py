"""An empty path, such as "$UNSET" in a shell, is refused by every command and is never the current folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest
import typer
from own_files import invoke, puoc, refused
from typer.main import get_command

from puoc.cli.app import app


def paths(group: typer.Typer = app, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All options and arguments that take a path, with the words of their command."""
    commands = get_command(group).commands
    for registered in group.registered_commands:
        kinds = get_type_hints(registered.callback)
        for param in commands[registered.name].params:
            if kinds.get(param.name) in (Path, Path | None):
                option = max(param.opts, key=len) if param.param_type_name == "option" else ""
                yield (*before, str(registered.name), option)
    for below in group.registered_groups:
        yield from paths(below.typer_instance, (str(below.name),))


ALL = list(paths())


def test_all_paths_are_known() -> None:
    assert {
        ("assess", "--html"),
        ("fit", "--mlflow"),
        ("score", ""),
        ("score", "--model"),
        ("plan", "--params"),
        ("fetch", "--from"),
        ("published", ""),
        ("ledger", "import", ""),
    } < set(ALL)


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_an_empty_path_is_refused(
    words: tuple[str, ...], joined: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    *command, option = words
    if not option:
        given = [*command, "", *(["--model", "m"] if command == ["score"] else [])]
    else:
        needed = {"fit": ["--method", "oc_svm"], "score": ["x.csv", "--model", "m"]}.get(command[0], [])
        given = [*command, *needed, *([f"{option}="] if joined else [option, ""])]
    done = invoke(*given)
    assert done.exit_code == 2, done.output
    assert ": got an empty path; expected a f" in done.output
    assert not list(tmp_path.iterdir())


def test_an_empty_text_of_another_option_and_the_current_folder_are_no_empty_path(tmp_path: Path) -> None:
    words = ("fit", "--method", "oc_svm", "--positives", tmp_path / "no.csv", "--drop", "", "--check")
    refused(puoc(*words), "no.csv: there is no such file")
    assert "empty path" not in puoc("score", "--model", "m", ".")[1]
