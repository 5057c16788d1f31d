"""Rows of an unplanned sweep, and the failed rows of any sweep."""

from __future__ import annotations

from pathlib import Path

from puoc.plan.bind import bind
from puoc.run.result_rows import collect
from puoc.run.sweep.request import Sweep
from puoc.run.sweep.tpe import known_configs
from puoc.store.counting import counted
from puoc.store.ledger import Ledger
from puoc.store.result_rows import ResultRow, write_sweep


def begin(root: Path, sweep: Sweep) -> None:
    """Write the rows of an unplanned sweep that has none yet, so that ``puoc status`` lists it if it is killed."""
    if not sweep.is_planned and not (root / "results" / "sweeps" / "val" / f"{sweep.name}.parquet").exists():
        write(root, sweep)


def write(root: Path, sweep: Sweep) -> list[ResultRow]:
    """Write the rows of a sweep to ``results/sweeps`` and return them; as for tune, test columns have their own file.

    The rows of a planned sweep are only returned: its DVC stage writes them.
    """
    ledger = Ledger(root / "ledger")
    plans = [sweep.plan]
    if sweep.parts is not None:
        listed = {config.config_id for config in sweep.configs}
        configs = (sweep.config(known.params) for known in known_configs(sweep, ledger))
        plans += [sweep.plan.with_configs([config]) for config in configs if config.config_id not in listed]
    rows = [row for plan in plans for row in collect(plan, bind(plan), ledger)]
    if not sweep.is_planned:
        write_sweep(root / "results" / "sweeps", sweep.name, rows)
    return rows


def failed_rows(rows: list[ResultRow]) -> list[str]:
    """Return a line for each failed row."""
    return [
        f"failed ({counted(row.attempts, 'attempt')}): {row.params}, {row.cell}, seed {row.seed}: "
        f"{row.reason}  [{row.fit_id}]"
        for row in rows
        if row.status == "failed"
    ]
