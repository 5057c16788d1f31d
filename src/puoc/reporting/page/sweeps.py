"""The sweeps for the page: the surface of each, and the configuration that each kind of choice selects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import NamedTuple

from pydantic import JsonValue

from puoc.analysis.selection.surface import RoleResult, SurfaceRow, SweepRow
from puoc.records import Params
from puoc.reporting.page.importance import Importance, importances
from puoc.reporting.page.places import sweep_page

#: The words of the roles of ``surface.ROLES``.
ROLE_WORDS = {
    "chosen": "chosen",
    "published": "default",
    "by_value": "best value",
    "by_rank": "best ranks",
    "best_on_test": "best on test (reference)",
}
_MAX_COLUMNS = 12  # of a surface
_SHADES = 9


@dataclass(frozen=True)
class GridCell:
    """One configuration on a surface."""

    config_id: str
    val: float | None
    test: float | None
    marks: list[str]  # the roles that it has
    shade: int  # the darker, the better by validation


@dataclass(frozen=True)
class GridView:
    """The surface of a sweep: its configurations by some hyperparameters (rows) and by the others (columns)."""

    by: list[str]  # hyperparameters of the rows, and of the columns
    columns: list[str]
    rows: list[tuple[str, list[GridCell | None]]]


class RoleView(NamedTuple):
    """The configuration of one role."""

    words: str  # the role
    params: str  # those that the sweep varies
    is_reference: bool
    result: RoleResult


@dataclass(frozen=True)
class SweepView:
    """One sweep as shown."""

    row: SweepRow
    roles: list[RoleView]
    grid: GridView | None
    href: str  # its page
    importances: list[Importance]


def sweep_views(sweeps: Sequence[SweepRow], surface: Sequence[SurfaceRow]) -> list[SweepView]:
    """Return the values that the template needs for each sweep."""
    return [_view(row, [config for config in surface if config.tune == row.tune]) for row in sweeps]


def _view(row: SweepRow, configs: list[SurfaceRow]) -> SweepView:
    values: dict[str, Params] = {config.config_id: json.loads(config.params) for config in configs}
    names = varied([values[config.config_id] for config in configs])
    marks: dict[str, list[str]] = {}
    roles = []
    for role, result in row.roles.items():
        if result.config_id is not None:
            words = ROLE_WORDS[role]
            marks.setdefault(result.config_id, []).append(words.removesuffix(" (reference)"))
            params = params_text(values.get(result.config_id, {}), names)
            roles.append(RoleView(words, params, role == "best_on_test", result))
    return SweepView(row, roles, _grid(configs, values, names, marks), sweep_page(row.tune), importances(configs))


def varied(configs: list[Params]) -> list[str]:
    """Return the hyperparameters with more than one value; those with texts or absent values come first."""
    names = list(dict.fromkeys(name for values in configs for name in values))
    distinct = {name: {json.dumps(values.get(name)) for values in configs} for name in names}
    varied = [name for name in names if len(distinct[name]) > 1]
    parts = [name for name in varied if "null" in distinct[name] or any(t.startswith('"') for t in distinct[name])]
    return parts + [name for name in varied if name not in parts]


def params_text(values: Params, names: list[str]) -> str:
    """Return these hyperparameters of a configuration in words, without those that it lacks."""
    return ", ".join(f"{name} {values[name]}" for name in names if values.get(name) is not None)


def _grid(
    configs: list[SurfaceRow], values: dict[str, Params], names: list[str], marks: dict[str, list[str]]
) -> GridView | None:
    """Return the rows and columns of the surface; a published configuration with values of its own may not fit."""
    listed = [config.config_id for config in configs if not config.is_published]
    if not listed or not names:
        return None
    names = [name for name in names if len({json.dumps(values[config].get(name)) for config in listed}) > 1] or names
    taken = {
        params_text(values[config], names) for config in listed
    }  # by one that differs in what has no row or column
    others = [config for config in values.keys() - set(listed) if params_text(values[config], names) not in taken]
    points = listed + [config for config in others if _fits(config, listed, values, names)]
    points.sort(key=lambda config: [_order(values[config].get(name)) for name in names])
    split = _split([values[config] for config in points], names)
    places = {config: tuple(params_text(values[config], part) for part in split) for config in points}
    heads = [list(dict.fromkeys(places[config][side] for config in points)) for side in (0, 1)]
    by_place, cells = {place: config for config, place in places.items()}, _cells(configs, marks)
    rows = [(head, [cells.get(by_place.get((head, column), "")) for column in heads[1]]) for head in heads[0]]
    return GridView([", ".join(part) for part in split], heads[1], rows)


def _fits(config: str, listed: list[str], values: dict[str, Params], names: list[str]) -> bool:
    """Check whether a configuration fits: a value of no listed configuration would need another row or column."""
    free = names if len(names) == 1 else []
    own = {name: value for name, value in values[config].items() if name not in free}
    return all(any(values[other].get(name) == value for other in listed) for name, value in own.items())


def _order(value: JsonValue) -> tuple[bool, float, str]:
    if isinstance(value, (int, float)):
        return True, float(value), ""
    return value is not None, 0.0, str(value)


def _split(configs: list[Params], names: list[str]) -> tuple[list[str], list[str]]:
    """Divide names into rows and columns: few empty cells first, then about as many rows as columns."""
    best: tuple[tuple[bool, int, float], int] | None = None
    for n_row_names in range(len(names) + 1):
        rows, columns = (
            len({params_text(values, part) for values in configs})
            for part in (names[:n_row_names], names[n_row_names:])
        )
        cost = (columns > _MAX_COLUMNS, rows * columns, abs(log(rows / columns)))
        if best is None or cost < best[0]:
            best = cost, n_row_names
    n_row_names = best[1] if best else 0
    return names[:n_row_names], names[n_row_names:]


def _cells(configs: list[SurfaceRow], marks: dict[str, list[str]]) -> dict[str, GridCell]:
    known = [config.val for config in configs if config.val is not None]
    least, most = (min(known), max(known)) if known else (0.0, 0.0)
    cells = {}
    for config in configs:
        shade = round(_SHADES * (config.val - least) / (most - least)) if config.val is not None and most > least else 0
        cells[config.config_id] = GridCell(
            config.config_id, config.val, config.test, marks.get(config.config_id, []), shade
        )
    return cells
