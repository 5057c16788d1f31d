"""Settings of tables against those that the risks of their methods assume."""

from __future__ import annotations

from importlib import import_module

from puoc.registry import METHODS
from puoc.store.cells import Cell
from puoc.store.plans import SweepPlan, TablePlan

#: Settings of a cell, see docs/glossary.md.
SETTINGS = ("case_control", "single_training_set")
_RESULT = {
    "case_control": "P is not part of the rows that U is of, so what they estimate by the label frequency is off",
    "single_training_set": "alpha is that of U without P, pi (1 - c) / (1 - pi c), which is right under SCAR",
}


def assumed_setting(method: str) -> str | None:
    """Return the setting that the risk of a method assumes, the constant SETTING of its file; None: it assumes none."""
    cls = METHODS[method]
    setting: str | None = getattr(import_module(cls.__module__), "SETTING", None)
    return None if cls.kind == "oc" else setting


def setting_of(cell: Cell) -> str:
    """Return the setting of a cell."""
    return cell.setting or "case_control"


def mismatches(plan: TablePlan | SweepPlan) -> list[str]:
    """Return a warning for each setting of a plan's cells that some of its methods do not assume."""
    warnings = []
    for setting in sorted({setting_of(cell) for cell in plan.cells if not cell.unknown_u}):
        others = [
            entry.entry
            for entry in plan.entries
            if not entry.oracle and entry.skip is None and assumed_setting(entry.method) not in (None, setting)
        ]
        if others:
            [assumed] = set(SETTINGS) - {setting}
            warnings.append(
                f"setting {setting}, and {', '.join(others)} assume{'s' * (len(others) == 1)} {assumed}: "
                f"{_RESULT[setting]} (docs/glossary.md)"
            )
    return warnings
