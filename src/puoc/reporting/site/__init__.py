"""The report: a static site of the compared results, which needs no network. One module prepares each kind of page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def build(root: Path | str, planned_trials: Mapping[str, frozenset[str]] | None = None) -> Path:
    """Write the pages to ``reports``; return ``reports/index.html``. See ``puoc.reporting.site.builder.build_site``."""
    from puoc.reporting.site.builder import build_site

    return build_site(Path(root), planned_trials)


__all__ = ["build"]
