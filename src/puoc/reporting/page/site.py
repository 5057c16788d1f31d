"""Render the page from the planned tables and ``results/compare``. Equal results give equal bytes."""

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
from puoc.analysis.statistics.signed_rank import EXACT_UP_TO
from puoc.analysis.tables.frames import replace_file
from puoc.analysis.tables.metric_tables import as_metric
from puoc.analysis.tables.results import Trials, present_rows, read_results
from puoc.reporting.page.answer import answer_view
from puoc.reporting.page.decision_plane import plane_figure
from puoc.reporting.page.format import number, p_value, signed, spread
from puoc.reporting.page.metrics import changes_view, label_of, write_csv
from puoc.reporting.page.paper import paper_view
from puoc.reporting.page.ranks import power_heads
from puoc.reporting.page.section import Table, n_planned, table_section
from puoc.reporting.page.stale_rows import adopted_notes, earlier_note, published_notes, stale_notes
from puoc.reporting.page.sweeps import sweep_views
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


class DatasetView(NamedTuple):
    """A dataset's licence and citation, as declared in its file; empty for data that is not registered."""

    name: str
    licence: str
    citation: str


def build_site(root: Path, planned_trials: Trials | None = None) -> Path:
    """Write ``reports/index.html`` and the files beside it; return the path of the page.

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
    context = _context(viewed, compared, planes) | {"metric": label_of(metric)}
    page = _environment().get_template("page.html.j2").render(context)
    index = root / "reports" / "index.html"
    write_csv(index.parent, compared.metrics, compared.metric_winners)
    _write_plotly(index.parent / "plotly.min.js")
    replace_file(index, page.encode())
    return index


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
        "counted": counted,
    }
    return environment


def _write_plotly(path: Path) -> None:
    """Write plotly's script next to the page, unless it is there already."""
    from plotly.offline import get_plotlyjs

    script = get_plotlyjs().encode()
    if not path.is_file() or path.read_bytes() != script:
        replace_file(path, script)


def _context(
    tables: list[Table], compared: Comparison, planes: Mapping[str, Mapping[str, object] | None]
) -> dict[str, object]:
    recorded = [table.rows for table in tables if table.rows is not None]
    rows = pd.concat(recorded, ignore_index=True) if recorded else pd.DataFrame()
    return {
        "tables": [
            table_section(f"t{index}", table, planes.get(table.plan.table)) for index, table in enumerate(tables)
        ],
        "sweeps": sweep_views(compared.sweeps, compared.surface),
        "tuned_apart": [row for row in compared.choice if row.table is None],
        "failures": _failure_views(compared.failures),
        "answer": answer_view(compared.verdicts, compared.claims, compared.family_wins),
        "changes": changes_view(compared.metric_winners),
        "paper": paper_view(compared.verdicts, compared.claims),
        "environments": _environments(rows),
        "datasets": [_dataset(name) for name in sorted({table.plan.dataset for table in tables})],
        "power_heads": power_heads(),
        "exact_up_to": EXACT_UP_TO,
        "n_planned": sum(n_planned(table.plan) for table in tables),
        "n_ok": int((rows["status"] == "ok").sum()) if len(rows) else 0,
        "n_fits": int(rows.loc[rows["status"] == "ok", "fit_id"].nunique()) if len(rows) else 0,
        "digest": _digest(rows),
    }


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


def _dataset(name: str) -> DatasetView:
    from puoc.datasets import DATASETS

    known = DATASETS.get(name)
    return DatasetView(name, getattr(known, "licence", ""), getattr(known, "citation", ""))


def _digest(rows: pd.DataFrame) -> str:
    """Compute a digest of the results on the page, which distinguishes pages without a time stamp."""
    columns = ["table", "entry", "cell", "seed", "status", "auc"]
    columns += ["auc_val_pu"] if "auc_val_pu" in rows and rows["auc"].isna().any() else []
    content = [] if rows.empty else rows[columns].to_csv(index=False)
    return blake2b(str(content).encode(), digest_size=6).hexdigest()
