"""How long does it take to see what a sweep lacks, in a large ledger? Prints seconds and the most memory used.

    python bench/ledger_size.py --records 100000 --asked 10000

Makes a ledger of valid records below a temporary folder: half of the fits that a sweep asks, and others up to the
number wanted, each with empty files in the places of its model and scores. Then a process of its own compares the sweep
with it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from puoc.datasets.prepare.arrays import prepare
from puoc.plan.bind import PlannedTrial, bind
from puoc.plan.make_plan import make_plan
from puoc.plan.params import read_params
from puoc.records import content_id
from puoc.run.runner import Runner
from puoc.run.sweep.evaluate import compute_config
from puoc.run.sweep.request import Sweep, SweepRequest, resolve_sweep
from puoc.run.sweep.status import sweep_status
from puoc.store.ledger import Ledger
from puoc.store.plan_files import PLAN, planned_sweep, read_compute
from puoc.store.plans import SweepConfig, SweepPlan

REPOSITORY = Path(__file__).resolve().parents[1]
SEEDS = 10
KEPT = ("npy", "safetensors")  # beside a record


def project(root: Path) -> Sweep:
    """A planned project with one answered configuration."""
    text = (REPOSITORY / "profiles" / "tiny.yaml").read_text().replace("configs: selected", "configs: published")
    (root / "params.yaml").write_text(text)
    shutil.copytree(REPOSITORY / "tuning", root / "tuning")
    make_plan(read_params(root / "params.yaml")).write(root)
    prepare("digits", root / "data", root / "work" / "prepared")
    sweep = resolve_sweep(root, SweepRequest("pu_svm"))
    compute_config(root, read_compute(root), "bench", sweep.plan_of(sweep.configs[0].params))
    return sweep


def widened(sweep: Sweep, configs: int, first: int = 0) -> SweepPlan:
    """The sweep's plan with that many configurations and ten seeds."""
    base = sweep.configs[0]
    listed = []
    for i in range(first, first + configs):
        params = base.params | {"lam": 1e-6 * (i + 1)}
        config = SweepConfig(config_id=content_id(params)[:8], params=params, is_published=i == first)
        listed.append(config)
    return sweep.plan.with_configs(listed).model_copy(update={"seeds": tuple(range(SEEDS))})


def fill(root: Path, template: bytes, asked: list[PlannedTrial]) -> None:
    """Write a record for each of these fits, with the template's outcome."""
    record = json.loads(template)
    (trial,) = record["trials"].values()
    for one in asked:
        fit, trial_id = one.trial.fit, one.trial.id
        record["result"]["fit"] = fit.canonical()
        record["trials"] = {trial_id: trial | {"trial_id": trial_id, "fit_id": fit.id}}
        folder = root / "ledger" / fit.id[:2]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{fit.id}.json").write_text(json.dumps(record, sort_keys=True))
        for ending in KEPT:
            (folder / f"{fit.id}.{fit.id[:16]}.{ending}").touch()


def peak_kib() -> int:
    """Most memory that this program has used (Linux). getrusage would count what its parent used before it began."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def measure(root: Path) -> None:
    """Compare the plan with the ledger; called in a process of its own."""
    sweep = Sweep("pu_svm", "pu_svm", planned_sweep(root, "pu_svm"), None, is_planned=True)
    wall, cpu = time.perf_counter(), time.process_time()
    now = sweep_status(Runner(root, read_compute(root)), sweep)
    found = {
        "seconds": round(time.perf_counter() - wall, 2),
        "CPU seconds": round(time.process_time() - cpu, 2),
        "MiB": round(peak_kib() / 1024),
        "done": len(now.done),
        "missing": len(now.missing),
    }
    sys.stdout.write(json.dumps(found) + "\n")


def main() -> None:
    """Fill a ledger and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--asked", type=int, default=10_000)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        sweep = project(root)
        ledger = Ledger(root / "ledger")
        template = next((root / "ledger").rglob("*.json")).read_bytes()
        configs = given.asked // SEEDS
        plan = widened(sweep, configs)
        (root / PLAN / "tune" / "pu_svm.json").write_text(json.dumps(plan.to_json()))
        fill(root, template, list(bind(plan))[: given.asked // 2])
        rest = given.records - sum(1 for _ in ledger.ids())
        fill(root, template, list(bind(widened(sweep, rest // SEEDS + 1, configs)))[:rest])
        sys.stdout.write(f"{sum(1 for _ in ledger.ids())} records, {given.asked} fits asked\n")
        sys.stdout.flush()
        subprocess.run([sys.executable, __file__, "--measure", folder], check=True)


if __name__ == "__main__":
    main()
