"""A method whose package is not installed is refused before the rows are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_files import puoc, refused

from puoc.registry import METHODS


@pytest.mark.parametrize("method", ["pyod", "oc_svm"])
def test_a_missing_package_is_named_before_any_row_is_read(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(METHODS[method], "package", "no_such_package", raising=False)
    rows = tmp_path / "rows.csv"
    rows.write_text("not;a,table\n1\n")
    said = puoc("fit", "--method", method, "--positives", rows, "--out", tmp_path / "m")
    refused(said, f"--method: {method} needs the package no_such_package, which is not installed")
    assert "rows.csv" not in said[1]
    assert said[1].count("method") <= 3
    assert not (tmp_path / "m").exists()
