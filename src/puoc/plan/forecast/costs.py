"""Seconds of a fit before it is computed: from ``costs.csv``, by the ledger's own fits where it has some.

``costs.csv`` holds seconds per unit of ``puoc.plan.forecast.work`` and per row scored, of one thread of a
two-core machine that others used as well; ``bench/costs.py`` writes it.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from itertools import islice
from statistics import median
from typing import NamedTuple

from puoc.datasets import DATASETS
from puoc.plan.forecast.work import Work, row_scale, seen, work_of
from puoc.records import Encoding, Fit, FitResult, TestSet
from puoc.scenarios.drawing.draws import train_count
from puoc.store.ledger import Ledger

_LOOKED_AT = 500  # records of a ledger, so that planning stays quick beside a long one
_SHORT = 1.0  # seconds below which a fit tells what it costs to begin, not what its work does
_MOST = 3.0  # the factor by which one ledger may correct a cost, up or down: its machine may have been busy

Key = tuple[str, str, str]


class Cost(NamedTuple):
    """What was measured of one method on one kind of rows."""

    per_unit: float  # seconds of training
    per_scored: float  # seconds of scoring a row, by its values


@cache
def measured() -> dict[Key, Cost]:
    """The table, by method, variant and inputs."""
    text = files("puoc.plan.forecast").joinpath("costs.csv").read_text(encoding="utf-8")
    _, *lines = csv.reader(line for line in text.splitlines() if not line.startswith("#"))
    return {
        (method, variant, inputs): Cost(float(per_unit), float(per_scored))
        for method, variant, inputs, per_unit, per_scored, *_ in lines
    }


def cost_of(key: Key) -> Cost | None:
    """The measured cost, else that of another variant or of the same method on other rows; None where there is none."""
    table = measured()
    if key in table:
        return table[key]
    alike = [known for known in table if known[0] == key[0]]
    nearest = sorted(alike, key=lambda known: (known[2] != key[2], known[1] != key[1], known))
    return table[nearest[0]] if nearest else None


class Forecast:
    """Seconds of fits on one device.

    Parameters
    ----------
    ledger : its own fits correct the table, method by method; None: the table alone.
    device : the table is of CPUs; on another device the ledger is all there is.
    """

    def __init__(self, ledger: Ledger | None = None, device: str = "cpu"):
        self.kind = device.partition(":")[0]
        self.unknown: set[str] = set()  # methods without a cost
        self.from_table: set[str] = set()
        self.from_ledger: set[str] = set()
        self._factors, self._own = self._learn(ledger)

    def seconds(self, fit: Fit, tests: Iterable[TestSet] = ()) -> float:
        """Of training and of scoring the test sets; 0 where no cost is known, and then ``unknown`` says so."""
        work = _known_work(fit)
        if work is None:
            self.unknown.add(fit.method)
            return 0.0
        cost = cost_of(work.key)
        if self.kind != "cpu":
            own = self._own.get(work.key)
            (self.from_ledger if own else self.unknown).add(fit.method)
            return own * work.units if own else 0.0
        if cost is None:
            self.unknown.add(fit.method)
            return 0.0
        (self.from_ledger if work.key in self._factors else self.from_table).add(fit.method)
        _, values = seen(fit.encoder, fit.sample.dataset)
        scored = sum(scored_rows(fit, test) for test in tests)
        return (
            cost.per_unit * work.units * self._factors.get(work.key, 1.0)
            + cost.per_scored * row_scale(work.inputs, values) * scored
        )

    def _learn(self, ledger: Ledger | None) -> tuple[dict[Key, float], dict[Key, float]]:
        """Factors to the table and seconds per unit, from fits of the ledger that trained on this kind of device."""
        rates: dict[Key, list[float]] = defaultdict(list)
        for fit_id in islice(ledger.ids() if ledger else (), _LOOKED_AT):
            result = _trained(ledger, fit_id)
            if result is None or (result.device or "").partition(":")[0] != self.kind:
                continue
            work = _known_work(result.fit)
            if work is not None and work.units > 0:
                rates[work.key].append(float(result.fit_seconds or 0) / work.units)
        factors = {}
        for key, found in rates.items():
            cost = cost_of(key)
            if cost is not None:
                factors[key] = min(max(median(found) / cost.per_unit, 1 / _MOST), _MOST)
        return factors, {key: median(found) for key, found in rates.items()}


def _trained(ledger: Ledger | None, fit_id: str) -> FitResult | None:
    """The record of a fit that took its time on data as they are now; None for any other, also a damaged one."""
    try:
        entry = ledger.get(fit_id) if ledger else None
    except ValueError:  # told where its answer is needed
        return None
    if entry is None or entry.result.status != "ok" or (entry.result.fit_seconds or 0) < _SHORT:
        return None
    sample = entry.result.fit.sample
    known = DATASETS.get(sample.dataset)  # none: of another project
    return entry.result if known and known.digest == sample.data_digest else None


def _known_work(fit: Fit) -> Work | None:
    """The work of a fit; None where it cannot be told. No odd fit stops a plan, since hours are a courtesy.

    Of an encoder that is gone or took other rows, of a method whose hyperparameters are not those of the paper's.
    """
    try:
        return work_of(fit)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


def scored_rows(fit: Fit, test: TestSet) -> int:
    """Rows that a trial scores: the test's, and the training pool's where there is one (``draws.train_pool_rows``)."""
    counts = DATASETS[fit.sample.dataset].counts
    if "all" in counts:
        train = [train_count(n) for n in counts["all"]]
        left = [n - kept for n, kept in zip(counts["all"], train, strict=True)]
    else:
        train, left = list(counts["train"]), list(counts["test"])
    tested = sum(left[number] for number in (*test.pos, *test.neg))
    if fit.sample.unknown_u:
        return int(tested)
    positives, negatives = (sum(train[number] for number in part) for part in (test.pos, test.neg))
    return int(tested + positives + min(positives, negatives))


def encoding_seconds(encoding: Encoding, dataset: str) -> float | None:
    """Of a frozen encoder over all rows of a dataset; None where no cost is known."""
    data = DATASETS[dataset]
    cost = cost_of(frozen_key(encoding, data.inputs))
    if cost is None:
        return None
    n = sum(sum(part) for part in data.counts.values())
    _, values = seen(None, dataset)
    return cost.per_scored * row_scale(data.inputs, values) * n


def frozen_key(encoding: Encoding, inputs: str) -> Key:
    """Under which the table has a frozen encoder."""
    return encoding.name, str(encoding.params.get("network", "")), inputs


def duration(seconds: float) -> str:
    """Seconds as a reader would say them."""
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= (2 if unit == "days" else 1) * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 1 else "less than 1 s"
