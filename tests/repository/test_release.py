"""What a release carries: one version, a citation and the files that say how to report and contribute."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml
from packaging.version import Version

import puoc

REPOSITORY = Path(__file__).parents[2]


def test_the_version_is_written_in_one_place_of_the_code_and_cited() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "puoc.__version__"}
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    assert citation["version"] == puoc.__version__
    assert citation["license"] == project["project"]["license"]
    code = "\n".join(path.read_text() for path in (REPOSITORY / "src").rglob("*.py"))
    assert re.findall(rf"__version__ = .{re.escape(puoc.__version__)}", code) == [f'__version__ = "{puoc.__version__}']


def test_the_lowest_python_is_the_first_that_is_listed() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    listed = [one.rpartition(" :: ")[2] for one in project["classifiers"] if " Python :: " in one]
    assert project["requires-python"] == f">={listed[0]}"
    assert listed == sorted(listed, key=Version)


def test_the_cited_paper_is_the_one_that_the_readme_names() -> None:
    paper = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())["references"][0]
    named = [author["family-names"] for author in paper["authors"]]
    readme = (REPOSITORY / "README.md").read_text()
    assert paper["title"] in " ".join(readme.split())
    assert all(name in readme for name in named)


def test_the_readme_links_how_to_contribute_report_and_cite() -> None:
    readme = (REPOSITORY / "README.md").read_text()
    for name in ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CITATION.cff", "CHANGELOG.md", "LICENSE"):
        assert f"]({name})" in readme, name
        assert (REPOSITORY / name).stat().st_size > 300
