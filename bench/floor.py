"""How far is the training of each network from what the processor can do? One row per entry of a profile.

    OMP_NUM_THREADS=1 python bench/floor.py profiles/paper.yaml --out floor.parquet

The floor is the number of floating-point operations of an epoch, counted by torch's formulas, over the peak: the
operations per second of a product of two matrices of 1,024 x 1,024 float32 numbers, measured before each repetition in
the same process. Both sides are seconds of processor time of one thread. Rows are few and random, and an epoch is the
difference of a long and a short training, so that set-up does not count (see costs.py). The operations are those of
matrix products and convolutions; all others (activations, losses, optimiser) count as nothing, so no training can
reach the floor. Methods without epochs train no network, and have no row.
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from costs import SCORED, fits_of, rows_of, sizes_of, small, train
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from puoc.methods.training.estimator import PUSample
from puoc.plan.forecast.work import work_of
from puoc.plan.params import read_params
from puoc.records import Fit

ROOT = Path(__file__).parents[1]
EPOCHS = (1, 2)
SIDE = 1024  # of the matrices that measure the peak


class Counter(TorchDispatchMode):
    """Counts floating-point operations. torch's ``FlopCounterMode`` does not work inside of ``torch.func.grad``."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and add what it costs."""
        found = func(*args, **(kwargs or {}))
        if (cost := flop_registry.get(func.overloadpacket)) is not None:
            self.operations += cost(*args, **(kwargs or {}), out_val=found)
        return found


def peak() -> float:
    """Return the floating-point operations per second of a matrix product: the best of five."""
    a, b = torch.rand(2, SIDE, SIDE)
    best = float("inf")
    for _ in range(5):
        started = time.process_time()
        a @ b
        best = min(best, time.process_time() - started)
    return 2 * SIDE**3 / best


def measure(fit: Fit, repeats: int) -> dict[str, Any]:
    """Return a row: seconds of an epoch, operations of an epoch, and the ratio to the floor."""
    short, long = (small(fit, epochs) for epochs in EPOCHS)
    X_p, X_u, X = (rows_of(fit, n, seed) for seed, n in enumerate((*sizes_of(fit), SCORED)))
    sample = PUSample(X_p, X_u if fit.sample.neg is not None else None, 0.5, 0)
    counted = []
    for one in (short, long):  # warms up too
        with Counter() as counter:
            train(one, sample, X[:1])
        counted.append(counter.operations)
    operations = counted[1] - counted[0]
    seconds, ratios = [], []
    for _ in range(repeats):
        floor = operations / peak()
        seconds.append(train(long, sample, X[:1])[0] - train(short, sample, X[:1])[0])
        ratios.append(seconds[-1] / floor if operations else float("nan"))
    names = dict(zip(("method", "variant", "inputs"), work_of(fit).key, strict=True))
    sizes = {"n_p": len(X_p), "n_u": len(X_u) if sample.X_u is not None else 0}
    found = names | sizes | {"gflop": operations / 1e9, "n": repeats}
    for name, values in (("seconds", seconds), ("ratio", ratios)):
        found |= {name: float(np.median(values)), f"{name}_least": min(values), f"{name}_most": max(values)}
    return found


def main() -> None:
    """Measure each kind of fit with epochs once and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profiles", type=Path, nargs="+", help="params files whose methods are measured")
    parser.add_argument("--methods", nargs="+", help="these methods alone")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    try:
        params = [read_params(path, ROOT) for path in given.profiles]
    except ValueError as error:
        parser.error(str(error))
    torch.set_num_threads(1)
    about = {"machine": f"{platform.machine()}, one thread, {torch.backends.cpu.get_cpu_capability()}"}
    about["torch"] = torch.__version__
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for one in params:
        for fit in fits_of(one):
            key = work_of(fit).key
            if "epochs" in fit.params and key not in found and fit.method in (given.methods or [fit.method]):
                found[key] = about | measure(fit, given.repeats)
                print(found[key], flush=True)  # noqa: T201 - a script's output
                pd.DataFrame(list(found.values())).to_parquet(given.out)


if __name__ == "__main__":
    main()
