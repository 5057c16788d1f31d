"""Calibration of what methods say of a row, taken as the probability that it is positive, on tables of KEEL.

    python bench/probabilities.py --data raw --prepared prepared --out probabilities.csv
    python bench/probabilities.py --rows probabilities.csv          # prints the means by method

Each draw has 150 labelled positives and 600 unlabelled rows; the rows to be scored are other ones, with the same share
of positives. Methods are told alpha, or TIcE estimates it. ``dedpul`` has a posterior, and ``pu_trees`` the mean
share of positives in leaves; a network that learns with the logistic loss has a posterior at its optimum, the sigmoid
of its score; DRPU has alpha times its ratio. ``constant`` says alpha
of each row. Reported are the Brier score, that of ``constant`` less it as a share of that of ``constant`` (skill), and
the calibration error: the mean distance between what is said and the share of positives, over ten bins of equal size.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from puoc import PUClassifier
from puoc.datasets.prepare.arrays import Prepared, prepare
from puoc.datasets.prepare.folder import ensure

TABLES = ("keel_banana", "keel_magic", "keel_phoneme", "keel_spambase", "keel_german")
ALPHAS = (0.3, 0.6)
N_P, N_U, N_NEW = 150, 600, 1000
BINS = 10

Floats = NDArray[np.float64]
SAID: dict[str, Callable[[Floats, float], Floats]] = {
    "dedpul": lambda score, alpha: score,
    "nnpu": lambda score, alpha: expit(score),
    "upu": lambda score, alpha: expit(score),
    "drpu": lambda score, alpha: alpha * score,
    "pu_trees": lambda score, alpha: score,
}


def calibration_error(said: Floats, positive: NDArray[np.bool_]) -> float:
    """Return the mean distance between what is said (n,) and the share of positives, over bins of equal size."""
    bins = np.array_split(np.argsort(said, kind="stable"), BINS)
    return float(
        np.average([abs(said[one].mean() - positive[one].mean()) for one in bins], weights=list(map(len, bins)))
    )


def draw(
    X: Floats, y: NDArray[np.int64], alpha: float, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return P, U, rows to be scored and which of them are positive, without a common row where the table allows it."""
    counts = np.bincount(y)
    rows = {
        True: rng.permutation(np.flatnonzero(y == counts.argmin())),
        False: rng.permutation(np.flatnonzero(y != counts.argmin())),
    }
    n_u, n_new = round(alpha * N_U), round(alpha * N_NEW)
    most = {True: N_P + n_u + n_new, False: N_U + N_NEW - n_u - n_new}
    shrink = min(1.0, *(len(rows[one]) / most[one] for one in rows))  # a small table gives fewer rows of each part
    at = {True: 0, False: 0}

    def take(positive: bool, n: int) -> NDArray[np.int64]:
        n = int(n * shrink)
        taken = rows[positive][at[positive] : at[positive] + n]
        at[positive] += n
        return taken

    p = take(True, N_P)
    u = np.concatenate([take(True, n_u), take(False, N_U - n_u)])
    new_p, new_n = take(True, n_new), take(False, N_NEW - n_new)
    truth = np.concatenate([np.ones(len(new_p), bool), np.zeros(len(new_n), bool)])
    return X[p], X[u], X[np.concatenate([new_p, new_n])], truth


def rows_of(name: str, X: Floats, y: NDArray[np.int64], seeds: int) -> Iterator[dict[str, object]]:
    """Yield one row for each alpha, seed, prior and method."""
    for alpha in ALPHAS:
        for seed in range(seeds):
            P, U, new, truth = draw(X, y, alpha, np.random.default_rng([seed, round(100 * alpha)]))
            base = float(np.mean((alpha - truth) ** 2))
            common = {"table": name, "alpha": alpha, "seed": seed, "n_p": len(P), "n_u": len(U), "n_new": len(new)}
            for method, prior in [(m, prior) for m in SAID for prior in ("told", "tice")]:
                began = time.process_time()
                model = PUClassifier(method, class_prior=alpha if prior == "told" else "tice", random_state=seed)
                model.fit(X_p=P, X_u=U)
                used = alpha if prior == "told" else float(model.class_prior_)
                said = np.clip(SAID[method](model.score_samples(new), used), 0, 1)
                brier = float(np.mean((said - truth) ** 2))
                yield (
                    common
                    | {"method": method, "prior": prior, "prior_alpha": used, "brier": brier, "skill": 1 - brier / base}
                    | {"error": calibration_error(said, truth), "seconds": time.process_time() - began}
                )


def summary(rows: pd.DataFrame) -> str:
    """Return means and the worst mean over the tables, by method and prior."""
    by = rows.groupby(["method", "prior"], sort=False)
    means = by[["brier", "skill", "error"]].mean()
    worst = (
        rows.groupby(["method", "prior", "table"], sort=False)["error"]
        .mean()
        .groupby(["method", "prior"], sort=False)
        .max()
    )
    return means.assign(worst_table=worst, n=by.size()).round(3).to_string()


def main() -> None:
    """Measure, or print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of raw files; what is missing is fetched")
    parser.add_argument("--prepared", type=Path, help="folder of prepared datasets")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--out", type=Path, help="CSV file of all rows")
    parser.add_argument("--rows", type=Path, help="CSV file of an earlier run, which is printed")
    options = parser.parse_args()
    if options.rows:
        print(summary(pd.read_csv(options.rows)))  # noqa: T201
        return
    if not (options.data and options.prepared and options.out):
        parser.error("expected --data, --prepared and --out, or --rows")
    found: list[dict[str, object]] = []
    for name in options.tables:
        ensure(name, options.data)
        prepare(name, options.data, options.prepared)
        arrays = Prepared.open(options.prepared / name)
        X = np.asarray(arrays.X, dtype=np.float64).reshape(len(arrays.y), -1)
        for row in rows_of(name, X, np.asarray(arrays.y), options.seeds):
            found.append(row)
            pd.DataFrame(found).to_csv(options.out, index=False)  # an interrupted run leaves what it measured
    print(summary(pd.DataFrame(found)))  # noqa: T201


if __name__ == "__main__":
    main()
