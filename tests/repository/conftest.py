"""Selection of the deliberate faults that a change may have hidden; ``make test-mutations`` applies all of them."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect a deliberate fault if neither its file nor its tests have changed."""
    faults = [item for item in items if getattr(item, "originalname", "") == "test_a_deliberate_fault_is_seen"]
    if not faults:
        return
    module = faults[0].module  # type: ignore[attr-defined]
    chosen = module.chosen(module.MUTATIONS, module.ROOT)
    unchanged = [item for item in faults if item.callspec.params["mutation"] not in chosen]  # type: ignore[attr-defined]
    config.hook.pytest_deselected(items=unchanged)
    items[:] = [item for item in items if item not in set(unchanged)]
