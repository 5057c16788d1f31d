"""Make plans from params.yaml, as files that the stages of DVC depend on.

The plan of a table refers to its configurations (``published`` or ``selected``) without their values, so that DVC's
stages have no circular dependency. The plan of a sweep contains the values of all its configurations.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from puoc.datasets import DATASETS
from puoc.datasets.declare.dataset import Dataset
from puoc.datasets.user.dataset import PLANNED, Declared, own_data
from puoc.digests import PLAIN_ENCODER, PRIOR, code_digest, draw_digest, labelled_draw_digest, scoring_digest
from puoc.methods.encoders import PLAIN, inputs_of
from puoc.methods.encoders import make as make_encoder
from puoc.plan.params import Params, Table, Tune
from puoc.plan.plan_source import SOURCE, source_of
from puoc.plan.schema import EncoderSpec, MethodSpec
from puoc.records import Encoding, JsonObject, Prior, content_id
from puoc.records import Params as Hyperparameters
from puoc.registry import ENCODERS, METHODS, PRIORS
from puoc.scenarios.drawing.overlap import shared_rows
from puoc.store.atomic import write_bytes, write_json
from puoc.store.cells import Cell, pool
from puoc.store.plan_files import CONFIGS, METRIC, PLAN
from puoc.store.plans import ComputeSpec, Config, EntryPlan, SharedRows, SweepConfig, SweepPlan, TablePlan, UserDataPlan
from puoc.store.yaml_file import InvalidInput


class Plan(NamedTuple):
    """Everything that ``puoc plan`` writes."""

    compute: ComputeSpec
    tables: dict[str, TablePlan]
    configs: dict[str, dict[str, Config]]  # published configurations, by table and entry
    sweeps: dict[str, SweepPlan]
    weights: dict[str, Hyperparameters]  # of frozen encoders
    data: dict[str, JsonObject]  # digests and files of the planned datasets
    user_data: list[Declared]
    metric: str  # by which methods are compared

    @property
    def files(self) -> dict[Path, JsonValue]:
        """Return the contents of the files by their path below the project's root."""
        files: dict[Path, JsonValue] = {PLAN / "compute.json": self.compute.to_json()}
        for name, table in self.tables.items():
            files[PLAN / "tables" / f"{name}.json"] = table.to_json()
            configs = {entry: config.to_json() for entry, config in self.configs[name].items()}
            files[CONFIGS / "published" / f"{name}.json"] = dict(configs)
        for name, sweep in self.sweeps.items():
            files[PLAN / "tune" / f"{name}.json"] = sweep.to_json()
        files[METRIC] = {"metric": self.metric}
        files[PLAN / "weights.json"] = dict(self.weights)
        files[PLAN / "data.json"] = dict(self.data)
        for declared in self.user_data:
            files[PLANNED / f"{declared.name}.json"] = declared.canonical()
        return files

    def write(self, root: Path, params: Path | None = None) -> list[Path]:
        """Write the files that changed, remove those that are no longer planned, and return the paths of both.

        Parameters
        ----------
        params : the params file of the plan. Commands compare it with its digest to find an outdated plan.
        """
        files = self.files | ({SOURCE: source_of(params, root)} if params is not None else {})
        touched = [path for path, value in files.items() if write_json(root / path, value)]
        for folder in (PLAN, CONFIGS / "published"):
            for path in sorted((root / folder).rglob("*.json")):
                if path.relative_to(root) not in files:
                    path.unlink()
                    touched.append(path.relative_to(root))
        # stages depend on this folder even without sweeps, and DVC's cache does not restore empty folders
        write_bytes(root / PLAN / "tune" / ".keep", b"")
        return touched


def make_plan(params: Params) -> Plan:
    """Return the plan of validated params."""
    datasets = sorted(
        {table.spec.dataset for table in params.tables.values()} | {tune.spec.dataset for tune in params.tune.values()}
    )
    return Plan(
        compute=params.compute,
        tables={name: _plan_table(name, table, params) for name, table in params.tables.items()},
        configs={
            name: {entry: _published(params.methods[entry], table) for entry in table.spec.methods}
            for name, table in params.tables.items()
        },
        sweeps={name: _plan_sweep(name, tune, params) for name, tune in params.tune.items()},
        weights={name: params.encoders[name].params for name in _frozen_encoders(params)},
        data={name: _plan_data(name) for name in datasets},
        user_data=[data.declared for name in datasets if (data := own_data(name)) is not None],
        metric=params.metric,
    )


