"""Temporary folders of killed processes are removed by the next command, those of living ones are kept."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from puoc.store.temporary import remove_abandoned, temporary_folder

HOLDER = """
import sys, time
from puoc.store.temporary import temporary_folder
with temporary_folder("run") as folder:
    (folder / "part").write_text("x")
    print(folder, flush=True)
    time.sleep(60)
"""


def test_the_folder_of_a_killed_process_is_removed_and_that_of_a_living_one_kept(tmp_path: Path, monkeypatch) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], env=environment, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    folder = Path(holder.stdout.readline().strip())
    try:
        remove_abandoned(tmp_path)
        assert (folder / "part").exists()
    finally:
        holder.kill()
        holder.wait()
    assert (folder / "part").exists()
    remove_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_removed_at_the_end_and_others_are_left_alone(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    others = [tmp_path / name for name in ("puoc-run-new", "puoc-other-x", "elsewhere")]
    for other in others:
        other.mkdir()
    former = tmp_path / "puoc-models-former"
    former.mkdir()
    os.utime(former, (time.time() - 100_000,) * 2)
    with temporary_folder("models") as folder:
        assert list(folder.iterdir()) == []
        remove_abandoned(tmp_path)
        assert folder.exists()
    assert sorted(tmp_path.iterdir()) == sorted(others)
