"""Seconds per unit of work of every method of a profile, for `puoc plan` to forecast with.

    OMP_NUM_THREADS=1 python bench/costs.py profiles/paper_small.yaml

Each entry is trained with its hyperparameters on random rows of the shape it sees, but few of them, for few epochs and
for some more: the difference counts, in seconds of one thread's CPU time, so that neither a busy machine nor what a fit
does once enters; median of three. Of a frozen encoder, whose weights or vectors have to be at hand (PUOC_MIRROR), rows
are encoded. Rows that the table src/puoc/plan/forecast/costs.csv has are kept: delete it to measure all.
"""

from __future__ import annotations

import argparse
import csv
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from puoc import methods
from puoc.datasets import DATASETS
from puoc.methods import encoders, priors
from puoc.methods.training.estimator import PUSample
from puoc.plan.bind import bind
from puoc.plan.forecast.costs import frozen_key
from puoc.plan.forecast.work import frozen_scale, method_inputs, scale_of, work_of
from puoc.plan.make_plan import make_plan
from puoc.plan.params import Params, read_params
from puoc.records import Encoding, Fit

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "src" / "puoc" / "plan" / "forecast" / "costs.csv"
REPETITIONS = 3
#: Rows of P and of U: enough of them for what a fit does once not to count.
SIZES = {"image": (128, 256), "vector": (1000, 2000), "sequence": (512, 512)}
EXACT = (2500, 5000)  # of programs whose time is no loop over rows: as in the paper
SCORED = 200
EPOCHS = (1, 2)


def main() -> None:
    """Measure what the table lacks and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profiles", type=Path, nargs="+", help="params files whose methods are measured")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    try:
        params = [read_params(path, ROOT) for path in asked.profiles]
    except ValueError as error:
        parser.error(str(error))
    found = _read()
    for one in params:
        for fit in fits_of(one):
            key = work_of(fit).key
            if key not in found:
                found[key] = _measure(fit)
                print(found[key], flush=True)  # noqa: T201
                _write(found)
            encoding, data = fit.frozen_encoder(), DATASETS[fit.sample.dataset]
            if encoding and (key := frozen_key(encoding, data.inputs)) not in found:
                found[key] = _measure_frozen(encoding, fit.sample.dataset)
                print(found[key], flush=True)  # noqa: T201
                _write(found)


def fits_of(params: Params) -> Iterator[Fit]:
    """One fit an entry of a table, and what it needs."""
    plan = make_plan(params)
    for name, table in plan.tables.items():
        done = set()
        for asked in bind(table, plan.configs[name]):
            if asked.entry not in done and asked.skip is None:
                done.add(asked.entry)
                yield asked.trial.fit
                yield from asked.trial.fit.needs()


def _measure(fit: Fit) -> dict[str, Any]:
    """A row of the table."""
    short, long = (small(fit, epochs) for epochs in EPOCHS) if "epochs" in fit.params else (None, small(fit, 0))
    X_p, X_u, X = (rows_of(fit, n, seed) for seed, n in enumerate((*sizes_of(fit), SCORED)))
    sample = PUSample(X_p, X_u if fit.sample.neg is not None else None, 0.5, 0)
    train(short or long, sample, X)  # warms up
    times, scoring = [], []
    for _ in range(REPETITIONS):
        seconds, scored = train(long, sample, X)
        times.append(seconds - (train(short, sample, X)[0] if short else 0))
        scoring.append(scored)
    units = work_of(long).units - (work_of(short).units if short else 0)
    _, values = method_inputs(fit.encoder, fit.sample.dataset)
    costs = {
        "per_unit": median(times) / units,
        "per_scored": median(scoring) / SCORED / scale_of(fit),
    }
    sizes = {"values": values, "n_p": len(X_p), "n_u": len(X_u) if sample.X_u is not None else 0}
    names = dict(zip(("method", "variant", "inputs"), work_of(fit).key, strict=True))
    return names | {name: f"{cost:.3g}" for name, cost in costs.items()} | sizes | {"seconds": f"{median(times):.2f}"}


def _measure_frozen(encoding: Encoding, dataset: str) -> dict[str, Any]:
    """A row of the table: nothing is trained, rows are encoded."""
    inputs, values = method_inputs(None, dataset)
    encoder, times = encoders.make(encoding.name, encoding.params), []
    X = np.random.default_rng(0).random((SCORED, *DATASETS[dataset].shape), dtype=np.float32)
    if inputs == "text":
        words = np.frombuffer(b"which words these are does not change the time " * values, dtype=np.uint8)
        X = np.broadcast_to(words[:values], X.shape)
    for _ in range(REPETITIONS + 1):
        started = time.process_time()
        encoder.encode(X)
        times.append(time.process_time() - started)
    names = dict(zip(("method", "variant", "inputs"), frozen_key(encoding, inputs), strict=True))
    per_row = f"{median(times[1:]) / SCORED / frozen_scale(encoding, dataset):.3g}"
    sizes = {"values": values, "n_p": SCORED, "n_u": 0, "seconds": f"{median(times[1:]):.2f}"}
    return names | {"per_unit": "0", "per_scored": per_row} | sizes


def train(fit: Fit, sample: PUSample, X: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Seconds of training and of scoring X, 0 for an estimator of the class prior."""
    started = time.process_time()
    if fit.method in priors.PRIORS:
        priors.make(fit.method, fit.params).estimate(sample)
        return time.process_time() - started, 0.0
    of_encoder = fit.method in encoders.ENCODERS
    make = encoders.make if of_encoder else methods.make
    model = make(fit.method, fit.params).fit_lanes([sample])[0]
    trained = time.process_time()
    model.encode(X) if of_encoder else model.decision_function(X)
    return trained - started, time.process_time() - trained


