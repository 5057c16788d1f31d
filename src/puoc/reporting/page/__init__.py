"""The report: one static page of the compared results, which needs no network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def build(root: Path | str, planned_trials: Mapping[str, frozenset[str]] | None = None) -> Path:
    """Write ``reports/index.html`` (and ``plotly.min.js`` beside it); see ``puoc.reporting.page.site.build_site``."""
    from puoc.reporting.page.site import build_site

    return build_site(Path(root), planned_trials)


__all__ = ["build"]
