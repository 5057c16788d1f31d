"""The method of the tutorial, as a package: its contract, the commands that find it, and a benchmark with it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pages import blocks, missing_line
from project import REPOSITORY

PAGE = REPOSITORY / "docs" / "tutorials" / "new-method.md"
HERE = "tests/repository/test_tutorial_method.py"


def _installed(folder: Path) -> None:
    """Write the files of the page, and what pip leaves of their package."""
    for block in blocks(PAGE):
        if block.title:
            (folder / block.title).parent.mkdir(exist_ok=True)
            (folder / block.title).write_text(block.text)
    info = folder / "tutorial-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tutorial\nVersion: 1.0\n")
    plugin = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    theirs = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["entry-points"]
    lines = []
    for group, named in {**theirs, "pytest11": plugin}.items():
        lines += [f"[{group}]", *(f"{name} = {module}" for name, module in named.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))


@pytest.mark.slow
def test_the_method_of_the_tutorial_passes_the_contract_and_runs_in_a_benchmark(tmp_path: Path) -> None:
    """Each block of commands that the page marks runs in its own shell, from the folder where the last one ended."""
    _installed(tmp_path)
    folder, said = tmp_path, ""
    path = os.pathsep.join((str(tmp_path), str(REPOSITORY / "src")))
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PYTHONPATH": path, "PATH": search, "OMP_NUM_THREADS": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    marked = [block for block in blocks(PAGE) if block.run_by == HERE]
    assert [block.language for block in marked] == ["sh", "text"] * 3
    for block in marked:
        if block.language == "text":
            assert missing_line(block.text, said) == "", said
            continue
        commands = ["bash", "-ec", f"{block.text}\npwd"]
        done = subprocess.run(commands, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        said, _, last = done.stdout.rstrip().rpartition("\n")
        folder = Path(last)
