"""Forecast of a fit's seconds from ``costs.csv``, corrected by fits of the ledger if there are any.

``costs.csv`` holds seconds per unit of ``puoc.plan.forecast.work`` and per row scored, of one thread of a
two-core machine that others used as well; ``bench/costs.py`` writes it.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from itertools import islice
from statistics import median
from typing import NamedTuple

from puoc.datasets import DATASETS
from puoc.plan.forecast.work import Work, frozen_scale, scale_of, work_of
from puoc.records import Encoding, Fit, FitResult, TestSet
from puoc.scenarios.drawing.draws import train_count
from puoc.store.ledger import Ledger

_MAX_RECORDS = 500  # records read from a ledger, so that planning stays fast with a large one
_MIN_SECONDS = 1.0  # shorter fits measure the cost of a start, not of the work
_MAX_FACTOR = 3.0  # largest correction of a cost by a ledger, up or down: its machine may have been busy

Key = tuple[str, str, str]


class Cost(NamedTuple):
    """Measured cost of one method on one kind of rows."""

    per_unit: float  # seconds of training
    per_scored: float  # seconds of scoring, per value of a row


@cache
def measured() -> dict[Key, Cost]:
    """Return the costs of ``costs.csv`` by method, variant and inputs."""
    text = files("puoc.plan.forecast").joinpath("costs.csv").read_text(encoding="utf-8")
    _, *lines = csv.reader(line for line in text.splitlines() if not line.startswith("#"))
    return {
        (method, variant, inputs): Cost(float(per_unit), float(per_scored))
        for method, variant, inputs, per_unit, per_scored, *_ in lines
    }


def cost_of(key: Key) -> Cost | None:
    """Return the measured cost, else that of another variant or of the method on other rows; None if there is none."""
    table = measured()
    if key in table:
        return table[key]
    same_method = [known for known in table if known[0] == key[0]]
    nearest = sorted(same_method, key=lambda known: (known[2] != key[2], known[1] != key[1], known))
    return table[nearest[0]] if nearest else None


class Estimate(NamedTuple):
    """Work of training a fit, and of scoring its test sets. ``Forecast.seconds_of`` turns it into seconds."""

    key: Key
    units: float  # 0 for a fit that is only scored
    scored: float  # values of the rows that are scored


class Forecast:
    """Seconds of fits on one device.

    Parameters
    ----------
    ledger : its fits correct the table for each method; None: the table alone is used.
    device : the table was measured on CPUs; on another device only the ledger is used.
    here : returns seconds per unit of a kind of work on this machine, if they were measured; they replace the table.
    """

    def __init__(
        self,
        ledger: Ledger | None = None,
        device: str = "cpu",
        here: Callable[[Key], float | None] = lambda _: None,
    ):
        self._here = here
        self.from_here: set[str] = set()
        self.kind = device.partition(":")[0]
        self.unknown: set[str] = set()  # methods without a cost
        self.from_table: set[str] = set()
        self.from_ledger: set[str] = set()
        self._factors, self._rates = self._learn(ledger)
        self._measured: dict[Key, list[float]] = defaultdict(list)  # seconds per unit of the fits of this run
        self._run_rates: dict[Key, float] = {}  # their medians

    def seconds(self, fit: Fit, tests: Iterable[TestSet] = ()) -> float:
        """Return the seconds of training and of scoring the test sets; see ``seconds_by``."""
        return self.seconds_by(fit.method, estimate(fit, tests))

    def seconds_by(self, method: str, work: Estimate | None) -> float:
        """Return the seconds of some work of a method, and remember where they come from.

        If no cost is known, it returns 0 and adds the method to ``unknown``.
        """
        seconds = self.seconds_of(work)
        if work is None or seconds is None:
            self.unknown.add(method)
            return 0.0
        if work.key in self._rates:
            self.from_ledger.add(method)
        elif self._here(work.key) is not None:
            self.from_here.add(method)
        else:
            self.from_table.add(method)
        return seconds

    def seconds_of(self, estimate: Estimate | None) -> float | None:
        """Return the seconds of some work; None if no cost is known."""
        if estimate is None:
            return None
        key, units, scored = estimate
        cost = cost_of(key) if self.kind == "cpu" else None
        if cost is None:
            rate = self._run_rates.get(key, self._rates.get(key))
            return None if rate is None else rate * units
        here = None if key in self._factors else self._here(key)
        rate = self._run_rates.get(key, here or cost.per_unit * self._factors.get(key, 1.0))
        return rate * units + cost.per_scored * scored

    def add(self, result: FitResult) -> None:
        """Add a fit of this run. Fits of this run have priority over the ledger's and are used without a limit."""
        work = known_work(result.fit)
        seconds = result.fit_seconds or 0.0
        if work is None or work.units <= 0 or result.status != "ok":
            return
        if seconds >= _MIN_SECONDS or self.seconds_of(Estimate(work.key, work.units, 0.0)) is None:
            self._measured[work.key].append(seconds / work.units)
            self._run_rates[work.key] = median(self._measured[work.key])

    def _learn(self, ledger: Ledger | None) -> tuple[dict[Key, float], dict[Key, float]]:
        """Return factors to the table and seconds per unit, from fits of the ledger on this kind of device."""
        rates: dict[Key, list[float]] = defaultdict(list)
        for fit_id in islice(ledger.ids() if ledger else (), _MAX_RECORDS):
            result = _trained(ledger, fit_id)
            if result is None or (result.device or "").partition(":")[0] != self.kind:
                continue
            work = known_work(result.fit)
            if work is not None and work.units > 0:
                rates[work.key].append(float(result.fit_seconds or 0) / work.units)
        factors = {}
        for key, key_rates in rates.items():
            cost = cost_of(key)
            if cost is not None:
                factors[key] = min(max(median(key_rates) / cost.per_unit, 1 / _MAX_FACTOR), _MAX_FACTOR)
        return factors, {key: median(key_rates) for key, key_rates in rates.items()}


