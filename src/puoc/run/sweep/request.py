"""Resolve a request for a sweep: the planned sweep of an entry, or another space, search or scenario of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from puoc.methods import normalise
from puoc.plan.make_plan import make_plan
from puoc.plan.params import read_params
from puoc.plan.search_spaces import enumerate_grid, extremes, read_space
from puoc.records import JsonObject, Params, content_id
from puoc.store.plan_files import planned_sweep, sweep_names
from puoc.store.plans import SweepConfig, SweepPlan
from puoc.store.yaml_file import InvalidInput, KeyPath, YamlFile

if TYPE_CHECKING:
    from puoc.plan.search_spaces import Part

HOLDOUT = 0.2  # share of P and U withheld if the sweep takes its keys from a table without holdout
MIN_EPOCHS = 9  # of the longest configuration, for successive halving

Search = Literal["grid", "tpe"]


class SweepRequest(NamedTuple):
    """Options of the command line that choose a sweep."""

    entry: str
    scenario: str | None = None  # None: that of the planned sweep; else a table, or a scenario that one table has
    space: str | None = None
    search: Search | None = None
    asha: bool = False


class Sweep(NamedTuple):
    """A validated sweep."""

    name: str  # name of its files
    entry: str
    plan: SweepPlan
    parts: list[Part] | None  # the space that is searched; None if the plan lists every configuration
    is_planned: bool  # whether it is the sweep of work/plan/tune/<entry>.json
    rungs: tuple[int, ...] = ()  # epochs after which a configuration may be stopped

    @property
    def configs(self) -> tuple[SweepConfig, ...]:
        """Return the listed configurations: all of a grid, or the first ones of a search."""
        return self.plan.configs

    @property
    def method(self) -> str:
        """Return the id of the method."""
        return self.plan.entries_by_name[self.entry].method

    def config(self, params: Params) -> SweepConfig:
        """Return the configuration with these hyperparameters, listed or not."""
        listed = next((config for config in self.configs if config.params == params), None)
        return listed or SweepConfig(config_id=content_id(params)[:8], params=params, is_published=False)

    def plan_of(self, params: Params) -> SweepPlan:
        """Return the plan with one configuration alone."""
        return self.plan.with_configs([self.config(params)])


def resolve_sweep(root: Path, request: SweepRequest) -> Sweep:
    """Return the requested sweep.

    Raises
    ------
    ValueError : there is no such entry, scenario, sweep or space. The message lists the existing ones.
    """
    if request.space is None and request.search is None and not request.asha:
        planned = sweep_names(root)
        if request.entry in planned:
            plan = planned_sweep(root, request.entry)
            if request.scenario in (None, plan.scenario):
                return Sweep(request.entry, request.entry, plan, None, is_planned=True)
        elif request.scenario is None:
            expected = f"planned: {', '.join(planned) or 'none'}; or give --scenario and --space"
            raise InvalidInput([f"--method: got {request.entry}, which no plan sweeps; {expected}"])
    return _other(root, request)


def _other(root: Path, request: SweepRequest) -> Sweep:
    file = YamlFile(root / "params.yaml")
    data = file.data if isinstance(file.data, dict) else {}
    section = _section(data, request)
    method = _method(data, request.entry)
    search = request.search or "grid"
    space = request.space or ("wide" if search == "tpe" else section.pop("space", None))
    if space is None:
        raise InvalidInput([f"--space: params.yaml sweeps no {request.entry}; {_spaces(root, method)}"])
    space = str(space)
    parts = read_space(root / "tuning" / "spaces", method, space)
    file = YamlFile(root / "tuning" / "spaces" / f"{method}.yaml")
    if search == "tpe" and "published" not in file.data:
        raise InvalidInput(
            [f"--search tpe begins with the space published, and there is none; {_spaces(root, method)}"]
        )
    # a search begins with the configuration of the entry and the published ones, and lists no others
    section |= {"space": "published" if search == "tpe" else space, "search": "grid"}
    place = f"--space: got {space}; tuning/spaces/{file.at((space,))}"
    try:
        if search == "grid" and request.space is not None:
            enumerate_grid(parts)
    except InvalidInput as error:
        raise InvalidInput([f"{place}: {fault}, or ask --search tpe" for fault in error.faults]) from None
    try:
        params = read_params(root / "params.yaml", root, tune={request.entry: section})
    except InvalidInput as error:
        if search == "tpe" or request.space is None:
            raise
        # the section was read as part of params.yaml, but the fault is in the file of spaces
        place_in_params = YamlFile(root / "params.yaml").at(("tune", request.entry, "space"))
        raise InvalidInput([fault.replace(place_in_params, place) for fault in error.faults]) from None
    plan = make_plan(params).sweeps[request.entry]
    if search == "tpe":
        _check_values(file, space, parts, method, plan.configs[0].params)
    name = "-".join([request.entry, str(request.scenario or section["scenario"]), space, search])
    rungs = _rungs(plan, parts) if request.asha else ()
    name += "-asha" if rungs else ""
    return Sweep(name, request.entry, plan, parts if search == "tpe" else None, is_planned=False, rungs=rungs)


def _section(data: JsonObject, request: SweepRequest) -> JsonObject:
    """Return the keys of a section of tune: those of the entry's planned sweep, else those of a table."""
    planned = _mappings(data, "tune").get(request.entry)
    if planned is not None and request.scenario in (None, planned.get("scenario")):
        return dict(planned)
    tables = _mappings(data, "tables")
    of_scenario = [name for name, table in tables.items() if table.get("scenario") == request.scenario]
    table_name = request.scenario if request.scenario in tables else of_scenario[0] if len(of_scenario) == 1 else None
    if table_name is None:
        scenarios = ", ".join(f"{name} ({table.get('scenario')})" for name, table in tables.items()) or "none"
        reason = "two tables have it" if of_scenario else "expected a table or the scenario of one"
        raise InvalidInput([f"--scenario: got {request.scenario}; {reason}; tables: {scenarios}"])
    table_keys = ("methods", "configs", "title", "published")
    # a table of user data may have a holdout
    return {"holdout": HOLDOUT} | {key: value for key, value in tables[table_name].items() if key not in table_keys}


