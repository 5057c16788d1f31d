"""make release and make test-lowest: what stops a release, and which versions are the lowest."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.version import Version
from project import REPOSITORY

RELEASE = runpy.run_path(str(REPOSITORY / ".ci" / "release.py"), run_name="release")
LOWEST = runpy.run_path(str(REPOSITORY / ".ci" / "lowest.py"), run_name="lowest")


def pinned() -> dict[str, str]:
    """The versions of constraints.txt by name."""
    lines = (REPOSITORY / "constraints.txt").read_text().splitlines()
    return dict(line.lower().replace("_", "-").split("==") for line in lines if "==" in line)  # type: ignore[misc]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that say the version, with a changelog that is ready for a release."""
    for name in ("CHANGELOG.md", "CITATION.cff", "src/puoc/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    version = yaml.safe_load((tmp_path / "CITATION.cff").read_text())["version"]
    text = (tmp_path / "CHANGELOG.md").read_text()
    (tmp_path / "CHANGELOG.md").write_text(re.sub("^## .*$", f"## {version} (2030-01-02)", text, count=1, flags=re.M))
    return tmp_path


def test_version_changelog_and_citation_of_the_repository_agree() -> None:
    assert list(RELEASE["faults_of_words"](REPOSITORY, unreleased=True)) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("CHANGELOG.md", r"^## .*$", "## Unreleased", "CHANGELOG.md: got 'Unreleased' as its newest heading; expected"),
        ("CHANGELOG.md", r"^## .*$", "## 9.9", "CHANGELOG.md: got '9.9' as its newest heading; expected"),
        ("CITATION.cff", r"^version: .*$", "version: 9.9.9", "CITATION.cff: got the version 9.9.9; expected"),
        ("src/puoc/__init__.py", r"^__version__ = .*$", '__version__ = "v1"', "got __version__ 'v1'; expected"),
    ],
)
def test_what_disagrees_about_the_version_stops_a_release(
    name: str, old: str, new: str, fault: str, checkout: Path
) -> None:
    assert list(RELEASE["faults_of_words"](checkout)) == []
    path = checkout / name
    path.write_text(re.sub(old, new, path.read_text(), count=1, flags=re.M))
    assert any(fault in one for one in RELEASE["faults_of_words"](checkout))


def test_a_wheel_with_other_files_or_without_a_module_stops_a_release(tmp_path: Path) -> None:
    (tmp_path / "src" / "puoc").mkdir(parents=True)
    for name in ("__init__", "other"):
        (tmp_path / "src" / "puoc" / f"{name}.py").touch()

    def faults(*names: str) -> list[str]:
        wheel = tmp_path / "puoc-1.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            for name in names:
                archive.writestr(name, "")
        return list(RELEASE["faults_of_wheel"](wheel, tmp_path / "src"))

    assert faults("puoc/__init__.py", "puoc/other.py", "puoc-1.dist-info/RECORD") == []
    assert (
        "puoc-1.whl: got tests/test_x.py; expected" in faults("puoc/__init__.py", "puoc/other.py", "tests/test_x.py")[0]
    )
    assert "puoc-1.whl: has no puoc/other.py; expected" in faults("puoc/__init__.py")[0]


def test_an_advisory_stops_a_release_with_the_version_that_mends_it() -> None:
    report: dict[str, Any] = {
        "dependencies": [
            {"name": "one", "version": "1", "vulns": []},
            {"name": "two", "version": "2", "vulns": [{"id": "X-1", "fix_versions": ["2.1"]}]},
            {"name": "three", "skip_reason": "not found"},
        ]
    }
    looked_up, skipped, faults = RELEASE["read_audit"](report)
    assert (looked_up, skipped) == (2, ["three"])
    assert len(faults) == 1
    assert faults[0].startswith(
        "two 2: X-1, mended in 2.1; pin such a version in constraints.txt, or follow SECURITY.md"
    )


def test_a_release_without_an_audit_says_so_at_its_end_and_in_its_list(tmp_path: Path) -> None:
    bill = tmp_path / "puoc-1.cdx.json"
    bill.write_text('{"components": [], "metadata": {"properties": [{"name": "cdx:reproducible", "value": "true"}]}}')
    for found, skipped, words in ((0, ["a", "b"], "NOT AUDITED: no database"), (2, [], "audited: "), (1, ["b"], ": b")):
        said = RELEASE["audit_in_words"](found, skipped)
        assert words in said
        assert ("NOT AUDITED" in said) == bool(skipped)
        RELEASE["write_audit"](bill, said)
        assert json.loads(bill.read_text())["metadata"]["properties"][-1] == {"name": "puoc:audit", "value": said}


def test_the_tools_of_a_release_are_pinned_as_in_the_constraints() -> None:
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    versions = pinned()
    assert {line.partition("==")[0] for line in extras["release"]} == {"build", "twine", "pip-audit", "cyclonedx-bom"}
    assert all(line.partition("==")[2] == versions[line.partition("==")[0]] for line in extras["release"])


def test_every_library_of_the_core_has_a_lowest_version_at_most_the_pinned_one() -> None:
    lowest, versions = LOWEST["lowest"](REPOSITORY / "pyproject.toml"), pinned()
    assert {name for name, version in lowest.items() if Version(version) > Version(versions[name])} == set()


def test_a_library_without_a_lowest_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["numpy"]\n')
    with pytest.raises(ValueError, match="got the dependency 'numpy'; expected name>=version"):
        LOWEST["lowest"](tmp_path / "pyproject.toml")


def test_the_tests_with_the_lowest_versions_exist() -> None:
    assert [name for name in LOWEST["TESTS"] if not (REPOSITORY / name).exists()] == []


@pytest.mark.parametrize(
    "path", sorted((REPOSITORY / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda at: at.stem
)
def test_a_form_for_issues_has_what_a_form_needs(path: Path) -> None:
    form = yaml.safe_load(path.read_text())
    if path.stem == "config":
        return
    assert form.keys() >= {"name", "description", "body"}
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert fields
    assert len({field["id"] for field in fields}) == len(fields)
    for field in fields:
        assert field["type"] in ("textarea", "input", "dropdown", "checkboxes")
        assert field["attributes"]["label"]


@pytest.mark.parametrize("path", sorted((REPOSITORY / ".github" / "workflows").glob("*.yml")), ids=lambda at: at.stem)
def test_a_workflow_runs_what_the_repository_has(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.M))
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    assert len(commands) == len(jobs)
    for command in commands:
        program, *words = command.split()
        if program == "make":
            assert set(words) <= targets, command
        else:
            assert os.access(REPOSITORY / program, os.X_OK), command
    for job in jobs:
        assert job["timeout-minutes"] <= 90
        assert job["steps"][0]["uses"].startswith("actions/checkout@v")
