"""The comparison stage of the pipeline: reads the results of the plan and writes ``results/compare``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from puoc.analysis.metrics import DEFAULT
from puoc.analysis.paper.claims import ClaimRow, claims
from puoc.analysis.paper.deviations import reservations
from puoc.analysis.paper.family_wins import FamilyWinRow, family_wins
from puoc.analysis.paper.protocol import ProtocolRow, protocol_table
from puoc.analysis.paper.verdicts import VerdictRow, verdicts
from puoc.analysis.selection.regret import ChoiceRow, choices
from puoc.analysis.selection.surface import SurfaceRow, SweepRow, sweeps
from puoc.analysis.statistics.ranks import RankRow, rank_table
from puoc.analysis.statistics.seed_power import EvidenceRow, evidence_table
from puoc.analysis.statistics.significance import SignificanceRow, over_all_tables, twin_tests
from puoc.analysis.tables.dvc_files import METRICS, write_dvc_files
from puoc.analysis.tables.frames import Row, column_types, rows_of, write_rows
from puoc.analysis.tables.metric_tables import MetricRow, WinnerRow, as_metric, metric_rows, winners
from puoc.analysis.tables.results import Trials, read_results
from puoc.analysis.tables.summary import SummaryRow, summarise
from puoc.store.checked_parquet import BY_COMPARE, read_frame
from puoc.store.plan_files import METRIC, planned_tables, read_metric, sweep_names
from puoc.store.plans import TablePlan

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, kw_only=True)
class FailureRow:
    """A trial of a table or sweep without a score, as recorded."""

    origin: str  # tables/T or tune/M
    entry: str | None
    cell: str | None
    seed: int | None
    config_id: str | None  # tuning only
    status: str
    reason: str | None
    attempts: int | None
    fit_id: str | None
    trial_id: str | None


@dataclass(frozen=True)
class Comparison:
    """The tables of ``results/compare``; each field is one file."""

    summary: list[SummaryRow]
    significance: list[SignificanceRow]
    ranks: list[RankRow]
    protocol: list[ProtocolRow]
    evidence: list[EvidenceRow]
    choice: list[ChoiceRow]
    sweeps: list[SweepRow]
    surface: list[SurfaceRow]
    failures: list[FailureRow]
    verdicts: list[VerdictRow]
    claims: list[ClaimRow]
    family_wins: list[FamilyWinRow]
    metrics: list[MetricRow]
    metric_winners: list[WinnerRow]

    def write(self, folder: Path) -> None:
        """Write each table as parquet."""
        for name, row_type in COMPARED.items():
            write_rows(getattr(self, name), row_type, folder / f"{name}.parquet")
        write_dvc_files(folder, self.summary)


#: The files of ``results/compare``, with the type of their rows.
COMPARED: dict[str, type[DataclassInstance]] = {
    "summary": SummaryRow,
    "significance": SignificanceRow,
    "ranks": RankRow,
    "protocol": ProtocolRow,
    "evidence": EvidenceRow,
    "choice": ChoiceRow,
    "sweeps": SweepRow,
    "surface": SurfaceRow,
    "failures": FailureRow,
    "verdicts": VerdictRow,
    "claims": ClaimRow,
    "family_wins": FamilyWinRow,
    "metrics": MetricRow,
    "metric_winners": WinnerRow,
}


def compare(root: Path | str, planned_trials: Trials | None = None) -> None:
    """Write each table of the comparison (summary, significance, verdicts, ...) as parquet under ``results/compare``.

    The means are also written as the metrics and plots of DVC.

    Means, tests, ranks and choices are by the metric of the plan. What is compared with the paper is always by the AUC.

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
    plans, metric = planned_tables(root), read_metric(root)
    recorded_results = [(plan, read_results(root, plan, planned_trials)) for plan in plans]
    recorded = {plan.table: rows for plan, rows in recorded_results}
    results = [(plan, None if rows is None else as_metric(rows, metric)) for plan, rows in recorded_results]
    reservation_by_cell = reservations(plans, recorded)
    summary, tests = _means_and_tests(results, metric)
    by_auc = (summary, tests) if metric == DEFAULT else _means_and_tests(recorded_results, DEFAULT)
    sweep_rows, surface = sweeps(root, planned_trials, metric)
    by_metric = [row for plan, rows in recorded_results for row in metric_rows(plan, rows)]
    comparison = Comparison(
        summary=summary,
        significance=tests,
        ranks=[row for plan, rows in results for row in rank_table(plan, rows)],
        protocol=[row for plan, rows in recorded_results for row in protocol_table(plan, rows)],
        evidence=[row for plan in plans for row in evidence_table(plan)],
        choice=choices(root, plans, planned_trials, metric),
        sweeps=sweep_rows,
        surface=surface,
        failures=_failures(root, results, planned_trials),
        verdicts=verdicts(plans, *by_auc, reservation_by_cell),
        claims=claims(plans, by_auc[1], recorded, reservation_by_cell),
        family_wins=family_wins(plans, {plan.table: rows for plan, rows in results}),
        metrics=by_metric,
        metric_winners=winners(by_metric),
    )
    comparison.write(root / "results" / "compare")


