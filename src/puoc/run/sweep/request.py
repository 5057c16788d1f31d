"""What a sweep asks: the plan's own sweep, or another space, search or scenario of an entry of params.yaml."""

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

HOLDOUT = 0.2  # share of P and U withheld where a table lends its question and has none
FEWEST_EPOCHS = 9  # of the longest configuration, for successive halving

Search = Literal["grid", "tpe"]


class Asking(NamedTuple):
    """What the command line says."""

    entry: str
    scenario: str | None = None  # the sweep's own, or a table, or the scenario of a single table
    space: str | None = None
    search: Search | None = None
    asha: bool = False


class Sweep(NamedTuple):
    """A sweep that is asked in order."""

    name: str  # of its files
    entry: str
    plan: SweepPlan
    parts: list[Part] | None  # the space that is searched; None where the plan lists every configuration
    is_planned: bool  # exactly what work/plan/tune/<entry>.json asks
    rungs: tuple[int, ...] = ()  # epochs after which a configuration may be stopped

    @property
    def configs(self) -> tuple[SweepConfig, ...]:
        """The configurations that are listed: all of a grid, the first ones of a search."""
        return self.plan.configs

    @property
    def method(self) -> str:
        """Id of the method."""
        return self.plan.entries_by_name[self.entry].method

    def config(self, params: Params) -> SweepConfig:
        """Return the configuration with these hyperparameters, listed or not."""
        listed = next((config for config in self.configs if config.params == params), None)
        return listed or SweepConfig(config_id=content_id(params)[:8], params=params, is_published=False)

    def of(self, params: Params) -> SweepPlan:
        """Return the plan with one configuration alone."""
        return self.plan.with_configs([self.config(params)])


def ask(root: Path, asking: Asking) -> Sweep:
    """The sweep that is asked.

    Raises
    ------
    ValueError : there is no such entry, scenario, sweep or space; what there is, is named. Nothing was started.
    """
    if asking.space is None and asking.search is None and not asking.asha:
        planned = sweep_names(root)
        if asking.entry in planned:
            plan = planned_sweep(root, asking.entry)
            if asking.scenario in (None, plan.scenario):
                return Sweep(asking.entry, asking.entry, plan, None, is_planned=True)
        elif asking.scenario is None:
            expected = f"planned: {', '.join(planned) or 'none'}; or give --scenario and --space"
            raise InvalidInput([f"--method: got {asking.entry}, which no plan sweeps; {expected}"])
    return _other(root, asking)


def _other(root: Path, asking: Asking) -> Sweep:
    file = YamlFile(root / "params.yaml")
    data = file.data if isinstance(file.data, dict) else {}
    section = _section(data, asking)
    method = _method(data, asking.entry)
    search = asking.search or "grid"
    space = asking.space or ("wide" if search == "tpe" else section.pop("space", None))
    if space is None:
        raise InvalidInput([f"--space: params.yaml sweeps no {asking.entry}; {_spaces(root, method)}"])
    space = str(space)
    parts = read_space(root / "tuning" / "spaces", method, space)
    file = YamlFile(root / "tuning" / "spaces" / f"{method}.yaml")
    if search == "tpe" and "published" not in file.data:
        raise InvalidInput(
            [f"--search tpe begins with the space published, and there is none; {_spaces(root, method)}"]
        )
    # a search begins with the entry's own and the published configurations, and lists no others
    section |= {"space": "published" if search == "tpe" else space, "search": "grid"}
    place = f"--space: got {space}; tuning/spaces/{file.at((space,))}"
    try:
        if search == "grid" and asking.space is not None:
            enumerate_grid(parts)
    except InvalidInput as error:
        raise InvalidInput([f"{place}: {fault}, or ask --search tpe" for fault in error.faults]) from None
    try:
        params = read_params(root / "params.yaml", root, tune={asking.entry: section})
    except InvalidInput as error:
        if search == "tpe" or asking.space is None:
            raise
        # read as if params.yaml asked it, which is not where the fault is
        at = YamlFile(root / "params.yaml").at(("tune", asking.entry, "space"))
        raise InvalidInput([fault.replace(at, place) for fault in error.faults]) from None
    plan = make_plan(params).sweeps[asking.entry]
    if search == "tpe":
        _check_values(file, space, parts, method, plan.configs[0].params)
    name = "-".join([asking.entry, str(asking.scenario or section["scenario"]), space, search])
    rungs = _rungs(plan, parts) if asking.asha else ()
    name += "-asha" if rungs else ""
    return Sweep(name, asking.entry, plan, parts if search == "tpe" else None, is_planned=False, rungs=rungs)


def _section(data: JsonObject, asking: Asking) -> JsonObject:
    """Return the section as tune has it: the entry's own sweep, else the keys of a table."""
    planned = _mappings(data, "tune").get(asking.entry)
    if planned is not None and asking.scenario in (None, planned.get("scenario")):
        return dict(planned)
    tables = _mappings(data, "tables")
    of_scenario = [name for name, table in tables.items() if table.get("scenario") == asking.scenario]
    found = asking.scenario if asking.scenario in tables else of_scenario[0] if len(of_scenario) == 1 else None
    if found is None:
        scenarios = ", ".join(f"{name} ({table.get('scenario')})" for name, table in tables.items()) or "none"
        what = "two tables have it" if of_scenario else "expected a table or the scenario of one"
        raise InvalidInput([f"--scenario: got {asking.scenario}; {what}; tables: {scenarios}"])
    leave = ("methods", "configs", "title", "published")
    # a table of own data may withhold rows itself
    return {"holdout": HOLDOUT} | {key: value for key, value in tables[found].items() if key not in leave}


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
    known = ", ".join(YamlFile(path).data) if path.exists() else "none"
    return f"expected a space of {method}: {known}"


def _check_values(file: YamlFile, space: str, parts: list[Part], method: str, own: Params) -> None:
    """Refuse a space from which a search could suggest what its method does not take: ends of ranges, every choice."""
    faults: dict[str, str] = {}
    for index, part in enumerate(parts):
        key: KeyPath = (space, index) if isinstance(file.data[space], list) else (space,)
        values = {name: extremes(distribution) for name, distribution in part.items()}
        corners = [{name: found[end] for name, found in values.items()} for end in (0, -1)]
        others = [corners[0] | {name: value} for name, found in values.items() for value in found[1:-1]]
        for given in corners + others:
            try:
                normalise(method, own | given)
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
    """A ninth and a third of the most epochs that are asked."""
    listed = [epochs_of(config.params) for config in plan.configs]
    ranges = [getattr(part["epochs"], "high", 0) for part in parts if "epochs" in part]
    most = max([*listed, *ranges])
    if most < FEWEST_EPOCHS:
        got = f"no configuration with {FEWEST_EPOCHS} epochs" if most else "a method without epochs"
        raise InvalidInput([f"--asha: got {got}; expected configurations of at least {FEWEST_EPOCHS} epochs"])
    return (most // 9, most // 9 * 3)
