"""From params.yaml to questions: what is asked, in files that the stages depend on.

A table's plan names its configurations by reference (``published`` or ``selected``), never by value, so choosing them
is no loop. A sweep's plan carries every configuration by value.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from puoc.datasets import DATASETS
from puoc.datasets.user.dataset import PLANNED, own_data
from puoc.digests import PLAIN_ENCODER, PRIOR, code_digest, draw_digest, scoring_digest
from puoc.methods.encoders import PLAIN, inputs_of
from puoc.methods.encoders import make as make_encoder
from puoc.plan.params import Params, Table, Tune
from puoc.plan.plan_source import SOURCE, source_of
from puoc.plan.schema import EncoderSpec, MethodSpec, TableSpec, TuneSpec
from puoc.records import Encoding, Prior, content_id
from puoc.registry import ENCODERS, METHODS, PRIORS
from puoc.scenarios.drawing.cells import pool
from puoc.scenarios.drawing.overlap import shared_rows
from puoc.store.atomic import write_bytes, write_json
from puoc.store.yaml_file import InvalidInput

WORK = Path("work")
PLAN = WORK / "plan"
CONFIGS = WORK / "configs"


class Plan(NamedTuple):
    """The files of a plan below the project's root, by their path."""

    files: dict[Path, Any]

    def write(self, root: Path, params: Path | None = None) -> list[Path]:
        """Write what changed and remove what is asked no more; returns the paths touched.

        Parameters
        ----------
        params : the file it was made of, for commands to see whether that says something else by now.
        """
        files = self.files | ({SOURCE: source_of(params, root)} if params is not None else {})
        touched = [path for path, value in files.items() if write_json(root / path, value)]
        for folder in (PLAN, CONFIGS / "published"):
            for path in sorted((root / folder).rglob("*.json")):
                if path.relative_to(root) not in files:
                    path.unlink()
                    touched.append(path.relative_to(root))
        # stages depend on this folder, even without a sweep, and DVC's cache brings back no empty one
        write_bytes(root / PLAN / "tune" / ".keep", b"")
        return touched


def make_plan(params: Params) -> Plan:
    """The plan of validated params."""
    files: dict[Path, Any] = {PLAN / "compute.json": params.compute.model_dump()}
    for name, table in params.tables.items():
        files[PLAN / "tables" / f"{name}.json"] = _plan_table(name, table, params)
        files[CONFIGS / "published" / f"{name}.json"] = {
            entry: _published(params.methods[entry], table) for entry in table.spec.methods
        }
    for name, tune in params.tune.items():
        files[PLAN / "tune" / f"{name}.json"] = _plan_tune(name, tune, params)
    files[PLAN / "weights.json"] = {name: spec.params for name, spec in params.encoders.items() if _is_frozen(spec)}
    asked = {t.spec.dataset for t in params.tables.values()} | {t.spec.dataset for t in params.tune.values()}
    files[PLAN / "data.json"] = {name: _plan_data(name) for name in sorted(asked)}
    for name in sorted(asked):
        if (own := own_data(name)) is not None:
            files[PLANNED / f"{name}.json"] = own.declared.canonical()
    return Plan(files)


def _published(spec: MethodSpec, table: Table) -> dict[str, Any]:
    """An entry's configuration as params.yaml gives it, with those of the classes that the table may ask for."""
    asked = {number for cell in table.cells for number in pool(cell.pos)}
    own = {number: params for number, params in spec.by_pos.get(table.spec.dataset, {}).items() if number in asked}
    config: dict[str, Any] = {"params": spec.params, "source": spec.source}
    return config | ({"by_pos": {str(number): params for number, params in sorted(own.items())}} if own else {})


def _plan_table(name: str, table: Table, params: Params) -> dict[str, Any]:
    spec = table.spec
    return {
        "table": name,
        "title": spec.title or name.replace("_", " "),
        **_question(spec, table.cells),
        "configs": spec.configs,
        **({"published": spec.published} if spec.published else {}),
        "shared_rows": _shared_rows(table),
        "entries": {entry: _plan_entry(params, entry, spec.dataset) for entry in spec.methods},
    }


def _shared_rows(table: Table) -> dict[str, float]:
    """Mean over the cells, to three digits."""
    by_cell = [shared_rows(cell, DATASETS[table.spec.dataset].counts) for cell in table.cells]
    return {part: round(sum(shares[part] for shares in by_cell) / len(by_cell), 3) for part in by_cell[0]}


def _plan_tune(name: str, tune: Tune, params: Params) -> dict[str, Any]:
    return {
        "table": name,
        "title": f"sweep of {name}",
        **_question(tune.spec, tune.cells),
        "holdout": tune.spec.holdout,
        "space": tune.spec.space,
        "entries": {name: _plan_entry(params, name, tune.spec.dataset)},
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
        "draw_digest": draw_digest(dataset),
        "scoring_digest": scoring_digest(),
        "seeds": list(spec.seeds),
        "cells": [cell.canonical() for cell in cells],
        **_plan_own(spec.dataset),
    }