def small(fit: Fit, epochs: int) -> Fit:
    """The same question with few rows and epochs."""
    n_p, n_u = sizes_of(fit)
    counts = {"n_pos_lab": n_p}
    if fit.sample.neg is not None:
        counts |= {"n_pos_unl": n_u // 2, "n_neg_unl": n_u - n_u // 2}
    few = {"epochs": epochs, "warmup_epochs": 0, "ascent_steps": 5}
    params = fit.params | {key: value for key, value in few.items() if key in fit.params}
    return fit.model_copy(update={"params": params, "sample": fit.sample.model_copy(update=counts)})


def sizes_of(fit: Fit) -> tuple[int, int]:
    """Rows of P and of U that are trained on."""
    if "epochs" in fit.params:
        return SIZES[work_of(fit).inputs]
    return EXACT if fit.params.get("kernel") != "rbf" else (500, 1000)


def rows_of(fit: Fit, n: int, seed: int) -> np.ndarray[Any, Any]:
    """Random rows of the shape that the fit sees; their content does not change the time."""
    inputs, values = method_inputs(fit.encoder, fit.sample.dataset)
    shape: tuple[int, ...] = DATASETS[fit.sample.dataset].shape
    if isinstance(fit.encoder, Encoding) or inputs == "vector":
        shape = (values,) if inputs == "vector" else (values, 2)
    X = np.random.default_rng(seed).random((n, *shape), dtype=np.float32)
    if inputs == "sequence":
        X[..., 0] = 1
    return X


def _read() -> dict[tuple[str, str, str], dict[str, Any]]:
    if not TABLE.exists():
        return {}
    rows = csv.DictReader(line for line in TABLE.read_text().splitlines() if not line.startswith("#"))
    return {(row["method"], row["variant"], row["inputs"]): dict(row) for row in rows}


def _write(found: dict[tuple[str, str, str], dict[str, Any]]) -> None:
    with TABLE.open("w", newline="") as file:
        file.write(f"# bench/costs.py: {platform.machine()}, one thread, torch {torch.__version__}\n")
        writer = csv.DictWriter(file, list(next(iter(found.values()))))
        writer.writeheader()
        writer.writerows(found[key] for key in sorted(found))


if __name__ == "__main__":
    main()
