"""From a plan's questions to fits and trials: the same binding for tune, run, sweep and dry runs. No torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from puoc.records import Classes, Encoding, Fit, Prior, Trial
from puoc.scenarios import Cell


class PlannedTrial(NamedTuple):
    """One trial with its place in a table or a sweep."""

    trial: Trial
    entry: str
    cell: Cell
    cell_index: int
    seed: int
    config: dict[str, Any]  # params, by_pos, source; in a sweep config_id and is_published as well
    skip: str | None  # why the method does not apply here


def bind(plan: dict[str, Any], configs: dict[str, Any] | None = None) -> Iterator[PlannedTrial]:
    """Every trial that a plan asks.

    Parameters
    ----------
    plan : a file of ``work/plan/tables`` or ``work/plan/tune``.
    configs : of a table, entry to configuration (a file of ``work/configs``); a sweep carries its own.

    Raises
    ------
    ValueError : an entry has no configuration.
    """
    for entry, row in plan["entries"].items():
        if configs is not None and entry not in configs:
            raise ValueError(f"{plan['table']}: no configuration for {entry}; run the stage select again")
        chosen = [configs[entry]] if configs is not None else plan["configs"]
        for config in chosen:
            for index, raw in enumerate(plan["cells"]):
                cell = Cell.model_validate(raw)
                for seed in plan["seeds"]:
                    yield PlannedTrial(
                        _trial(plan, row, config, cell, seed), entry, cell, index, seed, config, row["skip"]
                    )


def _trial(plan: dict[str, Any], row: dict[str, Any], config: dict[str, Any], cell: Cell, seed: int) -> Trial:
    sample, test = cell.at(seed, plan["dataset"], plan["data_digest"], holdout=plan.get("holdout", 0.0))
    one_class = row["kind"] == "oc" and not sample.holdout  # what is withheld of U belongs to the sample
    if isinstance(row["encoder"], dict) and row["encoder"].get("ae_data") == "training_rows":
        one_class = False  # its encoder learns from U
    fit = Fit(
        method=row["method"],
        params=_hyperparameters(config, sample.pos),
        sample=sample.labelled_only() if one_class else sample,
        seed=seed,
        prior=Prior.model_validate(row["prior"]) if row["prior"] else None,
        encoder=Encoding.model_validate(row["encoder"]) if isinstance(row["encoder"], dict) else row["encoder"],
        numerics=row["numerics"],
        labels=row["labels"],
        code_digest=row["code_digest"],
        draw_digest=plan["draw_digest"],
    )
    return Trial(fit=fit, test=test)


def _hyperparameters(config: dict[str, Any], pos: Classes) -> dict[str, Any]:
    """A configuration's hyperparameters; those of a class, where it has its own and is the only positive one."""
    own: dict[str, dict[str, Any]] = config.get("by_pos", {}) if len(pos) == 1 else {}
    every: dict[str, Any] = config["params"]
    return own.get(str(pos[0]), every)
