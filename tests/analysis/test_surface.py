"""The surface of a sweep in the report: whatever was asked, every configuration has its own place."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from puoc.analysis.selection.surface import SurfaceRow
from puoc.reporting.page.sweeps import _grid, varied

OPTIONS: dict[str, list[Any]] = {"a": [0.1, 1, 10], "b": [1, 2], "kernel": ["rbf", "linear"], "gamma": [None, 0.5]}
OPTIONS["e"] = [None, True, False]


@st.composite
def configurations(draw: Any) -> list[dict[str, Any]]:
    """The published one first; an absent hyperparameter is none."""
    names = draw(st.lists(st.sampled_from(sorted(OPTIONS)), min_size=1, max_size=4, unique=True))
    one = st.fixed_dictionaries({name: st.sampled_from(OPTIONS[name]) for name in names})
    found = [
        {key: value for key, value in given.items() if value is not None} for given in draw(st.lists(one, max_size=7))
    ]
    return [one for i, one in enumerate(found) if one not in found[:i]]


@given(configurations())
@example([{"e": True}, {"e": True, "gamma": 0.5}, {"e": False, "gamma": 0.5}])  # what it lacks is no row or column
def test_every_listed_configuration_stands_on_the_surface_once(found: list[dict[str, Any]]) -> None:
    configs = [
        SurfaceRow(
            tune="a",
            config_id=f"c{i}",
            params=json.dumps(params),
            is_published=i == 0,
            val=0.5 + i / 100,
            test=0.6,
            n_val=1,
            n_test=1,
            val_se=None,
            test_se=None,
        )
        for i, params in enumerate(found)
    ]
    values = {config.config_id: json.loads(config.params) for config in configs}
    grid = _grid(configs, values, varied(list(values.values())), {})
    if grid is None:
        return
    shown = [cell.config_id for _, row in grid.rows for cell in row if cell]
    assert len(shown) == len(set(shown))
    assert {config.config_id for config in configs[1:]} <= set(shown)
