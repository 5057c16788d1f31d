"""Seconds per epoch of each method, as users run many, against a plain loop on the same work.

    python bench/epoch.py --out epoch.parquet

Two trainings of each: ours at once in two processes of one thread, the plain loop (bench/plain.py) one after the other
in one process of two threads. The sides alternate, each repetition gives one ratio; a first one warms up. A third side
trains ours one after the other in one process of one thread, which shows what the second worker adds. Rows are random:
the time does not depend on what they show. An epoch of ``drocc`` and ``pu_drocc`` is one with the search, on a quarter
of the published rows.

With ``--profile``, the cases are the other networks of profiles, on the few rows of bench/costs.py. Their plain loop
takes the method's own loss. Epochs are as many as the plain loop needs for about a second, or for less with
``--lanes``. ``--methods`` measures some of them anew and keeps the other rows of ``--out``.

``--lanes 8`` trains eight models at once in each of the two processes, as a run does with the seeds and columns of a
table, and all sixteen by the plain loop. Images and wide layers are left out: on a processor, a run trains them one by
one.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
SECONDS = 1.0
SHELL: dict[str, Any] = {"lam": 0.5, "warmup_epochs": 0, "net": "lenet", "space": "feature"}
DROCC: dict[str, Any] = {**SHELL, "radius": 24.0, "gamma": 1.5, "ascent_step": 1e-2, "ascent_steps": 40}
PU_DROCC: dict[str, Any] = {**SHELL, "radius": 2.0, "gamma": 2.0, "ascent_step": 1e-5, "ascent_steps": 10}
COMMON: dict[str, Any] = {"lr": 1e-3, "lr_decay": 1.0}


class Case(NamedTuple):
    """A method with what its profile gives it, and how long to train it."""

    name: str
    params: dict[str, Any]
    n_p: int = 2500
    n_u: int = 5000
    epochs: int = 2  # enough of them, since what a fit does once (setting up, estimating the prior) counts too
    fit: Any = None  # of a profile, whose loss the plain loop takes
    inputs: str = "image"
    lanes: int = 1


CASES = (
    Case("drpu", {"batch_size": 512, "batching": "equal", "alpha_min": 0.001, "output": "softplus"}, epochs=6),
    Case("nnpu", {"batch_size": 512, "batching": "union", "surrogate": "sigmoid", "correction": "ascent"}, epochs=6),
    Case("autoencoder", {"batch_size": 128, "batching": "p", "dimension": 128, "dropout": 0.5}, n_u=0, epochs=4),
    Case("drocc", {**DROCC, "batch_size": 128, "batching": "p"}, n_p=640, n_u=0, epochs=1),
    Case("pu_drocc", {**PU_DROCC, "batch_size": 256, "batching": "union"}, n_p=640, n_u=1280, epochs=1),
)


def cases_of(profiles: list[Path]) -> Iterator[Case]:
    """One case of each kind of fit of profiles that trains a network by ``Deep``, without those of CASES."""
    from costs import fits_of, sizes_of, small

    from puoc.methods.training.deep import Deep
    from puoc.plan.forecast.work import work_of
    from puoc.plan.params import read_params

    seen = {(case.name, case.inputs) for case in CASES}
    for fit in (fit for profile in profiles for fit in fits_of(read_params(profile, ROOT))):
        key = (fit.method, work_of(fit).inputs)
        if "epochs" not in fit.params or key in seen or not isinstance(_made(fit.method, fit.params), Deep):
            continue
        seen.add(key)
        n_p, n_u = sizes_of(fit)
        yield Case(fit.method, {}, n_p, n_u if fit.sample.neg is not None else 0, 0, small(fit, 1), key[1])


def _made(name: str, params: dict[str, Any]) -> Any:
    from puoc import methods
    from puoc.methods import encoders

    if name in methods.METHODS:
        return methods.make(name, params)
    return encoders.make(name, params) if name in encoders.ENCODERS else None


def ours(case: Case, numerics: Any) -> Callable[[int], None]:
    """Train by the method's own loop."""
    from puoc.methods.training.estimator import Compute, PUSample

    X_p, X_u = rows(case)
    samples = [PUSample(X_p, X_u if len(X_u) else None, 0.5, seed) for seed in range(case.lanes)]
    params = case.fit.params if case.fit else COMMON | case.params

    def train(epochs: int) -> None:
        _made(case.name, params | {"epochs": epochs}).fit_lanes(samples, Compute(numerics=numerics))

    return train


