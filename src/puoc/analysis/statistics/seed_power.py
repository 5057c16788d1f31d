"""The power of the seeds of a table, computed before a run: smallest attainable p, power, seeds for a power."""

from __future__ import annotations

from dataclasses import dataclass, field

from puoc.analysis.statistics.power import power, seeds_for_power, seeds_to_reject
from puoc.analysis.statistics.signed_rank import smallest_p
from puoc.store.plans import TablePlan

#: Standardised effects (mean difference over its standard deviation) for which a power is given.
EFFECTS = (0.5, 1.0, 2.0)
WANTED_POWER = 0.8


@dataclass(frozen=True, kw_only=True)
class EvidenceRow:
    """The power of the planned seeds in one family of twin tests."""

    table: str
    family: str  # cells, average
    n_seeds: int
    comparisons: int
    min_p: float  # smallest two-sided p of one test
    min_p_adjusted: float  # after Holm, as the only finding
    seeds_to_reject: int  # fewest with which a test can be significant after Holm
    # by effect, in the order of EFFECTS
    power_half: float = field(metadata={"column": "power_0.5"})
    power_one: float = field(metadata={"column": "power_1"})
    power_two: float = field(metadata={"column": "power_2"})
    seeds_half: int | None = field(metadata={"column": "seeds_0.5"})  # for a power of .8; None: more than 200
    seeds_one: int | None = field(metadata={"column": "seeds_1"})
    seeds_two: int | None = field(metadata={"column": "seeds_2"})

    @property
    def powers(self) -> tuple[float, ...]:
        """Return the power of the planned seeds, by effect."""
        return self.power_half, self.power_one, self.power_two

    @property
    def seeds(self) -> tuple[int | None, ...]:
        """Return the numbers of seeds for the wanted power, by effect."""
        return self.seeds_half, self.seeds_one, self.seeds_two


def evidence_table(plan: TablePlan) -> list[EvidenceRow]:
    """Return one row per family of twin tests (all cells; averages over cells); empty if nothing can be tested."""
    if not (plan.tested and plan.redraws):
        return []
    pairs = sum(not (hybrid.skip or parent.skip) for hybrid, parent in plan.twin_pairs())
    families = [("cells", pairs * len(plan.cells)), ("average", pairs if len(plan.cells) > 1 else 0)]
    return [_row(plan, name, size) for name, size in families if size]


def _row(plan: TablePlan, family: str, comparisons: int) -> EvidenceRow:
    n = len(plan.seeds)
    powers = [power(n, effect, comparisons) for effect in EFFECTS]
    seeds = [seeds_for_power(effect, WANTED_POWER, comparisons) for effect in EFFECTS]
    return EvidenceRow(
        table=plan.table,
        family=family,
        n_seeds=n,
        comparisons=comparisons,
        min_p=smallest_p(n),
        min_p_adjusted=min(1.0, comparisons * smallest_p(n)),
        seeds_to_reject=seeds_to_reject(comparisons),
        power_half=powers[0],
        power_one=powers[1],
        power_two=powers[2],
        seeds_half=seeds[0],
        seeds_one=seeds[1],
        seeds_two=seeds[2],
    )
