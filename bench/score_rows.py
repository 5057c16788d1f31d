"""Ten million rows of a table scored by ``puoc score``: seconds and peak memory, which must stay within 4 GiB.

A linear PU-SVM on ten columns, one of them with categories and one with missing values; a CSV file in, a CSV file out.

    python bench/score_rows.py --rows 10000000 --folder score_rows
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

LIMIT = 4 * 2**30  # bytes
BLOCK = 100_000  # rows written again and again


def frame(n: int, seed: int, shift: float) -> pd.DataFrame:
    """Eight columns of numbers, one with missing values and one of categories."""
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({f"x{i}": rng.normal(shift, 1, n).round(4) for i in range(8)})
    made["gaps"] = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 100, n))
    made["kind"] = rng.choice(["red", "green", "blue"], n)
    return made


def run(*words: str) -> None:
    """A puoc command that must end with 0."""
    subprocess.run([sys.executable, "-m", "puoc", *words], check=True)


def main() -> None:
    """Write the files, fit, score, and print one line of JSON."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=int, default=10_000_000)
    asked.add_argument("--folder", type=Path, required=True)
    given = asked.parse_args()
    shutil.rmtree(given.folder, ignore_errors=True)
    given.folder.mkdir(parents=True)
    p, u, rows, model, out = (given.folder / name for name in ("p.csv", "u.csv", "rows.csv", "model", "scores.csv"))
    frame(200, 1, 1.0).to_csv(p, index=False)
    frame(400, 2, 0.0).to_csv(u, index=False)
    head, _, block = frame(min(BLOCK, given.rows), 3, 0.5).to_csv(index=False).partition("\n")
    with rows.open("w") as file:
        file.write(head + "\n")
        for _ in range(given.rows // min(BLOCK, given.rows)):
            file.write(block)
    run(
        "fit",
        "--method",
        "pu_svm",
        "--prior",
        "0.3",
        "--positives",
        str(p),
        "--unlabelled",
        str(u),
        "--out",
        str(model),
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    started = time.perf_counter()
    run("score", "--model", str(model), str(rows), "--out", str(out))
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024  # of the largest child, the fit among them
    with out.open() as file:
        scored = sum(1 for _ in file) - 1
    expected = given.rows // min(BLOCK, given.rows) * min(BLOCK, given.rows)
    assert scored == expected, f"{scored} rows scored, {expected} written"
    found = {"rows": scored, "bytes": rows.stat().st_size, "seconds": round(seconds, 1), "peak_bytes": peak}
    print(json.dumps(found | {"of_the_fit": before}))  # noqa: T201 - the script's result
    shutil.rmtree(given.folder)
    if peak > LIMIT:
        sys.exit(f"the peak of {peak / 2**30:.2f} GiB is above {LIMIT / 2**30:g} GiB")


if __name__ == "__main__":
    main()
