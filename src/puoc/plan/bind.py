"""Make trials from plans, in the same way for tables, sweeps and dry runs. This module does not import torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from puoc.records import Encoding, Fit, Sample, TestSet, Trial
from puoc.scenarios import sample_and_test
from puoc.store.cells import Cell
from puoc.store.plans import Config, EntryPlan, SweepConfig, SweepPlan, TablePlan


class PlannedTrial(NamedTuple):
    """One trial with its place in a table or a sweep."""

    trial: Trial
    entry: str
    cell: Cell
    cell_index: int
    seed: int
    config: Config | SweepConfig
    skip: str | None  # reason why the method does not apply to the dataset


def bind(plan: TablePlan | SweepPlan, configs: Mapping[str, Config] | None = None) -> Iterator[PlannedTrial]:
    """Yield every trial of a plan.

    Parameters
    ----------
    configs : configurations of a table by entry (a file of ``work/configs``); the plan of a sweep contains its own.

    Raises
    ------
    ValueError : an entry of a table has no configuration.
    """
    holdout = plan.holdout if isinstance(plan, SweepPlan) else 0.0

    @cache
    def drawn(index: int, seed: int) -> _Drawn:  # entries and configurations share it
        sample, test = sample_and_test(plan.cells[index], seed, plan.dataset, plan.data_digest, holdout)
        return _Drawn(sample, sample.labelled_only(), test)

    for entry in plan.entries:
        for config in _configs(plan, entry.entry, configs or {}):
            for index, cell in enumerate(plan.cells):
                for seed in plan.seeds:
                    trial = _trial(plan, entry, config, drawn(index, seed), seed)
                    yield PlannedTrial(trial, entry.entry, cell, index, seed, config, entry.skip)


class _Drawn(NamedTuple):
    """What a cell draws with a seed: the sample, the same for a one-class method, and the test set."""

    sample: Sample
    labelled_only: Sample
    test: TestSet


def _configs(
    plan: TablePlan | SweepPlan, entry: str, configs: Mapping[str, Config]
) -> tuple[Config | SweepConfig, ...]:
    if isinstance(plan, SweepPlan):
        return plan.configs
    if entry not in configs:
        raise ValueError(f"{plan.table}: no configuration for {entry}; run the stage select again")
    return (configs[entry],)


def _trial(
    plan: TablePlan | SweepPlan, entry: EntryPlan, config: Config | SweepConfig, drawn: _Drawn, seed: int
) -> Trial:
    sample = drawn.sample
    one_class = entry.kind == "oc" and not sample.holdout  # withheld rows of U belong to the sample
    if isinstance(entry.encoder, Encoding) and entry.encoder.ae_data == "training_rows":
        one_class = False  # its encoder learns from U
    fit = Fit(
        method=entry.method,
        params=config.params_of(sample.pos),
        sample=drawn.labelled_only if one_class else sample,
        seed=seed,
        prior=entry.prior,
        encoder=entry.encoder,
        numerics=entry.numerics,
        labels=entry.labels,
        code_digest=entry.code_digest,
        draw_digest=plan.draw_digest if sample.is_plain else plan.labelled_draw_digest or "",
    )
    return Trial(fit=fit, test=drawn.test)
