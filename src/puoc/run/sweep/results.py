"""Rows of a sweep that the plan does not have, and what failed in any."""

from __future__ import annotations

from pathlib import Path

from puoc.plan.bind import bind
from puoc.run.result_rows import collect
from puoc.run.sweep.request import Sweep
from puoc.run.sweep.tpe import known
from puoc.store.counting import counted
from puoc.store.ledger import Ledger
from puoc.store.result_rows import ResultRow, write_sweep


def write(root: Path, sweep: Sweep) -> list[ResultRow]:
    """Write what the ledger has of a sweep to ``results/sweeps``, test columns apart as those of tune; its rows.

    A planned sweep is written by its stage, which finds every fit in the ledger. So that is left alone here.
    """
    ledger = Ledger(root / "ledger")
    plans = [sweep.plan]
    if sweep.parts is not None:
        listed = {config.config_id for config in sweep.configs}
        found = (sweep.config(one.params) for one in known(sweep, ledger))
        plans += [sweep.plan.with_configs([config]) for config in found if config.config_id not in listed]
    rows = [row for plan in plans for row in collect(plan, bind(plan), ledger)]
    if not sweep.is_planned:
        write_sweep(root / "results" / "sweeps", sweep.name, rows)
    return rows


def failed_rows(rows: list[ResultRow]) -> list[str]:
    """A line for each failed row."""
    return [
        f"failed ({counted(row.attempts, 'attempt')}): {row.params}, {row.cell}, seed {row.seed}: "
        f"{row.reason}  [{row.fit_id}]"
        for row in rows
        if row.status == "failed"
    ]
