"""Compute a table of the default profile as on other x86-64 processors, and record how far its AUCs move.

    python bench/machines.py --project build/evidence/quick
    python bench/machines.py --project build/evidence/quick --entries nnpu_conv --set '{"lr": 1.0e-3}'

Libraries choose their kernels by the processor. Kernels add numbers in different orders and so round differently. The
variables of ``PROCESSORS`` make the libraries take the kernels of other processors; one that this processor cannot run
changes nothing. The project is one whose table has run, such as the one of ``make evidence``. Each processor gets a
ledger of its own, in a temporary folder. Rows are added to --out, in place of those of the same entries, settings and
processors; docs/generate.py makes the table of docs/benchmarks.md from them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

OUT = Path(__file__).resolve().parents[1] / "docs" / "evidence" / "machines.parquet"
PROCESSORS = {
    "this processor": {},
    "PyTorch without AVX2": {"ATEN_CPU_CAPABILITY": "default"},
    "oneDNN of SSE4.1": {"ONEDNN_MAX_CPU_ISA": "SSE41"},
    "MKL for any processor": {"MKL_CBWR": "COMPATIBLE"},
    "OpenBLAS of Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
}
_KEPT = ["table", "entry", "cell", "seed", "trial_id", "params", "auc"]
_KEY = ["table", "entry", "cell", "seed", "params", "processor"]


def computed(root: Path, table: str, entries: list[str], n_seeds: int, changed: dict[str, object]) -> pd.DataFrame:
    """Compute trials of a planned table in an empty ledger; return their rows."""
    from puoc.plan.bind import bind
    from puoc.run.result_rows import collect
    from puoc.run.runner import Runner
    from puoc.run.stages import planned_trials
    from puoc.store.ledger import Ledger
    from puoc.store.plan_files import read_compute

    plan, trials = planned_trials(root, "tables", table)
    configs = {trial.entry: trial.config for trial in trials if trial.entry in (entries or plan.entries_by_name)}
    configs = {name: one.model_copy(update={"params": one.params | changed}) for name, one in configs.items()}
    asked = [trial for trial in bind(plan.only(configs), configs) if trial.seed in plan.seeds[:n_seeds]]
    with TemporaryDirectory(prefix="puoc-bench-") as folder:
        Runner(root, read_compute(root), ledger=Path(folder)).run(plan, asked)
        rows = pd.DataFrame(asdict(row) for row in collect(plan, asked, Ledger(Path(folder))))
    failed = rows[rows["status"] != "ok"]
    if len(failed):
        raise ValueError(f"{len(failed)} trials have no result, the first: {failed.iloc[0].to_dict()}")
    return rows[_KEPT]


def main() -> None:
    """Compute the trials once for each processor, in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--project", type=Path, required=True, help="a finished project of the profile quick")
    parser.add_argument("--table", default="neg_shift")
    parser.add_argument("--entries", nargs="*", default=[], help="default: all")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--set", type=json.loads, default={}, help="other hyperparameters, as JSON")
    parser.add_argument("--processors", nargs="*", default=list(PROCESSORS), choices=list(PROCESSORS))
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--here", action="store_true", help="compute once, as the environment says")
    asked = parser.parse_args()
    if asked.here:
        computed(asked.project, asked.table, asked.entries, asked.seeds, asked.set).to_parquet(asked.out, index=False)
        return
    for processor in asked.processors:
        with TemporaryDirectory() as folder:
            part = Path(folder) / "rows.parquet"
            own = ["--here", "--out", str(part), "--project", str(asked.project.resolve()), "--table", asked.table]
            own += ["--seeds", str(asked.seeds), "--set", json.dumps(asked.set), "--entries", *asked.entries]
            environment = os.environ | {"OMP_NUM_THREADS": "1"} | PROCESSORS[processor]
            subprocess.run([sys.executable, __file__, *own], check=True, env=environment)
            rows = pd.read_parquet(part).assign(processor=processor)
        if asked.out.exists():
            rows = pd.concat([pd.read_parquet(asked.out), rows], ignore_index=True).drop_duplicates(_KEY, keep="last")
        rows.to_parquet(asked.out, index=False)
        print(f"{processor}: done", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
