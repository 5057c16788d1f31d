"""What is shown of sweeps: all of them, or the configurations of one, the best one by the criterion first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from puoc.analysis.selection.surface import NOT_RUN, SurfaceRow, SweepRow, sweeps
from puoc.analysis.tables.results import Trials
from puoc.records import Params
from puoc.reporting.page.format import DASH, spread
from puoc.reporting.page.metrics import label_of
from puoc.reporting.page.sweeps import ROLE_WORDS, params_text, varied
from puoc.reporting.show.find import unknown
from puoc.reporting.show.views import Cell, Value, View
from puoc.store.plan_files import read_metric
from puoc.store.plans import TablePlan

SWEEPS = "tune"  # the place of all sweeps; SWEEPS/NAME is one of them
CRITERION = "AUC of withheld P against withheld U"


def names_sweeps(place: str | None, plans: Sequence[TablePlan]) -> bool:
    """Return True if a path names a sweep or all sweeps. A table of that name comes first."""
    first = (place or "").partition("/")[0]
    return first == SWEEPS and all(plan.table != SWEEPS for plan in plans)


def sweep_view(root: Path, place: str, planned_trials: Trials | None = None, digits: int = 2) -> View:
    """Return the view of ``tune``, all sweeps, or of ``tune/NAME``, the configurations of one.

    Parameters
    ----------
    planned_trials : ids of the planned trials by sweep; rows of other trials are left out, and a note counts them.
    digits : digits after the point of means and standard errors.

    Raises
    ------
    ValueError : there is no such sweep, or a results file is damaged.
    """
    metric = read_metric(root)
    found, surface = sweeps(root, planned_trials, metric)
    name = place.removeprefix(SWEEPS).removeprefix("/")
    if not name:
        return _all(found, surface)
    by_name = {row.tune: row for row in found}
    if name not in by_name:
        raise ValueError(unknown("sweep", name, list(by_name), "there are"))
    return _one(by_name[name], [row for row in surface if row.tune == name], metric, digits)


def _all(found: Sequence[SweepRow], surface: Sequence[SurfaceRow]) -> View:
    lines, values = [], list[dict[str, Value]]()
    for row in found:
        words = _chosen(row, [config for config in surface if config.tune == row.tune])
        complete = f"{row.n_complete:,} of {row.n_configs:,}" if row.n_configs else DASH
        lines.append([row.tune, row.method, row.scenario, row.dataset, complete, words or DASH, row.note])
        values.append(
            {
                **{name: getattr(row, name) for name in ("tune", "method", "scenario", "dataset", "space")},
                "n_configs": row.n_configs,
                "n_complete": row.n_complete,
                "chosen": row.chosen.params,
                "note": row.note,
            }
        )
    heads = ["sweep", "method", "scenario", "dataset", "complete configurations", "chosen", "note"]
    notes = [f"puoc show {SWEEPS}/{found[0].tune} lists its configurations"] if found else ["there are no sweeps"]
    return View("Sweeps", heads, [[Cell(text) for text in line] for line in lines], notes, values)


def _chosen(row: SweepRow, configs: Sequence[SurfaceRow]) -> str:
    params = {config.config_id: json.loads(config.params) for config in configs}
    chosen = row.chosen.config_id
    return params_text(params[chosen], varied(list(params.values()))) if chosen in params else ""


def _one(row: SweepRow, configs: list[SurfaceRow], metric: str, digits: int) -> View:
    params: dict[str, Params] = {config.config_id: json.loads(config.params) for config in configs}
    names = varied(list(params.values()))
    roles: dict[str, list[str]] = {}
    for role, outcome in row.roles.items():
        if outcome.config_id is not None:
            roles.setdefault(outcome.config_id, []).append(ROLE_WORDS[role])
    rows, values = [], list[dict[str, Value]]()
    for config in sorted(configs, key=lambda config: -1.0 if config.val is None else config.val, reverse=True):
        words = ", ".join(roles.get(config.config_id, []))
        texts = [
            params_text(params[config.config_id], names) or DASH,
            spread(config.val, config.val_se, digits),
            str(config.n_val),
            spread(config.test, config.test_se, digits),
            words,
        ]
        is_best = config.config_id == row.by_value.config_id
        rows.append([Cell(text, best=is_best and at == 1) for at, text in enumerate(texts)])
        values.append({**asdict(config), "roles": words, "metric": metric})
    heads = ["configuration", CRITERION, "n", f"{label_of(metric)} on held-out rows", "roles"]
    title = f"{row.tune}: {row.method}, {row.scenario} on {row.dataset}, mean \N{PLUS-MINUS SIGN} standard error"
    notes = [note for note in (row.source, row.note) if note]
    if row.note == NOT_RUN:  # puoc sweep computes fits and writes no rows
        notes = [f"no rows yet; puoc tune {row.tune} computes what is missing and writes them"]
    return View(title, heads, rows, notes, values)
