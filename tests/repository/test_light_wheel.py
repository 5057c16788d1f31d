"""The core alone, as ``pip install puoc`` brings it: what works with it, and what says which extra is missing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from light import HIDING, core, hidden, megabytes
from own_files import customers
from project import REPOSITORY

from puoc.store.extras import EXTRAS

CALLS = """
import json
import shutil
from pathlib import Path
from typer.testing import CliRunner
import puoc
from puoc.cli.app import app

def call(words):
    done = CliRunner().invoke(app, words.split())
    return [done.exit_code, done.output, repr(done.exception)]

if FITS:
    X, y, _ = puoc.make_pu(40, 60, alpha=0.3)
    puoc.PUSVM(class_prior=0.3).fit(X, y).predict(X)
Path("answers.json").write_text(json.dumps({words: call(words) for words in WORDS}))
"""
OWN = "--positives p.csv --unlabelled u.csv"
WORKS = [
    f"fit --method naive --params epochs=1 {OWN} --out model --no-ranking-check",
    "score --model model u.csv --out s.csv",
    f"audit {OWN} --html audit.html",
    f"assess {OWN} --html page.html",
    "methods",
]
#: Commands that need a plan, which the core cannot make.
PLANNED = (
    *("fetch", "prepare", "pending", "tune x", "select", "run x", "compare", "report", "show", "status", "retry all"),
    *("track", "sweep --method x", "study --method x"),
)
#: Commands that need an extra, with a library of it.
NEEDS = {
    f"fit --method knn {OWN} --out other --mlflow folder": "mlflow",
    "ui --port 5999": "mlflow",
    "published": "plotly",
    **dict.fromkeys(PLANNED, "optuna"),
}
NEEDS_SLOWLY = {"plan --check": "optuna"}


def answers(folder: Path, words: list[str], *, fits: bool) -> dict[str, tuple[int, str, str]]:
    """Exit code, output and exception of commands without any library that the core does not bring."""
    customers(30, 1, 1.5).to_csv(folder / "p.csv", index=False)
    customers(40, 2).to_csv(folder / "u.csv", index=False)
    (folder / "mlruns").mkdir()
    (folder / "mlruns" / "mlflow.db").touch()
    (folder / "params.yaml").write_text((REPOSITORY / "params.yaml").read_text())
    for part in ("tuning", "profiles", "published"):
        (folder / part).symlink_to(REPOSITORY / part)
    code = f"HIDDEN, WORDS, FITS = {hidden()!r}, {words!r}, {fits}\n{HIDING}\n{CALLS}"
    environment = {"PYTHONPATH": str(REPOSITORY / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "answers.json").read_text())


def check_refused(found: dict[str, tuple[int, str, str]], needs: dict[str, str]) -> None:
    for words, library in needs.items():
        code, output, _ = found[words]
        assert code == 2, found[words]
        assert f"needs the library {library}" in output
        assert "pip install 'puoc[platform]'" in " ".join(output.split())


@pytest.mark.slow
def test_a_command_names_the_extra_that_it_lacks(tmp_path: Path) -> None:
    check_refused(answers(tmp_path, [*NEEDS], fits=False), NEEDS)
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_the_core_fits_scores_audits_and_assesses(tmp_path: Path) -> None:
    found = answers(tmp_path, [*WORKS, *NEEDS_SLOWLY], fits=True)
    assert {words: found[words][0] for words in WORKS} == dict.fromkeys(WORKS, 0), found
    check_refused(found, NEEDS_SLOWLY)


def test_every_extra_names_the_libraries_that_it_installs() -> None:
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, libraries in EXTRAS.items():
        declared = " ".join(extras[extra])
        for library in set(libraries) - {"smart_open"}:  # it comes with gensim
            assert library.replace("_", "-") in declared


def test_the_core_is_under_a_gigabyte_and_a_half_beside_what_torch_brings() -> None:
    sizes = megabytes()
    of_torch = {name for name in sizes if name in ("torch", "triton") or name.startswith(("nvidia-", "cuda-"))}
    assert sum(size for name, size in sizes.items() if name not in of_torch) < 1500
    assert not core() & {"ray", "mlflow", "dvc", "optuna", "plotly", "gensim", "torchvision"}


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(tmp_path: Path) -> None:
    source = tmp_path / "source"  # setuptools leaves a folder build/ beside what it builds
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, source)
    shutil.copytree(REPOSITORY / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("tests", "docs", "data"):
        (source / name).mkdir()
        (source / name / "beside.py").touch()
    words = ["wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(source)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, capture_output=True)
    [wheel] = tmp_path.glob("puoc-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"puoc"}
    package = {f"puoc/{path.relative_to(REPOSITORY / 'src' / 'puoc')}" for path in (REPOSITORY / "src").rglob("*.py")}
    assert package <= set(names)
    assert "puoc/userdata/defaults.yaml" in names