def estimate(fit: Fit, tests: Iterable[TestSet] = ()) -> Estimate | None:
    """Return the work of training and of scoring the test sets; None if the work of the fit is unknown."""
    work = known_work(fit)
    if work is None:
        return None
    scored = sum(scored_rows(fit, test) for test in tests)
    return Estimate(work.key, work.units, scale_of(fit) * scored)


def _trained(ledger: Ledger | None, fit_id: str) -> FitResult | None:
    """Return the record of a fit of at least ``_MIN_SECONDS`` on the present data; None for others and damaged ones."""
    try:
        entry = ledger.get(fit_id) if ledger else None
    except ValueError:  # reported where the record is used
        return None
    if entry is None or entry.result.status != "ok" or (entry.result.fit_seconds or 0) < _MIN_SECONDS:
        return None
    sample = entry.result.fit.sample
    known = DATASETS.get(sample.dataset)  # None: a dataset of another project
    return entry.result if known and known.digest == sample.data_digest else None


def known_work(fit: Fit) -> Work | None:
    """Return the work of a fit; None if it is unknown. A forecast is optional, so an unusual fit must not stop a plan.

    Examples are a fit with a removed encoder, or with hyperparameters that the work's formula does not cover.
    """
    try:
        return work_of(fit)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


def scored_rows(fit: Fit, test: TestSet) -> int:
    """Count the rows that a trial scores: test rows, and the training pool if any (see ``train_pool_rows``)."""
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
    """Return the seconds of a frozen encoder for all rows of a dataset; None if no cost is known."""
    data = DATASETS[dataset]
    cost = cost_of(frozen_key(encoding, data.inputs))
    if cost is None:
        return None
    n = sum(sum(part) for part in data.counts.values())
    return cost.per_scored * frozen_scale(encoding, dataset) * n


def frozen_key(encoding: Encoding, inputs: str) -> Key:
    """Return the key of a frozen encoder in the table."""
    return encoding.name, str(encoding.params.get("network", "")), inputs


def duration(seconds: float) -> str:
    """Return a time as text, such as ``2.5 h``."""
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= (2 if unit == "days" else 1) * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 1 else "less than 1 s"


def about(seconds: float) -> str:
    """Return a forecast time as text, such as ``about 2.5 h``."""
    text = duration(seconds)
    return text if text.startswith("less") else f"about {text}"