def _mappings(data: JsonObject, section: str) -> dict[str, JsonObject]:
    """Return the entries of a section that are mappings."""
    entries = data.get(section)
    named = entries.items() if isinstance(entries, dict) else ()
    return {name: entry for name, entry in named if isinstance(entry, dict)}


def _method(data: JsonObject, entry: str) -> str:
    entries = _mappings(data, "methods")
    if entry not in entries:
        raise InvalidInput(
            [f"--method: got {entry!r}; expected an entry of methods in params.yaml: {', '.join(entries)}"]
        )
    return str(entries[entry].get("method") or entry)


def _spaces(root: Path, method: str) -> str:
    path = root / "tuning" / "spaces" / f"{method}.yaml"
    spaces = ", ".join(YamlFile(path).data) if path.exists() else "none"
    return f"expected a space of {method}: {spaces}"


def _check_values(file: YamlFile, space: str, parts: list[Part], method: str, params: Params) -> None:
    """Raise InvalidInput if the method rejects an end of a range or a choice of the space.

    Parameters
    ----------
    params : hyperparameters of the entry, which the space replaces in part.
    """
    faults: dict[str, str] = {}
    for index, part in enumerate(parts):
        key: KeyPath = (space, index) if isinstance(file.data[space], list) else (space,)
        values = {name: extremes(distribution) for name, distribution in part.items()}
        corners = [{name: choices[end] for name, choices in values.items()} for end in (0, -1)]
        others = [corners[0] | {name: value} for name, choices in values.items() for value in choices[1:-1]]
        for suggestion in corners + others:
            try:
                normalise(method, params | suggestion)
            except ValueError as error:
                for line in str(error).split("; "):
                    name = [name for name in part if f"hyperparameter {name!r}" in line][:1]
                    faults.setdefault(f"tuning/spaces/{file.at((*key, *name))}", line)
    if faults:
        raise InvalidInput([f"{place}: {line}" for place, line in faults.items()])


def epochs_of(params: Params) -> int:
    """Return the number of epochs; 0 for a method without epochs."""
    epochs = params.get("epochs")
    return epochs if isinstance(epochs, int) else 0


def _rungs(plan: SweepPlan, parts: list[Part]) -> tuple[int, ...]:
    """Return a ninth and a third of the largest number of epochs of the configurations."""
    listed = [epochs_of(config.params) for config in plan.configs]
    ranges = [getattr(part["epochs"], "high", 0) for part in parts if "epochs" in part]
    max_epochs = max([*listed, *ranges])
    if max_epochs < MIN_EPOCHS:
        got = f"no configuration with {MIN_EPOCHS} epochs" if max_epochs else "a method without epochs"
        raise InvalidInput([f"--asha: got {got}; expected configurations of at least {MIN_EPOCHS} epochs"])
    return (max_epochs // 9, max_epochs // 9 * 3)
