"""What does a configuration of a sweep cost beside its fits? Pure Ray Tune runs beside it on the same cluster.

    python bench/sweep_overhead.py --configurations 100 --workers 2

Both answer the same number of configurations on actors that are reused. Ours are trivial: one fit of a linear PU-SVM
on 80 rows, with its claim, record, model and scores. Prints wall seconds per configuration, of ours also those of fits.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import puoc.run.sweep.ray_start  # noqa: F401 - sets what Ray reads when it is loaded

# isort: split
from ray import tune

from puoc.datasets.prepare.arrays import prepare
from puoc.plan.make_plan import make_plan
from puoc.plan.params import read_params
from puoc.run.sweep.budget import Budget
from puoc.run.sweep.cluster import MachineRequest, connected
from puoc.run.sweep.gpu_packing import Packing
from puoc.run.sweep.request import Sweep, SweepRequest, resolve_sweep
from puoc.run.sweep.tuner import Tuner
from puoc.store.ledger import Ledger

REPOSITORY = Path(__file__).resolve().parents[1]


class Trivial(tune.Trainable):  # type: ignore[misc]
    """A configuration that is answered at once."""

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Called for the next configuration."""
        self.config = new_config
        return True

    def step(self) -> dict[str, Any]:
        """Called once."""
        return {"val": self.config["lam"], "done": True}


def pure(configurations: int, folder: Path, workers: int) -> float:
    """Wall seconds of Ray Tune alone."""
    started = time.perf_counter()
    tune.Tuner(
        tune.with_resources(Trivial, {"cpu": 1}),
        param_space={"lam": tune.grid_search([float(i) for i in range(configurations)])},
        tune_config=tune.TuneConfig(reuse_actors=True, max_concurrent_trials=workers),
        run_config=tune.RunConfig(
            storage_path=str(folder),
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
            verbose=0,
        ),
    ).fit()
    return time.perf_counter() - started


def project(root: Path, configurations: int) -> Sweep:
    """A planned project whose sweep has that many configurations of one fit."""
    text = (REPOSITORY / "profiles" / "tiny.yaml").read_text().replace("configs: selected", "configs: published")
    head, _, tail = text.partition("\ntune:")
    text = head + "\ntune:" + tail.replace("seeds: 2", "seeds: 1").replace("space: tiny", "space: many")
    (root / "params.yaml").write_text(text)
    shutil.copytree(REPOSITORY / "tuning", root / "tuning")
    spaces = root / "tuning" / "spaces" / "pu_svm.yaml"
    spaces.write_text(spaces.read_text() + f"\nmany:\n  lam: {{low: 0.01, high: {configurations / 100}, step: 0.01}}\n")
    make_plan(read_params(root / "params.yaml")).write(root)
    prepare("digits", root / "data", root / "work" / "prepared")
    return resolve_sweep(root, SweepRequest("pu_svm"))


def main() -> None:
    """Measure both, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configurations", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    n = given.configurations
    with tempfile.TemporaryDirectory() as folder, connected(MachineRequest(given.workers), given.workers):
        root = Path(folder)
        sweep = project(root, n)
        tuner = Tuner(root, sweep, Packing(0, given.workers), Budget(), time.monotonic())
        alone = pure(n, root / "pure", given.workers)
        started = time.perf_counter()
        outcome = tuner.run()
        ours = time.perf_counter() - started
        ledger = Ledger(root / "ledger")
        entries = [entry for fit_id in ledger.ids() if (entry := ledger.get(fit_id)) is not None]
        fits = sum(entry.result.fit_seconds or 0.0 for entry in entries) / given.workers
    found = {
        "configurations": n,
        "answered": outcome.ok,
        "pure Ray Tune": round(alone / n, 3),
        "puoc sweep": round(ours / n, 3),
        "of which fits": round(fits / n, 3),
        "load": round(os.getloadavg()[0], 1),
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
