"""Processor time, wall time and memory of commands, and what a run costs beside its training.

    python bench/commands.py --out commands.parquet              # 10 minutes on two cores
    python bench/commands.py --project DIR --out commands.parquet    # with the no-op `dvc repro` of a project that ran

Each command runs ``--repeats`` times in a process of its own, after one run that does not count. Processor time
includes its children's. The parts of ``run`` compute fits of a linear PU-SVM and of a small network in a temporary
project, with one worker and with two: seconds of processor time outside of training are those of the command less the
recorded times of its fits, as the slope between a small and a large number of fits, so that the start of the command
does not count.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from puoc.store.ledger import Ledger

ROOT = Path(__file__).parents[1]
PUOC = [sys.executable, "-m", "puoc"]
FITS = (20, 120)  # seeds of the two runs that give the slope
QUIET = {"DVC_NO_ANALYTICS": "1", "OMP_NUM_THREADS": "1"}


_STARTER = """
import os, sys
process = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(process, 0)
print("\\n", usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Usage(NamedTuple):
    """What a command used: seconds of processor and wall time, and MiB of memory at most."""

    cpu: float
    wall: float
    memory: float


def used(words: list[str], folder: Path, threads: int = 1) -> Usage:
    """Run a command that must succeed and return what it used."""
    started = time.perf_counter()
    # a small process starts the command: the most memory of a process counts what its parent had before
    starter = [sys.executable, "-S", "-c", _STARTER, *words]
    environment = os.environ | QUIET | {"OMP_NUM_THREADS": str(threads)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else each process compiles modules that have no bytecode yet
    process = subprocess.run(starter, cwd=folder, env=environment, capture_output=True, text=True)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)}: exit code {process.returncode}\n{process.stdout}{process.stderr}")
    cpu, memory = map(float, process.stdout.splitlines()[-1].split())
    return Usage(cpu, time.perf_counter() - started, memory)


def tables(folder: Path) -> None:
    """Write p.csv (2,000 rows) and u.csv (5,000 rows, half of them negatives) of 20 columns."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(20)]
    X_p, X_n = rng.normal(0.8, 1, (4500, 20)), rng.normal(0, 1, (2500, 20))
    pd.DataFrame(X_p[:2000], columns=names).to_csv(folder / "p.csv", index=False)
    pd.DataFrame(rng.permutation(np.vstack([X_p[2000:], X_n])), columns=names).to_csv(folder / "u.csv", index=False)


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the commands by the name under which their rows stand."""
    tables(folder)
    pair = ["--positives", "p.csv", "--unlabelled", "u.csv"]
    paper = ["plan", "--check", "--params", str(ROOT / "profiles" / "paper.yaml")]
    return {
        "puoc --help": [*PUOC, "--help"],
        "puoc methods": [*PUOC, "methods"],
        "puoc plan --check (paper)": [*PUOC, *paper],
        "puoc audit (2,000 + 5,000 x 20)": [*PUOC, "audit", *pair],
        "puoc assess (2,000 + 5,000 x 20)": [*PUOC, "assess", *pair],
        "puoc fit knn (2,000 + 5,000 x 20)": [*PUOC, "fit", *pair, "--method", "knn", "--out", "model.puoc"],
        "puoc score (5,000 x 20)": [*PUOC, "score", "u.csv", "--model", "model.puoc", "--out", "scores.csv"],
    }


REPORT, TRACK = "puoc report --no-track (published/paper)", "puoc track (published/tabular)"


def opened(folder: Path) -> dict[str, tuple[list[str], Path]]:
    """Return the commands of published results, which are opened below the folder, with the folder of each."""
    found = {REPORT: ([*PUOC, "report", "--no-track"], folder / "paper"), TRACK: ([*PUOC, "track"], folder / "tabular")}
    for _, where in found.values():
        words = [*PUOC, "published", str(ROOT / "published" / where.name), "--no-track", "--out", str(where)]
        subprocess.run(words, check=True)
    return found


