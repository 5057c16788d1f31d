"""A small writer of SVG for the figures of the documentation: text that two machines write alike.

Colours are those of Okabe and Ito, which colour-blind people tell apart, and each series has a mark or a dash of its
own. A file has its own colours for light and dark; where a page holds the figure itself, the page's style sets them
(``docs/assets/site.css``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from numpy.typing import NDArray

Points = Iterable[Sequence[float]]
STYLE = """<style>
svg.pf{--ink:#1f2328;--soft:#6b7280;--grid:#d9dce1;--a:#0072b2;--b:#c74f00;--c:#007a5a}
@media (prefers-color-scheme:dark){
svg.pf{--ink:#e6e7ea;--soft:#a4abb6;--grid:#43474f;--a:#56b4e9;--b:#e69f00;--c:#2fc79a}
}
</style>
"""
#: Marks of the series a, b and c.
_MARKS = {"a": "circle", "b": "cross", "c": "square"}
_DASHES = {"a": "", "b": ' stroke-dasharray="6 4"', "c": ' stroke-dasharray="2 3"'}


@dataclass
class Panel:
    """One pair of axes at a place of a figure, in pixels, with the values at its edges."""

    left: float
    top: float
    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]
    parts: list[str] = field(default_factory=list)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """What the panel takes with its words: left, top, width, height."""
        return self.left - 34, self.top - 26, self.width + 44, self.height + 70

    def below(self, *lines: str, first: float = 18) -> None:
        """Write lines below the panel, the first one so many pixels below its edge."""
        for number, one in enumerate(lines):
            down = self.top + self.height + first + 17 * number
            self.parts.append(text(self.left + self.width / 2, down, one, tone="soft", size=13))

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixels of a point."""
        across = self.left + (x - self.x[0]) / (self.x[1] - self.x[0]) * self.width
        return across, self.top + (self.y[1] - y) / (self.y[1] - self.y[0]) * self.height

    def frame(self, title: str = "") -> None:
        """Draw the edge, and a title above it."""
        self.parts.append(
            f'<rect x="{self.left:g}" y="{self.top:g}" width="{self.width:g}" height="{self.height:g}" fill="none" '
            'stroke="var(--grid)"/>'
        )
        if title:
            self.parts.append(text(self.left + self.width / 2, self.top - 9, title, weight="600", size=14))

    def ticks(self, x: Sequence[float] = (), y: Sequence[float] = (), words: Sequence[str] = ()) -> None:
        """Draw numbers below and left of the panel, with lines; ``words`` replace those of x."""
        for one in y:
            _, there = self.at(self.x[0], one)
            self.parts.append(line(self.left, there, self.left + self.width, there))
            self.parts.append(text(self.left - 5, there + 4, f"{one:g}", anchor="end", tone="soft"))
        for number, one in enumerate(x):
            across, _ = self.at(one, self.y[0])
            shown = words[number] if words else f"{one:g}"
            self.parts.append(text(across, self.top + self.height + 16, shown, tone="soft"))

    def dots(self, points: Points, series: str, size: float = 3.0, hollow: bool = False) -> None:
        """Draw a mark at each point."""
        for x, y in points:
            across, down = self.at(x, y)
            if self.left <= across <= self.left + self.width and self.top <= down <= self.top + self.height:
                self.parts.append(_mark(across, down, series, size, hollow))

    def line(self, points: Points, series: str, width: float = 2.0, dashed: bool = True) -> None:
        """Draw a line through points."""
        path = " ".join(f"{across:.1f},{down:.1f}" for across, down in (self.at(x, y) for x, y in points))
        dash = _DASHES[series] if dashed and series in _DASHES else ""
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="var(--{series})" stroke-width="{width:g}"{dash}/>'
        )

    def area(self, points: Points, series: str, opacity: float = 0.3) -> None:
        """Fill a polygon."""
        path = " ".join(f"{across:.1f},{down:.1f}" for across, down in (self.at(x, y) for x, y in points))
        self.parts.append(f'<polygon points="{path}" fill="var(--{series})" fill-opacity="{opacity:g}"/>')

    def spread(self, x: float, low: float, high: float, series: str) -> None:
        """Draw an interval."""
        (across, bottom), (_, top) = self.at(x, low), self.at(x, high)
        self.parts.append(line(across, bottom, across, top, tone=series, width=1.5))

    def region(self, scores: NDArray[np.float64], level: float, series: str) -> None:
        """Fill the cells of a grid (rows from the lowest y) whose score is at least a level, and draw their edge."""
        inside = scores >= level
        rows, columns = inside.shape
        wide, high = self.width / columns, self.height / rows
        fill, edge = [], []
        for row in range(rows):
            top = self.top + self.height - (row + 1) * high
            for start, stop in _runs(inside[row]):
                fill.append(f"M{self.left + start * wide:.1f} {top:.1f}h{(stop - start) * wide:.1f}v{high:.1f}H")
                fill[-1] += f"{self.left + start * wide:.1f}z"
        for row, column in np.argwhere(inside[:, 1:] != inside[:, :-1]):
            top = self.top + self.height - (row + 1) * high
            edge.append(f"M{self.left + (column + 1) * wide:.1f} {top:.1f}v{high:.1f}")
        for row, column in np.argwhere(inside[1:] != inside[:-1]):
            top = self.top + self.height - (row + 1) * high
            edge.append(f"M{self.left + column * wide:.1f} {top:.1f}h{wide:.1f}")
        self.parts.append(f'<path d="{"".join(fill)}" fill="var(--{series})" fill-opacity=".16"/>')
        self.parts.append(f'<path d="{"".join(edge)}" fill="none" stroke="var(--{series})" stroke-width="1.5"/>')


def _runs(row: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the first index and the index after the last of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(int), [0]])))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]


