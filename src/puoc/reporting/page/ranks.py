"""Ranks of a table's entries over its cells, and the power of its seeds: rows, sentence and diagram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import JsonValue

from puoc.analysis.statistics.ranks import RankRow
from puoc.analysis.statistics.seed_power import EFFECTS, WANTED_POWER, EvidenceRow
from puoc.records import JsonObject
from puoc.reporting.page.figures import FONT
from puoc.reporting.page.format import number, p_value
from puoc.store.counting import counted

_LEVEL = 0.05
_INK, _BAR = "#1f2933", "#D55E00"


class RankView(NamedTuple):
    """The ranked entries of a table, best first, in words and as critical-difference diagram."""

    rows: list[RankRow]
    sentence: str
    figure: JsonObject


class PowerView(NamedTuple):
    """One row of the power table, with its texts by effect."""

    row: EvidenceRow
    powers: list[str]  # of the planned seeds
    seeds: list[str]  # for the wanted power


class PowerHeads(NamedTuple):
    """The heads of the power table."""

    effects: list[str]
    wanted: str


def rank_view(ranks: Sequence[RankRow]) -> RankView | None:
    """Return rows by average rank, a sentence and the critical-difference diagram; None if nothing was ranked."""
    by_rank = [(row.average_rank, row.entry, row) for row in ranks if row.average_rank is not None]
    rows = [row for _, _, row in sorted(by_rank, key=lambda item: item[:2])]
    if not rows:
        return None
    first = rows[0]
    sentence = f"Friedman's test with {counted(first.n_seeds, 'seed')} as blocks, the ranks of each averaged over "
    sentence += f"{counted(first.n_cells, 'cell')}: p {p_value(first.p)} (by permutations within seeds). "
    sentence += (
        f"Average ranks further apart than {number(first.critical_difference)} differ "
        "(by the same permutations, level .05 over all pairs if entries were alike in everything)."
        if first.p is not None and first.p < _LEVEL
        else "So no ranks differ significantly."
    )
    if first.note:
        sentence += f" {first.note[:1].upper()}{first.note[1:]}."
    return RankView(rows, sentence, _diagram(rows))


def power_views(evidence: Sequence[EvidenceRow]) -> list[PowerView]:
    """Return the rows of the power table: the power of the planned seeds, and the seeds needed for a power."""
    return [
        PowerView(
            row,
            powers=[number(power) for power in row.powers],
            seeds=["over 200" if n is None else str(n) for n in row.seeds],
        )
        for row in evidence
    ]


def power_heads() -> PowerHeads:
    """Return the effects and the wanted power, for the column heads of the table."""
    return PowerHeads([f"{effect:g}" for effect in EFFECTS], f"{WANTED_POWER:g}")


def _diagram(rows: Sequence[RankRow]) -> JsonObject:
    """Draw entries at their average ranks, best on top; a bar joins entries within the critical difference."""
    names = [row.entry for row in rows]
    data: list[JsonValue] = []
    letters = sorted({letter for row in rows for letter in row.groups or ""})
    for letter in letters:
        members = [row for row in rows if letter in (row.groups or "")]
        if len(members) < 2:
            continue
        bar: JsonObject = {
            "type": "scatter",
            "line": {"color": _BAR, "width": 5},
            "x": [members[0].average_rank, members[-1].average_rank],
            "y": [f"not different: {letter}"] * 2,
            "mode": "lines",
            "hoverinfo": "skip",
        }
        data.append(bar)
    points: JsonObject = {
        "type": "scatter",
        "hovertemplate": "%{y}: %{x:.2f}<extra></extra>",
        "x": [row.average_rank for row in rows],
        "y": [*names],
        "mode": "markers",
        "marker": {"size": 9, "color": _INK},
    }
    data.append(points)
    order = [*names, *[f"not different: {letter}" for letter in letters]]
    layout: JsonObject = {
        "xaxis": {
            "title": {"text": "average rank, 1 = best"},
            "gridcolor": "#eef0f3",
            "zeroline": False,
            "range": [0.8, len(rows) + 0.2],
            "dtick": 1,
        },
        "yaxis": {
            "categoryorder": "array",
            "categoryarray": [*order[::-1]],
            "automargin": True,
            "gridcolor": "#eef0f3",
        },
        "showlegend": False,
        "font": {"family": FONT, "size": 13, "color": _INK},
        "margin": {"l": 60, "r": 16, "t": 16, "b": 56},
        "height": 120 + 26 * len(order),
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
    }
    return {"data": data, "layout": layout}
