"""Options and paths that cannot be: exit code 2 with the option's name, and nothing is left behind."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from errno import EACCES, EROFS
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from own_files import invoke, puoc
from rights import rights_that_count
from typer.main import get_command
from typer.testing import CliRunner

from puoc.cli.app import app
from puoc.cli.console import exit_on_invalid_input, exit_on_storage_error, folders_as_before, path_errors

#: Options that the readers check, with the same message for params.yaml.
CHECKED_LATER = {("fit", "words"), ("fit", "pixels"), ("assess", "pixels")}


def commands(group: Any, above: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """All commands by their words; typer has click's classes inside, so they are known by their attributes."""
    found: dict[tuple[str, ...], Any] = {}
    for name, command in group.commands.items():
        words = (*above, name)
        found |= commands(command, words) if hasattr(command, "commands") else {words: command}
    return found


WHOLE = [
    (words, option)
    for words, command in commands(get_command(app)).items()
    for option in command.params
    if option.type_descriptor.annotation is int and (words[-1], option.name) not in CHECKED_LATER
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, mean in (("p", 2), ("u", 0)):
        pd.DataFrame(rng.normal(mean, 1, (60, 3)), columns=list("abc")).to_csv(f"{name}.csv", index=False)
    return tmp_path


FIT = ("fit", "--method", "oc_svm", "--positives", "p.csv", "--unlabelled", "u.csv", "--no-ranking-check")


@pytest.mark.parametrize(("words", "option"), WHOLE, ids=[f"{words[-1]}-{option.name}" for words, option in WHOLE])
def test_every_whole_number_has_limits_and_one_beyond_them_is_refused(words, option, here: Path) -> None:
    assert WHOLE
    for value in ("99999999999999999999", "-99999999999999999999"):
        others = commands(get_command(app))[words].params
        arguments = ["x" for other in others if not other.opts[0].startswith("-")]
        code, said = puoc(*words, f"{option.opts[0]}={value}", *arguments)
        assert code == 2, said
        assert option.opts[0] in said
    assert len(list(here.iterdir())) == 2


@pytest.mark.parametrize("words", ["--words", "--pixels"])
def test_whole_numbers_that_the_readers_check_are_refused_too(words: str, here: Path) -> None:
    for value in ("99999999999999999999", "-99999999999999999999"):
        code, said = puoc(*FIT, "--check", f"{words}={value}")
        assert code == 2
        assert f"{words}: got {value}; expected" in said


def failing(path: Path, error: OSError) -> tuple[int, str]:
    """What a command with the option ``--out`` says if an error is met in it."""
    other = typer.Typer(pretty_exceptions_enable=False)

    @other.command()
    def command(out: Path) -> None:
        with exit_on_invalid_input(), exit_on_storage_error("nothing was written"), path_errors():
            raise error

    @other.command()
    def store(out: Path = Path()) -> None:
        with exit_on_storage_error("nothing was written"):
            raise error

    results = [CliRunner().invoke(other, words) for words in (["command", str(path)], ["store", "--out", str(path)])]
    assert results[0].exit_code == results[1].exit_code
    return results[1].exit_code, results[0].output + results[1].output


@pytest.mark.parametrize("number", [EACCES, EROFS])
def test_a_path_that_nobody_may_write_names_the_option_and_what_would_do(number: int, tmp_path: Path) -> None:
    path = tmp_path / "new" / "model"
    for failed in (path, path.parent, path.parent / ".model.1234"):
        code, said = failing(path, OSError(number, os.strerror(number), str(failed)))
        assert code == 2
        assert f"--out: {failed}: {os.strerror(number)}; expected a path that you may read and write" in said
        assert f"OUT: {failed}" in said


def test_a_folder_without_rights_is_told_before_a_fit(here: Path) -> None:
    closed = here / "closed"
    closed.mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    with rights_that_count():
        code, said = puoc(*FIT, "--out", closed / "new" / "m")
    assert code == 2
    assert f"--out: {closed / 'new' / 'm'} cannot be written, since {closed} takes no file" in said


def test_a_folder_that_takes_no_file_is_told_before_a_fit(here: Path) -> None:
    for option in ("--out", "--mlflow"):
        given = {"--out": "m", "--mlflow": "f", option: "/proc/m"}
        code, said = puoc(*FIT, *(word for pair in given.items() for word in pair))
        assert code == 2
        assert f"{option}: /proc/m cannot be written, since /proc takes no file" in said
        assert not Path("m").exists()


def test_no_empty_folder_is_left_by_a_command_that_failed(here: Path) -> None:
    assert puoc(*FIT, "--out", "m")[0] == 0
    lines = Path("u.csv").read_text().splitlines()
    Path("bad.csv").write_text("\n".join([*lines, "1,2,no number"]))
    before = set(here.rglob("*"))
    for words in (
        ("score", "--model", "m", "bad.csv", "--chunk", "20", "--out", "new/folder/s.csv"),
        ("fit", "--method", "oc_svm", "--positives", "bad.csv", "--out", "new/folder/m"),
        ("assess", "--positives", "bad.csv", "--unlabelled", "u.csv", "--html", "new/folder/a.html"),
    ):
        assert puoc(*words)[0] == 2
        assert set(here.rglob("*")) == before, words


def test_folders_that_were_there_or_hold_something_are_kept(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    for place, left in (("old/x", True), ("new/deep/x", False), ("full/x", True)):
        path = tmp_path / place
        with suppress(KeyError), folders_as_before(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            if place.startswith("full"):
                (path.parent / "other").write_text("kept")
            raise KeyError
        assert path.parent.exists() == left
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["m.csv", "m.pkl", "m.JSON", "m.html"])
def test_a_model_file_is_not_named_as_another_kind_of_file(name: str, here: Path) -> None:
    code, said = puoc(*FIT, "--out", name)
    assert code == 2
    assert f"--out: got {name}" in said
    assert "expected a name without a suffix, or m.safetensors" in said
    assert invoke(*FIT, "--out", "m.safetensors").exit_code == 0
