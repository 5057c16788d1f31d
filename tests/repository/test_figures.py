"""The figures of the documentation are what their code draws, in colours that can be told apart."""

from __future__ import annotations

import re
import subprocess
import sys

from project import REPOSITORY

DOCS = REPOSITORY / "docs"


def test_figures_are_what_the_code_and_the_committed_rows_give() -> None:
    done = subprocess.run([sys.executable, DOCS / "figures.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_figure_has_a_title_and_no_colour_but_those_of_both_schemes() -> None:
    figures = sorted((DOCS / "assets" / "figures").glob("*.svg"))
    assert len(figures) > 5
    for path in figures:
        text = path.read_text()
        style, drawn = text.split("</style>")
        assert re.search(r'aria-label="[A-Z][^"]{20,}"', text)
        assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', drawn)) <= {f"var(--{one})" for one in _COLOURS} | {"none"}
        assert all(style.count(f"--{one}:") == 2 for one in _COLOURS)


_COLOURS = ("ink", "soft", "grid", "a", "b", "c")


def test_the_site_has_the_colours_of_the_figures() -> None:
    from_css = re.findall(r"--(\w+): (#\w+);", (DOCS / "assets" / "site.css").read_text())
    [figure, *_] = (DOCS / "assets" / "figures").glob("*.svg")
    in_file = re.findall(r"--(\w+):(#\w+)", figure.read_text())
    series = {"a", "b", "c", "ink"}
    assert {one for one in from_css if one[0] in series} == {one for one in in_file if one[0] in series}
