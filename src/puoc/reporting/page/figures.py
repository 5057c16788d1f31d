"""One plotly figure per table: points with error bars, or lines over a varied quantity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from pydantic import JsonValue

from puoc.analysis.tables.frames import number
from puoc.analysis.tables.results import scored
from puoc.analysis.tables.summary import SummaryRow
from puoc.records import JsonObject
from puoc.store.plans import EntryPlan, TablePlan

# distinguishable with the common colour blindnesses (after Okabe and Ito, 2008)
_COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#B8860B",
    "#56B4E9",
    "#6A51A3",
    "#7A4B2A",
    "#3B7A57",
    "#C44E52",
)
_ORACLE = "#6b7280"
# the first is the default; the others distinguish entries of one colour and kind
_SHAPES = ("circle", "square", "triangle-up", "triangle-down", "pentagon", "hexagon")
_SYMBOLS = {
    "oc": tuple(f"{shape}-open" for shape in _SHAPES),
    "pu_oc": _SHAPES,
    "pu": ("diamond", "diamond-tall", "diamond-wide", "diamond-x", "diamond-cross"),
    "oracle": ("x", "cross", "star", "hourglass", "bowtie"),
}
_SPREAD = 0.7  # width of the band over which the entries of a cell are spread
_SWEEPS = {
    "alpha_sweep": ("alpha", "share of positives in U, alpha", "linear"),
    "size_sweep": ("n_unl", "unlabelled rows, |U|", "log"),
}
#: Font of the page.
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"


class Figure(NamedTuple):
    """A figure and its caption."""

    figure: JsonObject  # data and layout for plotly
    caption: str


def table_figure(
    plan: TablePlan, rows: pd.DataFrame, summary: Sequence[SummaryRow], metric: str = "AUC"
) -> Figure | None:
    """Return the figure of a table; None if nothing was scored. ``metric`` names what the values are of."""
    if not any(row.n for row in summary):
        return None
    if plan.scenario in _SWEEPS:
        return _sweep(plan, rows, metric)
    return _cells(plan, summary, metric)


def _cells(plan: TablePlan, summary: Sequence[SummaryRow], metric: str) -> Figure:
    data: list[JsonValue] = []
    styles = _styles(plan)
    for position, entry in enumerate(plan.entries):
        of_entry = [row for row in summary if row.entry == entry.entry and row.n and not row.is_average]
        offset = _SPREAD * ((position + 0.5) / len(plan.entries) - 0.5)
        points: JsonObject = {
            "x": [round(row.cell_index + offset, 4) for row in of_entry],
            "y": [row.mean for row in of_entry],
            "text": [row.cell for row in of_entry],
            "mode": "markers",
            "error_y": _bars([row.std for row in of_entry]),
        }
        data.append(styles[entry.entry] | points)
    axis: JsonObject = {
        "tickvals": list(range(len(plan.cells))),
        "ticktext": list(plan.cell_names),
        "range": [-0.6, len(plan.cells) - 0.4],
        "showgrid": False,
        "zeroline": False,
    }
    caption = f"Mean {metric} on held-out test rows by cell; bars span one standard deviation over seeds."
    return Figure({"data": data, "layout": _layout(axis, len(plan.entries), metric)}, caption + _key(plan))


def _sweep(plan: TablePlan, rows: pd.DataFrame, metric: str) -> Figure:
    axis_of, words, scale = _SWEEPS[plan.scenario]
    at_cell = _positions(rows, axis_of)
    data: list[JsonValue] = []
    styles = _styles(plan)
    # all entries at once, because a selection of rows for each costs more than the means
    ok = scored(rows[["entry", "cell", "seed", "status", "auc"]])
    ok = ok.assign(x=ok["cell"].map(at_cell)).dropna(subset=["x"])
    by_seed = ok.groupby(["entry", "x", "seed"])["auc"].mean().groupby(["entry", "x"]).agg(["mean", "std"])
    found: dict[str, list[tuple[float, float, float | None]]] = {}
    for (name, x), mean, std in zip(by_seed.index, by_seed["mean"], by_seed["std"], strict=True):
        found.setdefault(str(name), []).append((float(x), float(mean), number(std)))
    for entry in plan.entries:
        of_entry = found.get(entry.entry, [])
        points: JsonObject = {
            "x": [x for x, _, _ in of_entry],
            "y": [mean for _, mean, _ in of_entry],
            "mode": "lines+markers",
            "error_y": _bars([std for _, _, std in of_entry]),
        }
        data.append(styles[entry.entry] | points)
    axis: JsonObject = {
        "title": {"text": words},
        "type": scale,
        "zeroline": False,
        "gridcolor": "#eef0f3",
        "tickvals": [*sorted(set(at_cell.values()))],
    }
    caption = f"Mean {metric} on held-out test rows over the {words}; bars span one standard deviation over seeds."
    return Figure({"data": data, "layout": _layout(axis, len(plan.entries), metric)}, caption + _key(plan))


def _positions(rows: pd.DataFrame, name: str) -> dict[str, float]:
    """Return the position of each cell on the axis, from the rows that have U (rows of OC methods do not)."""
    values = rows["alpha"] if name == "alpha" else rows["n_pos_unl"] + rows["n_neg_unl"]
    means = values.groupby(rows["cell"]).mean().dropna()
    return {str(cell): round(float(value), 6) for cell, value in means.items()}


def _key(plan: TablePlan) -> str:
    return (
        " Twin pairs share a colour: open = OC, filled = PU-OC; diamonds are PU methods." if plan.twin_pairs() else ""
    )


def _styles(plan: TablePlan) -> dict[str, JsonObject]:
    """Return the style of each entry. Twins share a colour and differ in fill; no two share colour and symbol."""
    families = list(dict.fromkeys(_family(entry) for entry in plan.entries if not entry.oracle))
    taken: set[tuple[str, str]] = set()
    styles = {}
    for entry in plan.entries:
        colour = _ORACLE if entry.oracle else _COLOURS[families.index(_family(entry)) % len(_COLOURS)]
        symbols = _SYMBOLS.get("oracle" if entry.oracle else entry.kind, _SHAPES)
        symbol = next((free for free in symbols if (colour, free) not in taken), symbols[-1])
        taken.add((colour, symbol))
        styles[entry.entry] = _style(entry, colour, symbol)
    return styles


def _style(entry: EntryPlan, colour: str, symbol: str) -> JsonObject:
    dash = "dot" if entry.oracle else "dash" if entry.kind == "oc" else "solid"
    return {
        "type": "scatter",
        "name": f"{entry.entry} (reference)" if entry.oracle else entry.label,
        "marker": {"color": colour, "symbol": symbol, "size": 8, "line": {"width": 1.6, "color": colour}},
        "line": {"color": colour, "width": 1.8, "dash": dash},
    }


def _family(entry: EntryPlan) -> tuple[str, str]:
    """Return the key of a colour: an OC method and the methods that extend it share one; a PU entry has its own."""
    if entry.kind == "pu":
        return "pu", entry.entry
    return "oc", (entry.twin if entry.kind == "pu_oc" else None) or entry.method


def _bars(deviations: Sequence[float | None]) -> JsonObject:
    return {"type": "data", "array": [value or 0.0 for value in deviations], "thickness": 1.1, "width": 2.5}


def _layout(x_axis: JsonObject, n_entries: int, metric: str) -> JsonObject:
    frame: JsonObject = {
        "showline": True,
        "linecolor": "#9ca3af",
        "ticks": "outside",
        "tickcolor": "#9ca3af",
        "automargin": True,
    }
    y_axis: JsonObject = {"title": {"text": f"{metric}, held-out rows"}, "gridcolor": "#eef0f3", "zeroline": False}
    chance: JsonObject = {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": 0.5,
        "y1": 0.5,
        "line": {"color": "#9ca3af", "width": 1, "dash": "dot"},
    }
    return {
        "xaxis": x_axis | frame,
        "yaxis": y_axis | frame,
        "shapes": [chance] if metric == "AUC" else [],
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "font": {"size": 12}},
        "font": {"family": FONT, "size": 13, "color": "#1f2933"},
        "margin": {"l": 60, "r": 16, "t": 40 + 20 * (n_entries // 5), "b": 56},
        "height": 380 + 20 * (n_entries // 5),
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "hovermode": "closest",
    }
