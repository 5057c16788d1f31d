"""Ranks of a table's entries over its cells, and the power of its seeds: rows, sentence and diagram."""

from __future__ import annotations

from typing import Any

import pandas as pd

from puoc.analysis.statistics.seed_power import EFFECTS, WANTED_POWER
from puoc.analysis.tables.frames import present, records
from puoc.reporting.page.figures import FONT
from puoc.reporting.page.format import number, p_value
from puoc.store.counting import counted

_LEVEL = 0.05
_INK, _BAR = "#1f2933", "#D55E00"


def rank_view(ranks: pd.DataFrame) -> dict[str, Any] | None:
    """Return rows by average rank, a sentence and the critical-difference diagram; None if nothing was ranked."""
    ranked = ranks[ranks["average_rank"].notna()].sort_values(["average_rank", "entry"], kind="stable")
    if ranked.empty:
        return None
    rows = records(ranked)
    first = rows[0]
    sentence = f"Friedman's test with {counted(first['n_seeds'], 'seed')} as blocks, the ranks of each averaged over "
    sentence += f"{counted(first['n_cells'], 'cell')}: p {p_value(first['p'])} (by permutations within seeds). "
    sentence += (
        f"Average ranks further apart than {number(first['critical_difference'])} differ "
        "(by the same permutations, level .05 over all pairs if entries were alike in everything)."
        if first["p"] < _LEVEL
        else "So no ranks are told apart."
    )
    if first["note"]:
        sentence += f" {first['note'][:1].upper()}{first['note'][1:]}."
    return {"rows": rows, "sentence": sentence, "figure": _diagram(rows)}


def power_views(evidence: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of the power table: the power of the planned seeds, and the seeds needed for a power."""
    views = []
    for row in records(evidence):
        seeds = [row[f"seeds_{effect:g}"] for effect in EFFECTS]
        views.append(
            row
            | {
                "powers": [number(row[f"power_{effect:g}"]) for effect in EFFECTS],
                "seeds": [str(int(n)) if present(n) else "over 200" for n in seeds],
            }
        )
    return views


def power_heads() -> dict[str, Any]:
    """Return the effects and the wanted power, for the column heads of the table."""
    return {"effects": [f"{effect:g}" for effect in EFFECTS], "wanted": f"{WANTED_POWER:g}"}


def _diagram(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Draw entries at their average ranks, best on top; a bar joins entries within the critical difference."""
    names = [row["entry"] for row in rows]
    data: list[dict[str, Any]] = []
    letters = sorted({letter for row in rows for letter in row["groups"]})
    for letter in letters:
        members = [row for row in rows if letter in row["groups"]]
        if len(members) < 2:
            continue
        span = [members[0]["average_rank"], members[-1]["average_rank"]]
        bar = {"x": span, "y": [f"not told apart: {letter}"] * 2, "mode": "lines", "hoverinfo": "skip"}
        data.append({"type": "scatter", "line": {"color": _BAR, "width": 5}} | bar)
    marker = {"size": 9, "color": _INK}
    points = {"x": [row["average_rank"] for row in rows], "y": names, "mode": "markers", "marker": marker}
    data.append({"type": "scatter", "hovertemplate": "%{y}: %{x:.2f}<extra></extra>"} | points)
    order = [*names, *[f"not told apart: {letter}" for letter in letters]]
    axis = {"title": {"text": "average rank, 1 = best"}, "gridcolor": "#eef0f3", "zeroline": False}
    layout = {
        "xaxis": axis | {"range": [0.8, len(rows) + 0.2], "dtick": 1},
        "yaxis": {"categoryorder": "array", "categoryarray": order[::-1], "automargin": True, "gridcolor": "#eef0f3"},
        "showlegend": False,
        "font": {"family": FONT, "size": 13, "color": _INK},
        "margin": {"l": 60, "r": 16, "t": 16, "b": 56},
        "height": 120 + 26 * len(order),
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
    }
    return {"data": data, "layout": layout}
