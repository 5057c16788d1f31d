"""Costs of methods measured on this machine: short trainings on random rows of the sizes that a plan has.

``costs.csv`` was measured on another machine and at other sizes. Small networks and small samples cost more per unit
than it says, since their time is that of the steps, not of the values. So one fit of the plan for each kind of cost is
trained for a few epochs, on random rows. The processor's time is measured, so other work on the machine hardly matters.
"""

from __future__ import annotations

import os
import platform
import time
from collections import defaultdict
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
from pydantic import BaseModel, Field

from puoc.datasets import DATASETS
from puoc.plan.forecast.costs import Key, cost_of, known_work
from puoc.plan.forecast.work import method_inputs, rows
from puoc.records import Array, Encoding, Fit
from puoc.registry import METHODS
from puoc.store.atomic import write_json

FILE = Path("work") / "speed.json"
LIMIT_SECONDS = 4  # after this time, a plan measures no other kind of cost
ALL_SECONDS = 120  # the same where a user asks for all kinds
KEPT_DAYS = 30  # after which a kind is measured again
_EPOCHS = 2  # of a measured training; a first one is for warming up
_MAX_ROWS = 400  # of P and of U
_MIN_ROWS = 64
_SECONDS = 0.3  # of a measured training on the machine of the table, unless it has the fewest rows
_UNITS = 4  # what a unit and an entry of the file are; 2 had no day and no code, 3 measured the warm-up of a fit


class Rate(BaseModel):
    """Speed of one kind of work."""

    per_unit: float | None = Field(gt=0, allow_inf_nan=False)  # seconds; None: no time, or refused
    code: str  # digest of the method's code
    day: date


class MachineSpeed(BaseModel):
    """Seconds per unit of work on one machine."""

    machine: str
    units: int = 1  # what a unit is, by number; those of other numbers are measured again
    rates: dict[str, Rate] = {}  # by the parts of the key, with a bar between them

    def of(self, key: Key) -> float | None:
        """Return the seconds per unit, or None if they were not measured."""
        rate = self.rates.get(_name(key))
        return rate.per_unit if rate else None

    def is_due(self, key: Key, codes: Collection[str], today: date) -> bool:
        """Return True if a kind was never tried, or too long ago, or with other code."""
        rate = self.rates.get(_name(key))
        return rate is None or rate.code not in codes or not 0 <= (today - rate.day).days < KEPT_DAYS

    def days(self) -> list[date]:
        """Return the first and the last day on which something was measured; none if nothing was."""
        days = sorted({rate.day for rate in self.rates.values() if rate.per_unit is not None})
        return days[:1] + days[1:][-1:]


def _name(key: Key) -> str:
    return "|".join(key)


def this_machine() -> str:
    """Return the name of this machine, with what decides its speed."""
    import torch

    cpu = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return f"{platform.node()}, {len(os.sched_getaffinity(0))} x {cpu}, torch {torch.__version__}"


def speed_of_machine(root: Path, fits: Iterable[Fit], limit: float, again: bool = False) -> MachineSpeed:
    """Return the speed of this machine, with kinds of cost of these fits that were measured before or are measured now.

    What is measured is kept in ``work/speed.json``, so that the next plan need not measure it. A kind that there was no
    time for is kept too, without a rate: it is not tried again at the next plan.

    Parameters
    ----------
    limit : seconds after which no other kind is measured; 0 measures nothing.
    again : measure all kinds of these fits, and not only those that are due.
    """
    speed = _kept(root)
    if limit <= 0:
        return speed
    by_key: dict[Key, list[tuple[float, Fit]]] = defaultdict(list)
    for fit in fits:
        work = known_work(fit)
        if work is not None and _can_measure(fit):
            by_key[work.key].append((work.units, fit))
    today = datetime.now(UTC).date()
    due = {
        key: of_key
        for key, of_key in by_key.items()
        if again or speed.is_due(key, {fit.code_digest for _, fit in of_key}, today)
    }
    started = time.monotonic()
    # the kinds that take most of the time come first
    for key, of_key in sorted(due.items(), key=lambda item: -sum(units for units, _ in item[1])):
        _, fit = sorted(of_key, key=lambda item: item[0])[len(of_key) // 2]
        seconds = None
        if time.monotonic() - started < limit:
            with suppress(ValueError):  # a method may refuse random rows
                seconds = _rate(fit)
        speed.rates[_name(key)] = Rate(per_unit=seconds, code=fit.code_digest, day=today)
    if due:
        with suppress(OSError):  # a folder that nobody may write to is measured at each plan
            write_json(root / FILE, speed.model_dump(mode="json"))
    return speed


def _kept(root: Path) -> MachineSpeed:
    """Return what was measured before on this machine; nothing if the file is missing, damaged or of another one."""
    here = MachineSpeed(machine=this_machine(), units=_UNITS)
    with suppress(OSError, ValueError):
        before = MachineSpeed.model_validate_json((root / FILE).read_bytes())
        if (before.machine, before.units) == (here.machine, here.units):
            return before
    return here


def _can_measure(fit: Fit) -> bool:
    """Check whether a fit can be trained on random rows: a method without an encoder that would have to be fitted."""
    return (
        fit.method in METHODS
        and not isinstance(fit.encoder, Encoding)
        and fit.numerics == "fp32"
        and method_inputs(fit.encoder, fit.sample.dataset)[0] in ("vector", "image")
    )


def _rate(fit: Fit) -> float:
    """Return the seconds per unit of a short training."""
    from puoc.methods import make
    from puoc.methods.training.estimator import PUSample

    short = _short(fit, _MAX_ROWS)
    work = known_work(short)
    if work is not None and (cost := cost_of(work.key)) is not None and (seconds := cost.per_unit * work.units) > 0:
        short = _short(fit, min(_MAX_ROWS, max(_MIN_ROWS, round(_MAX_ROWS * _SECONDS / seconds))))
        work = known_work(short)
    if work is None or work.units <= 0:
        raise ValueError("the work of a short fit is unknown")
    n_p, n_u = rows(short)
    sample = PUSample(_random(fit, n_p, 0), _random(fit, n_u, 1) if fit.sample.neg is not None else None, 0.5, 0)
    for _ in range(2):  # the first one warms up
        started = time.thread_time()
        make(short.method, short.params).fit_lanes([sample])
        seconds = time.thread_time() - started
    return seconds / work.units


def _short(fit: Fit, most: int) -> Fit:
    """Return the fit with few epochs and at most that many rows of P and of U.

    No epoch is one of the warm-up: it costs less than the others, of which a fit has more.
    """
    n_p, n_u = (min(n, most) for n in rows(fit))
    counts = {"n_pos_lab": n_p}
    if fit.sample.neg is not None:
        counts |= {"n_pos_unl": n_u // 2, "n_neg_unl": n_u - n_u // 2}
    few = {"epochs": _EPOCHS, "warmup_epochs": 0}
    params = fit.params | {name: value for name, value in few.items() if name in fit.params}
    return fit.model_copy(update={"params": params, "sample": fit.sample.model_copy(update=counts)})


def _random(fit: Fit, n: int, seed: int) -> Array:
    """Return random rows of the shape that the fit sees, P brighter than U."""
    inputs, values = method_inputs(fit.encoder, fit.sample.dataset)
    shape = (values,) if inputs == "vector" else DATASETS[fit.sample.dataset].shape
    X: Array = np.random.default_rng(seed).random((n, *shape), dtype=np.float32) * np.float32(1 - seed / 2)
    return X
