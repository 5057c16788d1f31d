"""Deliberate faults in the methods' code: the tests named for each must fail. The list is mutations.yaml.

A fault of a file that is as at the base of a change, with the same tests, would be seen as it was there. So only the
others are applied, and ``make test-mutations`` applies all.
"""

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
LIST = "tests/repository/mutations.yaml"
LEARNING = ("methods", "methods/encoders", "methods/priors", "methods/solvers")


def family(mutation: dict[str, Any]) -> str:
    return f"{Path(mutation['file']).stem}: {mutation['fault']}"


def git(root: Path, *words: str) -> str | None:
    """The output of a git command, or None where it fails, as without a history."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def changed_files(root: Path) -> tuple[str, set[str]] | None:
    """The base of a change and the files that differ from it; None where no base is known.

    The base is where the branch left origin/main, or main, and on main itself the commit before.
    """
    head = git(root, "rev-parse", "HEAD")
    left = (git(root, "merge-base", "HEAD", name) for name in ("origin/main", "main"))
    base = next((one for one in left if one not in (None, head)), None) or git(root, "rev-parse", "--verify", "HEAD~1")
    if base is None:
        return None
    listed = [git(root, "diff", "--name-only", base), git(root, "ls-files", "-o", "--exclude-standard")]
    return base, {name for names in listed if names for name in names.splitlines()}


def is_touched(mutation: dict[str, Any], changed: set[str]) -> bool:
    """Whether a change reaches the file of a fault or one of the tests that must notice it."""
    tests = [word.split("::")[0] for word in mutation["tests"].split() if word.startswith("tests/")]
    return f"src/puoc/{mutation['file']}" in changed or any(
        name == test or name.startswith(f"{test}/") for name in changed for test in tests
    )


def chosen(mutations: list[dict[str, Any]], root: Path) -> list[dict[str, Any]]:
    """The faults that a change may have hidden: of files or tests that it touches, and those new in the list."""
    found = None if os.environ.get("PUOC_MUTATIONS") == "all" else changed_files(root)
    if found is None:
        return mutations
    base, changed = found
    before = YAML(typ="safe", pure=True).load(git(root, "show", f"{base}:{LIST}") or "[]")
    return [one for one in mutations if one not in before or is_touched(one, changed)]


def test_the_faults_of_what_a_change_touches_are_chosen_and_all_where_no_base_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PUOC_MUTATIONS", raising=False)
    one, two, three = (
        {"file": f"methods/{name}.py", "fault": "f", "old": "a", "new": "b", "tests": tests}
        for name, tests in (
            ("one", "tests/contracts -k one"),
            ("two", "tests/repository/test_two.py"),
            ("three", "tests/repository/test_three.py"),
        )
    )
    every = [one, two, three]

    def commit(name: str, content: object) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            YAML(typ="safe", pure=True).dump(content, file)
        assert git(tmp_path, "add", "-A") is not None
        who = ("-c", "user.name=A User", "-c", "user.email=user@example.org", "-c", "commit.gpgsign=false")
        assert git(tmp_path, *who, "commit", "-m", name) is not None

    assert git(tmp_path, "init", "-b", "main") is not None
    assert chosen(every, tmp_path) == every
    commit(LIST, [one, two])
    assert chosen(every, tmp_path) == every  # a history of one commit
    commit("src/puoc/methods/one.py", "x")
    assert chosen(every, tmp_path) == [one, three]  # the third is new in the list
    commit("tests/repository/test_two.py", "x")
    assert chosen(every[:2], tmp_path) == [two]  # on main, that of the last commit
    assert git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD~1") is not None
    commit("README.md", "x")
    assert chosen(every[:2], tmp_path) == [two]  # on a branch, that of all its commits
    (tmp_path / "tests" / "contracts").mkdir()
    (tmp_path / "tests" / "contracts" / "toys.py").write_text("not committed yet")
    assert chosen(every[:2], tmp_path) == [one, two]
    monkeypatch.setenv("PUOC_MUTATIONS", "all")
    assert chosen(every, tmp_path) == every


def test_every_file_of_methods_encoders_priors_and_solvers_has_a_deliberate_fault() -> None:
    paths = [path for folder in LEARNING for path in sorted((SOURCE / folder).glob("*.py"))]
    assert len({path.parent for path in paths}) == len(LEARNING), f"no code in one of {LEARNING}"
    code = {path.relative_to(SOURCE).as_posix() for path in paths if path.name != "__init__.py"}
    lacking = sorted(code - {mutation["file"] for mutation in MUTATIONS})
    assert not lacking, (
        f"no test is known to notice a fault in {', '.join(f'src/puoc/{name}' for name in lacking)}: write a test of "
        "its numbers in tests/repository/, and add an entry with file, fault, old, new and tests to "
        "tests/repository/mutations.yaml"
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
