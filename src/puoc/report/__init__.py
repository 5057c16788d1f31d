"""From compared results to one static page that needs no network."""

from __future__ import annotations

from pathlib import Path


def build(root: Path | str) -> Path:
    """Write ``reports/index.html`` (and ``plotly.min.js`` beside it); see ``puoc.report.site.build_site``."""
    from puoc.report.site import build_site

    return build_site(Path(root))


__all__ = ["build"]
