"""The leaderboard: every number of every table in one list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from puoc.analysis.metrics import metrics
from puoc.reporting.page.metrics import label_of
from puoc.reporting.site.standings import Standing


@dataclass(frozen=True)
class Line:
    """One row of the leaderboard."""

    standing: Standing
    value: str  # mean of the first metric, by which the page sorts
    others: str  # "mean,rank,of" by each other offered metric, separated by bars; empty where unknown
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
    ranks = {name: _ranks(known, name) for name in offered[1:]}
    lines = [_line(one, {name: ranks[name].get(at) for name in offered[1:]}) for at, one in enumerate(known)]
    order = {table: at for at, table in enumerate(dict.fromkeys(one.table for one in known))}
    lines.sort(key=lambda line: _place(line.standing, order[line.standing.table]))
    return LeaderboardView(
        lines=lines,
        families=list(dict.fromkeys(one.family for one in known)),
        scenarios=sorted({one.scenario for one in known}),
        datasets=sorted({one.dataset for one in known}),
        tables=list(dict.fromkeys((one.table, one.scenario) for one in known)),
        methods=sorted({one.entry.method for one in known}),
        metrics=[(name, label_of(name) + ("" if _is_higher_better(name) else ", lower is better")) for name in offered],
        n_without=n_planned - len(known),
    )


def rank_text(one: Standing) -> str:
    """Return the rank in its column and the interval of the rank; empty for references."""
    rank = one.summary.rank
    if rank is None:
        return ""
    interval = one.interval
    return f"{rank:g}" + (f" ({interval.low} to {interval.high} of {interval.of})" if interval else "")


def _is_higher_better(metric: str) -> bool:
    known = metrics().get(metric)
    return known is None or known.higher_is_better


def _ranks(standings: Sequence[Standing], metric: str) -> dict[int, tuple[int, int]]:
    """Return the rank by a metric and the number of ranked entries, by position of the standing.

    The entries are those that have a rank in their column by the first metric, and a mean by this one. Ties share the
    better rank.
    """
    columns: dict[tuple[str, int], dict[int, float]] = {}
    sign = 1 if _is_higher_better(metric) else -1
    for at, one in enumerate(standings):
        if one.summary.rank is not None and metric in one.metrics:
            columns.setdefault((one.table, one.column), {})[at] = sign * one.metrics[metric]
    return {
        at: (1 + sum(other > value for other in column.values()), len(column))
        for column in columns.values()
        for at, value in column.items()
    }


def _line(one: Standing, ranks: Mapping[str, tuple[int, int] | None]) -> Line:
    others = []
    for name, rank in ranks.items():
        value = f"{one.metrics[name]:.4f}" if name in one.metrics else ""
        others.append(f"{value},{rank[0]},{rank[1]}" if rank is not None else value)
    rank_of_first = one.summary.rank
    return Line(
        standing=one,
        value="" if one.summary.mean is None else f"{one.summary.mean:.4f}",
        others="|".join(others) if any(others) else "",
        rank=rank_text(one),
        rank_order="" if rank_of_first is None else f"{rank_of_first:g}",
    )


def _place(one: Standing, table: int) -> tuple[bool, int, int, bool, float]:
    return not one.is_last, table, one.column, one.entry.oracle, -(one.summary.mean or 0.0)
