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
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np
from pydantic import BaseModel

from puoc.datasets import DATASETS
from puoc.plan.forecast.costs import Key, cost_of, known_work
from puoc.plan.forecast.work import method_inputs, rows
from puoc.records import Array, Encoding, Fit
from puoc.registry import METHODS
from puoc.store.atomic import write_json

FILE = Path("work") / "speed.json"
LIMIT_SECONDS = 4  # after this time, no other kind of cost is measured
_EPOCHS = 2  # of a measured training; a first one is for warming up
_MAX_ROWS = 400  # of P and of U
_MIN_ROWS = 64
_SECONDS = 0.3  # of a measured training on the machine of the table, unless it has the fewest rows
_UNITS = 2  # since an image counts by its pixels; before, by its values


class MachineSpeed(BaseModel):
    """Seconds per unit of work on one machine."""

    machine: str
    units: int = 1  # what a unit is, by number; rates in other units are measured again
    rates: dict[str, float] = {}  # by the parts of the key, with a bar between them

    def of(self, key: Key) -> float | None:
        """Return the seconds per unit, or None if they were not measured."""
        return self.rates.get("|".join(key))


def this_machine() -> str:
    """Return the name of this machine, with what decides its speed."""
    import torch

    cpu = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return f"{platform.node()}, {len(os.sched_getaffinity(0))} x {cpu}, torch {torch.__version__}"


def speed_of_machine(root: Path, fits: Iterable[Fit], limit: float, keep: bool) -> MachineSpeed:
    """Return the speed of this machine, with kinds of cost of these fits that were measured before or are measured now.

    Parameters
    ----------
    limit : seconds after which no other kind is measured; 0 measures nothing.
    keep : write what was measured to ``work/speed.json``.
    """
    speed = MachineSpeed(machine=this_machine(), units=_UNITS)
    with suppress(OSError, ValueError):  # a damaged file is written again
        before = MachineSpeed.model_validate_json((root / FILE).read_text())
        if (before.machine, before.units) == (speed.machine, speed.units):
            speed = before
    by_key: dict[Key, list[tuple[float, Fit]]] = defaultdict(list)
    for fit in fits:
        work = known_work(fit)
        if work is not None and speed.of(work.key) is None and _can_measure(fit):
            by_key[work.key].append((work.units, fit))
    started, measured = time.monotonic(), 0
    # the kinds that take most of the time come first
    for key, of_key in sorted(by_key.items(), key=lambda item: -sum(units for units, _ in item[1])):
        if time.monotonic() - started >= limit:
            break
        _, fit = sorted(of_key, key=lambda item: item[0])[len(of_key) // 2]
        with suppress(ValueError):  # a method may refuse random rows
            speed.rates["|".join(key)] = _rate(fit)
            measured += 1
    if keep and measured:
        write_json(root / FILE, speed.model_dump())
    return speed


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
    """Return the fit with few epochs and at most that many rows of P and of U."""
    n_p, n_u = (min(n, most) for n in rows(fit))
    counts = {"n_pos_lab": n_p}
    if fit.sample.neg is not None:
        counts |= {"n_pos_unl": n_u // 2, "n_neg_unl": n_u - n_u // 2}
    params = fit.params | ({"epochs": _EPOCHS} if "epochs" in fit.params else {})
    return fit.model_copy(update={"params": params, "sample": fit.sample.model_copy(update=counts)})


def _random(fit: Fit, n: int, seed: int) -> Array:
    """Return random rows of the shape that the fit sees, P brighter than U."""
    inputs, values = method_inputs(fit.encoder, fit.sample.dataset)
    shape = (values,) if inputs == "vector" else DATASETS[fit.sample.dataset].shape
    X: Array = np.random.default_rng(seed).random((n, *shape), dtype=np.float32) * np.float32(1 - seed / 2)
    return X
