"""What the seeds of a table can show, computed before a run: smallest attainable p, power, seeds for a power."""

from __future__ import annotations

from typing import Any

import pandas as pd

from puoc.analysis.statistics.power import power, seeds_for_power, seeds_to_reject
from puoc.analysis.statistics.signed_rank import smallest_p
from puoc.analysis.tables.frames import frame
from puoc.store.plans import TablePlan

#: Standardised effects (mean difference over its standard deviation) for which a power is given.
EFFECTS = (0.5, 1.0, 2.0)
WANTED_POWER = 0.8

EVIDENCE = {
    "table": "text",
    "family": "text",  # cells, average
    "n_seeds": "int",
    "comparisons": "int",
    "min_p": "float",  # smallest two-sided p of one test
    "min_p_adjusted": "float",  # after Holm, as the only finding
    "seeds_to_reject": "int",  # fewest with which a test can be significant after Holm
    **{f"power_{effect:g}": "float" for effect in EFFECTS},
    **{f"seeds_{effect:g}": "int" for effect in EFFECTS},  # for a power of .8; null: more than 200
}


def evidence_table(plan: TablePlan) -> pd.DataFrame:
    """Return one row per family of twin tests (all cells; averages over cells); empty if nothing can be tested."""
    if not (plan.tested and plan.redraws):
        return frame([], EVIDENCE)
    pairs = sum(not (hybrid.skip or parent.skip) for hybrid, parent in plan.twin_pairs())
    families = [("cells", pairs * len(plan.cells)), ("average", pairs if len(plan.cells) > 1 else 0)]
    return frame([_row(plan, name, size) for name, size in families if size], EVIDENCE)


def _row(plan: TablePlan, family: str, comparisons: int) -> dict[str, Any]:
    n = len(plan.seeds)
    row: dict[str, Any] = {"table": plan.table, "family": family, "n_seeds": n, "comparisons": comparisons}
    row |= {"min_p": smallest_p(n), "min_p_adjusted": min(1.0, comparisons * smallest_p(n))}
    row["seeds_to_reject"] = seeds_to_reject(comparisons)
    row |= {f"power_{effect:g}": power(n, effect, comparisons) for effect in EFFECTS}
    return row | {f"seeds_{effect:g}": seeds_for_power(effect, WANTED_POWER, comparisons) for effect in EFFECTS}
