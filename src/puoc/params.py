"""The one reader of params.yaml and its one schema. Every key is checked before anything starts.

A fault names the file, the line, the key, what stands there, what was expected and the nearest spelling. All faults of
a file are reported at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from puoc.datasets import DATASETS
from puoc.faults import is_name, kind, listed, location, nearest, sentence
from puoc.records import Prior
from puoc.scenarios import SCENARIOS, Cell, check_counts
from puoc.spaces import enumerate_grid, read_space
from puoc.yamlfile import AskedWrongly, KeyPath, YamlFile, dotted

M = TypeVar("M", bound="Spec")


class Spec(BaseModel):
    """A section of params.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)


def _as_seeds(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("expected a number of seeds or a list of them")
    if isinstance(value, int):
        if value < 1:
            raise ValueError("expected at least 1 seed")
        return tuple(range(value))
    return value


def _as_prior(value: Any) -> Any:
    """``true`` (YAML reads it as a truth value), or ``{fixed: 0.4}``."""
    if value is True or value == "true":
        return {"kind": "true"}
    if isinstance(value, dict) and set(value) == {"fixed"}:
        return {"kind": "fixed", "value": value["fixed"]}
    raise ValueError("expected true (the share in the draw) or {fixed: NUMBER}")


class ComputeSpec(Spec):
    """How to compute; nothing here changes what is asked."""

    workers: Annotated[int, Field(ge=1)] | Literal["auto"] = (
        "auto"  # processes with one thread each; auto: as many as there are cores
    )
    lane_map: Literal["auto", "loop", "vmap"] = "auto"
    max_lanes: int = Field(8, ge=1)  # fits trained as one batch
    models: Literal["all", "none"] = "all"  # which fitted models the ledger keeps
    device: str = "cpu"


class MethodSpec(Spec):
    """A row of a table: a method, its hyperparameters and what it is given."""

    method: str | None = None  # id of the method; absent: the entry's own name
    params: dict[str, Any]  # hyperparameters, all of them
    prior: Annotated[Prior, BeforeValidator(_as_prior)] | None = None
    encoder: str | None = None
    numerics: Literal["fp32"] = "fp32"
    labels: Literal["pu", "oracle"] = "pu"
    source: str = "params.yaml"  # where the hyperparameters come from


class TableSpec(Spec):
    """A table: methods in rows, the cells of a scenario in columns."""

    scenario: str
    dataset: str
    methods: tuple[str, ...] = Field(min_length=1)
    seeds: Annotated[tuple[int, ...], BeforeValidator(_as_seeds), Field(min_length=1)]
    configs: Literal["published", "selected"]
    title: str | None = None


class TuneSpec(Spec):
    """A sweep over configurations of one entry of ``methods``."""

    scenario: str
    dataset: str
    seeds: Annotated[tuple[int, ...], BeforeValidator(_as_seeds), Field(min_length=1)]
    space: str  # a space of tuning/spaces/<method>.yaml
    search: Literal["grid"]
    holdout: float = Field(gt=0, lt=1)  # share of P and U withheld to choose by


class Table(NamedTuple):
    """A validated table."""

    spec: TableSpec
    cells: list[Cell]


class Tune(NamedTuple):
    """A validated sweep: every configuration, the published one first."""

    spec: TuneSpec
    cells: list[Cell]
    configs: list[dict[str, Any]]


class Params(NamedTuple):
    """Everything that is asked."""

    compute: ComputeSpec
    methods: dict[str, MethodSpec]
    tables: dict[str, Table]
    tune: dict[str, Tune]


def read_params(path: Path) -> Params:
    """Read and check a params file; raises AskedWrongly with every fault in it."""
    return _Reader(YamlFile(path), path.parent).read()


class _Reader:
    def __init__(self, file: YamlFile, root: Path):
        self.file, self.root = file, root
        self.faults: list[str] = []

    def read(self) -> Params:
        data = self.file.data
        if not isinstance(data, dict):
            raise AskedWrongly([f"{self.file.path.name}: got {kind(data)}; expected the sections {_SECTIONS}"])
        for key in data:
            if key not in _SECTIONS:
                self._fault((key,), f"unknown section{nearest(str(key), _SECTIONS)}; expected {listed(_SECTIONS)}")
        compute = self._section(data.get("compute") or {}, ComputeSpec, ("compute",)) or ComputeSpec()
        methods = self._methods(self._mapping(data, "methods", required=True))
        tables = self._mapping(data, "tables", required=True)
        params = Params(
            compute,
            methods,
            {name: table for name, raw in tables.items() if (table := self._table(name, raw, methods))},
            {
                name: tune
                for name, raw in self._mapping(data, "tune").items()
                if (tune := self._tune(name, raw, methods))
            },
        )
        if self.faults:
            raise AskedWrongly(self.faults)
        return params

    # sections

    def _methods(self, raw: dict[str, Any]) -> dict[str, MethodSpec]:
        from puoc.methods import METHODS, normalise

        found = {}
        for name, value in raw.items():
            key: KeyPath = ("methods", name)
            spec = self._section(value, MethodSpec, key)
            if spec is None:
                continue
            method = spec.method or name
            if method not in METHODS:
                where = (*key, "method") if spec.method else key
                self._fault(
                    where, f"unknown method {method!r}{nearest(method, METHODS)}; known: {listed(sorted(METHODS))}"
                )
                continue
            cls = METHODS[method]
            if cls.kind == "oc" and spec.prior is not None:
                self._fault((*key, "prior"), f"{method} is a one-class method and takes no prior; expected no such key")
            if cls.kind == "oc" and spec.labels == "oracle":
                self._fault((*key, "labels"), f"{method} is a one-class method; expected labels: oracle on a PU method")
            if cls.kind != "oc" and getattr(cls, "needs_alpha", True) and spec.prior is None:
                self._fault((*key, "prior"), f"{method} needs a class prior; expected true or {{fixed: NUMBER}}")
            try:
                values = normalise(method, spec.params)
            except ValueError as error:
                self.faults += [f"{self.file.at((*key, 'params'))}: {line}" for line in str(error).splitlines()]
                continue
            found[name] = spec.model_copy(update={"method": method, "params": values})
        return found

    def _table(self, name: str, raw: Any, methods: dict[str, MethodSpec]) -> Table | None:
        key: KeyPath = ("tables", name)
        parts = self._question(key, raw, TableSpec)
        if parts is None:
            return None
        spec, cells = parts
        for index, entry in enumerate(spec.methods):
            if entry not in self.file.data.get("methods", {}):
                hint = f"{nearest(entry, methods)}; expected a key of methods: {listed(methods)}"
                self._fault((*key, "methods", index), f"got {entry!r}{hint}")
        if len(set(spec.methods)) < len(spec.methods):
            self._fault((*key, "methods"), f"got a method twice in {listed(spec.methods)}; expected each once")
        if spec.configs == "selected" and not (self.file.data.get("tune") or {}):
            self._fault((*key, "configs"), "got selected but nothing is tuned; expected published, or a section tune")
        return Table(spec, cells)

    def _tune(self, name: str, raw: Any, methods: dict[str, MethodSpec]) -> Tune | None:
        key: KeyPath = ("tune", name)
        if name not in methods:
            if name not in self.file.data.get("methods", {}):
                self._fault(key, f"got {name!r}{nearest(name, methods)}; expected a key of methods: {listed(methods)}")
            return None
        parts = self._question(key, raw, TuneSpec)
        if parts is None:
            return None
        spec, cells = parts
        return Tune(spec, cells, self._configs(key, spec, methods[name]))

    def _configs(self, key: KeyPath, spec: TuneSpec, entry: MethodSpec) -> list[dict[str, Any]]:
        from puoc.methods import normalise

        method = str(entry.method)
        configs = [entry.params]
        try:
            for values in enumerate_grid(read_space(self.root / "tuning" / "spaces", method, spec.space)):
                config = normalise(method, entry.params | values)
                if config not in configs:
                    configs.append(config)
        except AskedWrongly as error:
            self.faults += [f"{self.file.at((*key, 'space'))}: {fault}" for fault in error.faults]
        except ValueError as error:
            self.faults += [f"{self.file.at((*key, 'space'))}: {method}: {line}" for line in str(error).splitlines()]
        return configs

    def _question(self, key: KeyPath, raw: Any, model: type[M]) -> tuple[M, list[Cell]] | None:
        """A section that names a scenario: its own keys, and those of the scenario, in one mapping."""
        if not isinstance(raw, dict):
            self._fault(key, f"got {kind(raw)}; expected the keys {listed(model.model_fields)} and the scenario's own")
            return None
        if not is_name(str(key[-1])):
            self._fault(key, "expected a name of small letters, digits and _, beginning with a letter")
        scenario, dataset = raw.get("scenario"), raw.get("dataset")
        for part, value, table in (("scenario", scenario, SCENARIOS), ("dataset", dataset, DATASETS)):
            if value is None:
                self._fault((*key, part), f"the key is missing; expected one of {listed(sorted(table))}")
            elif not isinstance(value, str) or value not in table:
                self._fault(
                    (*key, part),
                    f"got {value!r}{nearest(str(value), table)}; expected one of {listed(sorted(table))}",
                )
        if (
            not isinstance(scenario, str)
            or not isinstance(dataset, str)
            or scenario not in SCENARIOS
            or dataset not in DATASETS
        ):
            return None
        known = [*model.model_fields, *SCENARIOS[scenario].model_fields]
        strange = [name for name in raw if name not in known]
        for name in strange:
            self._fault((*key, name), f"unknown key{nearest(str(name), known)}; {scenario} takes {listed(known)}")
        own = {name: value for name, value in raw.items() if name in model.model_fields}
        asked = {name: value for name, value in raw.items() if name not in model.model_fields and name not in strange}
        spec = self._section(own, model, key)
        scene: Any = self._section(asked, SCENARIOS[scenario], key)
        if spec is None or scene is None:
            return None
        cls = DATASETS[dataset]
        try:
            cells = scene.cells(len(cls.classes))
            for cell in cells:
                check_counts(
                    cell,
                    cls.counts,
                    getattr(spec, "holdout", 0.0),
                    where=f"{scenario}, cell {cell.name}",
                    dataset=dataset,
                )
        except ValueError as error:
            self._fault(key, str(error))
            return None
        return spec, cells

    # faults

    def _mapping(self, data: dict[str, Any], section: str, required: bool = False) -> dict[str, Any]:
        value = data.get(section)
        if value is None and not required:
            return {}
        if not isinstance(value, dict) or not value:
            self._fault((section,), f"got {kind(value)}; expected at least one entry")
            return {}
        return value

    def _section(self, raw: Any, model: type[M], key: KeyPath) -> M | None:
        if not isinstance(raw, dict):
            self._fault(key, f"got {kind(raw)}; expected the keys {listed(model.model_fields)}")
            return None
        try:
            return model.model_validate(raw)
        except ValidationError as error:
            for item in error.errors():
                self._fault((*key, *location(item["loc"])), sentence(item, model))
            return None

    def _fault(self, key: KeyPath, text: str) -> None:
        self.faults.append(f"{self.file.at(key)}: {text}")


_SECTIONS = ("compute", "tables", "tune", "methods")


__all__ = ["AskedWrongly", "Params", "dotted", "read_params"]
