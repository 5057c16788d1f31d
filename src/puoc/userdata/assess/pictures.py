"""Pictures of the page of an assessment: where their bars and marks are, in the units of an SVG that is 360 wide."""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from puoc.analysis.reliability.robustness_map import ShiftKind, packaged
from puoc.records import Array
from puoc.userdata.assess.alpha_bounds import AlphaBounds, percent
from puoc.userdata.assess.decision import Assessment, Worth
from puoc.userdata.assess.reasons import signed
from puoc.userdata.assess.reference_methods import FAMILIES, MOST_VALUES, question
from puoc.userdata.assess.score_counts import ScoreCounts

WIDTH: Final = 360
LEFT, RIGHT = 8, 352  # ends of an axis
_PANEL, _HEAD = 58, 22  # heights of a histogram and of the line above it
_ROW: Final = 40  # of an interval, with the line above it
_MAP: Final = (48, 340, 12, 190)  # left, right, top and bottom
_ROWS: Final = (12, 10_000)  # ends of the axis of |U|; the fewest rows that can be assessed are 20, the most used 5,000
CLOSE: Final = 0.01  # AUC; a family that is ahead by less is drawn pale


class Bar(NamedTuple):
    """A bar of a histogram."""

    x: float
    y: float
    width: float
    height: float


class Panel(NamedTuple):
    """Histogram of a group."""

    key: str  # p, u or v
    name: str
    n: int
    counts: tuple[int, ...]
    bars: tuple[Bar, ...]
    base: float  # y of the axis


class ScorePicture(NamedTuple):
    """Histograms of P, U and V above each other; heights are shares of the group, on one scale."""

    panels: tuple[Panel, ...]
    outlines: tuple[tuple[str, str], ...]  # class and SVG path: P's histogram times a share of positives in U
    family: str
    method: str
    edges: tuple[float, ...]
    height: float


class Interval(NamedTuple):
    """A bar from x to ``end``, below a line of text."""

    look: str  # class
    name: str
    text: str
    x: float
    end: float
    mark: float | None  # x of the middle
    y: float
    chosen: bool


class IntervalPicture(NamedTuple):
    """Intervals on one axis."""

    rows: tuple[Interval, ...]
    ticks: tuple[tuple[float, str], ...]
    height: float


class Place(NamedTuple):
    """Measured situations of one alpha and |U|, by the family with the highest mean AUC."""

    x: float
    y: float
    alpha: float
    n_u: int
    n: int  # situations
    won: str
    close: bool
    aucs: tuple[float, ...]  # by family, in their order


class MapPicture(NamedTuple):
    """Measured situations, and the place of the user's rows."""

    shift: ShiftKind
    places: tuple[Place, ...]
    x: float  # of the user's rows: the estimated interval of alpha
    end: float
    y: float
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    frame: tuple[int, int, int, int]


class Pictures(NamedTuple):
    """All pictures."""

    scores: ScorePicture | None  # absent: an evidence without scores
    alpha: IntervalPicture
    families: IntervalPicture
    map: MapPicture


def pictures(found: Assessment) -> Pictures:
    """Return the pictures of an assessment."""
    scores, bounds = found.evidence.scores, found.alpha_bounds
    return Pictures(
        scores=None if scores is None else _scores(scores, bounds),
        alpha=_alpha(bounds),
        families=_families(found.worth, found.advice),
        map=_map(found),
    )


def _scores(scores: ScoreCounts, bounds: AlphaBounds) -> ScorePicture:
    groups = [("p", "labelled positives (P), withheld", scores.p), ("u", "unlabelled rows (U), withheld", scores.u)]
    if scores.v is not None:
        groups.append(("v", "incoming rows", scores.v))
    of_p = np.array(scores.p) / sum(scores.p)
    top = max(max(counts) / sum(counts) for _, _, counts in groups)
    step = (RIGHT - LEFT) / len(scores.p)
    panels = []
    for number, (key, name, counts) in enumerate(groups):
        base = (number + 1) * (_HEAD + _PANEL)
        heights = [_PANEL * count / sum(counts) / top for count in counts]
        bars = tuple(Bar(LEFT + i * step, base - h, step - 1, h) for i, h in enumerate(heights))
        panels.append(Panel(key, name, sum(counts), counts, bars, base))
    ends = (("outline-low", bounds.estimated_low), ("outline-high", bounds.estimated_high))
    outlines = tuple(
        (look, _outline(share * of_p * _PANEL / top, panels[1].base, step)) for look, share in reversed(ends)
    )
    method = question(scores.family, MOST_VALUES)[0]
    return ScorePicture(tuple(panels), outlines, scores.family, method, scores.edges, panels[-1].base + 34)


