"""Scripts of bench/ and docs/: each says what it is for, and one line where it is asked wrongly."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
from project import REPOSITORY

SCRIPTS = [
    path
    for folder in ("bench", "docs")
    for path in sorted((REPOSITORY / folder).glob("*.py"))
    if "__main__" in path.read_text()
]


def run(script: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> int | str | None:
    """Run a script in this process, which has its libraries already; its exit code."""
    monkeypatch.syspath_prepend(str(script.parent))
    monkeypatch.setattr(sys, "argv", [str(script), *words])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(script), run_name="__main__")
    return end.value.code


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_script_says_what_it_is_for_and_does_nothing(
    script: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(script, monkeypatch, "--help") == 0
    assert f"usage: {script.name}" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


WRONG = {
    "no profile": ("bench/costs.py", [], "the following arguments are required: profiles"),
    "no such profile": ("bench/costs.py", ["none.yaml"], "none.yaml: cannot be read (No such file or directory)"),
    "no folder": ("docs/grid_tables.py", [], "the following arguments are required: folder"),
    "no results": ("docs/grid_tables.py", ["."], ".: no results/tune/val/*.parquet there; expected a project that ran"),
    "no results of a profile": ("docs/labelling_tables.py", ["."], ".: no results of phoneme, phoneme_noise, spambase"),
    "an unknown option": ("docs/generate.py", ["--chekc"], "unrecognized arguments: --chekc"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_script_asked_wrongly_says_one_line_and_writes_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script, words, expected = WRONG[name]
    monkeypatch.chdir(tmp_path)
    assert run(REPOSITORY / script, monkeypatch, *words) == 2
    *usage, message = capsys.readouterr().err.splitlines()
    assert usage[0].startswith("usage: ")
    assert expected in message
