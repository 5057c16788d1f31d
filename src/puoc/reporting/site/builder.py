"""Render the pages of the site from the planned tables and ``results/compare``. Equal results give equal bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from puoc.analysis.compare import Comparison, FailureRow, read_comparison
from puoc.analysis.statistics.elo import RESAMPLES
from puoc.analysis.statistics.signed_rank import EXACT_UP_TO
from puoc.analysis.tables.metric_tables import as_metric
from puoc.analysis.tables.results import Trials, present_rows, read_results
from puoc.reporting.page.answer import answer_view
from puoc.reporting.page.decision_plane import plane_figure
from puoc.reporting.page.format import hours, number, p_value, seconds, signed, spread
from puoc.reporting.page.metrics import changes_view, label_of, write_csv
from puoc.reporting.page.paper import paper_view
from puoc.reporting.page.places import dataset_page, method_page, table_page
from puoc.reporting.page.ranks import power_heads
from puoc.reporting.page.section import Table, n_planned, table_section
from puoc.reporting.page.stale_rows import adopted_notes, earlier_note, published_notes, stale_notes
from puoc.reporting.page.sweeps import sweep_views
from puoc.reporting.site.datasets import dataset_views
from puoc.reporting.site.files import write_assets, write_pages
from puoc.reporting.site.leaderboard import leaderboard_view
from puoc.reporting.site.methods import method_views
from puoc.reporting.site.packing import packed
from puoc.reporting.site.passports import table_passports
from puoc.reporting.site.ratings import LEAST, rating_views
from puoc.reporting.site.recorded_curves import read_curves
from puoc.reporting.site.render import Content, rendered
from puoc.reporting.site.search import search_script
from puoc.reporting.site.standings import standings
from puoc.reporting.site.win_map import map_blocks
from puoc.store.counting import counted
from puoc.store.plan_files import planned_tables, read_metric
from puoc.store.plans import TablePlan

_ENVIRONMENT = ["device", "torch_version", "numerics"]


class FailureView(NamedTuple):
    """Trials of an entry that ended without a score for one reason."""

    origin: str
    entry: str
    status: str
    reason: str
    cells: str
    n: int
    attempts: int | None
    trials: list[str]


class ComputedOn(NamedTuple):
    """Where trials were computed."""

    device: str
    torch_version: str
    numerics: str
    n: int


def build_site(root: Path, planned_trials: Trials | None = None) -> Path:
    """Write the pages and the files that they load to ``reports``; return the path of ``reports/index.html``.

    Parameters
    ----------
    planned_trials : see ``read_results``.

    Raises
    ------
    FileNotFoundError : there is no plan, or ``results/compare`` was not written yet.
    ValueError : a results file does not match the plan.
    """
    compared = read_comparison(root)
    metric = read_metric(root)
    tables = [_table(root, plan, compared, planned_trials) for plan in planned_tables(root)]
    planes = {t.plan.table: plane_figure(root, t.plan, t.rows) for t in tables if t.rows is not None}
    viewed = [replace(t, metric=metric, rows=None if t.rows is None else as_metric(t.rows, metric)) for t in tables]
    content = _content(root, viewed, compared, planes, metric)
    folder = root / "reports"
    pages = packed(rendered(_environment(), content))
    write_csv(folder, compared.metrics, compared.metric_winners)
    found = search_script(viewed, [one.name for one in content.methods], *_names(content), "paper.html" in pages)
    write_assets(folder, found)
    write_pages(folder, pages)
    return folder / "index.html"


def _names(content: Content) -> tuple[list[str], list[str]]:
    return [one.name for one in content.datasets], [one.row.tune for one in content.sweeps]


def _table(root: Path, plan: TablePlan, compared: Comparison, planned_trials: Trials | None) -> Table:
    recorded = read_results(root, plan)
    rows = present_rows(recorded, plan, planned_trials)
    return Table(
        plan=plan,
        rows=rows,
        earlier=earlier_note(recorded, rows),
        stale=[*stale_notes(root, plan.table, rows), *adopted_notes(rows), *published_notes(rows)],
        summary=[row for row in compared.summary if row.table == plan.table],
        tests=[row for row in compared.significance if row.table == plan.table],
        ranks=[row for row in compared.ranks if row.table == plan.table],
        protocol=[row for row in compared.protocol if row.table == plan.table],
        evidence=[row for row in compared.evidence if row.table == plan.table],
        choice=[row for row in compared.choice if row.table == plan.table],
        metrics=[row for row in compared.metrics if row.table == plan.table],
    )


@cache
def _environment() -> Environment:
    """Return the templates with their filters, compiled once for all pages of a process."""
    loader = PackageLoader("puoc.reporting.page", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "number": number,
        "spread": spread,
        "signed": signed,
        "p_value": p_value,
        "seconds": seconds,
        "hours": hours,
        "counted": counted,
        "method_page": method_page,
        "dataset_page": dataset_page,
        "table_page": table_page,
    }
    return environment


def _content(
    root: Path,
    tables: list[Table],
    compared: Comparison,
    planes: Mapping[str, Mapping[str, object] | None],
    metric: str,
) -> Content:
    recorded = [table.rows for table in tables if table.rows is not None]
    rows = pd.concat(recorded, ignore_index=True) if recorded else pd.DataFrame()
    found = {table.plan.table: standings(table) for table in tables}
    shown = [table_section(f"t{index}", table, planes.get(table.plan.table)) for index, table in enumerate(tables)]
    texts = [
        {(row.name, column): cell.text for row in section.rows for column, cell in enumerate(row.cells)}
        for section in shown
    ]
    failures = _failure_views(compared.failures)
    sweeps = sweep_views(compared.sweeps, compared.surface)
    return Content(
        tables=shown,
        passports=[
            table_passports(table, found[table.plan.table], said) for table, said in zip(tables, texts, strict=True)
        ],
        methods=method_views(
            tables,
            found,
            {section.plan.table: section.configs for section in shown},
            read_curves(root, tables),
            sweeps,
        ),
        datasets=dataset_views(root, tables, found),
        sweeps=sweeps,
        board=leaderboard_view(
            [one for each in found.values() for one in each],
            metric,
            sum(len(section.rows) * len(section.columns) for section in shown),
        ),
        shared={
            "metric": label_of(metric),
            "blocks": map_blocks(tables, found),
            "elo_resamples": RESAMPLES,
            "elo_least": LEAST,
            "ratings": rating_views([one for each in found.values() for one in each]),
            "tuned_apart": [row for row in compared.choice if row.table is None],
            "failures": failures,
            "n_failures": sum(view.n for view in failures),
            "answer": answer_view(
                compared.verdicts, compared.claims, compared.family_wins, [one.plan for one in tables]
            ),
            "changes": changes_view(compared.metric_winners),
            "paper": paper_view(compared.verdicts, compared.claims, [table.plan for table in tables]),
            "shows_paper": any(table.plan.scenario != "own" for table in tables) or not tables,
            "environments": _environments(rows),
            "versions": _versions(rows),
            "total_seconds": _total_seconds(rows),
            "power_heads": power_heads(),
            "exact_up_to": EXACT_UP_TO,
            "n_planned": sum(n_planned(table.plan) for table in tables),
            "n_ok": int((rows["status"] == "ok").sum()) if len(rows) else 0,
            "n_fits": int(rows.loc[rows["status"] == "ok", "fit_id"].nunique()) if len(rows) else 0,
            "digest": _digest(rows),
        },
    )


def _failure_views(failures: Sequence[FailureRow]) -> list[FailureView]:
    """Group failures by entry, status and reason. Trials that were not run are only counted in the overview."""
    groups: dict[tuple[str, str, str, str], list[FailureRow]] = {}
    for row in failures:
        if row.status != "missing":
            reason = "no reason recorded" if row.reason is None else row.reason
            key = (row.origin, row.entry or "", row.status, reason)
            groups.setdefault(key, []).append(row)
    return [
        FailureView(
            *key,
            cells=", ".join(sorted({str(row.cell) for row in rows})),
            n=len(rows),
            attempts=max((row.attempts for row in rows if row.attempts is not None), default=None),
            trials=[row.trial_id for row in rows if row.trial_id is not None],
        )
        for key, rows in sorted(groups.items())
    ]


def _environments(rows: pd.DataFrame) -> list[ComputedOn]:
    if rows.empty:
        return []
    scored = rows.loc[rows["status"] == "ok", _ENVIRONMENT].fillna("not recorded").astype(str)
    counts = Counter(scored.itertuples(index=False, name=None))
    return [
        ComputedOn(device, torch_version, numerics, n)
        for (device, torch_version, numerics), n in sorted(counts.items())
    ]


def _versions(rows: pd.DataFrame) -> list[tuple[str, int]]:
    """Return the versions of puoc that computed published results, with their numbers of trials."""
    if rows.empty or "computed_by" not in rows:
        return []
    counts = Counter(rows.loc[rows["status"] == "ok", "computed_by"].dropna().astype(str))
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def _total_seconds(rows: pd.DataFrame) -> float:
    """Return the wall time of the scored fits, each once. Rows of earlier versions may have none."""
    if rows.empty or "fit_seconds" not in rows:
        return 0.0
    once = rows[rows["status"] == "ok"].drop_duplicates("fit_id")["fit_seconds"]
    return float(once.dropna().sort_values().sum())


def _digest(rows: pd.DataFrame) -> str:
    """Compute a digest of the results on the page, which distinguishes pages without a time stamp."""
    columns = ["table", "entry", "cell", "seed", "status", "auc"]
    columns += ["auc_val_pu"] if "auc_val_pu" in rows and rows["auc"].isna().any() else []
    content = [] if rows.empty else rows[columns].to_csv(index=False)
    return blake2b(str(content).encode(), digest_size=6).hexdigest()