def _plan_own(dataset: str) -> dict[str, Any]:
    """What a table of own data says of them; nothing for another dataset."""
    own = own_data(dataset)
    if own is None:
        return {}
    return {"own": {"tested": own.tested(), "marks": own.declared.marks, "notes": own.declared.notes}}


def _plan_entry(params: Params, entry: str, dataset: str) -> dict[str, Any]:
    spec = params.methods[entry]
    cls = METHODS[str(spec.method)]
    encoder, prior = _encoder(params, spec.encoder, dataset), _prior(params, spec.prior, dataset)
    besides = ([PLAIN_ENCODER] if isinstance(encoder, str) else []) + ([PRIOR] if prior else [])
    return {
        "method": spec.method,
        "kind": cls.kind,
        "twin": cls.twin,
        "labels": spec.labels,
        "prior": prior.canonical() if prior else None,
        "encoder": encoder.canonical() if isinstance(encoder, Encoding) else encoder,
        "numerics": spec.numerics,
        "code_digest": code_digest(cls, *besides),
        "skip": _not_applicable(params, spec, cls, dataset),
        **({"published_as": spec.published_as} if spec.published_as else {}),
    }


def _encoder(params: Params, encoder: str | None, dataset: str) -> str | Encoding | None:
    """An entry's encoder; None where it would leave the rows as they are, so that one question has one id."""
    if encoder not in params.encoders:
        return None if encoder == "flatten" and DATASETS[dataset].inputs == "vector" else encoder
    spec = params.encoders[encoder]
    name = str(spec.encoder)
    digest = code_digest(ENCODERS[name])
    ae_data = None if _is_frozen(spec) else getattr(ENCODERS[name], "learns_from", spec.ae_data)
    return Encoding(name=name, params=spec.params, ae_data=ae_data, code_digest=digest)


def _is_frozen(spec: EncoderSpec) -> bool:
    return bool(ENCODERS[str(spec.encoder)].frozen)


def _prior(params: Params, prior: Prior | str | None, dataset: str) -> Prior | None:
    if not isinstance(prior, str):
        return prior
    spec = params.priors[prior]
    name, encoder = str(spec.prior), _encoder(params, spec.encoder, dataset)
    besides = [PLAIN_ENCODER] if isinstance(encoder, str) else []
    digest = code_digest(_estimator(name), *besides)
    return Prior(kind=name, params=spec.params, encoder=encoder, code_digest=digest)


def _estimator(name: str) -> Any:
    return PRIORS[name] if name in PRIORS else METHODS[name]


def _not_applicable(params: Params, spec: MethodSpec, cls: Any, dataset: str) -> str | None:
    """Why a method cannot be asked on a dataset: it, or what it needs, takes other rows."""
    from puoc.methods import inputs_of as taken_by

    reason = _takes_not(params, str(spec.method), taken_by(cls.name, spec.params), spec.encoder, dataset)
    if reason is None and isinstance(spec.prior, str):
        of = params.priors[spec.prior]
        name = str(of.prior)
        taken = taken_by(name, of.params) if name in METHODS else frozenset(PRIORS[name].inputs)
        reason = _takes_not(params, name, taken, of.encoder, dataset)
    return reason


def _takes_not(params: Params, name: str, taken: frozenset[str], encoder: str | None, dataset: str) -> str | None:
    fitted = params.encoders.get(encoder) if encoder else None
    try:
        given = inputs_of(fitted.encoder if fitted else encoder, DATASETS[dataset].inputs)
    except ValueError as error:
        return f"{dataset}: {error}"
    if fitted and _is_frozen(fitted):
        try:
            make_encoder(str(fitted.encoder), fitted.params).check_shape(DATASETS[dataset].shape)
        except ValueError as error:
            raise InvalidInput([f"encoders.{encoder}: on {dataset}: {error}"]) from error
    if given in taken:
        return None
    through = f" through the encoder {encoder}" if encoder else ""
    reason = f"{name} takes {' or '.join(sorted(taken))} rows; {dataset}{through} gives {given} rows"
    return f"{reason}{_advice(taken, DATASETS[dataset].inputs)}"


def _advice(taken: frozenset[str], inputs: str) -> str:
    """Which encoders would make of these rows what a method takes."""
    able = []
    for name in (*PLAIN, *sorted(ENCODERS)):
        with suppress(ValueError):  # it takes other rows
            able += [name] if inputs_of(name, inputs) in taken else []
    return f"; an encoder that fits: {' or '.join(able)}" if able else ""


def _plan_data(name: str) -> dict[str, Any]:
    dataset, own = DATASETS[name], own_data(name)
    files = own.declared.files if own else {file.path: file.sha256 for file in dataset.files}
    return {"digest": dataset.digest, "files": files}
