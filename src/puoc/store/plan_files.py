"""Reader of the files that ``puoc.plan.make_plan`` writes for ``puoc plan``. No other module reads them.

The form of a file is checked, so that a changed or damaged file is reported by its name.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import JsonValue, TypeAdapter

from puoc.registry import DATASETS
from puoc.store.checked_json import BY_PLAN, BY_SELECT, read_form
from puoc.store.plans import ComputeSpec, Config, FrozenWeights, SweepPlan, TablePlan

WORK = Path("work")  # these are below a project's root
PLAN = WORK / "plan"
CONFIGS = WORK / "configs"
METRIC = PLAN / "metric.json"  # the stages that compare depend on it, and no other

_DATA = TypeAdapter(dict[str, dict[str, JsonValue]])
_WEIGHTS = TypeAdapter(dict[str, FrozenWeights])
_CONFIGS = TypeAdapter(dict[str, Config])
_METRIC = TypeAdapter(dict[str, str])


def read_table(path: Path) -> TablePlan:
    """Return the plan of a table: a file of ``work/plan/tables``.

    Raises
    ------
    ValueError : the file does not have the form that ``puoc plan`` writes.
    """
    plan = read_form(path, TablePlan, BY_PLAN)
    if plan.table != path.stem:
        raise ValueError(
            f"{path}: got a plan of table {plan.table!r}; expected {path.stem!r}, from the name of the file"
        )
    for noun, names in (("cell", plan.cell_names), ("seed", plan.seeds)):
        if len(set(names)) < len(names):
            raise ValueError(f"{path}: got a {noun} that is planned twice: {list(names)}; expected each once")
    return plan


def read_sweep(path: Path) -> SweepPlan:
    """Return the plan of a sweep: a file of ``work/plan/tune``. Raises ValueError as ``read_table``."""
    plan = read_form(path, SweepPlan, BY_PLAN)
    if path.stem not in plan.entries_by_name:
        got = ", ".join(plan.entries_by_name)
        raise ValueError(f"{path}: entries: got {got}; expected {path.stem}, as puoc plan writes it: run puoc plan")
    return plan


def table_names(root: Path) -> list[str]:
    """Return the names of the planned tables, sorted; empty if there is no plan."""
    return _names(root / PLAN / "tables")


def sweep_names(root: Path) -> list[str]:
    """Return the names of the planned sweeps, sorted; a sweep has the name of its entry."""
    return _names(root / PLAN / "tune")


def _names(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.json"))


def planned_tables(root: Path) -> list[TablePlan]:
    """Return the plans of all tables, sorted by name.

    Raises
    ------
    FileNotFoundError : there is no plan.
    ValueError : as ``read_table``.
    """
    folder = root / PLAN / "tables"
    if not folder.is_dir():
        raise FileNotFoundError(f"no plan at {folder}; `puoc plan` or `dvc repro` writes it")
    return [read_table(path) for path in sorted(folder.glob("*.json"))]


def planned_table(root: Path, name: str) -> TablePlan:
    """Return the plan of a table by its name. Raises ValueError as ``read_table``."""
    return read_table(root / PLAN / "tables" / f"{name}.json")


def planned_sweep(root: Path, name: str) -> SweepPlan:
    """Return the plan of a sweep by its name. Raises ValueError as ``read_table``."""
    return read_sweep(root / PLAN / "tune" / f"{name}.json")


def read_configs(path: Path) -> dict[str, Config]:
    """Return configurations by entry: a file of ``work/configs``. Raises ValueError as ``read_table``."""
    return read_form(path, _CONFIGS, BY_SELECT if path.parent.name == "selected" else BY_PLAN)


def read_compute(root: Path) -> ComputeSpec:
    """Return the settings of the section ``compute``. Raises ValueError as ``read_table``."""
    path = root / PLAN / "compute.json"
    settings = read_form(path, ComputeSpec, BY_PLAN)
    lacking = [key for key in ComputeSpec().to_json() if key not in settings.model_fields_set]
    if lacking:  # the section of params.yaml has defaults, but its file in the plan has every key with one
        raise ValueError(f"{path}: {', '.join(lacking)}: the key is missing; {BY_PLAN}")
    return settings


def read_data(root: Path) -> list[str]:
    """Return the names of the planned datasets. Raises ValueError as ``read_table``."""
    path = root / PLAN / "data.json"
    names = read_form(path, _DATA, BY_PLAN)
    for name in names:
        if name not in DATASETS:
            raise ValueError(f"{path}: got the dataset {name!r}, which is unknown; {BY_PLAN}")
    return list(names)


def read_weights(root: Path) -> dict[str, FrozenWeights]:
    """Return the files of frozen encoders, by their name in params.yaml. Raises ValueError as ``read_table``."""
    return read_form(root / PLAN / "weights.json", _WEIGHTS, BY_PLAN)


def read_metric(root: Path) -> str:
    """Return the name of the metric by which methods are compared; auc for a plan of a version that had no other.

    Raises
    ------
    ValueError : as ``read_table``.
    """
    path = root / METRIC
    return read_form(path, _METRIC, BY_PLAN).get("metric", "auc") if path.exists() else "auc"
