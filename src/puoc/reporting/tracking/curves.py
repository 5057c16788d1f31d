"""ROC and precision-recall curves, histograms of scores, and the confusion at a threshold: as data and as a picture.

They are derived from the scores of the test rows that the ledger keeps, or from a stored ROC curve.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puoc.analysis.metrics.counts import counts
from puoc.records import Array

Curves = dict[str, Any]  # plain JSON types

_POINTS, _BINS = 51, 20
_SIDE, _GAP = 200, 40  # of a panel of the picture, pixels
_BLUE, _ORANGE, _GREY = "#0072b2", "#e69f00", "#808080"  # of the palette of Okabe and Ito


def curves_of(scores: Array, n_pos: int) -> Curves | None:
    """Compute the curves of the scores of test rows. Return None without rows of both classes.

    Parameters
    ----------
    scores : (n,) finite scores, those of the ``n_pos`` positives first; higher = more likely positive.
    """
    positive, negative = np.asarray(scores[:n_pos], dtype=float), np.asarray(scores[n_pos:], dtype=float)
    if not len(positive) or not len(negative) or not np.isfinite(scores).all():
        return None
    reached = counts(positive, negative)
    tpr, fpr = reached.tp / len(positive), reached.fp / len(negative)
    precision = reached.tp / (reached.tp + reached.fp)
    # as many rows are called positive as there are positives
    threshold = float(np.sort(np.concatenate([positive, negative]))[::-1][len(positive) - 1])
    at = int(np.searchsorted(-reached.thresholds, -threshold))
    tp, fp = int(reached.tp[at]), int(reached.fp[at])
    edges = np.linspace(reached.thresholds[-1], reached.thresholds[0], _BINS + 1)
    if edges[0] == edges[-1]:
        edges = np.linspace(edges[0] - 0.5, edges[0] + 0.5, _BINS + 1)
    return {
        "n_pos": len(positive),
        "n_neg": len(negative),
        "roc": _points(np.append(0.0, fpr), np.append(0.0, tpr), "fpr", "tpr"),
        "precision_recall": _points(tpr, precision, "recall", "precision"),
        "histogram": {
            "edges": _rounded(edges),
            "positives": np.histogram(positive, edges)[0].tolist(),
            "negatives": np.histogram(negative, edges)[0].tolist(),
        },
        "confusion": {
            "threshold": threshold,
            "tp": tp,
            "fp": fp,
            "fn": len(positive) - tp,
            "tn": len(negative) - fp,
        },
    }


def curve_of_roc(tpr: Array) -> Curves:
    """Return the ROC curve alone, from true-positive rates at equally spaced false-positive rates."""
    return {"roc": _points(np.linspace(0, 1, len(tpr)), np.asarray(tpr), "fpr", "tpr")}


def write_curves(folder: Path, curves: Curves, title: str) -> None:
    """Write the curves to ``curves.json``, and a picture of them to ``curves.svg``."""
    (folder / "curves.json").write_text(json.dumps(curves))
    (folder / "curves.svg").write_text(svg(curves, title))


def svg(curves: Curves, title: str) -> str:
    """Draw the curves side by side."""
    panels = [
        _line_panel(curves["roc"], "fpr", "tpr", "ROC", "false-positive rate", "true-positive rate", diagonal=True)
    ]
    if "precision_recall" in curves:
        panels.append(
            _line_panel(curves["precision_recall"], "recall", "precision", "Precision-recall", "recall", "precision")
        )
        panels += [_histogram_panel(curves["histogram"]), _confusion_panel(curves["confusion"])]
    width, height = len(panels) * (_SIDE + _GAP) + _GAP, _SIDE + 3 * _GAP
    placed = "".join(
        f'<g transform="translate({_GAP + i * (_SIDE + _GAP)} {1.5 * _GAP:g})">{panel}</g>'
        for i, panel in enumerate(panels)
    )
    text = title.replace("&", "&amp;").replace("<", "&lt;")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        f'font-size="11"><rect width="100%" height="100%" fill="#fff"/><text x="{_GAP}" y="20" font-size="13">'
        f"{text}</text>{placed}</svg>"
    )


def _points(x: NDArray[np.float64], y: NDArray[np.float64], x_name: str, y_name: str) -> Curves:
    """Return a curve at no more than ``_POINTS`` of its points, with both ends."""
    kept = np.unique(np.linspace(0, len(x) - 1, _POINTS).astype(int)) if len(x) > _POINTS else np.arange(len(x))
    return {x_name: _rounded(x[kept]), y_name: _rounded(y[kept])}


def _rounded(values: NDArray[np.float64]) -> list[float]:  # type: ignore[type-arg,unused-ignore]
    return [float(f"{value:.6g}") for value in values]


def _line_panel(curve: object, x: str, y: str, title: str, x_title: str, y_title: str, diagonal: bool = False) -> str:
    assert isinstance(curve, dict)
    path = " ".join(f"{a * _SIDE:.1f},{(1 - b) * _SIDE:.1f}" for a, b in zip(curve[x], curve[y], strict=True))
    line = f'<line x1="0" y1="{_SIDE}" x2="{_SIDE}" y2="0" stroke="{_GREY}" stroke-dasharray="4"/>' if diagonal else ""
    drawn = f'<polyline points="{path}" fill="none" stroke="{_BLUE}" stroke-width="2"/>'
    return f"{_frame(title, x_title, y_title)}{line}{drawn}"


def _histogram_panel(histogram: object) -> str:
    assert isinstance(histogram, dict)
    parts = [_frame("Scores", "score", "share of the class")]
    shares = {name: np.asarray(histogram[name]) / max(sum(histogram[name]), 1) for name in ("positives", "negatives")}
    top = max(float(values.max()) for values in shares.values())
    step = _SIDE / _BINS
    for (name, values), colour, dash in zip(shares.items(), (_BLUE, _ORANGE), ("", "5 2"), strict=True):
        heights = (1 - values / top) * _SIDE
        path = " ".join(f"{i * step:.1f},{h:.1f} {(i + 1) * step:.1f},{h:.1f}" for i, h in enumerate(heights))
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
        )
        y = 14 if name == "positives" else 28
        parts.append(f'<text x="{_SIDE - 4}" y="{y}" text-anchor="end" fill="{colour}">{name}</text>')
    edges = histogram["edges"]
    parts.append(f'<text x="0" y="{_SIDE + 14}">{edges[0]:.3g}</text>')
    parts.append(f'<text x="{_SIDE}" y="{_SIDE + 14}" text-anchor="end">{edges[-1]:.3g}</text>')
    return "".join(parts)


def _confusion_panel(confusion: object) -> str:
    assert isinstance(confusion, dict)
    half = _SIDE / 2
    cells: Sequence[tuple[str, float, float]] = (("tp", 0, 0), ("fn", 1, 0), ("fp", 0, 1), ("tn", 1, 1))
    parts = [_frame(f"Confusion at {confusion['threshold']:.4g}", "called positive | negative", "true neg. | pos.")]
    parts.append(f'<path d="M{half} 0V{_SIDE}M0 {half}H{_SIDE}" stroke="{_GREY}"/>')
    parts += [
        f'<text x="{(x + 0.5) * half}" y="{(y + 0.5) * half}" text-anchor="middle">'
        f"{name.upper()} {confusion[name]}</text>"
        for name, x, y in cells
    ]
    return "".join(parts)


def _frame(title: str, x_title: str, y_title: str) -> str:
    middle = _SIDE / 2
    return (
        f'<rect width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#000"/>'
        f'<text x="{middle}" y="-8" text-anchor="middle">{title}</text>'
        f'<text x="{middle}" y="{_SIDE + 28}" text-anchor="middle">{x_title}</text>'
        f'<text transform="translate(-8 {middle}) rotate(-90)" text-anchor="middle">{y_title}</text>'
    )
