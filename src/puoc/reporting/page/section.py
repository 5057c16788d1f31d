"""The section of one table on the page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from puoc.analysis.metrics import DEFAULT
from puoc.analysis.paper.protocol import ProtocolRow
from puoc.analysis.selection.regret import ChoiceRow
from puoc.analysis.statistics.ranks import RankRow
from puoc.analysis.statistics.seed_power import EvidenceRow
from puoc.analysis.statistics.signed_rank import PAIRS_FOR_INTERVAL
from puoc.analysis.statistics.significance import SignificanceRow
from puoc.analysis.tables.metric_tables import MetricRow
from puoc.analysis.tables.summary import SummaryRow
from puoc.reporting.page.figures import table_figure
from puoc.reporting.page.metrics import MetricTable, label_of, metric_table
from puoc.reporting.page.places import dataset_page, passport_page, table_page
from puoc.reporting.page.protocol import ProtocolView, protocol_views
from puoc.reporting.page.ranks import PowerView, power_views, rank_view
from puoc.reporting.page.significance import TestView, evidence_sentences, test_views
from puoc.reporting.page.sources import config_views, draw_sentence
from puoc.reporting.page.tables import RowView, chance_notes, column_heads, constant_notes, empty_notes, row_views
from puoc.store.plans import TablePlan


@dataclass(frozen=True)
class Table:
    """One table of the page: its plan, its recorded rows and what was computed from them."""

    plan: TablePlan
    rows: pd.DataFrame | None
    earlier: str  # a note on rows that the plan no longer contains
    stale: list[tuple[str, str]]  # notes on rows of other code
    summary: list[SummaryRow]
    tests: list[SignificanceRow]
    ranks: list[RankRow]
    protocol: list[ProtocolRow]
    evidence: list[EvidenceRow]
    choice: list[ChoiceRow]
    metrics: list[MetricRow]
    metric: str = DEFAULT  # what the means and the column ``auc`` of the rows are of


@dataclass(frozen=True)
class FigureView:
    """A figure as the page contains it."""

    json: str
    caption: str


@dataclass(frozen=True)
class RanksView:
    """The ranks of a table as the page contains them."""

    rows: list[RankRow]
    sentence: str
    json: str  # of the diagram


@dataclass(frozen=True)
class Section:
    """The section of one table."""

    anchor: str
    plan: TablePlan
    run: bool
    columns: list[str]
    rows: list[RowView]
    href: str  # its page and the next two: from the folder of the reports, and from its page
    dataset_href: str
    passports: str
    notes: list[tuple[str, str]]
    earlier: str
    below_chance: list[str]
    constant: list[str]
    evidence: list[str]
    criterion: bool  # whether there is a label-free criterion
    tests: list[TestView]
    pairs_for_interval: int
    choice: list[ChoiceRow]
    power: list[PowerView]
    best: str
    counts: dict[str, int]
    metric: str
    metrics: MetricTable | None
    # of a table that was run
    figure: FigureView | None = None
    plane: FigureView | None = None
    ranks: RanksView | None = None
    draw: str = ""
    configs: Sequence[dict[str, str]] = ()
    protocol: Sequence[ProtocolView] = ()


def table_section(anchor: str, table: Table, plane: Mapping[str, object] | None) -> Section:
    """Return the section of a table; ``plane`` is the figure of two-dimensional data, if there is one."""
    plan, rows = table.plan, table.rows
    views = row_views(f"../{passport_page(plan.table)}", plan, rows, table.summary, table.tests)
    section = Section(
        anchor=anchor,
        plan=plan,
        run=rows is not None,
        columns=column_heads(plan),
        rows=views,
        href=table_page(plan.table),
        dataset_href=dataset_page(plan.dataset),
        passports=f"../{passport_page(plan.table)}",
        notes=[*empty_notes(table.summary), *table.stale],
        earlier=table.earlier,
        below_chance=chance_notes(table.summary),
        constant=constant_notes(rows) if table.metric == DEFAULT else [],
        evidence=evidence_sentences(table.tests, run=rows is not None, tested=plan.tested),
        criterion=any(row.n_val_pu for row in table.summary),
        tests=test_views(table.tests),
        pairs_for_interval=PAIRS_FOR_INTERVAL,
        choice=table.choice,
        power=power_views(table.evidence),
        best=", ".join(view.name for view in views if view.cells[-1].best),
        counts=_status_counts(plan, rows),
        metric=label_of(table.metric),
        metrics=metric_table(plan, table.metrics),
    )
    if rows is None:
        return section
    figure = table_figure(plan, rows, table.summary, label_of(table.metric))
    ranks = rank_view(table.ranks)
    return replace(
        section,
        figure=FigureView(_script_json(figure.figure), figure.caption) if figure else None,
        plane=FigureView(_script_json(plane["figure"]), str(plane["caption"])) if plane else None,
        draw=draw_sentence(rows),
        configs=config_views(plan, rows),
        ranks=RanksView(ranks.rows, ranks.sentence, _script_json(ranks.figure)) if ranks else None,
        protocol=protocol_views(table.summary, table.protocol),
    )


def _script_json(value: object) -> str:
    """Return JSON that cannot end the script element that contains it."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def n_planned(plan: TablePlan) -> int:
    """Count the planned trials of a table."""
    return len(plan.entries) * len(plan.cells) * len(plan.seeds)


def _status_counts(plan: TablePlan, rows: pd.DataFrame | None) -> dict[str, int]:
    counts = {name: 0 if rows is None else int((rows["status"] == name).sum()) for name in ("ok", "failed", "skipped")}
    return counts | {"not run": n_planned(plan) - sum(counts.values()), "planned": n_planned(plan)}
