"""Facts of one column in two groups of rows, from which ``signs`` judges it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.audit.limits import Limit, limits
from puoc.datasets.audit.numbers import Repeated, Resolution, follows_order, repeated_value, resolution
from puoc.datasets.audit.relations import ROWS, Sample
from puoc.datasets.audit.result import Histogram, Property, Sides, Told
from puoc.datasets.audit.spelling import is_mark
from puoc.datasets.audit.two_groups import Compared, Numbers, of_codes, of_shares, of_sorted

MOST: Final = 10_000  # rows of a group that are compared, evenly spaced
LOOKED_AT: Final = 1_000  # values whose units and digits are compared
BINS: Final = 12
_LABELS: Final = 10  # categories of a histogram

Codes = NDArray[np.int64]
#: A category and its share of the present values.
Mark = tuple[str, float] | None
T = TypeVar("T", bound=np.generic)


@dataclass
class Side:
    """One group of rows."""

    n: int
    missing: int
    distinct: int = 0
    usual: str = ""  # the most frequent value
    usual_share: float = 0.0  # of the present values


@dataclass
class Facts:
    """Facts of one column; ``first`` is P or the test positives, ``second`` is U or the test negatives."""

    name: str
    read_as: Literal["number", "category"]
    sides: Sides
    first: Side
    second: Side
    told: dict[Property, Told] = field(default_factory=dict)
    histogram: Histogram | None = None
    sample: Sample | None = None  # of rows that are the same in all columns
    # of numbers
    sorted: tuple[Numbers, Numbers] | None = None  # evenly spaced, at most LOOKED_AT values each
    spikes: tuple[Repeated | None, Repeated | None] = (None, None)  # of the first, and of the second group
    limits: tuple[list[Limit], list[Limit]] = ([], [])  # at which one group is cut off and the other one is not
    digits: tuple[Resolution, Resolution] | None = None
    order: float = 0.0  # rank correlation with the row of the file, the weaker one of both groups
    usual_in_other: tuple[float, float] = (0.0, 0.0)  # share of each group's most frequent value in the other group
    # of categories
    marks: tuple[Mark, Mark] = (None, None)  # of a missing value, that one group alone has
    sets: tuple[frozenset[str], frozenset[str]] | None = None
    shared: tuple[float, float] = (1.0, 1.0)  # share of rows whose category the other group has too

    @property
    def present(self) -> tuple[int, int]:
        """Return the numbers of present values."""
        return self.first.n - self.first.missing, self.second.n - self.second.missing

    def add(self, prop: Property, found: Compared | None) -> None:
        """Keep a comparison if there is one."""
        if found is not None:
            self.told[prop] = Told(property=prop, sides=self.sides, **found._asdict())


def of_numbers(name: str, p: Numbers, u: Numbers, sides: Sides, rows: tuple[Codes, Codes] | None = None) -> Facts:
    """Return the facts of a column of numbers.

    Parameters
    ----------
    p, u : (n,), (m,) numbers of the groups in the order of the file, NaN where missing.
    rows : numbers of the rows in the file; absent: each group is a file.
    """
    p, u = _spaced(p, MOST), _spaced(u, MOST)
    sample = Sample(name, _spaced(p, ROWS).astype(np.float64), _spaced(u, ROWS).astype(np.float64), is_number=True)
    absent = np.isnan(p), np.isnan(u)
    facts = Facts(name, "number", sides, Side(len(p), int(absent[0].sum())), Side(len(u), int(absent[1].sum())))
    _add_missing(facts)
    x, y = np.sort(p[~absent[0]]), np.sort(u[~absent[1]])
    facts.add("values", of_sorted(x, y))
    if not len(x) or not len(y):
        return facts
    facts.sample = sample
    facts.order = follows_order(p, u)
    for side, values in ((facts.first, x), (facts.second, y)):
        side.distinct, at, count = _runs(values)
        side.usual, side.usual_share = f"{values[at]:.10g}", count / len(values)
    facts.usual_in_other = _share(y, _most(x)), _share(x, _most(y))
    facts.spikes = repeated_value(x, y), repeated_value(y, x)
    facts.limits = limits(x, y), limits(y, x)
    facts.sorted = _spaced(x, LOOKED_AT), _spaced(y, LOOKED_AT)
    if facts.first.distinct > 1 and facts.second.distinct > 1:
        facts.digits = resolution(facts.sorted[0]), resolution(facts.sorted[1])
        facts.add("precision", of_sorted(facts.digits[0].sorted, facts.digits[1].sorted))
    facts.histogram = _histogram(x, y)
    return facts


def of_categories(name: str, p: Codes, u: Codes, values: list[str], sides: Sides) -> Facts:
    """Return the facts of a column of categories.

    Parameters
    ----------
    p, u : (n,), (m,) codes of the groups in the order of the file, -1 where missing.
    values : the category of each code.
    """
    p, u = _spaced(p, MOST), _spaced(u, MOST)
    facts = Facts(name, "category", sides, Side(len(p), int((p < 0).sum())), Side(len(u), int((u < 0).sum())))
    _add_missing(facts)
    x, y = p[p >= 0], u[u >= 0]
    if not len(x) or not len(y):
        return facts
    facts.add("values", of_codes(x, y))
    hashes = np.array([hash(value) for value in values] + [np.nan])  # the last one is of a missing value
    facts.sample = Sample(name, hashes[_spaced(p, ROWS)], hashes[_spaced(u, ROWS)], is_number=False)
    lengths = np.array([len(value) for value in values], dtype=np.float64)
    facts.add("length", of_sorted(np.sort(lengths[x]), np.sort(lengths[y])))
    counts = [np.bincount(codes, minlength=len(values)) for codes in (x, y)]
    for side, count in zip((facts.first, facts.second), counts, strict=True):
        side.distinct, most = int((count > 0).sum()), int(count.argmax())
        side.usual, side.usual_share = values[most], float(count[most] / count.sum())
    a, b = counts
    facts.marks = _mark(values, a, b), _mark(values, b, a)
    facts.shared = float(a[b > 0].sum() / a.sum()), float(b[a > 0].sum() / b.sum())
    facts.sets = tuple(frozenset(values[i] for i in np.flatnonzero(c)) for c in counts)  # type: ignore[assignment]
    common = np.argsort(-(a + b), kind="stable")[:_LABELS]
    rest = len(values) > len(common)
    shares = [tuple(float(c[i] / c.sum()) for i in common) for c in counts]
    facts.histogram = Histogram(
        labels=(*(values[i] for i in common), *(["other"] if rest else [])),
        first=(*shares[0], *([max(0.0, 1 - sum(shares[0]))] if rest else [])),
        second=(*shares[1], *([max(0.0, 1 - sum(shares[1]))] if rest else [])),
    )
    return facts


def _add_missing(facts: Facts) -> None:
    a, b = facts.first, facts.second
    if a.missing or b.missing:
        facts.add("missing", of_shares(a.missing, a.n, b.missing, b.n))


def _spaced(x: NDArray[T], most: int) -> NDArray[T]:
    """Return at most so many values, evenly spaced, with both ends."""
    if len(x) <= most:
        return x
    found: NDArray[T] = x[np.linspace(0, len(x) - 1, most).astype(np.int64)]
    return found


def _runs(x: Numbers) -> tuple[int, int, int]:
    """Return the number of different values of sorted ones, a place of the most frequent one, and its count."""
    ends = np.flatnonzero(np.append(x[1:] != x[:-1], True))
    counts = np.diff(ends, prepend=-1)
    most = int(counts.argmax())
    return len(ends), int(ends[most]), int(counts[most])


def _most(x: Numbers) -> float:
    """Return the most frequent one of sorted values."""
    return float(x[_runs(x)[1]])


def _share(x: Numbers, value: float) -> float:
    """Return the share of a value among sorted ones."""
    return float(np.searchsorted(x, value, "right") - np.searchsorted(x, value, "left")) / len(x)


def _mark(values: list[str], own: Codes, other: Codes) -> Mark:
    """Return the most frequent text for a missing value among those that the other group lacks, with its share."""
    only = [int(at) for at in np.flatnonzero((own > 0) & (other == 0)) if is_mark(values[at])]
    best = max(only, key=lambda at: int(own[at]), default=None)
    return None if best is None else (values[best], float(own[best] / own.sum()))


def _histogram(x: Numbers, y: Numbers) -> Histogram:
    """Return shares in bins of equal width between the quantiles .01 and .99 of both groups."""
    low = min(x[len(x) // 100], y[len(y) // 100])
    high = max(x[-1 - len(x) // 100], y[-1 - len(y) // 100])
    edges = _edges(float(low), float(high)) if high > low else np.array([low, low])
    shares = []
    for values in (x, y):
        places = np.searchsorted(values, edges[1:-1], "left")
        shares.append(tuple(float(v) for v in np.diff(places, prepend=0, append=len(values)) / len(values)))
    return Histogram(edges=tuple(float(edge) for edge in edges), first=shares[0], second=shares[1])


def _edges(low: float, high: float) -> NDArray[np.float64]:
    """Return the edges of equal bins, also between ends whose difference is no float64."""
    if np.isfinite(high - low):
        return np.linspace(low, high, BINS + 1)
    part = np.linspace(0.0, 1.0, BINS + 1)
    return low * (1 - part) + high * part
