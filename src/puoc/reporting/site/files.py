"""Write the pages of the site, and remove pages of tables, methods, data and sweeps that it no longer has."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from puoc.analysis.tables.frames import replace_file
from puoc.reporting.page.places import FOLDERS

_STYLES = ("style.css", "site.css")
_SCRIPTS = ("unpack.js", "site.js", "leaderboard.js", "figures.js", "passports.js")
_VENDORED = ("sortable.min.js", "sortable.LICENSE.txt", "plotly.LICENSE.txt")


def write_pages(folder: Path, pages: Mapping[str, str]) -> None:
    """Write pages, by their path below the folder. A file with the same content is left as it is."""
    for name, text in pages.items():
        _write(folder / name, text.encode())
    for part in FOLDERS:
        for path in sorted((folder / part).glob("*.html")):
            if f"{part}/{path.name}" not in pages:
                path.unlink()


def write_assets(folder: Path, search: str) -> None:
    """Write the style, the scripts and the vendored libraries, with their licences."""
    templates = files("puoc.reporting.page") / "templates"
    vendored = files("puoc.reporting.page") / "assets"
    style = "\n".join((templates / name).read_text(encoding="utf-8") for name in _STYLES)
    _write(folder / "assets" / "site.css", style.encode())
    for name in _SCRIPTS:
        _write(folder / "assets" / name, (templates / name).read_bytes())
    for name in _VENDORED:
        _write(folder / "assets" / name, (vendored / name).read_bytes())
    _write(folder / "assets" / "search.js", search.encode())
    if not (folder / "assets" / "mlflow.js").exists():  # the tracking writes it when the store has the runs
        _write(folder / "assets" / "mlflow.js", b"window.PUOC_MLFLOW={};\n")
    _write(folder / "plotly.min.js", (vendored / "plotly.min.js").read_bytes())  # only pages with a figure load it


def _write(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)
