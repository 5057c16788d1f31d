"""Figures of two-dimensional data, as the paper's figures synth1 and synth2: test rows and the boundary of a model.

There is one panel per entry and cell, for the first seed with status ok. The boundary is the line where the score of
the model is 0; the AUC does not depend on it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from puoc.analysis.tables.results import scored
from puoc.datasets import DATASETS
from puoc.datasets.prepare.arrays import Prepared
from puoc.datasets.user.dataset import own_data
from puoc.methods.persistence import model_file as modelfile
from puoc.records import TestSet
from puoc.reporting.page.figures import FONT
from puoc.scenarios import test_rows
from puoc.store.ledger import Ledger
from puoc.store.plans import TablePlan

#: Trace or layout of plotly.
Trace = dict[str, object]

_SIDE = 40  # grid points along an axis
_MAX_ROWS = 200  # shown rows of each class
_GAP = 0.04  # between panels, as a share of the width
_COLOURS = {"positive": "#0072B2", "negative": "#D55E00"}
_POINTS: Trace = {"type": "scatter", "mode": "markers"}


class ShownTrial(NamedTuple):
    """The trial of a panel."""

    entry: str
    cell: str
    seed: int
    auc: float
    pos: str  # JSON text, as the next one
    neg_test: str
    fit_id: str


def plane_figure(root: Path, plan: TablePlan, rows: pd.DataFrame) -> dict[str, object] | None:
    """Return ``figure`` and ``caption``; None if rows are not points of a plane or no trial has status ok."""
    data = DATASETS.get(plan.dataset)
    folder = root / "work" / "prepared" / plan.dataset
    # user data of two columns may be anywhere in the plane, but the panels show the unit square
    if data is None or own_data(plan.dataset) or tuple(data.shape) != (2,) or not folder.exists():
        return None
    chosen = [trial for entry in plan.entries for cell in plan.cell_names for trial in _first(rows, entry.entry, cell)]
    if not chosen:
        return None
    prepared, ledger = Prepared.open(folder), Ledger(root / "ledger")
    panels = [_panel(index, trial, prepared, ledger) for index, trial in enumerate(chosen)]
    titles = [f"{trial.entry}, {trial.cell}<br>AUC {trial.auc:.2f}" for trial in chosen]
    figure = {"data": [trace for panel in panels for trace in panel], "layout": _layout(titles)}
    seeds = sorted({trial.seed for trial in chosen})
    caption = (
        f"Test rows of seed {', '.join(map(str, seeds))}, {_MAX_ROWS} of a class at most, and the line where the score "
        "of each model is 0. AUC of that seed, over all its test rows."
    )
    return {"figure": figure, "caption": caption}


def _first(rows: pd.DataFrame, entry: str, cell: str) -> list[ShownTrial]:
    """Return the trial of the first seed with a score; empty if there is none."""
    ok_rows = scored(rows, entry)
    first = ok_rows[ok_rows["cell"] == cell].sort_values("seed").head(1)
    values = zip(*(first[name] for name in ("seed", "auc", "pos", "neg_test", "fit_id")), strict=True)
    return [ShownTrial(entry, cell, int(seed), float(auc), *texts) for seed, auc, *texts in values]


def _panel(index: int, trial: ShownTrial, prepared: Prepared, ledger: Ledger) -> list[Trace]:
    axes = {"xaxis": f"x{_suffix(index)}", "yaxis": f"y{_suffix(index)}"}
    test = TestSet(pos=tuple(json.loads(trial.pos)), neg=tuple(json.loads(trial.neg_test)))
    numbers, y = test_rows(prepared, test, trial.seed)
    path = _model_path(trial, ledger)
    traces = [_line(path) | axes] if path else []
    for name, side in (("negative", False), ("positive", True)):
        X = prepared.take(numbers[y == side][:_MAX_ROWS])
        marker = {"color": _COLOURS[name], "size": 4, "opacity": 0.6}
        points = {"x": _rounded(X[:, 0]), "y": _rounded(X[:, 1]), "name": name, "marker": marker}
        traces.append(_POINTS | points | axes | {"showlegend": index == 0, "legendgroup": name})
    return traces


def _model_path(trial: ShownTrial, ledger: Ledger) -> Path | None:
    entry = ledger.get(trial.fit_id)
    return ledger.model_path(entry.result) if entry else None


def _line(path: Path) -> Trace:
    """Return the contour where the score of a model is 0, over the unit square."""
    model = modelfile.load(path)
    side = np.linspace(0, 1, _SIDE)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2).astype(np.float32)
    scores = model.estimator.decision_function(model.encoder.encode(grid)).reshape(_SIDE, _SIDE)
    scores = scores / max(float(np.abs(scores).max()), 1e-12)  # some models score in tiny numbers
    contours = {"type": "constraint", "operation": "=", "value": 0}
    return {
        "type": "contour",
        "x": _rounded(side),
        "y": _rounded(side),
        "z": [_rounded(line) for line in scores],
        "contours": contours,
        "line": {"color": "#1f2933", "width": 2, "dash": "dash"},
        "name": "score 0",
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(float(value), 4) for value in values]


def _suffix(index: int) -> str:
    """Return the suffix of an axis name in plotly; the first axis has none."""
    return "" if index == 0 else str(index + 1)


def _layout(titles: list[str]) -> Trace:
    n = len(titles)
    width = (1 - _GAP * (n - 1)) / n
    annotations: list[Trace] = []
    layout: Trace = {
        "font": {"family": FONT, "size": 12, "color": "#1f2933"},
        "legend": {"orientation": "h", "yanchor": "top", "y": -0.08, "x": 0},
        "margin": {"l": 40, "r": 16, "t": 56, "b": 56},
        "height": 360,
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "annotations": annotations,
    }
    for index, title in enumerate(titles):
        left = index * (width + _GAP)
        frame = {"range": [0, 1], "showgrid": False, "zeroline": False, "mirror": True, "showline": True}
        frame |= {"linecolor": "#9ca3af", "tickvals": [0, 0.5, 1]}
        domain = [round(left, 4), round(left + width, 4)]
        layout[f"xaxis{_suffix(index)}"] = frame | {"domain": domain, "anchor": f"y{_suffix(index)}"}
        layout[f"yaxis{_suffix(index)}"] = frame | {"anchor": f"x{_suffix(index)}", "showticklabels": index == 0}
        place = {"x": round(left + width / 2, 4), "y": 1.02, "xref": "paper", "yref": "paper"}
        anchors = {"xanchor": "center", "yanchor": "bottom", "showarrow": False}
        annotations.append(place | anchors | {"text": title})
    return layout
