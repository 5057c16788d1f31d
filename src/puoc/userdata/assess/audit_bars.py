"""Histograms of the page of an audit, as SVG paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from puoc.datasets.audit.result import Histogram

_WIDTH, _HALF = 120, 20  # of a histogram, and of its part above the axis
_LONGEST: Final = 24  # characters of a category in a description


class Bars(NamedTuple):
    """Histogram of a column: SVG paths of P above the axis and of U below it."""

    first: str
    second: str
    text: str  # alternative
    range: str  # of the values; of categories nothing


def bars_of(histogram: Histogram) -> Bars:
    """Return the bars of a histogram, scaled to the highest one."""
    n = len(histogram.first)
    top = max(*histogram.first, *histogram.second, 1e-9)
    step = _WIDTH / n
    gap = 1 if n <= 1 or step > 4 else 0
    paths = []
    for shares, sign in ((histogram.first, "-"), (histogram.second, "")):
        parts = []
        for i, share in enumerate(shares):
            height = max(round(_HALF * share / top), 1) if share > 0 else 0
            if height:
                left, right = round(i * step), round((i + 1) * step) - gap
                back = "" if sign else "-"
                parts.append(f"M{left} {_HALF + 1 + (0 if sign else 1)}v{sign}{height}h{right - left}v{back}{height}z")
        paths.append("".join(parts))
    edges = histogram.edges
    described = []
    for group, shares in (("P", histogram.first), ("U", histogram.second)):
        i = max(range(n), key=shares.__getitem__)
        label = short(histogram.labels[i]) if histogram.labels else _interval(edges, i)
        described.append(f"{group}: {100 * shares[i]:.0f} % {label}")
    text = f"Shares, most in {'; '.join(described)}"
    return Bars(paths[0], paths[1], text, f"{edges[0]:.4g} to {edges[-1]:.4g}" if edges else "")


def _interval(edges: Sequence[float], i: int) -> str:
    return f"at {edges[0]:.3g}" if edges[0] == edges[-1] else f"in {edges[i]:.3g} to {edges[i + 1]:.3g}"


def short(text: str) -> str:
    """Return the beginning of a text that is too long for a description."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
