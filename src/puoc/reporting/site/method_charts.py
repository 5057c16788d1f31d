"""The curves of a method's page: its objective while it trains, and its ROC curve, each with a band over trials.

Up to ``TABLES_APART`` tables have a chart each. Above, one chart has all tables, so that the pages of a site of many
tables stay small and can be read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from puoc.reporting.site.curves import Axes, round_ticks
from puoc.reporting.site.recorded_curves import FALSE_POSITIVE_RATES, EntryCurves, TrialCurves
from puoc.store.counting import counted

TABLES_APART = 6
_BAND = (10, 90)  # percentiles of the trials
_POINTS = 40  # of a training curve
_LEAST = 3  # values of a training curve
_EXACT = ("objective", 2)  # what an exact solution records: its objective before and after
_WIDTH, _HEIGHT = 420.0, 280.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 10.0, 10.0, 40.0

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Ribbon:
    """The line of an entry and the band around it, as SVG paths."""

    name: str
    look: str
    line: str
    band: str


@dataclass(frozen=True, kw_only=True)
class Chart(Axes):
    """Axes, and lines with bands."""

    title: str
    said: str  # what the lines are, for readers of the page and of the screen
    x_title: str
    y_title: str
    ribbons: list[Ribbon]
    is_roc: bool


@dataclass(frozen=True)
class MethodCharts:
    """The charts of a method, and what is not in them."""

    training: list[Chart]
    roc: list[Chart]
    notes: list[str]


@dataclass(frozen=True)
class _Part:
    """Trials that one line is drawn from."""

    name: str
    look: str
    trials: list[tuple[str, TrialCurves]]  # with the table


def method_charts(tables: Sequence[tuple[str, Sequence[EntryCurves]]]) -> MethodCharts:
    """Return the charts of a method.

    Parameters
    ----------
    tables : title of each table that was run, and the curves of the method's entries in it.
    """
    groups = [(title, [(title, one) for one in entries]) for title, entries in tables]
    if len(tables) > TABLES_APART:
        groups = [(f"All {len(tables)} tables", [(title, one) for title, entries in tables for one in entries])]
    training, rocs = [], []
    for title, entries in groups:
        by_name: dict[str, _Part] = {}
        for table, one in entries:
            part = by_name.setdefault(one.entry, _Part(one.entry, one.look, []))
            part.trials.extend((table, trial) for trial in one.trials)
        training += _training(title, list(by_name.values()))
        rocs += _roc(title, list(by_name.values()))
    return MethodCharts(training, rocs, _notes([one for _, entries in tables for one in entries], bool(training)))


def _notes(entries: Sequence[EntryCurves], has_training: bool) -> list[str]:
    """Return sentences on what the charts lack."""
    notes = []
    trials = [trial for one in entries for trial in one.trials]
    names = {(name, len(values)) for trial in trials for name, values in trial.training.items()}
    if _EXACT in names:
        which = "Some entries are" if has_training else "It is"
        notes.append(f"{which} solved exactly, so there is no training curve of {'them' if has_training else 'it'}.")
    elif trials and not names:
        notes.append("Its fits record no objective by epoch, so there is no training curve.")
    n_scored = sum(one.n_scored for one in entries)
    if missing := n_scored - len(trials):
        notes.append(
            f"The curves are of {len(trials):,} of {counted(n_scored, 'scored trial')}: the ledger of this project has "
            f"no record of {missing:,}."
        )
    if without := sum(trial.recalls is None for trial in trials):
        notes.append(f"The records of {counted(without, 'trial')} have no ROC curve.")
    return notes


def _training(title: str, parts: Sequence[_Part]) -> list[Chart]:
    """Draw one chart for each objective that is recorded under a name."""
    drawn: dict[str, list[tuple[str, str, Numbers, int]]] = defaultdict(list)
    for part in parts:
        fits = {trial.fit_id: trial.training for _, trial in part.trials}  # cells and tables may share a fit
        curves: dict[tuple[str, int], list[Sequence[float]]] = defaultdict(list)
        for training in fits.values():
            for name, recorded in training.items():
                curves[name, len(recorded)].append(recorded)
        lengths = [length for _, length in curves]
        for (name, length), several in sorted(curves.items()):
            if length >= _LEAST:
                own = part.name if len(lengths) == 1 else f"{part.name}, {length} epochs"
                drawn[name].append((own, part.look, np.asarray(several, dtype=float), len(several)))
    charts = []
    for name, of_entries in drawn.items():
        longest = max(values.shape[1] for *_, values, _ in of_entries)
        lines = []
        for own, look, values, _ in of_entries:
            kept = np.unique(np.linspace(0, values.shape[1] - 1, _POINTS).astype(int))
            middle = np.median(values[:, kept], axis=0)
            low, high = np.percentile(values[:, kept], _BAND, axis=0)
            lines.append((own, look, kept + 1.0, middle, low, high))
        n = sum(n_fits for *_, n_fits in of_entries)
        said = f"Median of {counted(n, 'fit')}; the band has the middle 80 % of them."
        spread = [value for *_, middle, low, high in lines for value in (middle, low, high)]
        bounds = (min(float(v.min()) for v in spread), max(float(v.max()) for v in spread))
        charts.append(_chart(title, said, "epoch", f"objective ({name})", (1.0, float(longest)), bounds, lines, False))
    return charts


def _roc(title: str, parts: Sequence[_Part]) -> list[Chart]:
    lines, n = [], 0
    for part in parts:
        places: dict[tuple[str, str], list[Numbers]] = defaultdict(list)
        for table, trial in part.trials:
            if trial.recalls is not None:
                places[table, trial.cell].append(trial.recalls)
        if not places:
            continue
        every = np.concatenate([np.asarray(recalls) for recalls in places.values()])
        middle = np.mean([np.mean(recalls, axis=0) for recalls in places.values()], axis=0)
        low, high = np.percentile(every, _BAND, axis=0)
        lines.append((part.name, part.look, FALSE_POSITIVE_RATES, middle, low, high))
        n += len(every)
    if not lines:
        return []
    said = f"Mean over cells of the means over seeds; the band has the middle 80 % of {counted(n, 'trial')}."
    return [_chart(title, said, "false-positive rate", "recall", (0.0, 1.0), (0.0, 1.0), lines, True)]


def _chart(
    title: str,
    said: str,
    x_title: str,
    y_title: str,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    lines: Sequence[tuple[str, str, Numbers, Numbers, Numbers, Numbers]],
    is_roc: bool,
) -> Chart:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    (first, last), (low, high) = x_range, y_range
    pad = 0.0 if is_roc else max((high - low) * 0.05, 1e-3)
    low, high = low - pad, high + pad

    def x(values: Numbers) -> Numbers:
        return _LEFT + (values - first) / (last - first) * (right - _LEFT)

    def y(values: Numbers) -> Numbers:
        return bottom - (values - low) / (high - low) * (bottom - _TOP)

    ribbons = []
    for name, look, at, middle, below, above in lines:
        band = _path(x(at), y(above)) + _path(x(at)[::-1], y(below)[::-1]).replace("M", "L") + "Z"
        ribbons.append(Ribbon(name, look, _path(x(at), y(middle)), band))
    digits, y_values = round_ticks(low, high)
    _, x_values = (1, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]) if is_roc else round_ticks(first, last)
    return Chart(
        title=title,
        said=said,
        x_title=x_title,
        y_title=y_title,
        width=_WIDTH,
        height=_HEIGHT,
        left=_LEFT,
        right=right,
        top=_TOP,
        bottom=bottom,
        x_ticks=[(float(np.round(x(np.asarray(value)), 1)), f"{value:g}") for value in x_values],
        y_ticks=[(float(np.round(y(np.asarray(value)), 1)), f"{value:.{digits}f}") for value in y_values],
        ribbons=ribbons,
        is_roc=is_roc,
    )


def _path(x: Numbers, y: Numbers) -> str:
    """Return the path through points, with whole coordinates along x and one digit along y."""
    points = [f"{a:.0f} {b:.1f}".removesuffix(".0") for a, b in zip(x, y, strict=True)]
    return "M" + "L".join(points)
