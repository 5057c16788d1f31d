"""The plugin of pytest that checks methods of other packages: what it adds, what it reports, and what it imports."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from project import REPOSITORY

from puoc import testing

UPSIDE_DOWN = """
import numpy as np
from puoc.registry import method
from puoc.methods.training.estimator import typed
from puoc_centroid import Centroid

@method("upside_down")
@typed
class UpsideDown(Centroid):
    kind = "oc"

    def decision_function(self, X):
        return -super().decision_function(X)
"""


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(folder), str(REPOSITORY / "src")))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """The example package and one with a method whose scores are upside down, as pip would leave them."""
    shutil.copytree(REPOSITORY / "tests" / "outside", tmp_path, dirs_exist_ok=True)
    (tmp_path / "puoc_upside_down.py").write_text(UPSIDE_DOWN)
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    pytest11 = "\n".join(f"{name} = {module}" for name, module in declared.items())
    methods = "centroid = puoc_centroid\nupside_down = puoc_upside_down"
    (info / "entry_points.txt").write_text(f"[puoc.methods]\n{methods}\n[pytest11]\n{pytest11}\n")
    return tmp_path


@pytest.mark.slow
def test_the_example_passes_and_a_method_with_a_fault_fails_by_the_name_of_what_it_breaks(packages: Path) -> None:
    *_, params = re.findall(
        r"^```yaml\n(.+?)^```$", (REPOSITORY / "docs" / "adding-a-method.md").read_text(), re.MULTILINE | re.DOTALL
    )
    (packages / "contract.yaml").write_text(params)
    words = ["--puoc-contract", "upside_down", "--puoc-contract-params", "contract.yaml"]
    done = call(packages, "-m", "pytest", "-q", "-rA", "--tb=line", *words)
    lines = [line for line in done.stdout.splitlines() if line.startswith(("PASSED", "FAILED"))]
    failed = [line for line in lines if line.startswith("FAILED")]
    assert done.returncode == 1, done.stdout
    for of in ("[centroid]", "[centroid-squares-vector", "[centroid-distances-vector"):
        assert len([line for line in lines if of in line and line.startswith("PASSED")]) > 5
    assert [line.partition("::")[2].partition("[")[0] for line in failed] == [
        "test_an_easy_problem_is_solved_and_turns_round_when_the_classes_are_swapped"
    ]
    assert "[upside_down-default-vector]" in failed[0]


def test_an_unknown_method_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"--puoc-contract: got 'knnn'; expected one of .*, knn, "):
        testing._settings(["knnn"], None)


def test_hyperparameters_come_from_a_file_or_are_those_of_puoc_fit(tmp_path: Path) -> None:
    assert list(testing._settings(["knn"], None)["knn"]) == ["default"]
    file = tmp_path / "params.yaml"
    file.write_text("hbos:\n  few: {bins: 3}\n  many: {bins: 20}\n")
    assert testing._settings(["hbos"], str(file)) == {"hbos": {"few": {"bins": 3}, "many": {"bins": 20}}}
    file.write_text("hbos:\n  few: {bin: 3}\n")
    with pytest.raises(
        ValueError, match=r"params\.yaml: hbos, few: unknown hyperparameter 'bin' \(did you mean 'bins'"
    ):
        testing._settings(["hbos"], str(file))
    file.write_text("hbos: {bins: 1}\n")
    with pytest.raises(ValueError, match=r"no hyperparameters of hbos; expected hbos: \{setting: \{name: value\}\}"):
        testing._settings(["hbos"], str(file))
    with pytest.raises(ValueError, match=r"no hyperparameters of oc_lstm; expected .* attribute default_params"):
        testing._settings(["oc_lstm"], None)


def test_the_plugin_loads_neither_torch_nor_methods(tmp_path: Path) -> None:
    """Every run of pytest imports it, wherever puoc is installed."""
    code = "import sys, puoc.testing; assert not {'torch', 'numpy', 'sklearn', 'puoc.methods'} & sys.modules.keys()"
    assert call(tmp_path, "-c", code).returncode == 0
