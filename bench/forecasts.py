"""Does a fit take what `puoc plan` forecasts? Seconds of processor time of one small fit of each method.

    OMP_NUM_THREADS=1 python bench/forecasts.py --out forecasts.parquet    # ten minutes

A temporary project has a table for each method and each kind of rows that it takes, with the hyperparameters of
`puoc fit` (those of the LSTMs are of profiles/paper.yaml): vectors of PenDigits and pictures of mnist5k. Networks for
pictures train a few epochs, all others as many as a user's. Each table is forecast from the table of costs alone, and
from short fits on this machine (`puoc plan --measure`), and is then computed by `puoc run` of the same process. The
actual seconds are processor time of the process and its worker: those of a run of two seeds less those of a run of one
of them, so the start of a run does not count. They include scoring and writing. Use an idle machine: processor time
grows where two threads share a core. The raw data have to be at hand (PUOC_MIRROR).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from puoc.cli.environment import mirror
from puoc.cli.plan_overview import Count, count
from puoc.methods import inputs_of
from puoc.plan.forecast.costs import Forecast, estimate
from puoc.plan.forecast.machine_speed import speed_of_machine
from puoc.plan.make_plan import make_plan
from puoc.plan.params import read_params
from puoc.registry import METHODS
from puoc.run.stages import prepare_data, run_part
from puoc.userdata.settings import packaged_methods

ROOT = Path(__file__).parents[1]
EPOCHS = 6  # of networks for pictures, and what comes before their main part
WARMUP = 2
DATA = {"vector": "pendigits", "image": "mnist5k", "sequence": "pendigits"}
SIZES = {  # rows of P, and positives and negatives of U
    "vector": (300, 300, 300),
    "image": (150, 150, 150),
    "sequence": (300, 300, 300),
}
_LSTM: dict[str, Any] = {"lr_decay": 0.99, "hidden": 16, "pooling": "last", "training": "alternating"}
LSTMS: dict[str, dict[str, Any]] = {  # as profiles/paper.yaml, but 20 epochs
    "oc_lstm_sequence": {
        "method": "oc_lstm",
        "encoder": "pen",
        "params": _LSTM | {"lr": 1e-4, "epochs": 20, "batch_size": 128, "batching": "p", "nu": 0.5},
    },
    "pu_lstm_sequence": {
        "method": "pu_lstm",
        "encoder": "pen",
        "prior": True,
        "params": _LSTM | {"lr": 5e-3, "epochs": 20, "batch_size": 256, "batching": "union", "lam": 0.5},
    },
}
ENCODERS = {"pen": {"encoder": "sequence", "params": {"values": 1}}}
SHORT = 1.5  # seconds of a fit that is repeated
LIMIT = 300.0  # seconds for the short fits of all kinds


def entries(methods: list[str]) -> dict[str, dict[str, Any]]:
    """The entries of the project, by the names of their tables: a method and the kind of rows that it takes."""
    found = {name: entry for name, entry in LSTMS.items() if not methods or entry["method"] in methods}
    for name, params in packaged_methods():
        for inputs in sorted(inputs_of(name, params) & DATA.keys()) if not methods or name in methods else ():
            short = {"epochs": EPOCHS, "warmup_epochs": WARMUP} if inputs == "image" else {}
            values = params | {key: value for key, value in short.items() if key in params}
            entry: dict[str, Any] = {"method": name, "params": values}
            if METHODS[name].kind != "oc" and METHODS[name].needs_alpha:
                entry["prior"] = True
            found[f"{name}_{inputs}"] = entry
    return found


def project(root: Path, every: dict[str, dict[str, Any]]) -> None:
    """Write params.yaml, which is JSON here, and the plan of a table for each entry, and prepare the data."""
    tables = {}
    for name in every:
        inputs = name.rpartition("_")[2]
        sizes = dict(zip(("n_pos_lab", "n_pos_unl", "n_neg_unl"), SIZES[inputs], strict=True))
        where = {"scenario": "fixed_classes", "dataset": DATA[inputs], "pos": 3, "neg": 8}
        tables[name] = where | sizes | {"seeds": 2, "configs": "published", "methods": [name]}
    compute = {"workers": 1, "lane_map": "loop", "models": "none", "device": "cpu"}
    params = {"compute": compute, "tables": tables, "tune": {}, "methods": every, "encoders": ENCODERS}
    (root / "params.yaml").write_text(json.dumps(params, indent=1))
    make_plan(read_params(root / "params.yaml", root)).write(root, root / "params.yaml")
    prepare_data(root, mirror())


def forecasts(root: Path, total: Count) -> dict[str, tuple[float, float]]:
    """Seconds of each table, from the table of costs alone and from short fits on this machine."""
    here = Forecast(here=speed_of_machine(root, total.fits.values(), LIMIT, again=True).of)
    by_table = Forecast()
    found = {}
    for plan in total.plans:
        works = [estimate(total.fits[fit_id], total.tests[fit_id]) for fit_id in sorted(plan.fits)[:1]]
        sums = [sum(one.seconds_of(work) or 0.0 for work in works) for one in (by_table, here)]
        found[plan.name] = (sums[0], sums[1])
    return found


def computed(root: Path, name: str) -> float:
    """Compute both seeds of a table anew, and one of them again, and return the difference of processor time."""
    for result in (root / "ledger").rglob("*.json"):
        result.unlink()
    both = _run(root, name, 2)
    next((root / "ledger").rglob("*.json")).unlink()
    return both - _run(root, name, 1)


def _run(root: Path, name: str, fits: int) -> float:
    started = sum(os.times()[:4])  # of this process and of the workers that ended
    counts = run_part(root, "tables", name)
    if counts["ok"] != fits:
        raise SystemExit(f"{name}: {dict(counts)}; expected {fits} fits")
    return sum(os.times()[:4]) - started


def main() -> None:
    """Measure and print each method, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="Parquet file for the rows")
    parser.add_argument("--methods", nargs="*", default=[], help="only these methods; default: all")
    parser.add_argument("--repeats", type=int, default=3, help="runs of a fit of less than 1.5 s; the median counts")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    every = entries(asked.methods)
    if not every:
        parser.error(f"--methods: got {' '.join(asked.methods)}; expected some of {', '.join(sorted(METHODS))}")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        project(root, every)
        plan = make_plan(read_params(root / "params.yaml", root))
        names = list(plan.tables)
        by_name = forecasts(root, count(plan, root))
        computed(root, names[0])  # loads what a first fit loads
        for name in names:
            seconds = [computed(root, name)]
            while seconds[0] < SHORT and len(seconds) < asked.repeats:
                seconds.append(computed(root, name))
            median = max(statistics.median(seconds), 0.01)  # a fit of milliseconds is below the noise
            table, here = by_name[name]
            method, _, inputs = name.rpartition("_")
            row = {"method": method, "inputs": inputs, "seconds": median, "least": min(seconds), "most": max(seconds)}
            rows.append(row | {"by_table": table, "by_short_fits": here, "n": len(seconds)})
            ratios = f"table {table / median:.2f}, short fits {here / median:.2f}"
            print(f"{name}: {median:.2f} s; forecast / actual: {ratios}", flush=True)  # noqa: T201
            if asked.out:  # after each method, so that a run that is stopped keeps its rows
                machine = {"machine": platform.processor() or platform.machine(), "torch": torch.__version__}
                pd.DataFrame(rows).assign(**machine).to_parquet(asked.out, index=False)


if __name__ == "__main__":
    main()
