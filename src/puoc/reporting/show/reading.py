"""Read the results that are shown. Nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from puoc.analysis.statistics.significance import over_all_tables, twin_tests
from puoc.analysis.tables.metric_tables import as_metric
from puoc.analysis.tables.results import Trials, read_results
from puoc.analysis.tables.summary import summarise
from puoc.reporting.show.views import Results
from puoc.store.plan_files import read_metric
from puoc.store.plans import TablePlan


def read(root: Path, plans: Sequence[TablePlan], planned_trials: Trials | None = None) -> Results:
    """Read the recorded rows of all planned tables, and compute their means and tests as ``puoc compare`` does.

    Means and tests are of the metric of the plan.

    Parameters
    ----------
    planned_trials : see ``puoc.analysis.tables.results.read_results``.

    Raises
    ------
    ValueError : a results file is damaged or does not match the plan.
    """
    rows, metric = {plan.table: read_results(root, plan, planned_trials) for plan in plans}, read_metric(root)
    viewed = {table: None if found is None else as_metric(found, metric) for table, found in rows.items()}
    return Results(
        plans=plans,
        metric=metric,
        rows=rows,
        summary=[row for plan in plans for row in summarise(plan, viewed[plan.table], metric)],
        tests=over_all_tables([test for plan in plans for test in twin_tests(plan, viewed[plan.table])]),
    )
