"""How long a comparison of a million result rows takes, and how much memory.

    python bench/compare_rows.py [--tables 50] [--seeds 100]

Made-up AUCs of 20 entries (10 twin pairs) in 10 cells; the comparison itself is the pipeline's. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from puoc.analysis.compare import compare
from puoc.methods import METHODS

CELLS = [f"pos={number}" for number in range(10)]
TWINS = {name: cls.twin for name, cls in METHODS.items() if cls.twin}


def entries() -> dict[str, dict[str, str | None]]:
    """Each twin pair twice, under names of its own."""
    found: dict[str, dict[str, str | None]] = {}
    for copy, (hybrid, parent) in product(range(2), TWINS.items()):
        found[f"{parent}_{copy}"] = {"method": parent, "kind": "oc", "twin": None, "labels": "pu"}
        found[f"{hybrid}_{copy}"] = {"method": hybrid, "kind": "pu_oc", "twin": parent, "labels": "pu"}
    return found


def write(root: Path, table: str, n_seeds: int, gen: np.random.Generator) -> int:
    """A plan file and its results; the number of rows."""
    asked = {
        "table": table,
        "scenario": "one_vs_all",
        "dataset": "cifar10",
        "cells": [{"name": cell} for cell in CELLS],
        "entries": entries(),
        "seeds": list(range(n_seeds)),
        "configs": "published",
    }
    (root / "work/plan/tables").mkdir(parents=True, exist_ok=True)
    (root / "work/plan/tables" / f"{table}.json").write_text(json.dumps(asked))
    rows = pd.DataFrame(product(entries(), CELLS, range(n_seeds)), columns=["entry", "cell", "seed"])
    rows["auc"] = (0.8 + 0.03 * gen.standard_normal(len(rows))).clip(0, 1)
    rows["auc_train_pool"] = (rows["auc"] + 0.01).clip(0, 1)
    rows = rows.assign(
        status="ok", reason=None, attempts=1, fit_id="f", device="cpu", torch_version="2", numerics="fp32"
    )
    rows["trial_id"] = [f"{table}-{number}" for number in range(len(rows))]
    (root / "results/tables").mkdir(parents=True, exist_ok=True)
    rows.to_parquet(root / "results/tables" / f"{table}.parquet")
    return len(rows)


def main() -> None:
    """Write, compare, say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=100)
    asked = parser.parse_args()
    gen = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        n_rows = sum(write(root, f"t{number:03d}", asked.seeds, gen) for number in range(asked.tables))
        wall, cpu = time.perf_counter(), time.process_time()
        compare(root)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        tests = len(pd.read_parquet(root / "results/compare/significance.parquet"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = {"rows": n_rows, "tables": asked.tables, "seeds": asked.seeds, "tests": tests}
    found |= {"seconds": round(wall, 1), "cpu_seconds": round(cpu, 1), "peak_gib": round(peak, 2)}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
