"""What was asked, as far as the comparison needs it: the plan files of tables and tuning entries."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from puoc.store.checked_json import BY_PLAN, read_form

#: Why a table of own data has no AUC and nothing that rests on one.
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


class _Own(BaseModel):
    tested: bool = True
    marks: list[str] = []
    notes: list[str] = []


class _Table(BaseModel):
    """What the comparison needs of a table's plan; what computing needs besides, ``puoc.plan.plan_files`` checks."""

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
    own: _Own | None = None


class _Tuned(BaseModel):
    method: str


class _Sweep(BaseModel):
    """What the comparison needs of a sweep's plan."""

    scenario: str
    dataset: str
    space: str
    entries: dict[str, _Tuned]


@dataclass(frozen=True)
class EntryPlan:
    """One row of a table."""

    entry: str
    method: str
    kind: str  # oc, pu, pu_oc
    twin: str | None  # of a PU-OC method: the OC method it extends
    labels: str  # pu, oracle
    configs: str  # published, selected
    published_as: str | None = None  # the row of the paper that it stands beside; None: that of its method
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
    #: share of a seed's rows of P, U and the test that another seed has too, mean over cells; None: not planned
    shared_rows: dict[str, float] | None = None
    published: str | None = None  # the table of the paper that it stands beside
    tested: bool = True  # False: own data without labelled test rows, of which there is no AUC
    marks: tuple[str, ...] = ()  # of own data: what stands on every number, overlap that was allowed
    notes: tuple[str, ...] = ()  # of own data: what was read and left out

    @property
    def redraws(self) -> bool:
        """Whether seeds draw rows of P or of U: where both are all there are, a seed repeats the same sample."""
        shares = self.shared_rows
        return not shares or min(shares["P"], shares["U"]) < 1

    def twin_pairs(self) -> list[tuple[EntryPlan, EntryPlan]]:
        """Each PU-OC entry with each entry of the OC method it extends; oracles have no twin."""
        honest = [entry for entry in self.entries if not entry.oracle]
        return [
            (hybrid, parent)
            for hybrid in honest
            for parent in honest
            if hybrid.kind == "pu_oc" and parent.method == hybrid.twin
        ]


def planned_tables(root: Path) -> list[TablePlan]:
    """The tables named by ``work/plan/tables``, by name.

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
    """Names of the tuning entries planned by ``work/plan/tune``; none where nothing is tuned."""
    return sorted(path.stem for path in (root / "work" / "plan" / "tune").glob("*.json"))


def planned_sweep(root: Path, name: str) -> dict[str, Any]:
    """The plan of a sweep. Raises ValueError as ``planned_tables``."""
    path = root / "work" / "plan" / "tune" / f"{name}.json"
    found: dict[str, Any] = read_form(path, _Sweep, BY_PLAN)
    if name not in found["entries"]:
        raise ValueError(f"{path}: entries: {name}: the key is missing; {BY_PLAN}")
    return found


def _table_plan(path: Path) -> TablePlan:
    asked: dict[str, Any] = read_form(path, _Table, BY_PLAN)
    own = asked.get("own") or {}
    plan = TablePlan(
        table=str(asked["table"]),
        scenario=str(asked["scenario"]),
        dataset=str(asked["dataset"]),
        title=str(asked.get("title") or asked["table"]),
        cells=tuple(str(cell["name"]) for cell in asked["cells"]),
        entries=tuple(_entry_plan(name, entry, asked) for name, entry in asked["entries"].items()),
        seeds=tuple(int(seed) for seed in asked["seeds"]),
        published=asked.get("published"),
        shared_rows=asked.get("shared_rows"),
        tested=bool(own.get("tested", True)),
        marks=tuple(own.get("marks", ())),
        notes=tuple(own.get("notes", ())),
    )
    if plan.table != path.stem:
        raise ValueError(f"{path}: the file plans table {plan.table!r}, {path.stem!r} expected from its name")
    for what, names in (("cell", plan.cells), ("seed", plan.seeds)):
        if len(set(names)) < len(names):
            raise ValueError(f"{path}: a {what} is planned twice, each once expected: {list(names)}")
    return plan


def _entry_plan(name: str, entry: dict[str, Any], asked: dict[str, Any]) -> EntryPlan:
    return EntryPlan(
        entry=name,
        method=entry["method"],
        kind=entry["kind"],
        twin=entry.get("twin"),
        labels=entry.get("labels") or "pu",
        configs=str(entry.get("configs") or asked.get("configs") or "published"),
        published_as=entry.get("published_as"),
        skip=entry.get("skip"),
    )
