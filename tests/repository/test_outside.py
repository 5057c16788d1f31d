"""Classes of other packages, found by entry points: the example package below tests/outside, and faulty ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from own_files import customers
from project import REPOSITORY

OUTSIDE = REPOSITORY / "tests" / "outside"


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(folder), str(REPOSITORY / "src")))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def installed(folder: Path, group: str, value: str) -> None:
    """What pip leaves of a package with one entry point."""
    info = folder / "their_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\ntheirs = {value}\n")


def test_a_scenario_of_another_package_is_found(tmp_path: Path) -> None:
    installed(tmp_path, "puoc.scenarios", "their_module")
    source = 'from puoc.registry import scenario\n\n@scenario("theirs")\nclass Theirs:\n    pass\n'
    (tmp_path / "their_module.py").write_text(source)
    done = python("from puoc.registry import SCENARIOS; print(SCENARIOS['theirs'].__name__)", tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "Theirs"), done.stderr


ASKED = """
from puoc.registry import SCENARIOS
try:
    len(SCENARIOS)
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("source", ["1 / 0", None])
def test_a_package_whose_entry_point_fails_is_named(source: str | None, tmp_path: Path) -> None:
    installed(tmp_path, "puoc.scenarios", "their_module")
    if source is not None:
        (tmp_path / "their_module.py").write_text(source)
    code = (
        "from puoc.registry import SCENARIOS\ntry:\n    len(SCENARIOS)\nexcept ValueError as error:\n    print(error)"
    )
    done = python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "their-package: its entry point theirs = their_module of puoc.scenarios cannot be loaded" in done.stdout
    assert "uninstall their-package" in done.stdout


USED = """
import puoc
from sklearn.utils.estimator_checks import check_estimator
from puoc.cli.app import app
from typer.testing import CliRunner

X, y, truth = puoc.make_pu(60, 60, separation=6.0)
print(puoc.Centroid(power=1.5).fit(X, y).hyperparameters_)
check_estimator(
    puoc.Centroid(pos_label="all", recall=0.5),
    expected_failed_checks={"check_fit_score_takes_y": "y of the check is no mark of positives"},
    on_skip=None,
)
for words in ("methods", "fit --method centroid --positives p.csv --out m", "score --model m p.csv"):
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code == 0, done.output
    print(done.output)
"""


@pytest.mark.slow
def test_the_example_package_adds_a_method_to_every_way_of_use(tmp_path: Path) -> None:
    copy = shutil.copytree(OUTSIDE, tmp_path / "source")  # setuptools leaves a folder build/ beside what it builds
    words = ["install", "-q", "--no-deps", "--no-build-isolation", "--target", str(tmp_path), str(copy)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, capture_output=True)
    customers(40, 1).to_csv(tmp_path / "p.csv", index=False)
    done = python(USED, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "{'power': 1.5}" in done.stdout
    assert "centroid" in done.stdout