def _outline(heights: Array, base: float, step: float) -> str:
    """Return the path along the tops of bars."""
    ends = (LEFT + np.arange(len(heights) + 1) * step).tolist()
    tops = (f"V{base - h:.1f}H{right:.1f}" for h, (_, right) in zip(heights.tolist(), pairwise(ends), strict=True))
    return f"M{ends[0]:.1f} {base:.1f}{''.join(tops)}V{base:.1f}"


def _alpha(bounds: AlphaBounds) -> IntervalPicture:
    high, low = bounds.guaranteed_high, bounds.assumed_low
    estimated = f"{percent(bounds.estimated_low)} to {percent(bounds.estimated_high)}"
    shown = (
        ("part", "estimated", estimated, bounds.estimated_low, bounds.estimated_high),
        ("thin", "guaranteed", f"at most {percent(high)}" if high < 1 else "none: U may hold no negatives", 0.0, high),
        ("thin", "under an assumption", f"at least {percent(low)}", low, 1.0),
    )
    rows = tuple(
        Interval(look, name, text, _share(first), _share(last), None, _ROW * number + 28, look == "part")
        for number, (look, name, text, first, last) in enumerate(shown)
    )
    ticks = tuple((_share(share), f"{100 * share:.0f} %") for share in (0.0, 0.25, 0.5, 0.75, 1.0))
    return IntervalPicture(rows, ticks, _ROW * len(rows) + 24)


def _share(share: float) -> float:
    return LEFT + share * (RIGHT - LEFT)


def _families(worth: tuple[Worth, ...], advice: str) -> IntervalPicture:
    """Return the expected leads over PU-OC with one standard deviation on each side."""
    ends = [0.0, *(one.lead + sign * one.spread for one in worth for sign in (-1, 1))]
    low, high = min(ends), max(ends)
    wide = max(high - low, 0.01)

    def at(lead: float) -> float:
        return LEFT + 6 + (lead - low) / wide * (RIGHT - LEFT - 12)

    rows = tuple(
        Interval(
            one.family.lower(),
            one.family,
            f"{signed(one.lead)} ± {one.spread:.3f}",
            at(one.lead - one.spread),
            at(one.lead + one.spread),
            at(one.lead),
            _ROW * number + 28,
            one.family == advice,
        )
        for number, one in enumerate(worth)
    )
    ticks = [(at(value), signed(value)) for value in (low, high) if abs(value) > wide / 5]
    return IntervalPicture(rows, tuple(sorted([(at(0.0), "0"), *ticks])), _ROW * len(rows) + 24)


def _map(found: Assessment) -> MapPicture:
    incoming, bounds = found.evidence.incoming, found.alpha_bounds
    shift: ShiftKind = "new" if incoming is not None and incoming.new_negatives else "none"
    left, right, top, bottom = _MAP
    ends = np.log([min(_ROWS[0], found.evidence.n_u), max(_ROWS[1], found.evidence.n_u)])

    def across(alpha: float) -> float:
        return left + alpha * (right - left)

    def up(n_u: int) -> float:
        return float(bottom - (np.log(n_u) - ends[0]) / (ends[1] - ends[0]) * (bottom - top))

    table = packaged()
    places = []
    for row in table[table["shift"] == shift].to_dict("records"):
        aucs = tuple(float(row[f"{family}_auc"]) for family in FAMILIES)
        best = int(np.argmax(aucs))
        ahead = aucs[best] - sorted(aucs)[-2]
        alpha, n_u = float(row["alpha"]), int(row["n_u"])
        places.append(Place(across(alpha), up(n_u), alpha, n_u, int(row["n"]), FAMILIES[best], ahead < CLOSE, aucs))
    return MapPicture(
        shift=shift,
        places=tuple(places),
        x=across(bounds.estimated_low),
        end=across(bounds.estimated_high),
        y=up(found.evidence.n_u),
        x_ticks=tuple((across(share), f"{100 * share:.0f} %") for share in (0.0, 0.25, 0.5, 0.75, 1.0)),
        y_ticks=tuple((up(n_u), f"{n_u:,}") for n_u in sorted(set(table["n_u"].tolist()))),
        frame=_MAP,
    )