def _means_and_tests(
    results: list[tuple[TablePlan, pd.DataFrame | None]], metric: str
) -> tuple[list[SummaryRow], list[SignificanceRow]]:
    """Return the means and the twin tests of all tables, of rows that have the metric in the column ``auc``."""
    summary = [row for plan, rows in results for row in summarise(plan, rows, metric)]
    return summary, over_all_tables([row for plan, rows in results for row in twin_tests(plan, rows)])


def read_comparison(root: Path) -> Comparison:
    """Read what ``compare`` wrote.

    Raises
    ------
    FileNotFoundError : a file of ``results/compare`` is absent.
    ValueError : a file is damaged, lacks a column, or lacks a value that every row has.
    """
    folder = root / "results" / "compare"
    return Comparison(
        summary=_read(folder / "summary.parquet", SummaryRow),
        significance=_read(folder / "significance.parquet", SignificanceRow),
        ranks=_read(folder / "ranks.parquet", RankRow),
        protocol=_read(folder / "protocol.parquet", ProtocolRow),
        evidence=_read(folder / "evidence.parquet", EvidenceRow),
        choice=_read(folder / "choice.parquet", ChoiceRow),
        sweeps=_read(folder / "sweeps.parquet", SweepRow),
        surface=_read(folder / "surface.parquet", SurfaceRow),
        failures=_read(folder / "failures.parquet", FailureRow),
        verdicts=_read(folder / "verdicts.parquet", VerdictRow),
        claims=_read(folder / "claims.parquet", ClaimRow),
        family_wins=_read(folder / "family_wins.parquet", FamilyWinRow),
        metrics=_read(folder / "metrics.parquet", MetricRow),
        metric_winners=_read(folder / "metric_winners.parquet", WinnerRow),
    )


def comparison_is_old(root: Path) -> bool:
    """Check whether ``results/compare`` is absent, lacks columns, or is older than the plan or the results.

    ``dvc repro run@TABLE`` does not write it, and ``puoc report`` may follow immediately.
    """
    paths = [root / "results" / "compare" / f"{name}.parquet" for name in COMPARED]
    if not all(
        path.is_file() for path in (*paths, root / "results" / "compare" / METRICS)
    ):  # also after an upgrade that writes more files
        return True
    if any(set(column_types(row)) - _columns(path) for row, path in zip(COMPARED.values(), paths, strict=True)):
        return True
    compared = [path.stat().st_mtime_ns for path in paths]
    parts = ("work/plan/tables", "work/plan/tune", "work/configs", "results/tables", "results/tune", "results/sweeps")
    folders = [root / part for part in parts if (root / part).is_dir()]
    # folders are included because removing a file changes the time of its folder
    metric = [root / METRIC] if (root / METRIC).is_file() else []
    sources = [root / "results", *metric, *folders, *(path for folder in folders for path in folder.rglob("*"))]
    return min(compared) < max((path.stat().st_mtime_ns for path in sources), default=0)


def _columns(path: Path) -> set[str]:
    """Return the columns of a file. A damaged one is reported when it is read."""
    from pyarrow import ArrowInvalid
    from pyarrow.parquet import read_schema

    try:
        return set(read_schema(path).names)
    except (ArrowInvalid, OSError):
        return {name for row_type in COMPARED.values() for name in column_types(row_type)}


def _read(path: Path, row_type: type[Row]) -> list[Row]:
    if not path.is_file():
        raise FileNotFoundError(f"no {path}; the stage `compare` writes it, run `dvc repro`")
    table = read_frame(path, column_types(row_type), BY_COMPARE)
    try:
        return rows_of(table, row_type)
    except ValueError as error:
        raise ValueError(f"{path}: {error}; {BY_COMPARE}") from error


def _failures(
    root: Path, results: list[tuple[TablePlan, pd.DataFrame | None]], planned_trials: Trials | None
) -> list[FailureRow]:
    """Return every row of a table or planned sweep whose status is not ok, as recorded."""
    failures = [row for plan, rows in results if rows is not None for row in _failed(rows, f"tables/{plan.table}")]
    for tune in sweep_names(root):
        path = root / "results" / "tune" / "val" / f"{tune}.parquet"
        if path.is_file():
            rows, ids = read_frame(path, ("status", "trial_id")), (planned_trials or {}).get(f"tune/{tune}")
            failures += _failed(rows if ids is None else rows[rows["trial_id"].isin(ids)], f"tune/{tune}")
    return failures


def _failed(rows: pd.DataFrame, origin: str) -> list[FailureRow]:
    failed = rows[rows["status"] != "ok"].assign(origin=origin)
    return rows_of(failed.reindex(columns=list(column_types(FailureRow))), FailureRow)
