"""``make repro`` ends with our own lines, and repairs what a killed DVC left.

DVC's hints about remotes and git are hushed, its errors are not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from project import REPOSITORY

STAGES = """
stages:
  good: {cmd: echo made > a, outs: [a]}
  bad: {cmd: exit 3, deps: [a]}
"""


ENV = os.environ | {"DVC_NO_ANALYTICS": "1"}


def repro(root: Path, stage: str, code: int = 0) -> str:
    words = [sys.executable, str(REPOSITORY / ".ci" / "repro.py"), stage]
    done = subprocess.run(words, cwd=root, env=ENV, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def stages(tmp_path: Path) -> Path:
    for words in (["git", "init", "-q"], [sys.executable, "-m", "dvc", "init", "-q"]):
        subprocess.run(words, cwd=tmp_path, env=ENV, check=True)
    (tmp_path / "dvc.yaml").write_text(STAGES)
    return tmp_path


def test_hints_are_hushed_and_a_failed_stage_is_not(stages: Path) -> None:
    said = {stage: repro(stages, stage, code) for stage, code in (("good", 0), ("bad", 255))}
    assert "Running stage 'good'" in said["good"]
    assert not any(hint in said["good"] for hint in ("dvc push", "git add", "autostage"))
    assert "failed to reproduce 'bad'" in said["bad"]


# DVC empties these files before it writes them, so a kill leaves them empty, or cut at any place
@pytest.mark.parametrize("file", [".dvc/tmp/rwlock", "dvc.lock"])
def test_a_file_that_a_killed_dvc_emptied_is_made_anew(stages: Path, file: str) -> None:
    whole = repro(stages, "good") and (stages / file).read_text()
    (stages / file).write_text("")
    assert f"removed {file}" in repro(stages, "good")
    assert (stages / file).read_text() == whole
    assert "removed" not in repro(stages, "good")


@pytest.mark.slow
def test_a_lock_that_a_killed_dvc_cut_is_made_anew_wherever_the_cut_is(stages: Path) -> None:
    whole = repro(stages, "good") and (stages / "dvc.lock").read_text()
    ends = [at for at, letter in enumerate(whole) if letter == "\n"]
    for length in [*(end + 1 for end in ends[:-1]), *(end - 2 for end in ends)]:
        (stages / "dvc.lock").write_text(whole[:length])
        said = repro(stages, "good")
        if "removed dvc.lock" in said:
            assert (stages / "dvc.lock").read_text() == whole
        else:  # whole lines that are a lock of fewer stages, or of an output without its size
            assert whole[length - 1] == "\n"


@pytest.mark.slow
@pytest.mark.parametrize("change", [lambda text: text.rstrip("\n"), lambda text: text.replace("\n", "\r\n")])
def test_a_lock_that_an_editor_saved_stays(stages: Path, change: Callable[[str], str]) -> None:
    (stages / "dvc.yaml").write_text("stages: {good: {cmd: seq 999 > a, outs: [a]}}")
    whole = repro(stages, "good") and (stages / "dvc.lock").read_text()
    assert change(whole) != whole
    (stages / "dvc.lock").write_text(change(whole), newline="")
    said = repro(stages, "good")
    assert "removed" not in said
    assert "didn't change, skipping" in said


@pytest.mark.slow
def test_dvc_works_with_fewer_digits_of_the_last_size(stages: Path) -> None:
    """So a cut in them, which looks whole, is harmless."""
    (stages / "dvc.yaml").write_text("stages: {good: {cmd: seq 999 > a, outs: [a]}}")
    whole = repro(stages, "good") and (stages / "dvc.lock").read_text()
    (stages / "dvc.lock").write_text(whole[:-2])
    assert "removed" not in repro(stages, "good")


def test_a_conflict_in_dvc_lock_stays_for_its_user(stages: Path) -> None:
    repro(stages, "good")
    conflict = "<<<<<<< HEAD\nstages: {}\n=======\nstages: {}\n>>>>>>> other\n"
    (stages / "dvc.lock").write_text(conflict)
    assert "dvc.lock" in repro(stages, "good", 255)
    assert (stages / "dvc.lock").read_text() == conflict
