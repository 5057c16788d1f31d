"""Do lanes pay on this device? Trains L copies under both maps and prints milliseconds per step and lane.

    python bench/lanes.py --device cuda --out lanes.json

Loop and vmap alternate in one process; the median over repetitions is reported with the spread. What it finds is the
table ``puoc.methods.training.lanes.AUTO``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from puoc.methods.nnpu import NNPU
from puoc.methods.training.estimator import Compute, PUSample

SHAPES = {"dense 512": (512,), "conv 3x32x32": (3, 32, 32)}
HYPERPARAMETERS: dict[str, Any] = {
    "lr": 1e-3,
    "lr_decay": 1.0,
    "batch_size": 384,
    "batching": "union",
    "surrogate": "sigmoid",
    "correction": "clamp",
}
ROWS, BATCH = 1536, 384  # rows of P and U together and in a step: 4 steps an epoch


def seconds(method: NNPU, samples: list[PUSample], compute: Compute) -> float:
    """Wall time of training the samples as lanes."""
    wait = torch.cuda.synchronize if compute.device.startswith("cuda") else (lambda: None)
    wait()
    started = time.perf_counter()
    method.fit_lanes(samples, compute)
    wait()
    return time.perf_counter() - started


def cases(device: str, lanes: list[int], epochs: int, repeats: int) -> Iterator[dict[str, Any]]:
    """One row per shape, number of lanes and map."""
    for name, shape in SHAPES.items():
        for n_lanes in lanes:
            samples = [_sample(shape, seed) for seed in range(n_lanes)]
            times: dict[str, list[float]] = {"loop": [], "vmap": []}
            method = NNPU(epochs=epochs, **HYPERPARAMETERS)
            for repeat in range(repeats + 1):
                for lane_map, found in times.items():
                    took = seconds(method, samples, Compute(device=device, lane_map=lane_map))  # type: ignore[arg-type]
                    if repeat:  # the first one warms up
                        found.append(took)
            steps = epochs * -(-ROWS // BATCH)
            for lane_map, found in times.items():
                per_lane = [took / steps / n_lanes * 1e3 for took in found]
                yield {
                    "network": name,
                    "lanes": n_lanes,
                    "map": lane_map,
                    "ms_per_step_and_lane": statistics.median(per_lane),
                    "least": min(per_lane),
                    "most": max(per_lane),
                    "n": repeats,
                }


def _sample(shape: tuple[int, ...], seed: int) -> PUSample:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, *shape), dtype=np.float32)
    return PUSample(X[: ROWS // 3], X[ROWS // 3 :], 0.5, seed)


def main() -> None:
    """Run all cases and write them with the machine's name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--lanes", type=int, nargs="+", default=[1, 5, 10, 20, 50])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    device = (
        torch.cuda.get_device_name() if asked.device.startswith("cuda") else f"CPU, {torch.get_num_threads()} thread"
    )
    rows = []
    for row in cases(asked.device, asked.lanes, asked.epochs, asked.repeats):
        rows.append(row)
        asked.out.write_text(json.dumps({"device": device, "torch": torch.__version__, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
