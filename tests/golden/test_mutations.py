"""Deliberate faults in the methods' code: the tests named for each must fail. The list is mutations.yaml."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MUTATIONS: list[dict[str, Any]] = YAML(typ="safe", pure=True).load(HERE / "mutations.yaml")
SOURCE = ROOT / "src" / "puoc"
LEARNING = ("methods", "methods/encoders", "methods/priors", "methods/solvers")


def family(mutation: dict[str, Any]) -> str:
    return f"{Path(mutation['file']).stem}: {mutation['fault']}"


def test_every_file_of_methods_encoders_priors_and_solvers_has_a_deliberate_fault() -> None:
    paths = [path for folder in LEARNING for path in sorted((SOURCE / folder).glob("*.py"))]
    assert len({path.parent for path in paths}) == len(LEARNING), f"no code in one of {LEARNING}"
    code = {path.relative_to(SOURCE).as_posix() for path in paths if path.name != "__init__.py"}
    lacking = sorted(code - {mutation["file"] for mutation in MUTATIONS})
    assert not lacking, (
        f"no test is known to notice a fault in {', '.join(f'src/puoc/{name}' for name in lacking)}: write a test of "
        "its numbers in tests/golden/, and add an entry with file, fault, old, new and tests to "
        "tests/golden/mutations.yaml"
    )


def test_no_method_file_is_long() -> None:
    lines = {path.name: len(path.read_text().splitlines()) for path in (SOURCE / "methods").glob("*.py")}
    assert {name: n for name, n in lines.items() if n > 200} == {}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=family)
def test_a_fault_stands_for_exactly_one_place(mutation: dict[str, Any]) -> None:
    assert (SOURCE / mutation["file"]).read_text().count(mutation["old"]) == 1
    assert mutation["old"] != mutation["new"]


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS, ids=family)
def test_a_deliberate_fault_is_seen(mutation: dict[str, Any], tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src")
    path = tmp_path / "src" / "puoc" / mutation["file"]
    path.write_text(path.read_text().replace(mutation["old"], mutation["new"]))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "slow or not slow", *mutation["tests"].split()]
    env = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode == 0 and "skipped" in done.stdout:
        pytest.skip("a test that is to fail was skipped: PUOC_MIRROR names no folder with its data")
    assert done.returncode == 1, f"{mutation['tests']} did not fail: {done.stdout[-2000:]}{done.stderr[-2000:]}"