def _published(spec: MethodSpec, table: Table) -> Config:
    """Return the configuration of params.yaml, with the hyperparameters of single classes that the table may need."""
    classes = {number for cell in table.cells for number in pool(cell.pos)}
    by_class = spec.by_pos.get(table.spec.dataset, {})
    used = {number: params for number, params in by_class.items() if number in classes}
    if not used:
        return Config(params=spec.params, source=spec.source)
    params_by_class = {str(number): params for number, params in sorted(used.items())}
    return Config(params=spec.params, source=spec.source, params_by_class=params_by_class)


def _plan_table(name: str, table: Table, params: Params) -> TablePlan:
    spec, dataset = table.spec, DATASETS[table.spec.dataset]
    return TablePlan(
        table=name,
        title=spec.title or name.replace("_", " "),
        scenario=spec.scenario,
        dataset=spec.dataset,
        data_digest=dataset.digest,
        draw_digest=draw_digest(dataset),
        labelled_draw_digest=_labelled_draw_digest(table.cells, dataset),
        scoring_digest=scoring_digest(),
        seeds=spec.seeds,
        cells=tuple(table.cells),
        user_data=_plan_user_data(spec.dataset),
        configs=spec.configs,
        published=spec.published,
        shared_rows=_shared_rows(table),
        entries_by_name={entry: _plan_entry(params, entry, spec.dataset) for entry in spec.methods},
    )


def _labelled_draw_digest(cells: list[Cell], dataset: type[Dataset]) -> str | None:
    return None if all(cell.is_plain for cell in cells) else labelled_draw_digest(dataset)


def _shared_rows(table: Table) -> SharedRows:
    """Return the mean over the cells, to three digits."""
    by_cell = [shared_rows(cell, DATASETS[table.spec.dataset].counts) for cell in table.cells]

    def mean(shares: Iterable[float]) -> float:
        return round(sum(shares) / len(by_cell), 3)

    return SharedRows(
        P=mean(shares.P for shares in by_cell),
        U=mean(shares.U for shares in by_cell),
        test=mean(shares.test for shares in by_cell),
    )


def _plan_sweep(name: str, tune: Tune, params: Params) -> SweepPlan:
    spec, dataset = tune.spec, DATASETS[tune.spec.dataset]
    return SweepPlan(
        table=name,
        title=f"sweep of {name}",
        scenario=spec.scenario,
        dataset=spec.dataset,
        data_digest=dataset.digest,
        draw_digest=draw_digest(dataset),
        labelled_draw_digest=_labelled_draw_digest(tune.cells, dataset),
        scoring_digest=scoring_digest(),
        seeds=spec.seeds,
        cells=tuple(tune.cells),
        user_data=_plan_user_data(spec.dataset),
        holdout=spec.holdout,
        space=spec.space,
        entries_by_name={name: _plan_entry(params, name, spec.dataset)},
        configs=tuple(
            SweepConfig(config_id=content_id(config)[:8], params=config, is_published=index == 0)
            for index, config in enumerate(tune.configs)
        ),
    )


def _plan_user_data(dataset: str) -> UserDataPlan | None:
    """Return the plan's part about user data; None for another dataset."""
    user_data = own_data(dataset)
    if user_data is None:
        return None
    declared = user_data.declared
    return UserDataPlan(tested=user_data.tested(), warnings=declared.marks, notes=declared.notes)


def _plan_entry(params: Params, entry: str, dataset: str) -> EntryPlan:
    spec = params.methods[entry]
    method = METHODS[str(spec.method)]
    encoder, prior = _encoder(params, spec.encoder, dataset), _prior(params, spec.prior, dataset)
    besides = ([PLAIN_ENCODER] if isinstance(encoder, str) else []) + ([PRIOR] if prior else [])
    return EntryPlan(
        entry=entry,
        method=str(spec.method),
        kind=method.kind,
        twin=method.twin,
        labels=spec.labels,
        prior=prior,
        encoder=encoder,
        numerics=spec.numerics,
        code_digest=code_digest(method, *besides),
        skip=_not_applicable(params, spec, dataset),
        published_as=spec.published_as,
        printed=entry in params.printed,
    )


