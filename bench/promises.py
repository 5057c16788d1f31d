"""What thresholds of `puoc fit` promise, against what they keep: made and real tables, drawn again and again.

    python bench/promises.py --data /tmp/raw --prepared /tmp/prepared --draws 10 --out docs/evidence/promises.parquet
    python bench/promises.py --rows docs/evidence/promises.parquet  # prints the table of docs/reference/thresholds.md

A table is taken as the population. Labelled positives, withheld positives and unlabelled rows are drawn from it with
replacement, and what a threshold keeps is counted over all rows of the table. So the count has no error of its own.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from puoc.datasets import DATASETS
from puoc.datasets.prepare.arrays import Prepared, prepare
from puoc.methods import make
from puoc.userdata import promises
from puoc.userdata.promises import Bounds

ALPHA, INTERVAL = 0.3, Bounds(0.25, 0.35)
N_P, N_HELD, N_U = 100, 100, 1000  # labelled positives to learn from, withheld ones, unlabelled rows
ROWS = 6_000  # of a made table
METHODS = {
    "knn": {"k": 5, "max_rows": 10_000},
    "pu_svm": {"solver": "exact", "kernel": "linear", "risk": "non_negative", "lam": 0.01},
}
#: Promise, what is asked, and whether more is better.
ASKED = {
    "recall .9, on average": (0.9, True),
    "recall .9": (0.9, True),
    "recall .7": (0.7, True),
    "false alarms .2": (0.2, False),
    "false alarms .1": (0.1, False),
    "precision .5": (0.5, True),
    "precision .7": (0.7, True),
}


class Table(NamedTuple):
    """All rows of a population by class."""

    name: str
    kind: str  # made or real
    positive: np.ndarray
    negative: np.ndarray


def made() -> Iterator[Table]:
    """Return 60 made tables: laws of the columns, numbers of columns, and distances of the classes."""
    laws = {
        "normal": lambda rng, n, d: rng.normal(size=(n, d)),
        "heavy tails": lambda rng, n, d: rng.standard_t(2, size=(n, d)),
        "skewed": lambda rng, n, d: rng.exponential(size=(n, d)),
        "few values": lambda rng, n, d: rng.normal(size=(n, d)).round(),
        "two groups": lambda rng, n, d: rng.normal(size=(n, d)) + 3 * (rng.random((n, 1)) < 0.3),
    }
    for (name, law), columns, distance in product(laws.items(), (1, 3, 10), (0.5, 1, 2, 4)):
        rng = np.random.default_rng(zlib.crc32(f"{name} {columns} {distance}".encode()))
        shift = distance / np.sqrt(columns)
        positive, negative = (law(rng, ROWS // 2, columns) for _ in range(2))
        yield Table(f"{name}, {columns} columns, {distance}", "made", positive + shift, negative)


def real(data: Path, prepared: Path, most: int) -> Iterator[Table]:
    """Return one table for each class with enough rows of the KEEL tables and of digits: it against the rest."""
    found = 0
    for name in sorted(one for one in DATASETS if one.startswith("keel_") or one == "digits"):
        if found >= most:
            return
        prepare(name, data, prepared)
        arrays = Prepared.open(prepared / name)
        X = np.asarray(arrays.X, dtype=np.float64).reshape(len(arrays.y), -1)
        y = np.asarray(arrays.y)
        for label in np.unique(y):
            if min((y == label).sum(), (y != label).sum()) < 150 or X.shape[1] > 100:
                continue
            found += 1
            yield Table(f"{name}, class {label}", "real", X[y == label], X[y != label])


def draw(table: Table, method: str, rng: np.random.Generator) -> Iterator[dict[str, object]]:
    """Fit once, and yield what each threshold promised and what it keeps."""
    together = np.concatenate([table.positive, table.negative])
    low, high = together.min(axis=0), together.max(axis=0)
    rows = [(part - low) / np.maximum(high - low, 1e-12) for part in (table.positive, table.negative)]
    positive, negative = (part.astype(np.float32) for part in rows)
    n_pos = rng.binomial(N_U, ALPHA)
    P, held = (positive[rng.integers(len(positive), size=n)] for n in (N_P, N_HELD))
    U = np.concatenate(
        [positive[rng.integers(len(positive), size=n_pos)], negative[rng.integers(len(negative), size=N_U - n_pos)]]
    )[rng.permutation(N_U)]
    learned, new = (U[: N_U // 2], U[N_U // 2 :]) if method != "knn" else (None, U)
    fitted = make(method, METHODS[method]).fit(P, learned, alpha=None if learned is None else ALPHA)
    score = lambda X: np.asarray(fitted.decision_function(X), dtype=np.float64)  # noqa: E731
    of_held, of_u, of_p, of_n = (score(X) for X in (held, new, positive, negative))
    for name, (target, more) in ASKED.items():
        threshold = _threshold(name, target, np.sort(of_held), of_u)
        row = {"table": table.name, "kind": table.kind, "method": method, "promise": name}
        if threshold is None:
            yield row | {"refused": True}
            continue
        recall, flagged = (of_p >= threshold).mean(), (of_n >= threshold).mean()
        precision = ALPHA * recall / max(ALPHA * recall + (1 - ALPHA) * flagged, 1e-12)
        value = recall if name.startswith("recall") else precision if name.startswith("precision") else flagged
        kept = value >= target - 1e-9 if more else value <= target + 1e-9
        yield row | {"refused": False, "kept": bool(kept), "value": value, "recall": recall}


def _threshold(name: str, target: float, held: np.ndarray, of_u: np.ndarray) -> float | None:
    if name.startswith("recall"):
        average = name.endswith("average")
        rank = promises.expected_rank(target, len(held)) if average else promises.promised_rank(target, len(held), 0.95)
        return float(held[rank - 1])
    precise = name.startswith("precision")
    asked = {"at_most": None, "at_least": target} if precise else {"at_most": target, "at_least": None}
    found = promises.flagging(held, of_u, INTERVAL, confidence=0.95, **asked)
    return None if found is None else found.threshold


def summary(rows: pd.DataFrame) -> str:
    """Return the table of the docs: shares over draws, by promise."""
    lines = [
        "| promise, at 95 % | tables | thresholds | refused | kept, made tables | kept, real tables | recall, median |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for name in ASKED:
        of = rows[rows["promise"] == name]
        given = of[~of["refused"]]
        kept = [given.loc[given["kind"] == kind, "kept"].astype(float).mean() for kind in ("made", "real")]
        words = [f"{share:.3f}" if share == share else "none given" for share in kept]
        median = f"{given['recall'].median():.2f}" if len(given) else ""
        lines.append(
            f"| {name} | {given['table'].nunique()} | {len(given)} | {len(of) - len(given)} | {' | '.join(words)} "
            f"| {median} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Draw, count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("build/raw"), help="folder of raw files")
    parser.add_argument("--prepared", type=Path, default=Path("build/prepared"), help="folder of prepared arrays")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--real", type=int, default=60, help="largest number of real tables")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rows", type=Path, help="print the table of rows that were drawn before")
    args = parser.parse_args()
    if args.rows is not None:
        sys.stdout.write(f"{summary(pd.read_parquet(args.rows))}\n")
        return
    rows = []
    for table in [*made(), *real(args.data, args.prepared, args.real)]:
        rng = np.random.default_rng(zlib.crc32(table.name.encode()))
        for method in METHODS:
            for _ in range(args.draws):
                rows += draw(table, method, rng)
    found = pd.DataFrame(rows)
    if args.out is not None:
        found.to_parquet(args.out)
    sys.stdout.write(f"{found['table'].nunique()} tables, {args.draws} draws, {len(METHODS)} methods\n")
    sys.stdout.write(f"{summary(found)}\n")


if __name__ == "__main__":
    main()