def text(
    x: float, y: float, shown: str, anchor: str = "middle", tone: str = "ink", size: int = 12, weight: str = ""
) -> str:
    """Return one line of text."""
    bold = f' font-weight="{weight}"' if weight else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="var(--{tone})" font-size="{size}"{bold}>'
        f"{escape(shown)}</text>"
    )


def line(x: float, y: float, to_x: float, to_y: float, tone: str = "grid", width: float = 1.0) -> str:
    """Return a straight line."""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="var(--{tone})" '
        f'stroke-width="{width:g}"/>'
    )


def legend(*entries: tuple[str, str] | tuple[str, str, bool]) -> list[tuple[float, str]]:
    """Return marks with their meaning, and the width of each: series, words, and whether the mark is hollow."""
    drawn = []
    for series, words, *hollow in entries:
        shown = _mark(8, 12, series, 4, bool(hollow)) + text(18, 16, words, anchor="start", size=13)
        drawn.append((34 + 7.1 * len(words), shown))
    return drawn


def _mark(x: float, y: float, series: str, size: float, hollow: bool) -> str:
    shape = _MARKS.get(series, "circle")
    if shape == "cross":
        return (
            f'<path d="M{x - size:.1f} {y - size:.1f}l{2 * size:g} {2 * size:g}m0 {-2 * size:g}l{-2 * size:g} '
            f'{2 * size:g}" stroke="var(--{series})" stroke-width="1.6"/>'
        )
    look = f'fill="none" stroke="var(--{series})"' if hollow else f'fill="var(--{series})"'
    if shape == "square":
        return f'<rect x="{x - size:.1f}" y="{y - size:.1f}" width="{2 * size:g}" height="{2 * size:g}" {look}/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:g}" {look}/>'


def figure(title: str, panels: Iterable[Panel], key: list[tuple[float, str]]) -> str:
    """Return the whole file: panels side by side, and a legend below them.

    Each panel and each mark of the legend is in a group with its place, so that a narrow page can put one below the
    other (``docs/site_hooks.py``). ``title`` says what the figure shows, for people who do not see it.
    """
    panels = list(panels)
    boxes = [panel.box for panel in panels]
    width = max(left + across for left, _, across, _ in boxes)
    height = max(top + down for _, top, _, down in boxes)
    groups = [_group(box, "".join(panel.parts)) for box, panel in zip(boxes, panels, strict=True)]
    left = (width - sum(wide for wide, _ in key)) / 2
    for wide, drawn in key:
        groups.append(_group((left, height, wide, 24), f'<svg x="{left:g}" y="{height:g}">{drawn}</svg>'))
        left += wide
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pf" viewBox="0 0 {width:g} {height + 24:g}" role="img" '
        f'aria-label="{escape(title)}" font-family="system-ui, sans-serif">\n{STYLE}' + "\n".join(groups) + "\n</svg>\n"
    )


def _group(box: tuple[float, float, float, float], inner: str) -> str:
    return f'<g data-box="{" ".join(f"{one:g}" for one in box)}">{inner}</g>'
