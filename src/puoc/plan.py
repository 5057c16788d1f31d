"""From params.yaml to questions: what is asked, in files that the stages depend on.

A table's plan names its configurations by reference (``published`` or ``selected``), never by value, so choosing them
is no loop. A sweep's plan carries every configuration by value.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from puoc.datasets import DATASETS
from puoc.digests import code_digest, draw_digest, scoring_digest
from puoc.encoders import inputs_of
from puoc.files import write_bytes, write_json
from puoc.params import Params, Table, Tune
from puoc.records import content_id
from puoc.registry import METHODS
from puoc.specs import MethodSpec, TableSpec, TuneSpec

WORK = Path("work")
PLAN = WORK / "plan"
CONFIGS = WORK / "configs"


class Plan(NamedTuple):
    """The files of a plan below the project's root, by their path."""

    files: dict[Path, Any]

    def write(self, root: Path) -> list[Path]:
        """Write what changed and remove what is asked no more; returns the paths touched."""
        touched = [path for path, value in self.files.items() if write_json(root / path, value)]
        for folder in (PLAN, CONFIGS / "published"):
            for path in sorted((root / folder).rglob("*.json")):
                if path.relative_to(root) not in self.files:
                    path.unlink()
                    touched.append(path.relative_to(root))
        # stages depend on this folder, even without a sweep, and DVC's cache brings back no empty one
        write_bytes(root / PLAN / "tune" / ".keep", b"")
        return touched


def make_plan(params: Params) -> Plan:
    """The plan of validated params."""
    files: dict[Path, Any] = {PLAN / "compute.json": params.compute.model_dump()}
    for name, table in params.tables.items():
        files[PLAN / "tables" / f"{name}.json"] = _plan_table(name, table, params.methods)
        files[CONFIGS / "published" / f"{name}.json"] = {
            entry: {"params": params.methods[entry].params, "source": params.methods[entry].source}
            for entry in table.spec.methods
        }
    for name, tune in params.tune.items():
        files[PLAN / "tune" / f"{name}.json"] = _plan_tune(name, tune, params.methods[name])
    asked = {t.spec.dataset for t in params.tables.values()} | {t.spec.dataset for t in params.tune.values()}
    files[PLAN / "data.json"] = {name: _plan_data(name) for name in sorted(asked)}
    return Plan(files)


def _plan_table(name: str, table: Table, methods: dict[str, MethodSpec]) -> dict[str, Any]:
    spec = table.spec
    return {
        "table": name,
        "title": spec.title or name.replace("_", " "),
        **_question(spec, table.cells),
        "configs": spec.configs,
        "entries": {entry: _plan_entry(methods[entry], spec.dataset) for entry in spec.methods},
    }


def _plan_tune(name: str, tune: Tune, method: MethodSpec) -> dict[str, Any]:
    return {
        "table": name,
        "title": f"sweep of {name}",
        **_question(tune.spec, tune.cells),
        "holdout": tune.spec.holdout,
        "space": tune.spec.space,
        "entries": {name: _plan_entry(method, tune.spec.dataset)},
        "configs": [
            {"config_id": content_id(config)[:8], "params": config, "is_published": index == 0}
            for index, config in enumerate(tune.configs)
        ],
    }


def _question(spec: TableSpec | TuneSpec, cells: list[Any]) -> dict[str, Any]:
    dataset = DATASETS[spec.dataset]
    return {
        "scenario": spec.scenario,
        "dataset": spec.dataset,
        "data_digest": dataset.digest,
        "draw_digest": draw_digest(dataset.__module__),
        "scoring_digest": scoring_digest(),
        "seeds": list(spec.seeds),
        "cells": [cell.canonical() for cell in cells],
    }


def _plan_entry(spec: MethodSpec, dataset: str) -> dict[str, Any]:
    cls = METHODS[str(spec.method)]
    encoder = _encoder(spec, dataset)
    besides = (["puoc.encoders"] if encoder else []) + (["puoc.priors"] if spec.prior else [])
    return {
        "method": spec.method,
        "kind": cls.kind,
        "twin": cls.twin,
        "labels": spec.labels,
        "prior": spec.prior.canonical() if spec.prior else None,
        "encoder": encoder,
        "numerics": spec.numerics,
        "code_digest": code_digest(cls.__module__, *besides),
        "skip": _not_applicable(spec, cls, dataset),
    }


def _encoder(spec: MethodSpec, dataset: str) -> str | None:
    """The entry's encoder; None where it would leave the rows as they are, so that one question has one id."""
    return None if spec.encoder == "flatten" and DATASETS[dataset].inputs == "vector" else spec.encoder


def _not_applicable(spec: MethodSpec, cls: Any, dataset: str) -> str | None:
    try:
        given = inputs_of(spec.encoder, DATASETS[dataset].inputs)
    except ValueError as error:
        return f"{dataset}: {error}"
    if given in cls.inputs:
        return None
    through = f" through the encoder {spec.encoder}" if spec.encoder else ""
    return f"{spec.method} takes {' or '.join(sorted(cls.inputs))} rows; {dataset}{through} gives {given} rows"


def _plan_data(name: str) -> dict[str, Any]:
    dataset = DATASETS[name]
    return {"digest": dataset.digest, "files": {file.path: file.sha256 for file in dataset.files}}
