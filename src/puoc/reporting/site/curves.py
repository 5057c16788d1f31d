"""Curves over the cells of a table as SVG, drawn by code: they follow the colours of the page and need no script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

_WIDTH, _HEIGHT = 640.0, 260.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 12.0, 12.0, 64.0
_LEVEL_BOTTOM = 26.0  # below names that need not be turned
LEVEL_UP_TO = 5  # cells whose names have room side by side
_MOST_TICKS = 6


@dataclass(frozen=True)
class Series:
    """Values of one entry over the cells; None where there is none."""

    name: str
    look: str  # CSS class of the family, which has a colour and a shape
    values: Sequence[float | None]
    deviations: Sequence[float | None]
    faint: bool = False  # a value to compare with


@dataclass(frozen=True)
class Mark:
    """A point of a series."""

    x: float
    y: float
    low: float
    high: float
    title: str


@dataclass(frozen=True)
class Line:
    """A drawn series."""

    name: str
    look: str
    faint: bool
    path: str
    marks: list[Mark]


@dataclass(frozen=True, kw_only=True)
class Axes:
    """The frame of a drawing, in the units of its view box."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]


@dataclass(frozen=True, kw_only=True)
class Curve(Axes):
    """Axes and lines."""

    lines: list[Line]
    title: str


def curve(title: str, cells: Sequence[str], series: Sequence[Series]) -> Curve | None:
    """Return the drawing of series over cells; None without a value or with a single cell.

    Parameters
    ----------
    series : of equal length as cells; values have the unit of the metric.
    """
    ends = [
        (value - (deviation or 0.0), value + (deviation or 0.0))
        for one in series
        for value, deviation in zip(one.values, one.deviations, strict=True)
        if value is not None
    ]
    if not ends or len(cells) < 2:
        return None
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    pad = max((high - low) * 0.06, 0.01)
    # the metrics lie between 0 and 1; a deviation may reach beyond
    low, high = max(low - pad, min(low, 0.0)), min(high + pad, max(high, 1.0))
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    height = bottom + (_LEVEL_BOTTOM if len(cells) <= LEVEL_UP_TO else _BOTTOM)
    step = (right - _LEFT) / len(cells)

    def x(index: int) -> float:
        return round(_LEFT + step * (index + 0.5), 1)

    def y(value: float) -> float:
        return round(bottom - (value - low) / (high - low) * (bottom - _TOP), 1)

    lines = []
    for one in series:
        marks, path, pen = [], "", False
        for index, (value, deviation) in enumerate(zip(one.values, one.deviations, strict=True)):
            if value is None:
                pen = False
                continue
            path += f"{'L' if pen else 'M'}{x(index)} {y(value)}"
            pen = True
            spread = deviation or 0.0
            said = f"{one.name}, {cells[index]}: {value:.3f}" + (f" ± {spread:.3f}" if deviation is not None else "")
            marks.append(Mark(x(index), y(value), y(value - spread), y(value + spread), said))
        lines.append(Line(one.name, one.look, one.faint, path, marks))
    digits, ticks = round_ticks(low, high)
    return Curve(
        width=_WIDTH,
        height=height,
        left=_LEFT,
        right=right,
        top=_TOP,
        bottom=bottom,
        x_ticks=[(x(index), name) for index, name in enumerate(cells)],
        y_ticks=[(y(value), f"{value:.{digits}f}") for value in ticks],
        lines=lines,
        title=title,
    )


def round_ticks(low: float, high: float) -> tuple[int, list[float]]:
    """Return the digits after the point and the multiples of the smallest of 1, 2 and 5 in 10^n that give few ticks."""
    for digits in range(3, -9, -1):
        for part in (1, 2, 5):
            step = part / 10.0**digits
            first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
            if last - first < _MOST_TICKS:
                return max(digits, 0 if step >= 1 else 1), [at * step for at in range(first, last + 1)]
    return 1, [low, high]
