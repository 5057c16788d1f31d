"""The plans of tables and sweeps, read from the plan files, as far as the comparison needs them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from puoc.store.checked_json import BY_PLAN, read_form

#: Why a table of user data has no AUC and nothing that is computed from one.
UNTESTED = "no labelled test rows"


class _Entry(BaseModel):
    method: str
    kind: str
    twin: str | None = None
    labels: str | None = None
    configs: str | None = None
    published_as: str | None = None
    skip: str | None = None


class _Cell(BaseModel):
    name: str


class _Shares(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, float]

    P: float
    U: float


class _UserData(BaseModel):
    tested: bool = True
    marks: list[str] = []
    notes: list[str] = []


class _Table(BaseModel):
    """The part of a table's plan that the comparison needs; ``puoc.plan.plan_files`` checks the rest."""

    table: str
    scenario: str
    dataset: str
    title: str | None = None
    cells: list[_Cell]
    entries: dict[str, _Entry]
    seeds: list[int]
    configs: str | None = None
    published: str | None = None
    shared_rows: _Shares | None = None
    own: _UserData | None = None


class _SweepEntry(BaseModel):
    method: str


class _Sweep(BaseModel):
    """The part of a sweep's plan that the comparison needs."""

    scenario: str
    dataset: str
    space: str
    entries: dict[str, _SweepEntry]


@dataclass(frozen=True)
class EntryPlan:
    """One row of a table."""

    entry: str
    method: str
    kind: str  # oc, pu, pu_oc
    twin: str | None  # of a PU-OC method: the OC method that it extends
    labels: str  # pu, oracle
    configs: str  # published, selected
    published_as: str | None = None  # the row of the paper that it is compared with; None: the row of its method
    skip: str | None = None  # why it does not apply to the dataset

    @property
    def oracle(self) -> bool:
        """A reference that sees true labels: outside ranks, pairs and selection."""
        return self.labels == "oracle"


@dataclass(frozen=True)
class TablePlan:
    """One table: entries x cells x seeds."""

    table: str
    scenario: str
    dataset: str
    title: str
    cells: tuple[str, ...]
    entries: tuple[EntryPlan, ...]
    seeds: tuple[int, ...]
    #: share of a seed's rows of P, U and the test set that another seed also has, mean over cells; None: not planned
    shared_rows: dict[str, float] | None = None
    published: str | None = None  # the table of the paper that it is compared with
    tested: bool = True  # False: user data without labelled test rows, for which there is no AUC
    marks: tuple[str, ...] = ()  # user data: overlap that was allowed, which is shown with every number
    notes: tuple[str, ...] = ()  # user data: which rows were read and which were left out

    @property
    def redraws(self) -> bool:
        """Whether seeds draw rows of P or of U. If both always contain all rows, a seed repeats the same sample."""
        shares = self.shared_rows
        return not shares or min(shares["P"], shares["U"]) < 1

    def twin_pairs(self) -> list[tuple[EntryPlan, EntryPlan]]:
        """Return each PU-OC entry with each entry of the OC method that it extends; oracles have no twin."""
        honest = [entry for entry in self.entries if not entry.oracle]
        return [
            (hybrid, parent)
            for hybrid in honest
            for parent in honest
            if hybrid.kind == "pu_oc" and parent.method == hybrid.twin
        ]


def planned_tables(root: Path) -> list[TablePlan]:
    """Return the plans in ``work/plan/tables``, sorted by name.

    Raises
    ------
    FileNotFoundError : there is no plan.
    ValueError : a plan file is not as ``puoc plan`` writes it.
    """
    folder = root / "work" / "plan" / "tables"
    if not folder.is_dir():
        raise FileNotFoundError(f"no plan at {folder}; `puoc plan` or `dvc repro` writes it")
    return [_table_plan(path) for path in sorted(folder.glob("*.json"))]


def planned_tuning(root: Path) -> list[str]:
    """Return the names of the sweeps planned in ``work/plan/tune``; empty if there is no sweep."""
    return sorted(path.stem for path in (root / "work" / "plan" / "tune").glob("*.json"))


def planned_sweep(root: Path, name: str) -> dict[str, Any]:
    """Return the plan of a sweep. Raises ValueError as ``planned_tables``."""
    path = root / "work" / "plan" / "tune" / f"{name}.json"
    plan: dict[str, Any] = read_form(path, _Sweep, BY_PLAN)
    if name not in plan["entries"]:
        raise ValueError(f"{path}: entries: {name}: the key is missing; {BY_PLAN}")
    return plan


def _table_plan(path: Path) -> TablePlan:
    content: dict[str, Any] = read_form(path, _Table, BY_PLAN)
    user_data = content.get("own") or {}
    plan = TablePlan(
        table=str(content["table"]),
        scenario=str(content["scenario"]),
        dataset=str(content["dataset"]),
        title=str(content.get("title") or content["table"]),
        cells=tuple(str(cell["name"]) for cell in content["cells"]),
        entries=tuple(_entry_plan(name, entry, content) for name, entry in content["entries"].items()),
        seeds=tuple(int(seed) for seed in content["seeds"]),
        published=content.get("published"),
        shared_rows=content.get("shared_rows"),
        tested=bool(user_data.get("tested", True)),
        marks=tuple(user_data.get("marks", ())),
        notes=tuple(user_data.get("notes", ())),
    )
    if plan.table != path.stem:
        raise ValueError(f"{path}: the file plans table {plan.table!r}, {path.stem!r} expected from its name")
    for noun, names in (("cell", plan.cells), ("seed", plan.seeds)):
        if len(set(names)) < len(names):
            raise ValueError(f"{path}: a {noun} is planned twice, expected once: {list(names)}")
    return plan


def _entry_plan(name: str, entry: dict[str, Any], table: dict[str, Any]) -> EntryPlan:
    return EntryPlan(
        entry=name,
        method=entry["method"],
        kind=entry["kind"],
        twin=entry.get("twin"),
        labels=entry.get("labels") or "pu",
        configs=str(entry.get("configs") or table.get("configs") or "published"),
        published_as=entry.get("published_as"),
        skip=entry.get("skip"),
    )