def plain(case: Case) -> Callable[[int], None]:
    """Train by the plain loop."""
    import torch
    from plain import trainer, trainer_of

    X_p, X_u = map(torch.from_numpy, rows(case))
    return trainer_of(_made(case.name, case.fit.params), X_p, X_u) if case.fit else trainer(case.name, X_p, X_u)


def rows(case: Case) -> tuple[Any, Any]:
    """X_p and X_u, images in [0, 1] or rows of the shape that the fit sees."""
    if case.fit:
        from costs import rows_of

        return rows_of(case.fit, case.n_p, 0), rows_of(case.fit, case.n_u, 1)
    rng = np.random.default_rng(0)
    return rng.random((case.n_p, 3, 32, 32), dtype=np.float32), rng.random((case.n_u, 3, 32, 32), dtype=np.float32)


class Worker:
    """A process with its own number of threads that trains when told to."""

    def __init__(self, n_threads: int, case: Case, numerics: str | None) -> None:
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, n_threads, case, numerics), daemon=True)
        self.process.start()

    def start(self, epochs: int, times: int = 1) -> None:
        """Let it train so many models, one after the other."""
        self.connection.send((epochs, times))

    def wait(self) -> None:
        """Until it is done."""
        self.connection.recv()


def _serve(connection: Connection, n_threads: int, case: Case, numerics: str | None) -> None:
    import torch

    torch.set_num_threads(n_threads)
    train = plain(case) if numerics is None else ours(case, numerics)
    train(1)
    connection.send(None)
    while True:
        epochs, times = connection.recv()
        for _ in range(times):
            train(epochs)
        connection.send(None)


def measure(case: Case, numerics: str, repeats: int) -> dict[str, Any]:
    """Seconds per epoch of one training by each side, and their ratios."""
    pair, one = [Worker(1, case, numerics) for _ in range(2)], Worker(2, case, None)
    for worker in (*pair, one):
        worker.wait()
    epochs = case.epochs or max(1, min(500, round(SECONDS / case.lanes**0.5 / _timed([one], 1, 1))))
    trainings = 2 * case.lanes
    sides = {"plain": ([one], trainings), "ours": (pair, 1), "alone": (pair[:1], 2)}  # workers, calls of each
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, (workers, times) in sides.items():
            seconds[name].append(_timed(workers, epochs, times) / trainings / epochs)
    for worker in (*pair, one):
        worker.process.kill()
    ratios = {
        name: [a / b for a, b in zip(seconds[of], seconds["ours"], strict=True)]
        for name, of in (("ratio", "plain"), ("second", "alone"))
    }
    found: dict[str, Any] = {"method": case.name, "inputs": case.inputs, "numerics": numerics}
    found |= {"n_p": case.n_p, "n_u": case.n_u, "lanes": case.lanes, "n": repeats}
    for name, values in (seconds | ratios).items():
        found |= {name: float(np.median(values)), f"{name}_least": min(values), f"{name}_most": max(values)}
    return found


def _timed(workers: list[Worker], epochs: int, times: int) -> float:
    """Return the seconds until all workers have trained so often."""
    started = time.perf_counter()
    for worker in workers:
        worker.start(epochs, times)
    for worker in workers:
        worker.wait()
    return time.perf_counter() - started


def main() -> None:
    """Measure every method and write one row each."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", help="these methods alone")
    parser.add_argument("--profile", type=Path, nargs="+", help="measure the other networks of params files instead")
    parser.add_argument("--numerics", nargs="+", default=["fp32", "bf16"], choices=["fp32", "bf16"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--lanes", type=int, default=1, help="models trained at once in each process")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    about = {"machine": f"{_processor()}, 2 cores", "torch": torch.__version__}
    found = []
    if asked.methods and asked.out.exists():
        before = pd.read_parquet(asked.out)
        found = before[~before["method"].isin(asked.methods)].to_dict("records")
    cases = list(cases_of(asked.profile) if asked.profile else CASES)
    if asked.lanes > 1:
        from puoc.plan.forecast.work import WIDE

        alone = {"image", *WIDE}
        cases = [case._replace(lanes=asked.lanes) for case in cases if not alone & {case.inputs, case.name}]
    for case in cases:
        for numerics in asked.numerics:
            if case.name in (asked.methods or [case.name]):
                found.append(about | measure(case, numerics, asked.repeats))
                said = {key: found[-1][key] for key in ("method", "numerics", "plain", "ours", "ratio", "second")}
                print(json.dumps(said), flush=True)  # noqa: T201 - a script's output
                pd.DataFrame(found).to_parquet(asked.out)


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    main()
