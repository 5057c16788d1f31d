"""``make repro`` ends with our own lines: DVC's hints about remotes and git are hushed, its errors are not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from project import REPOSITORY

STAGES = """
stages:
  good: {cmd: echo made > a, outs: [a]}
  bad: {cmd: exit 3, deps: [a]}
"""


def test_hints_are_hushed_and_a_failed_stage_is_not(tmp_path: Path) -> None:
    env = os.environ | {"DVC_NO_ANALYTICS": "1"}
    for words in (["git", "init", "-q"], [sys.executable, "-m", "dvc", "init", "-q"]):
        subprocess.run(words, cwd=tmp_path, env=env, check=True)
    (tmp_path / "dvc.yaml").write_text(STAGES)
    (tmp_path / ".dvc" / "tmp" / "rwlock").write_text("")  # as a DVC leaves it that is killed while it writes its lock
    said = {}
    for stage, code in (("good", 0), ("bad", 255)):
        words = [sys.executable, str(REPOSITORY / ".ci" / "repro.py"), stage]
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        said[stage] = done.stdout + done.stderr
    assert "Running stage 'good'" in said["good"]
    assert not any(hint in said["good"] for hint in ("dvc push", "git add", "autostage"))
    assert "failed to reproduce 'bad'" in said["bad"]