def _encoder(params: Params, encoder: str | None, dataset: str) -> str | Encoding | None:
    """Return an entry's encoder; None if it would not change the rows, so that equal fits have equal ids."""
    if encoder not in params.encoders:
        return None if encoder == "flatten" and DATASETS[dataset].inputs == "vector" else encoder
    spec = params.encoders[encoder]
    name = str(spec.encoder)
    digest = code_digest(ENCODERS[name])
    ae_data = None if _is_frozen(spec) else getattr(ENCODERS[name], "learns_from", spec.ae_data)
    return Encoding(name=name, params=spec.params, ae_data=ae_data, code_digest=digest)


def _frozen_encoders(params: Params) -> list[str]:
    """Return the frozen encoders that a table or sweep uses, so that no other weights are downloaded."""
    entries = {entry for table in params.tables.values() for entry in table.spec.methods} | set(params.tune)
    specs = [params.methods[entry] for entry in entries]
    priors = [params.priors[spec.prior] for spec in specs if isinstance(spec.prior, str)]
    used = {spec.encoder for spec in specs} | {prior.encoder for prior in priors}
    return [name for name, spec in params.encoders.items() if name in used and _is_frozen(spec)]


def _is_frozen(spec: EncoderSpec) -> bool:
    return bool(ENCODERS[str(spec.encoder)].frozen)


def _prior(params: Params, prior: Prior | str | None, dataset: str) -> Prior | None:
    if not isinstance(prior, str):
        return prior
    spec = params.priors[prior]
    name, encoder = str(spec.prior), _encoder(params, spec.encoder, dataset)
    besides = [PLAIN_ENCODER] if isinstance(encoder, str) else []
    digest = code_digest(PRIORS[name] if name in PRIORS else METHODS[name], *besides)
    return Prior(kind=name, params=spec.params, encoder=encoder, code_digest=digest)


def _not_applicable(params: Params, spec: MethodSpec, dataset: str) -> str | None:
    """Return the reason why a method does not apply to a dataset: it or its prior estimator takes other rows."""
    from puoc.methods import inputs_of as accepted_by

    reason = _input_mismatch(
        params, str(spec.method), accepted_by(str(spec.method), spec.params), spec.encoder, dataset
    )
    if reason is None and isinstance(spec.prior, str):
        prior = params.priors[spec.prior]
        name = str(prior.prior)
        accepted = accepted_by(name, prior.params) if name in METHODS else frozenset(PRIORS[name].inputs)
        reason = _input_mismatch(params, name, accepted, prior.encoder, dataset)
    return reason


def _input_mismatch(
    params: Params, name: str, accepted: frozenset[str], encoder: str | None, dataset: str
) -> str | None:
    fitted = params.encoders.get(encoder) if encoder else None
    try:
        inputs = inputs_of(fitted.encoder if fitted else encoder, DATASETS[dataset].inputs)
    except ValueError as error:
        return f"{dataset}: {error}"
    if fitted and _is_frozen(fitted):
        try:
            make_encoder(str(fitted.encoder), fitted.params).check_shape(DATASETS[dataset].shape)
        except ValueError as error:
            raise InvalidInput([f"encoders.{encoder}: on {dataset}: {error}"]) from error
    if inputs in accepted:
        return None
    through = f" through the encoder {encoder}" if encoder else ""
    reason = f"{name} takes {' or '.join(sorted(accepted))} rows; {dataset}{through} gives {inputs} rows"
    return f"{reason}{_advice(accepted, DATASETS[dataset].inputs)}"


def _advice(accepted: frozenset[str], inputs: str) -> str:
    """Return a hint with the encoders that convert these rows to a form that the method accepts."""
    encoders = []
    for name in (*PLAIN, *sorted(ENCODERS)):
        with suppress(ValueError):  # the encoder takes other rows
            encoders += [name] if inputs_of(name, inputs) in accepted else []
    return f"; an encoder that fits: {' or '.join(encoders)}" if encoders else ""


def _plan_data(name: str) -> JsonObject:
    dataset, user_data = DATASETS[name], own_data(name)
    files = user_data.declared.files if user_data else {file.path: file.sha256 for file in dataset.files}
    return {"digest": dataset.digest, "files": dict(files)}
