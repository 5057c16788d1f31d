"""Processor time, wall time and memory of `puoc fit` and `puoc score` on a large table.

    python bench/million.py                                    # 1,000,000 rows of 50 numbers, the default method
    python bench/million.py --method pu_iforest --threads 2
    python bench/million.py --rows 20000                       # a trial, in seconds

The rows are made: 30 % of U are positive, and 1.5 % of all rows are labelled positives. Ten of the columns tell the
classes apart, three of them by their spread too. Each command runs in a process of its own, and its processor time is
that of all of its threads and children. ``fit`` has the reading, the audit, the assessment if no method is named, and
the check of the ranking; ``score`` reads and writes all rows of U. The AUC on U is by its true classes, which no
command sees, and shows whether the model learned anything.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from commands import PUOC, used
from sklearn.metrics import roc_auc_score

from puoc.methods.persistence.model_file import read_meta
from puoc.records import Array

ALPHA = 0.3
LABELLED = 0.015
INFORMATIVE = 10
LIMITS = {"wall s": 120, "memory GiB": 4}


def written(rows: int, columns: int, folder: Path) -> Array:
    """Write p.parquet and u.parquet, and return the classes of U."""
    rng = np.random.default_rng(0)
    n_p = max(round(LABELLED * rows), 100)
    classes = rng.random(rows - n_p) < ALPHA

    def made(positive: Array) -> pd.DataFrame:
        X = rng.standard_normal((len(positive), columns), dtype=np.float32)
        X[:, :INFORMATIVE] += np.where(positive, 0.5, 0)[:, None]
        X[:, :3] *= np.where(positive, 1, 1.5)[:, None]
        return pd.DataFrame(X).add_prefix("c")

    made(np.ones(n_p, dtype=bool)).to_parquet(folder / "p.parquet", index=False)
    made(classes).to_parquet(folder / "u.parquet", index=False)
    return classes


def main() -> None:
    """Print what the commands used."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of P and of U together")
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--method", help="by the assessment if it is left out")
    parser.add_argument("--threads", type=int, default=1, help="OMP_NUM_THREADS of the commands")
    parser.add_argument("--repeats", type=int, default=1)
    asked = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        classes = written(asked.rows, asked.columns, folder)
        files = ["--positives", "p.parquet", "--unlabelled", "u.parquet", "--out", "model"]
        method = [] if asked.method is None else ["--method", asked.method]
        for _ in range(asked.repeats):
            for path in ("model", "scores.csv"):
                (folder / path).unlink(missing_ok=True)
            steps = {
                "fit": [*PUOC, "fit", *method, *files],
                "score": [*PUOC, "score", "--model", "model", "u.parquet", "--out", "scores.csv"],
            }
            for step, words in steps.items():
                use = used(words, folder, asked.threads)
                rows.append((step, use.cpu, use.wall, use.memory / 1024))
        method_of_model = read_meta(folder / "model").method
        scores = pd.read_csv(folder / "scores.csv")["score"]
    found = pd.DataFrame(rows, columns=["command", "processor s", "wall s", "memory GiB"]).groupby("command").median()
    print(found.round(2).to_string())  # noqa: T201
    over = [f"{name} {found[name].max():.2f} > {limit}" for name, limit in LIMITS.items() if found[name].max() > limit]
    auc = roc_auc_score(classes, scores)
    ending = f"n = {asked.repeats}; over a limit: {', '.join(over) or 'none'}"
    print(f"{method_of_model}, AUC on U {auc:.3f}, {ending}")  # noqa: T201


if __name__ == "__main__":
    main()
