"""Read the results that are shown. Nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from puoc.analysis.statistics.significance import over_all_tables, twin_tests
from puoc.analysis.tables.results import Trials, read_results
from puoc.analysis.tables.summary import summarise
from puoc.reporting.show.views import Results
from puoc.store.plans import TablePlan


def read(root: Path, plans: Sequence[TablePlan], planned_trials: Trials | None = None) -> Results:
    """Read the recorded rows of all planned tables, and compute their means and tests as ``puoc compare`` does.

    Parameters
    ----------
    planned_trials : see ``puoc.analysis.tables.results.read_results``.

    Raises
    ------
    ValueError : a results file is damaged or does not match the plan.
    """
    rows = {plan.table: read_results(root, plan, planned_trials) for plan in plans}
    return Results(
        plans=plans,
        rows=rows,
        summary=[row for plan in plans for row in summarise(plan, rows[plan.table])],
        tests=over_all_tables([test for plan in plans for test in twin_tests(plan, rows[plan.table])]),
    )
