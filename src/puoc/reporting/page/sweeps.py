"""The sweeps for the page: the surface of each, and the configuration that each kind of choice selects."""

from __future__ import annotations

import json
from math import log
from typing import Any

import pandas as pd

from puoc.analysis.selection.surface import ROLES
from puoc.analysis.tables.frames import present, records

_WORDS = {
    "chosen": "chosen",
    "published": "published",
    "by_value": "best value",
    "by_rank": "best ranks",
    "best_on_test": "best on test (reference)",
}
_MAX_COLUMNS = 12  # of a surface
_SHADES = 9

Values = dict[str, Any]  # hyperparameters by name


def sweep_views(sweeps: pd.DataFrame, surface: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the values that the template needs for each sweep."""
    return [_view(row, records(surface[surface["tune"] == row["tune"]])) for row in records(sweeps)]


def _view(row: dict[str, Any], configs: list[dict[str, Any]]) -> dict[str, Any]:
    values = {config["config_id"]: json.loads(config["params"]) for config in configs}
    names = _varied([values[config["config_id"]] for config in configs])
    marks: dict[str, list[str]] = {}
    for role in ROLES:
        if present(row[f"{role}_config_id"]):
            marks.setdefault(row[f"{role}_config_id"], []).append(_WORDS[role].removesuffix(" (reference)"))
    roles = [
        {
            "words": _WORDS[role],
            "config_id": row[f"{role}_config_id"],
            "values": _params_text(values.get(row[f"{role}_config_id"], {}), names),
            "is_reference": role == "best_on_test",
            **{name: row[f"{role}_{name}"] for name in ("val", "val_se", "test", "test_se", "regret", "regret_se")},
        }
        for role in ROLES
        if present(row[f"{role}_config_id"])
    ]
    return row | {"roles": roles, "grid": _grid(configs, values, names, marks), "is_run": bool(configs)}


def _varied(configs: list[Values]) -> list[str]:
    """Return the hyperparameters with more than one value; those with texts or absent values come first."""
    names = list(dict.fromkeys(name for values in configs for name in values))
    distinct = {name: {json.dumps(values.get(name)) for values in configs} for name in names}
    varied = [name for name in names if len(distinct[name]) > 1]
    parts = [name for name in varied if "null" in distinct[name] or any(t.startswith('"') for t in distinct[name])]
    return parts + [name for name in varied if name not in parts]


def _params_text(values: Values, names: list[str]) -> str:
    return ", ".join(f"{name} {values[name]}" for name in names if values.get(name) is not None)


def _grid(
    configs: list[dict[str, Any]], values: dict[str, Values], names: list[str], marks: dict[str, list[str]]
) -> dict[str, Any] | None:
    """Return the rows and columns of the surface; a published configuration with values of its own may not fit."""
    listed = [config["config_id"] for config in configs if not config["is_published"]]
    if not listed or not names:
        return None
    names = [name for name in names if len({json.dumps(values[config].get(name)) for config in listed}) > 1] or names
    taken = {
        _params_text(values[config], names) for config in listed
    }  # by one that differs in what has no row or column
    others = [config for config in values.keys() - set(listed) if _params_text(values[config], names) not in taken]
    points = listed + [config for config in others if _fits(config, listed, values, names)]
    points.sort(key=lambda config: [_order(values[config].get(name)) for name in names])
    split = _split([values[config] for config in points], names)
    places = {config: tuple(_params_text(values[config], part) for part in split) for config in points}
    heads = [list(dict.fromkeys(places[config][side] for config in points)) for side in (0, 1)]
    by_place, cells = {place: config for config, place in places.items()}, _cells(configs, marks)
    rows = [(head, [cells.get(by_place.get((head, column), "")) for column in heads[1]]) for head in heads[0]]
    return {"by": [", ".join(part) for part in split], "columns": heads[1], "rows": rows}


def _fits(config: str, listed: list[str], values: dict[str, Values], names: list[str]) -> bool:
    """Check whether a configuration fits: a value of no listed configuration would need another row or column."""
    free = names if len(names) == 1 else []
    own = {name: value for name, value in values[config].items() if name not in free}
    return all(any(values[other].get(name) == value for other in listed) for name, value in own.items())


def _order(value: Any) -> tuple[bool, float, str]:
    is_number = isinstance(value, (int, float))
    return value is not None, float(value) if is_number else 0.0, "" if is_number else str(value)


def _split(configs: list[Values], names: list[str]) -> tuple[list[str], list[str]]:
    """Divide names into rows and columns: few empty cells first, then about as many rows as columns."""
    best: tuple[tuple[bool, int, float], int] | None = None
    for n_row_names in range(len(names) + 1):
        rows, columns = (
            len({_params_text(values, part) for values in configs})
            for part in (names[:n_row_names], names[n_row_names:])
        )
        cost = (columns > _MAX_COLUMNS, rows * columns, abs(log(rows / columns)))
        if best is None or cost < best[0]:
            best = cost, n_row_names
    n_row_names = best[1] if best else 0
    return names[:n_row_names], names[n_row_names:]


def _cells(configs: list[dict[str, Any]], marks: dict[str, list[str]]) -> dict[str, dict[str, Any]]:
    known = [config["val"] for config in configs if present(config["val"])]
    least, most = (min(known), max(known)) if known else (0.0, 0.0)
    return {
        config["config_id"]: {
            **{name: config[name] for name in ("config_id", "val", "test")},
            "marks": marks.get(config["config_id"], []),
            "shade": round(_SHADES * (config["val"] - least) / (most - least))
            if present(config["val"]) and most > least
            else 0,
        }
        for config in configs
    }
