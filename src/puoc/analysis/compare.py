"""The pipeline's comparison: reads what the plan names, writes ``results/compare``."""

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
from puoc.analysis.tables.plans import planned_tables, planned_tuning
from puoc.analysis.tables.results import Trials, read_results
from puoc.analysis.tables.summary import SUMMARY, summarise
from puoc.store.checked_parquet import read_frame

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


def compare(root: Path | str, asked: Trials | None = None) -> None:
    """Write each table of the comparison (summary, significance, verdicts, ...) as parquet under ``results/compare``.

    Equal results give equal bytes. A planned table that was not run is in every table, as *not run*.

    Parameters
    ----------
    asked : see ``read_results``, and of sweeps ``puoc.analysis.selection.surface.sweeps``.

    Raises
    ------
    FileNotFoundError : there is no plan.
    ValueError : a results file is not what the plan asked for; see ``planned_rows``.
    """
    root = Path(root)
    plans = planned_tables(root)
    results = [(plan, read_results(root, plan, asked)) for plan in plans]
    failures = [row for plan, rows in results if rows is not None for row in _failures(rows, f"tables/{plan.table}")]
    for tune in planned_tuning(root):
        path = root / "results" / "tune" / "val" / f"{tune}.parquet"
        if path.is_file():
            tuned, ids = read_frame(path, ("status", "trial_id")), (asked or {}).get(f"tune/{tune}")
            failures += _failures(tuned if ids is None else tuned[tuned["trial_id"].isin(ids)], f"tune/{tune}")
    folder = root / "results" / "compare"
    summary = _write(folder / "summary.parquet", [summarise(plan, rows) for plan, rows in results], SUMMARY)
    _write(folder / "ranks.parquet", [rank_table(plan, rows) for plan, rows in results], RANKS)
    _write(folder / "protocol.parquet", [protocol_table(plan, rows) for plan, rows in results], PROTOCOL)
    _write(folder / "evidence.parquet", [evidence_table(plan) for plan in plans], EVIDENCE)
    tests = _write(folder / "significance.parquet", [twin_tests(plan, rows) for plan, rows in results], SIGNIFICANCE)
    _write(folder / "choice.parquet", [choices(root, plans, asked)], CHOICE)
    for name, columns, table in zip(("sweeps", "surface"), (SWEEPS, SURFACE), sweeps(root, asked), strict=True):
        _write(folder / f"{name}.parquet", [table], columns)
    _write(folder / "failures.parquet", [frame(failures, FAILURES)], FAILURES)
    recorded = {plan.table: rows for plan, rows in results}
    held = reservations(plans, recorded)
    _write(folder / "verdicts.parquet", [verdicts(plans, summary, tests, held)], VERDICTS)
    _write(folder / "claims.parquet", [claims(plans, tests, recorded, held)], CLAIMS)


def comparison_is_old(root: Path) -> bool:
    """Whether the plan or results changed after ``results/compare`` was written, or it never was.

    ``dvc repro run@TABLE`` does not write it, and ``puoc report`` may follow right away.
    """
    paths = [root / "results" / "compare" / f"{name}.parquet" for name in COMPARED]
    if not all(path.is_file() for path in paths):  # also after an upgrade that compares more
        return True
    compared = [path.stat().st_mtime_ns for path in paths]
    parts = ("work/plan/tables", "work/plan/tune", "work/configs", "results/tables", "results/tune", "results/sweeps")
    folders = [root / part for part in parts if (root / part).is_dir()]
    # the folders too: what was taken out has left its time there
    sources = [root / "results", *folders, *(path for folder in folders for path in folder.rglob("*"))]
    return min(compared) < max((path.stat().st_mtime_ns for path in sources), default=0)


def _write(path: Path, parts: list[pd.DataFrame], columns: dict[str, str]) -> pd.DataFrame:
    filled = [part for part in parts if len(part)]
    table = pd.concat(filled, ignore_index=True) if filled else frame([], columns)
    write_frame(table, columns, path)
    return table


def _failures(rows: pd.DataFrame, origin: str) -> list[dict[str, Any]]:
    """Every row that is not ok, as recorded."""
    return [
        {"origin": origin}
        | {name: row[name] if name in row and present(row[name]) else None for name in FAILURES if name != "origin"}
        for row in records(rows[rows["status"] != "ok"])
    ]
