"""The pages of a results site, for tests that ask what is shown and not on which page."""

from __future__ import annotations

import json
from pathlib import Path


def page_text(root: Path, name: str = "index.html") -> str:
    """Return the text of a page below ``reports``."""
    return (root / "reports" / name).read_text(encoding="utf-8")


def table_text(root: Path, table: str) -> str:
    """Return the page of a table and the passports of its numbers."""
    return page_text(root, f"tables/{table}.html") + page_text(root, f"passports/{table}.html")


def site_text(root: Path) -> str:
    """Return all pages, each table's after those of the tables that were planned before it."""
    reports = root / "reports"
    order = [json.loads(path.read_text())["table"] for path in sorted((root / "work/plan/tables").glob("*.json"))]
    first = [reports / "index.html", *(reports / f"tables/{name}.html" for name in order)]
    rest = [path for path in sorted(reports.rglob("*.html")) if path not in first]
    return "\n".join(path.read_text(encoding="utf-8") for path in (*first, *rest))
