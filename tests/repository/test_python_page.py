"""Every block of docs/python.md and of the README for Python runs, in order, and gives what the page says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from project import REPOSITORY

PAGE = REPOSITORY / "docs" / "python.md"


def run(text: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> int:
    """Run the blocks of a text in an empty folder, and return how many there are."""
    monkeypatch.chdir(folder)
    blocks = re.findall(r"^```pycon\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "page", None, 0)
    told: list[str] = []
    assert doctest.DocTestRunner().run(test, out=told.append).failed == 0, "".join(told)
    return len(blocks)


@pytest.mark.slow
def test_every_block_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PAGE.read_text()
    assert run(text, monkeypatch, tmp_path) == text.count("```") // 2  # a block of another kind would not run


def test_the_block_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run((REPOSITORY / "README.md").read_text(), monkeypatch, tmp_path) == 1
