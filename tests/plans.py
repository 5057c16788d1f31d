"""Plans as objects, as far as a test says; what it does not say is filled with values that nothing reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from puoc.store.cells import Cell
from puoc.store.plans import EntryPlan, SharedRows, SweepConfig, SweepPlan, TablePlan


def entry_plan(
    entry: str,
    method: str,
    kind: Literal["oc", "pu", "pu_oc"],
    twin: str | None,
    labels: Literal["pu", "oracle"] = "pu",
    published_as: str | None = None,
    skip: str | None = None,
) -> EntryPlan:
    return EntryPlan(
        entry=entry,
        method=method,
        kind=kind,
        twin=twin,
        labels=labels,
        prior=None,
        encoder=None,
        numerics="fp32",
        code_digest="c",
        skip=skip,
        published_as=published_as,
    )


def cell_plan(name: str, scenario: str = "one_vs_all") -> Cell:
    return Cell(scenario=scenario, name=name, pos=(0,), neg=(1,), n_pos_lab=100, n_pos_unl=100, n_neg_unl=100)


def table_plan(
    table: str,
    scenario: str,
    dataset: str,
    title: str,
    cells: Iterable[str],
    entries: Iterable[EntryPlan],
    seeds: Iterable[int],
    *,
    published: str | None = None,
    shared_rows: SharedRows | None = None,
    configs: Literal["published", "selected"] = "published",
) -> TablePlan:
    return TablePlan(
        table=table,
        scenario=scenario,
        dataset=dataset,
        title=title,
        data_digest="data",
        draw_digest="d",
        scoring_digest="s",
        seeds=tuple(seeds),
        cells=tuple(cell_plan(name, scenario) for name in cells),
        configs=configs,
        published=published,
        shared_rows=shared_rows,
        entries_by_name={entry.entry: entry for entry in entries},
    )


def with_entries(plan: TablePlan, entries: Iterable[EntryPlan], table: str | None = None) -> TablePlan:
    """The plan with other entries, by another name if one is given."""
    changes = {"entries_by_name": {entry.entry: entry for entry in entries}, "table": table or plan.table}
    return plan.model_copy(update=changes)


def sweep_plan(entry: str, scenario: str, dataset: str, space: str) -> SweepPlan:
    return SweepPlan(
        table=entry,
        title=f"sweep of {entry}",
        scenario=scenario,
        dataset=dataset,
        data_digest="data",
        draw_digest="d",
        scoring_digest="s",
        seeds=(0, 1),
        cells=(cell_plan("a", scenario),),
        holdout=0.2,
        space=space,
        entries_by_name={entry: entry_plan(entry, entry, "pu", None)},
        configs=(SweepConfig(config_id="a", params={}, is_published=True),),
    )
