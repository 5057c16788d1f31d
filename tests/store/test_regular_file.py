"""Every path to read that a user names is a regular file, or is refused before it is opened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from own_files import puoc, refused

NAMES = ["pipe", "pipe.txt", "/dev/zero"]


@pytest.mark.parametrize("name", NAMES)
def test_no_command_opens_a_pipe_or_a_device(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if not path.is_absolute() or path.is_relative_to(tmp_path):
        os.mkfifo(path)
    rows = tmp_path / "rows.csv"
    rows.write_text("a,b\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(30)))
    model, fit = tmp_path / "model", ("fit", "--method", "oc_svm", "--positives")
    model.write_bytes(b"")
    for words in (
        (*fit, path, "--check"),
        (*fit, path, "--check", "--kind", "texts"),
        (*fit, rows, "--unlabelled", path, "--check"),
        (*fit, rows, "--test", path, "--label", "y", "--check"),
        (*fit, rows, "--settings", path, "--check"),
        ("assess", "--positives", rows, "--unlabelled", path, "--html", tmp_path / "page.html"),
        ("score", "--model", path, rows),
        ("plan", "--check", "--params", path),
        ("ledger", "import", path),
    ):
        refused(puoc(*words), str(path), "got a pipe or a device; expected a")


def test_a_pipe_among_pictures_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    refused(puoc("fit", "--method", "oc_cnn", "--positives", tmp_path, "--check"), "a.png: got a pipe or a device")
