"""``make install``: which extras it installs, and when it has nothing to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from project import REPOSITORY

LATER = 4_000_000_000  # seconds since 1970: younger than every file


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What make reads, with a .venv whose python writes its words down, since nothing is to be installed."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(REPOSITORY / name, tmp_path)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@" >>asked\n')
    python.chmod(0o755)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def install(root: Path, *words: str) -> tuple[int, str, str]:
    """Exit code, the extras that pip was asked for (nothing where it was not called), and what was said."""
    (root / "asked").unlink(missing_ok=True)
    done = subprocess.run(
        ["make", "install", f"PYTHON={sys.executable}", *words], cwd=root, capture_output=True, text=True, check=False
    )
    asked = (root / "asked").read_text().split()[-1] if (root / "asked").exists() else ""
    return done.returncode, asked, done.stderr


@pytest.mark.parametrize(
    ("before", "words", "asked"),
    [
        (None, [], ".[dev]"),
        (None, ["EXTRAS=dev,cluster"], ".[cluster,dev]"),
        ("", [], ""),
        ("", ["EXTRAS=dev,cluster"], ".[cluster,dev]"),
        (".[dev]", [], ""),
        (".[dev]", ["EXTRAS=dev"], ""),
        (".[dev]", ["EXTRAS=dev,cluster"], ".[cluster,dev]"),
        (".[cluster,dev]", [], ""),
        (".[cluster,dev]", ["EXTRAS=cluster"], ""),
        (".[cluster,dev]", ["EXTRAS=dev,postgresql"], ".[cluster,dev,postgresql]"),
        (".[]", [], ""),
    ],
)
def test_extras_are_installed_where_they_are_not_yet_and_stay(
    before: str | None, words: list[str], asked: str, checkout: Path
) -> None:
    stamp = checkout / ".venv" / ".installed"
    if before is not None:
        stamp.write_text(before)
    assert install(checkout, *words)[:2] == (0, asked)
    assert install(checkout, *words)[:2] == (0, "")
    assert stamp.read_text().strip() == (asked or before)


@pytest.mark.parametrize(("before", "asked"), [("", ".[dev]"), (".[cluster,dev]", ".[cluster,dev]"), (".[]", ".[]")])
def test_an_upgrade_installs_the_extras_that_were_there(before: str, asked: str, checkout: Path) -> None:
    (checkout / ".venv" / ".installed").write_text(before)
    os.utime(checkout / "constraints.txt", (LATER, LATER))
    assert install(checkout)[:2] == (0, asked)


def test_an_extra_that_there_is_not_is_refused_with_those_that_there_are(checkout: Path) -> None:
    (checkout / ".venv" / ".installed").write_text(".[dev]")
    code, asked, said = install(checkout, "EXTRAS=dev,clutser")
    assert (code, asked) == (2, "")
    known = "platform, text, images, cluster, dashboard, postgresql, pyod, pulearn, all, docs, dev, release"
    assert f"EXTRAS: got clutser; expected some of {known}, with commas" in said
    assert (checkout / ".venv" / ".installed").read_text() == ".[dev]"


def test_docs_adds_its_extra_and_builds_strictly(checkout: Path) -> None:
    (checkout / ".venv" / ".installed").write_text(".[dev]")
    make = ["make", "--no-print-directory", "docs", f"PYTHON={sys.executable}"]
    done = subprocess.run(make, cwd=checkout, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "documentation: site/index.html"), done.stderr
    *_, asked, built = (checkout / "asked").read_text().splitlines()
    assert asked.split()[-1] == ".[dev,docs]"
    assert built == "-m mkdocs build --strict --quiet"