@contextmanager
def project(entry: str, seeds: int, workers: int) -> Iterator[Path]:
    """A planned and prepared project of the profile tiny, with one entry and that many fits."""
    text = (ROOT / "profiles" / "tiny.yaml").read_text()
    head = text.partition("\ntune:")[0].replace("workers: auto", f"workers: {workers}")
    head = head.replace("configs: selected", "configs: published").replace("pos: [0, 1]", "pos: [0]")
    head = head.replace("seeds: 2", f"seeds: {seeds}").replace("[oc_svm, pu_svm, nnpu]", f"[{entry}]")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "params.yaml").write_text(head + "\ntune: {}\n\nmethods:" + text.partition("\nmethods:")[2])
        shutil.copytree(ROOT / "tuning", root / "tuning")
        for verb in ("plan", "fetch", "prepare", "select"):
            used([*PUOC, verb], root)
        yield root


def running(entry: str, workers: int) -> dict[str, float]:
    """Return the seconds of a run for each fit: wall time, training, and processor time outside of training."""
    found = []
    for seeds in FITS:
        with project(entry, seeds, workers) as root:
            usage = used([*PUOC, "run", "one_vs_all"], root)
            ledger = Ledger(root / "ledger")
            entries = [one for fit_id in ledger.ids() if (one := ledger.get(fit_id)) is not None]
            fits = sum(one.result.fit_seconds or 0.0 for one in entries)
            found.append(np.array([usage.wall, usage.cpu, fits]))
    wall, cpu, fits = (found[1] - found[0]) / (FITS[1] - FITS[0])
    return {"wall": wall, "training": fits, "outside": cpu - fits}


def main() -> None:
    """Measure all and write a row for each number."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--project", type=Path, help="a project that ran, for the no-op dvc repro")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", help="measure only what has this text in its name, and keep the other rows of --out")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    only = given.only or ""
    about = {"machine": f"{platform.machine()}, {os.cpu_count()} cores", "n": given.repeats}
    rows: list[dict[str, Any]] = []
    order: list[str] = []  # rows that are measured again keep their place
    if given.only and given.out.exists():
        before = pd.read_parquet(given.out)
        order = list(before["name"].unique())
        rows = before[~before["name"].str.contains(only, regex=False)].to_dict("records")

    def add(name: str, measure: str, values: list[float]) -> None:
        spread = {"value": median(values), "least": min(values), "most": max(values)}
        rows.append(about | {"name": name, "measure": measure} | spread)
        print(rows[-1], flush=True)  # noqa: T201 - a script's output
        rows.sort(key=lambda row: order.index(row["name"]) if row["name"] in order else len(order))
        pd.DataFrame(rows).to_parquet(given.out)

    with tempfile.TemporaryDirectory() as folder:
        listed = {name: (words, Path(folder)) for name, words in commands(Path(folder)).items()}
        if given.project is not None:
            listed["dvc repro (no-op)"] = ([str(Path(sys.executable).with_name("dvc")), "repro"], given.project)
        if only in REPORT or only in TRACK:
            listed |= opened(Path(folder))
        for name, (words, where) in listed.items():
            if only not in name:
                continue
            measured = []
            for _ in range(given.repeats + 1):
                if "--out" in words:  # a file that is there is not replaced
                    (where / words[words.index("--out") + 1]).unlink(missing_ok=True)
                if name == TRACK:  # it writes all runs anew
                    shutil.rmtree(where / "mlruns", ignore_errors=True)
                measured.append(used(words, where))
            for measure in Usage._fields:
                add(name, measure, [getattr(one, measure) for one in measured[1:]])
    for entry in ("pu_svm", "nnpu"):
        for workers in (1, 2):
            if only not in f"run of {entry}, workers {workers}":
                continue
            measured_runs = [running(entry, workers) for _ in range(given.repeats)]
            for measure in measured_runs[0]:
                add(f"run of {entry}, workers {workers}", measure, [one[measure] for one in measured_runs])


if __name__ == "__main__":
    main()
