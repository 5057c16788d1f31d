"""What a sweep asks: the plan's own sweep, or another space, search or scenario of an entry of params.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from puoc.methods import normalise
from puoc.plan.make_plan import PLAN, make_plan
from puoc.plan.params import read_params
from puoc.plan.search_spaces import enumerate_grid, extremes, read_space
from puoc.records import content_id
from puoc.run.stages import names, read_plan
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
    plan: dict[str, Any]  # as a file of work/plan/tune
    parts: list[Part] | None  # the space that is searched; None where the plan lists every configuration
    is_planned: bool  # exactly what work/plan/tune/<entry>.json asks
    rungs: tuple[int, ...] = ()  # epochs after which a configuration may be stopped

    @property
    def configs(self) -> list[dict[str, Any]]:
        """The configurations that are listed: all of a grid, the first ones of a search."""
        return list(self.plan["configs"])

    @property
    def method(self) -> str:
        """Id of the method."""
        return str(self.plan["entries"][self.entry]["method"])

    def of(self, params: dict[str, Any]) -> dict[str, Any]:
        """The plan with one configuration alone."""
        listed = next((config for config in self.configs if config["params"] == params), None)
        one = listed or {"config_id": content_id(params)[:8], "params": params, "is_published": False}
        return self.plan | {"configs": [one]}


def ask(root: Path, asking: Asking) -> Sweep:
    """The sweep that is asked.

    Raises
    ------
    ValueError : there is no such entry, scenario, sweep or space; what there is, is named. Nothing was started.
    """
    if asking.space is None and asking.search is None and not asking.asha:
        planned = names(root, "tune")
        if asking.entry in planned:
            plan = read_plan(root, "tune", asking.entry)
            if asking.scenario in (None, plan["scenario"]):
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
    plan = make_plan(params).files[PLAN / "tune" / f"{asking.entry}.json"]
    if search == "tpe":
        _check_values(file, space, parts, method, plan["configs"][0]["params"])
    name = "-".join([asking.entry, str(asking.scenario or section["scenario"]), space, search])
    rungs = _rungs(plan, parts) if asking.asha else ()
    name += "-asha" if rungs else ""
    return Sweep(name, asking.entry, plan, parts if search == "tpe" else None, is_planned=False, rungs=rungs)


def _section(data: dict[str, Any], asking: Asking) -> dict[str, Any]:
    """The question as the section tune writes it: the entry's own sweep, else what a table asks."""
    tune = data.get("tune")
    own = (tune if isinstance(tune, dict) else {}).get(asking.entry)
    if isinstance(own, dict) and asking.scenario in (None, own.get("scenario")):
        return dict(own)
    given = data.get("tables")
    tables = {
        name: table for name, table in (given if isinstance(given, dict) else {}).items() if isinstance(table, dict)
    }
    of_scenario = [name for name, table in tables.items() if table.get("scenario") == asking.scenario]
    found = asking.scenario if asking.scenario in tables else of_scenario[0] if len(of_scenario) == 1 else None
    if found is None:
        scenarios = ", ".join(f"{name} ({table.get('scenario')})" for name, table in tables.items()) or "none"
        what = "two tables have it" if of_scenario else "expected a table or the scenario of one"
        raise InvalidInput([f"--scenario: got {asking.scenario}; {what}; tables: {scenarios}"])
    leave = ("methods", "configs", "title", "published")
    # a table of own data may withhold rows itself
    return {"holdout": HOLDOUT} | {key: value for key, value in tables[found].items() if key not in leave}


def _method(data: dict[str, Any], entry: str) -> str:
    entries = data.get("methods")
    entries = entries if isinstance(entries, dict) else {}
    if not isinstance(entries.get(entry), dict):
        raise InvalidInput(
            [f"--method: got {entry!r}; expected an entry of methods in params.yaml: {', '.join(entries)}"]
        )
    return str(entries[entry].get("method") or entry)


def _spaces(root: Path, method: str) -> str:
    path = root / "tuning" / "spaces" / f"{method}.yaml"
    known = ", ".join(YamlFile(path).data) if path.exists() else "none"
    return f"expected a space of {method}: {known}"


def _check_values(file: YamlFile, space: str, parts: list[Part], method: str, own: dict[str, Any]) -> None:
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


def _rungs(plan: dict[str, Any], parts: list[Part]) -> tuple[int, ...]:
    """A ninth and a third of the most epochs that are asked."""
    listed = [config["params"].get("epochs") or 0 for config in plan["configs"]]
    ranges = [getattr(part["epochs"], "high", 0) for part in parts if "epochs" in part]
    most = max([*listed, *ranges])
    if most < FEWEST_EPOCHS:
        got = f"no configuration with {FEWEST_EPOCHS} epochs" if most else "a method without epochs"
        raise InvalidInput([f"--asha: got {got}; expected configurations of at least {FEWEST_EPOCHS} epochs"])
    return (most // 9, most // 9 * 3)
