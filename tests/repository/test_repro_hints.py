"""``make repro`` ends with our own lines, and repairs what a killed DVC left.

DVC's hints about remotes and git are hushed, its errors are not.
"""

from __future__ import annotations

import os
import subprocess
import sys
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


# DVC empties these files before it writes them, so a kill leaves them empty, or cut where a part of the text ends
@pytest.mark.parametrize("file", [".dvc/tmp/rwlock", "dvc.lock"])
@pytest.mark.parametrize("part", [0.0, *(pytest.param(part, marks=pytest.mark.slow) for part in (0.1, 0.6))])
def test_a_file_that_a_killed_dvc_left_half_written_is_made_anew(stages: Path, file: str, part: float) -> None:
    whole = repro(stages, "good") and (stages / file).read_text()
    (stages / file).write_text(whole[: int(len(whole) * part)])
    said = repro(stages, "good")
    assert f"removed {file}" in said or (file == "dvc.lock" and part > 0)  # a part can be a lock of fewer stages
    assert (stages / file).read_text() == whole
    assert "removed" not in repro(stages, "good")


def test_a_conflict_in_dvc_lock_stays_for_its_user(stages: Path) -> None:
    repro(stages, "good")
    conflict = "<<<<<<< HEAD\nstages: {}\n=======\nstages: {}\n>>>>>>> other\n"
    (stages / "dvc.lock").write_text(conflict)
    assert "dvc.lock" in repro(stages, "good", 255)
    assert (stages / "dvc.lock").read_text() == conflict
