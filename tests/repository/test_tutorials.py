"""Every block of the tutorials and of the new pages runs, in order, and gives what the page says."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from own_files import customers
from pages import blocks, run_page
from project import REPOSITORY

from puoc.registry import METHODS

DOCS = REPOSITORY / "docs"
PAGES = sorted(path for folder in ("tutorials", "howto", "concepts") for path in (DOCS / folder).glob("*.md"))
RUN = [page for page in [DOCS / "index.md", *PAGES, DOCS / "limits.md", DOCS / "citing.md"] if blocks(page)]


@pytest.fixture
def registered() -> Iterator[None]:
    """Forget the method of a tutorial."""
    before, modules = dict(METHODS), set(sys.modules)
    yield
    METHODS.clear()
    METHODS.update(before)
    for name in set(sys.modules) - modules:
        if name == "nearest_mean":
            del sys.modules[name]


@pytest.mark.slow
@pytest.mark.timeout(900)  # on a machine with much else to do
@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.stem == "sweep":  # the reader has a checkout
        shutil.copytree(REPOSITORY / "tuning", tmp_path / "tuning")
    if page.stem == "index":  # the reader has files
        for name, n, seed, shift in (("p", 60, 1, 1.5), ("u", 80, 2, 0.0), ("new", 20, 3, 0.0)):
            customers(n, seed, shift).to_csv(tmp_path / f"{name}.csv", index=False)
    if page.stem == "check-a-number":  # the reader has a checkout
        for name in ("published", "docs"):
            (tmp_path / name).symlink_to(REPOSITORY / name)
    run_page(page, tmp_path, monkeypatch)


def test_a_block_that_is_not_run_says_why() -> None:
    reasons = [block.not_run for page in RUN for block in blocks(page) if block.not_run]
    assert all(len(reason.split()) > 2 for reason in reasons)
