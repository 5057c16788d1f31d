"""Times of groups of rows by a column of dates: which group is later than another."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.audit.row_groups import WORDS, Group
from puoc.datasets.audit.two_groups import interval, of_sorted
from puoc.records import Record

_LATER: Final = 0.75  # AUC of times from which one group is said to be later


class TimeSpan(Record):
    """First, middle and last time of a group of rows, as text."""

    group: Group
    n: int
    first: str
    middle: str
    last: str


class TimeOrder(Record):
    """A sentence on the times of two groups of rows."""

    text: str
    differ: bool  # True if they are from different times


class Times(Record):
    """Times of the groups by one column of dates, and how each two groups lie."""

    column: str
    spans: tuple[TimeSpan, ...]
    findings: tuple[TimeOrder, ...]


def times_of(column: str, times: Mapping[Group, NDArray[np.datetime64]], most: int = 10_000) -> Times | None:
    """Return the times of the groups, and which of them are later than others; None without times in two groups.

    Parameters
    ----------
    times : (n,) datetime64[s] of each group, NaT where missing.
    """
    known = {}
    for group, values in times.items():
        there = np.sort(values[~np.isnat(values)])
        if len(there):
            known[group] = there
    if len(known) < 2:
        return None
    days = all((x == x.astype("datetime64[D]")).all() for x in known.values())
    spans = tuple(
        TimeSpan(
            group=group,
            n=len(x),
            first=_shown(x[0], days),
            middle=_shown(x[len(x) // 2], days),
            last=_shown(x[-1], days),
        )
        for group, x in known.items()
    )
    findings = []
    for first, second in combinations(known, 2):
        if {first, second} == {"test", "incoming"}:
            continue
        text, apart = _compared(first, known[first], second, known[second], most)
        findings.append(TimeOrder(text=f"column {column!r}: {text}", differ=apart))
    return Times(column=column, spans=spans, findings=tuple(findings))


def _compared(
    first: Group, x: NDArray[np.datetime64], second: Group, y: NDArray[np.datetime64], most: int
) -> tuple[str, bool]:
    """Return a sentence on two groups with sorted times, and whether they are from different times."""
    one, other = WORDS[first], WORDS[second]
    for early, late, a, b in ((one, other, x, y), (other, one, y, x)):
        if a[-1] < b[0]:
            return f"all of {early} are before all of {late}", True
    numbers = [_spaced(values, most).astype("datetime64[s]").astype(np.int64).astype(np.float64) for values in (x, y)]
    told = of_sorted(numbers[0], numbers[1])
    if told is None:
        return f"{one} and {other} are from overlapping times", False
    later = max(told.auc, 1 - told.auc)
    low = interval(later, len(numbers[0]), len(numbers[1]))[0]
    if later >= _LATER and low > 0.5:
        early, late = (other, one) if told.auc > 0.5 else (one, other)
        return f"{early} are mostly before {late} (AUC {later:.3f})", True
    return f"{one} and {other} are from much the same time (AUC {later:.3f})", False


def _spaced(x: NDArray[np.datetime64], most: int) -> NDArray[np.datetime64]:
    return x if len(x) <= most else x[np.linspace(0, len(x) - 1, most).astype(np.int64)]


def _shown(time: np.datetime64, days: bool) -> str:
    return str(time.astype("datetime64[D]" if days else "datetime64[m]")).replace("T", " ")
