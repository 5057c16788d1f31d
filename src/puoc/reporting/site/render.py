"""Render all pages of the site from their templates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jinja2 import Environment

from puoc.reporting.page.places import dataset_page, method_page, passport_page, table_page
from puoc.reporting.page.section import Section
from puoc.reporting.page.sweeps import SweepView
from puoc.reporting.site.datasets import DatasetView
from puoc.reporting.site.leaderboard import LeaderboardView
from puoc.reporting.site.methods import MethodView
from puoc.reporting.site.passports import TablePassports

#: The navigation: key, text and page.
_PAGES = (
    ("overview", "Overview", "index.html"),
    ("leaderboard", "Leaderboard", "leaderboard.html"),
    ("tables", "Tables", "tables.html"),
    ("methods", "Methods", "methods.html"),
    ("datasets", "Data", "datasets.html"),
    ("sweeps", "Sweeps", "sweeps.html"),
    ("paper", "Paper", "paper.html"),
)


@dataclass(frozen=True)
class Content:
    """What the pages show."""

    tables: list[Section]
    passports: list[TablePassports]  # by table
    methods: list[MethodView]
    datasets: list[DatasetView]
    sweeps: list[SweepView]
    board: LeaderboardView
    shared: Mapping[str, object]  # values that several pages use


def rendered(environment: Environment, content: Content) -> dict[str, str]:
    """Return the text of each page, by its path below the folder of the reports."""
    methods = {one.name for one in content.methods}
    data = {one.name for one in content.datasets}
    pages: dict[str, str] = {}
    shown = [page for page in _PAGES if page[0] != "paper" or content.shared["shows_paper"]]
    for path, template, section, values in _wanted(content):
        known = {"known": methods, "datasets": content.datasets, "tables": content.tables}
        context = {**content.shared, **known, "pages": shown, "section": section, "up": "../" if "/" in path else ""}
        sweep = values.get("sweep")
        if isinstance(sweep, SweepView):
            context |= {"has_method": sweep.row.method in methods, "has_dataset": sweep.row.dataset in data}
        pages[path] = environment.get_template(template).render(context | values)
    return pages


def _wanted(content: Content) -> Iterator[tuple[str, str, str, dict[str, object]]]:
    """Yield the path of each page, its template, its part of the navigation and its own values."""
    yield "index.html", "overview.html.j2", "overview", {}
    yield "leaderboard.html", "leaderboard.html.j2", "leaderboard", {"board": content.board}
    yield "tables.html", "tables.html.j2", "tables", {}
    yield "methods.html", "methods.html.j2", "methods", {"methods": content.methods}
    yield "datasets.html", "datasets.html.j2", "datasets", {}
    yield "sweeps.html", "sweeps_page.html.j2", "sweeps", {"sweeps": content.sweeps}
    if content.shared["shows_paper"]:  # not where all tables are of user data
        yield "paper.html", "paper.html.j2", "paper", {}
    yield "metrics.html", "metrics_page.html.j2", "metrics", {}
    yield "failures.html", "failures.html.j2", "failures", {}
    for table, passports in zip(content.tables, content.passports, strict=True):
        name = table.plan.table
        yield table_page(name), "table_page.html.j2", "tables", {"table": table}
        yield passport_page(name), "passports.html.j2", "tables", {"table": table, "passports": passports}
    for method in content.methods:
        yield method_page(method.name), "method.html.j2", "methods", {"method": method}
    for dataset in content.datasets:
        yield dataset_page(dataset.name), "dataset.html.j2", "datasets", {"dataset": dataset}
    for sweep in content.sweeps:
        yield sweep.href, "sweep_page.html.j2", "sweeps", {"sweep": sweep}
