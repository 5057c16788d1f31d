"""The pipeline's comparison: reads what the plan names, writes ``results/compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from puoc.analysis.choice import CHOICE, choices
from puoc.analysis.frames import frame, present, records, write_frame
from puoc.analysis.plans import planned_tables, planned_tuning
from puoc.analysis.results import read_results
from puoc.analysis.significance import SIGNIFICANCE, twin_tests
from puoc.analysis.summary import SUMMARY, summarise

FAILURES = {
    "origin": "text",  # tables/T or tune/M
    "entry": "text",
    "cell": "text",
    "seed": "int",
    "config_id": "text",  # tuning only
    "status": "text",
    "reason": "text",
    "attempts": "int",
    "fit_id": "text",
    "trial_id": "text",
}


def compare(root: Path | str) -> None:
    """Write summary, significance, choice and failures as parquet under ``results/compare``.

    Equal results give equal bytes. A planned table that was not run is in every table, as *not run*.

    Raises
    ------
    FileNotFoundError : there is no plan.
    ValueError : a results file is not what the plan asked for; see ``planned_rows``.
    """
    root = Path(root)
    plans = planned_tables(root)
    results = [(plan, read_results(root, plan)) for plan in plans]
    failures = [row for plan, rows in results if rows is not None for row in _failures(rows, f"tables/{plan.table}")]
    for tune in planned_tuning(root):
        path = root / "results" / "tune" / "val" / f"{tune}.parquet"
        if path.is_file():
            failures += _failures(pd.read_parquet(path), f"tune/{tune}")
    folder = root / "results" / "compare"
    _write(folder / "summary.parquet", [summarise(plan, rows) for plan, rows in results], SUMMARY)
    _write(folder / "significance.parquet", [twin_tests(plan, rows) for plan, rows in results], SIGNIFICANCE)
    _write(folder / "choice.parquet", [choices(root, plans)], CHOICE)
    _write(folder / "failures.parquet", [frame(failures, FAILURES)], FAILURES)


def _write(path: Path, parts: list[pd.DataFrame], columns: dict[str, str]) -> None:
    filled = [part for part in parts if len(part)]
    write_frame(pd.concat(filled, ignore_index=True) if filled else frame([], columns), columns, path)


def _failures(rows: pd.DataFrame, origin: str) -> list[dict[str, Any]]:
    """Every row that is not ok, as recorded."""
    return [
        {"origin": origin}
        | {name: row[name] if name in row and present(row[name]) else None for name in FAILURES if name != "origin"}
        for row in records(rows[rows["status"] != "ok"])
    ]
