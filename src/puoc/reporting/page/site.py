"""Render the page from the planned tables and ``results/compare``. Equal results give equal bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from puoc.analysis.compare import COMPARED
from puoc.analysis.statistics.signed_rank import PAIRS_FOR_INTERVAL
from puoc.analysis.tables.frames import present, records, replace_file
from puoc.analysis.tables.results import Trials, present_rows, read_results
from puoc.reporting.page.decision_plane import plane_figure
from puoc.reporting.page.figures import table_figure
from puoc.reporting.page.format import number, p_value, signed, spread
from puoc.reporting.page.paper import paper_view
from puoc.reporting.page.ranks import power_heads, power_views, rank_view
from puoc.reporting.page.significance import evidence_sentences, test_views
from puoc.reporting.page.sources import config_views, draw_sentence, protocol_views, trial_groups
from puoc.reporting.page.stale_rows import adopted_notes, earlier_note, stale_notes
from puoc.reporting.page.sweeps import sweep_views
from puoc.reporting.page.tables import chance_notes, column_heads, constant_notes, empty_notes, row_views
from puoc.store.checked_parquet import BY_COMPARE, read_frame
from puoc.store.counting import counted
from puoc.store.plan_files import planned_tables
from puoc.store.plans import TablePlan

_ENVIRONMENT = ["device", "torch_version", "numerics"]


@dataclass(frozen=True)
class Table:
    """One table of the page: its plan, its recorded rows and what was computed from them."""

    plan: TablePlan
    rows: pd.DataFrame | None
    summary: pd.DataFrame
    tests: pd.DataFrame
    ranks: pd.DataFrame
    protocol: pd.DataFrame
    evidence: pd.DataFrame


def build_site(root: Path, planned_trials: Trials | None = None) -> Path:
    """Write ``reports/index.html`` and ``reports/plotly.min.js``; return the path of the page.

    Parameters
    ----------
    planned_trials : see ``read_results``.

    Raises
    ------
    FileNotFoundError : there is no plan, or ``results/compare`` was not written yet.
    ValueError : a results file does not match the plan.
    """
    compared = {name: _read_compared(root, name) for name in COMPARED}
    plans = planned_tables(root)
    recorded = {plan.table: read_results(root, plan) for plan in plans}
    tables = [
        Table(
            plan,
            present_rows(recorded[plan.table], plan, planned_trials),
            *(
                compared[name][compared[name]["table"] == plan.table]
                for name in ("summary", "significance", "ranks", "protocol", "evidence")
            ),
        )
        for plan in plans
    ]
    planes = {t.plan.table: plane_figure(root, t.plan, t.rows) for t in tables if t.rows is not None}
    context = _context(tables, compared, planes)
    for section, table in zip(context["tables"], tables, strict=True):
        section["notes"] = [
            *section["notes"],
            *stale_notes(root, table.plan.table, table.rows),
            *adopted_notes(table.rows),
        ]
        section["earlier"] = earlier_note(recorded[table.plan.table], table.rows)
    page = _environment().get_template("page.html.j2").render(context)
    index = root / "reports" / "index.html"
    _write_plotly(index.parent / "plotly.min.js")
    replace_file(index, page.encode())
    return index


def _read_compared(root: Path, name: str) -> pd.DataFrame:
    path = root / "results" / "compare" / f"{name}.parquet"
    if not path.is_file():
        raise FileNotFoundError(f"no {path}; the stage `compare` writes it, run `dvc repro`")
    return read_frame(path, COMPARED[name], BY_COMPARE)


def _environment() -> Environment:
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
    tables: list[Table], compared: dict[str, pd.DataFrame], planes: dict[str, dict[str, Any] | None]
) -> dict[str, Any]:
    recorded = [table.rows for table in tables if table.rows is not None]
    rows = pd.concat(recorded, ignore_index=True) if recorded else pd.DataFrame()
    choice = compared["choice"]
    return {
        "tables": [_section(f"t{at}", table, choice, planes.get(table.plan.table)) for at, table in enumerate(tables)],
        "sweeps": sweep_views(compared["sweeps"], compared["surface"]),
        "tuned_apart": records(choice[choice["table"].isna()]),
        "failures": _failure_views(compared["failures"]),
        "paper": paper_view(compared["verdicts"], compared["claims"]),
        "environments": _environments(rows),
        "datasets": [_dataset(name) for name in sorted({table.plan.dataset for table in tables})],
        "power_heads": power_heads(),
        "n_planned": sum(_n_planned(table.plan) for table in tables),
        "n_ok": int((rows["status"] == "ok").sum()) if len(rows) else 0,
        "n_fits": int(rows.loc[rows["status"] == "ok", "fit_id"].nunique()) if len(rows) else 0,
        "digest": _digest(rows),
    }


def _section(anchor: str, table: Table, choice: pd.DataFrame, plane: dict[str, Any] | None) -> dict[str, Any]:
    plan, rows = table.plan, table.rows
    views = row_views(anchor, plan, rows, table.summary, table.tests)
    section: dict[str, Any] = {
        "anchor": anchor,
        "plan": plan,
        "run": rows is not None,
        "columns": column_heads(plan),
        "rows": views,
        "notes": empty_notes(table.summary),
        "below_chance": chance_notes(table.summary),
        "constant": constant_notes(rows),
        "evidence": evidence_sentences(table.tests, run=rows is not None, tested=plan.tested),
        "criterion": bool(table.summary["n_val_pu"].any()),
        "tests": test_views(table.tests),
        "pairs_for_interval": PAIRS_FOR_INTERVAL,
        "choice": records(choice[choice["table"] == plan.table]),
        "figure": None,
        "plane": None,
        "power": power_views(table.evidence),
        "ranks": None,
        "best": ", ".join(view.name for view in views if view.cells[-1].best),
        "counts": _status_counts(plan, rows),
    }
    if rows is None:
        return section | {"draw": "", "configs": [], "protocol": [], "trials": []}
    figure = table_figure(plan, rows, table.summary)
    ranks = rank_view(table.ranks)
    return section | {
        "figure": {"caption": figure["caption"], "json": _script_json(figure["figure"])} if figure else None,
        "plane": plane and {"caption": plane["caption"], "json": _script_json(plane["figure"])},
        "draw": draw_sentence(rows),
        "configs": config_views(plan, rows),
        "ranks": ranks | {"json": _script_json(ranks["figure"])} if ranks else None,
        "protocol": protocol_views(table.summary, table.protocol),
        "trials": trial_groups(anchor, plan, rows),
    }


def _script_json(value: Any) -> str:
    """Return JSON that cannot end the script element that contains it."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _n_planned(plan: TablePlan) -> int:
    return len(plan.entries) * len(plan.cells) * len(plan.seeds)


