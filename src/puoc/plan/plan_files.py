"""The one reader of the files that ``puoc plan`` wrote; ``puoc.plan.make_plan`` writes them.

Their form is checked, so that a file that was changed or damaged is told by its name, wherever it is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, Field, StrictBool, StrictInt, TypeAdapter, model_validator

from puoc.datasets import DATASETS
from puoc.plan.schema import ComputeSpec
from puoc.records import Encoding, Prior
from puoc.scenarios.drawing.cells import Cell
from puoc.store.checked_json import BY_PLAN, BY_SELECT, read_form


class _Entry(BaseModel):
    method: str
    kind: str
    twin: str | None
    labels: str
    prior: Prior | None
    encoder: Encoding | str | None
    numerics: str
    code_digest: str
    skip: str | None


class _Own(BaseModel):
    tested: StrictBool
    marks: list[str]
    notes: list[str]


class _Question(BaseModel):
    table: str
    scenario: str
    dataset: str
    data_digest: str
    draw_digest: str
    scoring_digest: str
    seeds: list[StrictInt] = Field(min_length=1)
    cells: list[Cell] = Field(min_length=1)
    entries: dict[str, _Entry] = Field(min_length=1)
    own: _Own | None = None


class _Table(_Question):
    configs: str


class _Listed(BaseModel):
    config_id: str
    params: dict[str, Any]
    is_published: StrictBool


class _Sweep(_Question):
    space: str
    holdout: float
    configs: list[_Listed] = Field(min_length=1)


class _Config(BaseModel):
    params: dict[str, Any]
    source: str
    by_pos: dict[str, dict[str, Any]] = {}


class _Weights(BaseModel):
    vectors: str | None = None
    weights: str | None = None
    network: str | None = None

    @model_validator(mode="after")
    def _of_a_network(self) -> Self:
        if self.weights is not None and self.network is None:
            raise ValueError("weights without the network that they are of")
        return self


_DATA = TypeAdapter(dict[str, dict[str, Any]])
_WEIGHTS = TypeAdapter(dict[str, _Weights])
_CONFIGS = TypeAdapter(dict[str, _Config])


def read_plan(path: Path) -> dict[str, Any]:
    """The plan of a table or a sweep: a file of ``work/plan/tables`` or ``work/plan/tune``.

    Raises
    ------
    ValueError : it is not as ``puoc plan`` writes it.
    """
    found: dict[str, Any] = read_form(path, _Table if path.parent.name == "tables" else _Sweep, BY_PLAN)
    if path.parent.name == "tune" and path.stem not in found["entries"]:
        got = ", ".join(found["entries"])
        raise ValueError(f"{path}: entries: got {got}; expected {path.stem}, as puoc plan writes it: run puoc plan")
    return found


def read_configs(path: Path) -> dict[str, Any]:
    """Configurations by entry: a file of ``work/configs``. Raises ValueError as ``read_plan``."""
    found: dict[str, Any] = read_form(path, _CONFIGS, BY_SELECT if path.parent.name == "selected" else BY_PLAN)
    return found


def read_compute(root: Path) -> dict[str, Any]:
    """The section compute. Raises ValueError as ``read_plan``."""
    path = root / "work" / "plan" / "compute.json"
    found: dict[str, Any] = read_form(path, ComputeSpec, BY_PLAN)
    lacking = [key for key in ComputeSpec.model_fields if key not in found]
    if lacking:  # the section has defaults, its file has every key
        raise ValueError(f"{path}: {', '.join(lacking)}: the key is missing; {BY_PLAN}")
    return ComputeSpec.model_validate(found).model_dump()


def read_data(root: Path) -> list[str]:
    """Names of the datasets that are asked. Raises ValueError as ``read_plan``."""
    path = root / "work" / "plan" / "data.json"
    names = list(read_form(path, _DATA, BY_PLAN))
    for name in names:
        if name not in DATASETS:
            raise ValueError(f"{path}: got the dataset {name!r}, which is unknown; {BY_PLAN}")
    return names


def read_weights(root: Path) -> dict[str, dict[str, Any]]:
    """Parameters of frozen encoders, by name. Raises ValueError as ``read_plan``."""
    found: dict[str, dict[str, Any]] = read_form(root / "work" / "plan" / "weights.json", _WEIGHTS, BY_PLAN)
    return found
