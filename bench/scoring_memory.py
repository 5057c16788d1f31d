"""Peak memory of scoring large images through the paper's network: what docs/datasets.md says of it.

python bench/scoring_memory.py [--rows 600] [--side 200] [--all-at-once]
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import torch

from puoc.methods import make
from puoc.methods.training import deep


def main() -> None:
    """Train on eight images, score many, print the peak of the process before and after."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--side", type=int, default=200)
    parser.add_argument("--all-at-once", action="store_true", help="up to 1,024 rows whatever their size")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if asked.all_at_once:
        deep._VALUES_AT_ONCE = 1 << 60
    X = np.random.default_rng(0).random((8, 1, asked.side, asked.side), dtype=np.float32)
    params = {"lr": 1e-3, "lr_decay": 1.0, "epochs": 1, "batch_size": 8, "batching": "union"}
    fitted = make("naive", params).fit(X, X)
    before, started = _peak(), time.perf_counter()
    fitted.decision_function(np.broadcast_to(X[:1], (asked.rows, *X.shape[1:])))
    seconds = time.perf_counter() - started
    print(f"peak {before} MiB after training, {_peak()} MiB after scoring {asked.rows} rows, {seconds:.0f} s")  # noqa: T201


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
