"""The leaderboard: every number of every table in one list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from puoc.analysis.metrics import metrics
from puoc.reporting.page.metrics import label_of
from puoc.reporting.site.standings import Standing


@dataclass(frozen=True)
class Line:
    """One row of the leaderboard."""

    standing: Standing
    value: str  # mean of the first metric, by which the page sorts
    others: str  # means of the other offered metrics, separated by bars; empty where unknown
    rank: str  # such as "1 (1 to 3 of 8)"
    rank_order: str  # by which the page sorts; empty for references, which come last


@dataclass(frozen=True)
class LeaderboardView:
    """The content of the page."""

    lines: list[Line]
    families: list[str]
    scenarios: list[str]
    datasets: list[str]
    tables: list[tuple[str, str]]  # with their scenarios
    methods: list[str]
    metrics: list[tuple[str, str]]  # name and label of those that the page offers; the first is that of the ranks
    n_without: int  # numbers of the plan without a value


def leaderboard_view(standings: Sequence[Standing], metric: str, n_planned: int) -> LeaderboardView:
    """Return the rows that have a value and what they can be filtered by.

    Averages come before single cells, then tables in the order of the plan, then the highest mean; references are last.

    Parameters
    ----------
    metric : the metric of means, ranks and tests.
    n_planned : numbers of all tables, whether or not they were run.
    """
    known = [one for one in standings if one.summary.n]
    named = {name for one in known for name in one.metrics}
    offered = [metric, *(name for name, each in metrics().items() if name in named - {metric} and each.rows == "test")]
    lines = [_line(one, offered) for one in known]
    order = {table: at for at, table in enumerate(dict.fromkeys(one.table for one in known))}
    lines.sort(key=lambda line: _place(line.standing, order[line.standing.table]))
    return LeaderboardView(
        lines=lines,
        families=list(dict.fromkeys(one.family for one in known)),
        scenarios=sorted({one.scenario for one in known}),
        datasets=sorted({one.dataset for one in known}),
        tables=list(dict.fromkeys((one.table, one.scenario) for one in known)),
        methods=sorted({one.entry.method for one in known}),
        metrics=[(name, label_of(name)) for name in offered],
        n_without=n_planned - len(known),
    )


def rank_text(one: Standing) -> str:
    """Return the rank in its column and the interval of the rank; empty for references."""
    rank = one.summary.rank
    if rank is None:
        return ""
    interval = one.interval
    return f"{rank:g}" + (f" ({interval.low} to {interval.high} of {interval.of})" if interval else "")


def _line(one: Standing, offered: Sequence[str]) -> Line:
    values = [one.summary.mean, *(one.metrics.get(name) for name in offered[1:])]
    value, *others = ("" if value is None else f"{value:.4f}" for value in values)
    rank = one.summary.rank
    return Line(one, value, "|".join(others), rank_text(one), "" if rank is None else f"{rank:g}")


def _place(one: Standing, table: int) -> tuple[bool, int, int, bool, float]:
    return not one.is_last, table, one.column, one.entry.oracle, -(one.summary.mean or 0.0)
