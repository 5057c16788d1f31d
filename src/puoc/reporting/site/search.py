"""What the search box finds: pages, entries of tables and claims of the paper."""

from __future__ import annotations

import json
from collections.abc import Iterable

from puoc.reporting.page.places import dataset_page, method_page, passport, sweep_page, table_page
from puoc.reporting.page.section import Table

#: Pages that are always there, by their title.
PAGES = (
    ("Overview", "index.html"),
    ("Leaderboard", "leaderboard.html"),
    ("Tables", "tables.html"),
    ("Methods", "methods.html"),
    ("Datasets", "datasets.html"),
    ("Sweeps", "sweeps.html"),
    ("The paper: numbers and claims", "paper.html"),
    ("Metrics", "metrics.html"),
    ("Failures", "failures.html"),
    ("How to read the tables", "tables.html#how-to-read"),
)


def search_script(
    tables: Iterable[Table], methods: Iterable[str], datasets: Iterable[str], sweeps: Iterable[str], paper: bool = True
) -> str:
    """Return a script with all that can be found: kind, text and address from the folder of the reports.

    Parameters
    ----------
    paper : whether the site has the page on the paper.
    """
    found = [("page", title, href) for title, href in PAGES if paper or href != "paper.html"]
    found += [("method", name, method_page(name)) for name in methods]
    found += [("dataset", name, dataset_page(name)) for name in datasets]
    found += [("sweep", name, sweep_page(name)) for name in sweeps]
    for table in tables:
        plan = table.plan
        found.append(("table", f"{plan.table}: {plan.title}", table_page(plan.table)))
        if table.rows is not None:
            last = len(plan.cells) if len(plan.cells) > 1 else 0
            recorded = set(table.rows["entry"])
            found += [
                ("number", f"{plan.table} / {entry.entry}", passport(plan.table, index, last))
                for index, entry in enumerate(plan.entries)
                if entry.entry in recorded
            ]
    text = json.dumps(found, separators=(",", ":"))
    return f"window.PUOC_PAGES={text};\n"