def _status_counts(plan: TablePlan, rows: pd.DataFrame | None) -> dict[str, int]:
    counts = {name: 0 if rows is None else int((rows["status"] == name).sum()) for name in ("ok", "failed", "skipped")}
    return counts | {"not run": _n_planned(plan) - sum(counts.values()), "planned": _n_planned(plan)}


def _failure_views(failures: pd.DataFrame) -> list[dict[str, Any]]:
    """Group failures by entry, status and reason. Trials that were not run are only counted in the overview."""
    listed = failures[failures["status"] != "missing"].assign(reason=failures["reason"].fillna("no reason recorded"))
    views = []
    for (origin, entry, status, reason), group in listed.groupby(["origin", "entry", "status", "reason"], sort=True):
        cells = ", ".join(sorted({str(cell) for cell in group["cell"]}))
        attempts = group["attempts"].max()
        views.append(
            {
                "origin": origin,
                "entry": entry,
                "status": status,
                "reason": reason,
                "cells": cells,
                "n": len(group),
                "attempts": int(attempts) if present(attempts) else None,
                "trials": [str(trial) for trial in group["trial_id"] if present(trial)],
            }
        )
    return views


def _environments(rows: pd.DataFrame) -> list[dict[str, Any]]:
    if rows.empty:
        return []
    scored = rows.loc[rows["status"] == "ok", _ENVIRONMENT].fillna("not recorded").astype(str)
    return records(scored.groupby(_ENVIRONMENT, sort=True).size().reset_index(name="n"))


def _dataset(name: str) -> dict[str, str]:
    """Return a dataset's licence and citation, as declared in its file; empty for data that is not registered."""
    from puoc.datasets import DATASETS

    known = DATASETS.get(name)
    return {"name": name, "licence": getattr(known, "licence", ""), "citation": getattr(known, "citation", "")}


def _digest(rows: pd.DataFrame) -> str:
    """Compute a digest of the results on the page, which distinguishes pages without a time stamp."""
    columns = ["table", "entry", "cell", "seed", "status", "auc"]
    columns += ["auc_val_pu"] if "auc_val_pu" in rows and rows["auc"].isna().any() else []
    content = [] if rows.empty else rows[columns].to_csv(index=False)
    return blake2b(str(content).encode(), digest_size=6).hexdigest()
