"""Reader of params.yaml. It checks every key before anything starts.

The message of a fault contains the file, the line, the key, the value, the expected value and the nearest spelling. All
faults of a file are reported at once.

The file is longer than others, because each section is checked against those that the reader has read before it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import NamedTuple, TypeVar

from puoc.analysis.metrics import DEFAULT, check_name
from puoc.datasets import DATASETS
from puoc.datasets.user.dataset import own_data
from puoc.plan.learner_sections import Entries
from puoc.plan.schema import EncoderSpec, MethodSpec, PriorSpec, Spec, TableSpec, TuneSpec
from puoc.plan.search_spaces import enumerate_grid, has_published, read_space
from puoc.plan.user_data_section import UserDataSection
from puoc.records import Params as Hyperparameters
from puoc.scenarios import SCENARIOS, Cell, Scenario, check_counts
from puoc.store.messages import UNKNOWN_KEY, kind, listed, nearest
from puoc.store.plans import ComputeSpec
from puoc.store.yaml_file import InvalidInput, KeyPath, TooLargeError, YamlFile

M = TypeVar("M", bound=Spec)

#: Trials of one table or sweep. Planning takes about half a millisecond for each.
MAX_TRIALS = 200_000

UNKNOWN_SECTION = "unknown section"


class Table(NamedTuple):
    """A validated table."""

    spec: TableSpec
    cells: list[Cell]


class Tune(NamedTuple):
    """A validated sweep: all its configurations, with the published one first."""

    spec: TuneSpec
    cells: list[Cell]
    configs: list[Hyperparameters]


class Params(NamedTuple):
    """The validated content of a params file."""

    compute: ComputeSpec
    encoders: dict[str, EncoderSpec]
    priors: dict[str, PriorSpec]
    methods: dict[str, MethodSpec]
    tables: dict[str, Table]
    tune: dict[str, Tune]
    metric: str = DEFAULT  # by which methods are compared; it changes no fit
    printed: frozenset[str] = frozenset()  # entries whose hyperparameters are those that the paper prints


def read_params(path: Path, root: Path | None = None, tune: Mapping[str, object] | None = None) -> Params:
    """Read and check a params file; raises InvalidInput with every fault in it.

    Parameters
    ----------
    root : the project's folder, which contains ``tuning/spaces``; default: the folder of the file.
    tune : replaces the file's section of that name.
    """
    folder = path.parent if root is None else root
    try:
        file = YamlFile(path)
    except TooLargeError as error:
        raise TooLargeError(error.size, _unknown_keys(path, folder)) from error
    if tune is not None and isinstance(file.data, dict):
        file.data = file.data | {"tune": tune}
    return _Reader(file, folder).read()


def _unknown_keys(path: Path, root: Path) -> list[str]:
    """Return the faults in the beginning of a file that hold whatever follows: keys that nothing knows."""
    try:
        _Reader(YamlFile(path, beginning=True), root).read()
    except InvalidInput as error:
        return [fault for fault in error.faults if any(words in fault for words in (UNKNOWN_KEY, UNKNOWN_SECTION))]
    return []


class _Reader(Entries, UserDataSection):
    def __init__(self, file: YamlFile, root: Path):
        super().__init__(file)
        self.root = root
        self.entries: dict[str, object] = {}  # all entries of the section methods, valid or not

    def read(self) -> Params:
        data = self.file.data
        if not isinstance(data, dict):
            raise InvalidInput([f"{self.file.path.name}: got {kind(data)}; expected the sections {listed(_SECTIONS)}"])
        for key in data:
            if key not in _SECTIONS:
                self._fault((key,), f"{UNKNOWN_SECTION}{nearest(str(key), _SECTIONS)}; expected {listed(_SECTIONS)}")
        if data.get("tune") is None:  # the templates of DVC read this section too, and fail without it
            self._fault(("tune",), "the section is missing or empty; expected tune: {} if there are no sweeps")
        raw = data.get("compute")
        compute = self._section({} if raw is None else raw, ComputeSpec, ("compute",)) or ComputeSpec()
        metric = self._metric(data.get("metric", DEFAULT))
        self._datasets(self._mapping(data, "datasets"), self.root)
        self.encoders = self._encoders(self._mapping(data, "encoders"))
        self.priors = self._priors(self._mapping(data, "priors"))
        self.entries = self._mapping(data, "methods", required=True)
        methods = self._methods(self.entries)
        tables = self._mapping(data, "tables", required=True)
        params = Params(
            compute,
            self.encoders,
            self.priors,
            methods,
            {name: table for name, raw in tables.items() if (table := self._table(name, raw, methods))},
            {
                name: tune
                for name, raw in self._mapping(data, "tune").items()
                if (tune := self._tune(name, raw, methods))
            },
            metric,
        )
        if self.faults:
            raise InvalidInput(self.faults)
        return params._replace(printed=frozenset(name for name, spec in methods.items() if self._is_printed(spec)))

    def _metric(self, name: object) -> str:
        try:
            return check_name(name)
        except ValueError as error:
            self._fault(("metric",), str(error))
            return DEFAULT

    def _is_printed(self, entry: MethodSpec) -> bool:
        """Return True if the source of an entry names the paper and its values are those that the paper selected.

        Both are needed: where the paper prints nothing, the space published has values of released code.
        """
        if not re.match(r"paper\b", entry.source):
            return False
        by_class = [params for of_dataset in entry.by_pos.values() for params in of_dataset.values()]
        folder = self.root / "tuning" / "spaces"
        return all(has_published(folder, str(entry.method), params) for params in (entry.params, *by_class))

    def _table(self, name: str, raw: object, methods: dict[str, MethodSpec]) -> Table | None:
        key: KeyPath = ("tables", name)
        parts = self._spec_and_cells(key, raw, TableSpec)
        if parts is None:
            return None
        spec, cells = parts
        for index, entry in enumerate(spec.methods):
            if entry not in self.entries:
                hint = f"{nearest(entry, methods)}; expected a key of methods: {listed(methods)}"
                self._fault((*key, "methods", index), f"got {entry!r}{hint}")
        if len(set(spec.methods)) < len(spec.methods):
            self._fault((*key, "methods"), f"got a method twice in {listed(spec.methods)}; expected each once")
        self._check_alpha(key, spec.methods, cells, methods)
        self._check_user_data_table(key, spec.dataset, cells, spec.published)
        places: dict[KeyPath, str] = {("methods", index): entry for index, entry in enumerate(spec.methods)}
        self._check_user_data(key, spec.dataset, places, methods, self.encoders, self.priors)
        if spec.published and own_data(spec.dataset) is None:
            self._check_published((*key, "published"), spec.published, [cell.name for cell in cells], spec.dataset)
        if spec.configs == "selected" and not self.file.data.get("tune"):
            self._fault((*key, "configs"), "got selected but nothing is tuned; expected published, or a section tune")
        self._check_size(key, {"seeds": len(spec.seeds), "cells": len(cells), "methods": len(spec.methods)})
        return Table(spec, cells)

    def _check_size(self, key: KeyPath, sizes: dict[str, int]) -> None:
        trials = prod(sizes.values())
        if trials > MAX_TRIALS:
            got = " x ".join(f"{n:,} {name}" for name, n in sizes.items())
            self._fault(key, f"got {trials:,} trials ({got}); expected at most {MAX_TRIALS:,}, so fewer of one of them")

    def _check_alpha(
        self, key: KeyPath, entries: tuple[str, ...], cells: list[Cell], methods: dict[str, MethodSpec]
    ) -> None:
        """Check that no method gets a true prior of 1: its risk would divide the weight of the negatives by zero."""
        without_negatives = [cell.name for cell in cells if cell.n_neg_unl == 0]
        with_true_prior = [
            name for name in entries if name in methods and getattr(methods[name].prior, "kind", "") == "true"
        ]
        if without_negatives and with_true_prior:
            expected = "{fixed: NUMBER} or a key of the section priors"
            self._fault(
                key,
                f"cell {without_negatives[0]} has no negatives in U, and {with_true_prior[0]} has prior: true; "
                f"expected {expected}",
            )

    def _check_published(self, key: KeyPath, published: str, cells: list[str], dataset: str) -> None:
        """Check that the paper has a number for at least one cell of the table."""
        from puoc.analysis.paper.matching import published_columns
        from puoc.analysis.paper.published import columns

        if not published_columns(published, cells, dataset):
            expected = f"at least one of its columns, {listed(columns(published))}"
            self._fault(key, f"got {published}, and the cells are {listed(cells)}; expected {expected}")

    def _tune(self, name: str, raw: object, methods: dict[str, MethodSpec]) -> Tune | None:
        key: KeyPath = ("tune", name)
        if name not in methods:
            if name not in self.entries:
                self._fault(key, f"got {name!r}{nearest(name, methods)}; expected a key of methods: {listed(methods)}")
            return None
        if methods[name].labels == "oracle":
            self._fault(key, "got an entry with labels: oracle; expected none, since selection may not use labels")
        if self._sees_withheld(methods[name]):
            self._fault(
                key, "got an encoder with ae_data: all_positives; expected none that learns from the withheld rows"
            )
        if methods[name].by_pos:
            self._fault(key, "got an entry with by_pos; expected one with the same hyperparameters for every class")
        parts = self._spec_and_cells(key, raw, TuneSpec)
        if parts is None:
            return None
        spec, cells = parts
        self._check_alpha(key, (name,), cells, methods)
        self._check_user_data(key, spec.dataset, {(): name}, methods, self.encoders, self.priors)
        configs = self._configs(key, spec, methods[name])
        self._check_size(key, {"seeds": len(spec.seeds), "cells": len(cells), "configurations": len(configs)})
        return Tune(spec, cells, configs)

    def _sees_withheld(self, entry: MethodSpec) -> bool:
        prior = self.priors.get(entry.prior) if isinstance(entry.prior, str) else None
        used = (entry.encoder, prior.encoder if prior else None)
        return any(name in self.encoders and self.encoders[name].ae_data == "all_positives" for name in used)

    def _configs(self, key: KeyPath, spec: TuneSpec, entry: MethodSpec) -> list[Hyperparameters]:
        from puoc.methods import normalise

        method = str(entry.method)
        configs = [entry.params]
        try:
            for values in enumerate_grid(read_space(self.root / "tuning" / "spaces", method, spec.space)):
                config = normalise(method, entry.params | values)
                if config not in configs:
                    configs.append(config)
        except InvalidInput as error:
            self.faults += [f"{self.file.at((*key, 'space'))}: {fault}" for fault in error.faults]
        except ValueError as error:
            self.faults += [f"{self.file.at((*key, 'space'))}: {method}: {line}" for line in str(error).splitlines()]
        return configs

    def _spec_and_cells(self, key: KeyPath, raw: object, model: type[M]) -> tuple[M, list[Cell]] | None:
        """Read a section with a scenario; the mapping has the keys of the section and those of the scenario."""
        if not isinstance(raw, dict):
            self._fault(
                key, f"got {kind(raw)}; expected the keys {listed(model.model_fields)} and those of the scenario"
            )
            return None
        scenario, dataset = raw.get("scenario"), raw.get("dataset")
        for part, value, table in (("scenario", scenario, SCENARIOS), ("dataset", dataset, DATASETS)):
            if value is None:
                self._fault((*key, part), f"the key is missing; expected one of {listed(sorted(table))}")
            elif part == "dataset" and isinstance(value, str) and value in self.unread:
                continue  # its fault is reported already
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
        unknown = [name for name in raw if name not in known]
        for name in unknown:
            self._fault((*key, name), f"{UNKNOWN_KEY}{nearest(str(name), known)}; expected one of {listed(known)}")
        spec_keys = {name: value for name, value in raw.items() if name in model.model_fields}
        scenario_keys = {name: value for name, value in raw.items() if name in known and name not in model.model_fields}
        spec = self._section(spec_keys, model, key)
        scenario_spec: Scenario | None = self._section(scenario_keys, SCENARIOS[scenario], key)
        if spec is None or scenario_spec is None:
            return None
        cls = DATASETS[dataset]
        try:
            cells = scenario_spec.cells_of(cls)
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


_SECTIONS = ("compute", "metric", "datasets", "tables", "tune", "encoders", "priors", "methods")


__all__ = ["InvalidInput", "Params", "read_params"]
