"""The comparison stage of the pipeline: reads the results of the plan and writes ``results/compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from puoc.analysis.paper.claims import CLAIMS, claims
from puoc.analysis.paper.deviations import reservations
from puoc.analysis.paper.protocol import PROTOCOL, protocol_table
from puoc.analysis.paper.verdicts import VERDICTS, verdicts
from puoc.analysis.selection.regret import CHOICE, choices
from puoc.analysis.selection.surface import SURFACE, SWEEPS, sweeps
from puoc.analysis.statistics.ranks import RANKS, rank_table
from puoc.analysis.statistics.seed_power import EVIDENCE, evidence_table
from puoc.analysis.statistics.significance import SIGNIFICANCE, twin_tests
from puoc.analysis.tables.frames import frame, present, records, write_frame
from puoc.analysis.tables.results import Trials, read_results
from puoc.analysis.tables.summary import SUMMARY, summarise
from puoc.store.checked_parquet import read_frame
from puoc.store.plan_files import planned_tables, sweep_names

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

#: The files of ``results/compare``, with their columns.
COMPARED = {
    "summary": SUMMARY,
    "significance": SIGNIFICANCE,
    "ranks": RANKS,
    "protocol": PROTOCOL,
    "evidence": EVIDENCE,
    "choice": CHOICE,
    "sweeps": SWEEPS,
    "surface": SURFACE,
    "failures": FAILURES,
    "verdicts": VERDICTS,
    "claims": CLAIMS,
}


def compare(root: Path | str, planned_trials: Trials | None = None) -> None:
    """Write each table of the comparison (summary, significance, verdicts, ...) as parquet under ``results/compare``.

    Equal results give equal bytes. A planned table that was not run appears in every file as *not run*.

    Parameters
    ----------
    planned_trials : see ``read_results``; for sweeps see ``puoc.analysis.selection.surface.sweeps``.

    Raises
    ------
    FileNotFoundError : there is no plan.
    ValueError : a results file does not match the plan; see ``planned_rows``.
    """
    root = Path(root)
    plans = planned_tables(root)
    results = [(plan, read_results(root, plan, planned_trials)) for plan in plans]
    failures = [row for plan, rows in results if rows is not None for row in _failures(rows, f"tables/{plan.table}")]
    for tune in sweep_names(root):
        path = root / "results" / "tune" / "val" / f"{tune}.parquet"
        if path.is_file():
            sweep_rows, ids = read_frame(path, ("status", "trial_id")), (planned_trials or {}).get(f"tune/{tune}")
            failures += _failures(
                sweep_rows if ids is None else sweep_rows[sweep_rows["trial_id"].isin(ids)], f"tune/{tune}"
            )
    folder = root / "results" / "compare"
    summary = _write(folder / "summary.parquet", [summarise(plan, rows) for plan, rows in results], SUMMARY)
    _write(folder / "ranks.parquet", [rank_table(plan, rows) for plan, rows in results], RANKS)
    _write(folder / "protocol.parquet", [protocol_table(plan, rows) for plan, rows in results], PROTOCOL)
    _write(folder / "evidence.parquet", [evidence_table(plan) for plan in plans], EVIDENCE)
    tests = _write(folder / "significance.parquet", [twin_tests(plan, rows) for plan, rows in results], SIGNIFICANCE)
    _write(folder / "choice.parquet", [choices(root, plans, planned_trials)], CHOICE)
    for name, columns, table in zip(
        ("sweeps", "surface"), (SWEEPS, SURFACE), sweeps(root, planned_trials), strict=True
    ):
        _write(folder / f"{name}.parquet", [table], columns)
    _write(folder / "failures.parquet", [frame(failures, FAILURES)], FAILURES)
    recorded = {plan.table: rows for plan, rows in results}
    reservation_by_cell = reservations(plans, recorded)
    _write(folder / "verdicts.parquet", [verdicts(plans, summary, tests, reservation_by_cell)], VERDICTS)
    _write(folder / "claims.parquet", [claims(plans, tests, recorded, reservation_by_cell)], CLAIMS)


def comparison_is_old(root: Path) -> bool:
    """Check whether ``results/compare`` is absent or older than the plan or the results.

    ``dvc repro run@TABLE`` does not write it, and ``puoc report`` may follow immediately.
    """
    paths = [root / "results" / "compare" / f"{name}.parquet" for name in COMPARED]
    if not all(path.is_file() for path in paths):  # also after an upgrade that writes more files
        return True
    compared = [path.stat().st_mtime_ns for path in paths]
    parts = ("work/plan/tables", "work/plan/tune", "work/configs", "results/tables", "results/tune", "results/sweeps")
    folders = [root / part for part in parts if (root / part).is_dir()]
    # folders are included because removing a file changes the time of its folder
    sources = [root / "results", *folders, *(path for folder in folders for path in folder.rglob("*"))]
    return min(compared) < max((path.stat().st_mtime_ns for path in sources), default=0)


def _write(path: Path, parts: list[pd.DataFrame], columns: dict[str, str]) -> pd.DataFrame:
    filled = [part for part in parts if len(part)]
    table = pd.concat(filled, ignore_index=True) if filled else frame([], columns)
    write_frame(table, columns, path)
    return table


def _failures(rows: pd.DataFrame, origin: str) -> list[dict[str, Any]]:
    """Return every row whose status is not ok, as recorded."""
    return [
        {"origin": origin}
        | {name: row[name] if name in row and present(row[name]) else None for name in FAILURES if name != "origin"}
        for row in records(rows[rows["status"] != "ok"])
    ]
