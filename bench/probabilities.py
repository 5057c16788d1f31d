"""Calibration of what methods say of a row, taken as the probability that it is positive, on tables of KEEL.

    python bench/probabilities.py --data raw --prepared prepared --out docs/evidence/probabilities.parquet
    python bench/probabilities.py --rows docs/evidence/probabilities.parquet     # prints the means by method

Each draw has 150 labelled positives and 600 unlabelled rows; the rows to be scored are 1,000 other ones, with the same
share of positives. A small table gives fewer rows of each part. Methods are told alpha, or TIcE estimates it.
``dedpul`` has a posterior, and ``pu_trees`` the mean share of positives in leaves; a method that learns with the
logistic loss has a posterior at its optimum, the sigmoid of its score; DRPU has alpha times its ratio.

Reported are the Brier score, the share by which it is lower than that of saying alpha of each row (skill), and the
calibration error: the mean distance between what is said and the share of positives, over ten bins of equal size.

``matched`` multiplies the odds by one factor, so that the mean over the unlabelled rows is the alpha that the method
has (Saerens et al., 2002, for a share of positives that is known or estimated).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

from puoc import PUClassifier
from puoc.datasets.prepare.arrays import Prepared, prepare
from puoc.datasets.prepare.folder import ensure
from puoc.records import Params
from puoc.registry import METHODS

TABLES = ("banana", "german", "magic", "mammographic", "phoneme", "ring", "spambase", "twonorm")
ALPHAS = (0.3, 0.6)
N_P, N_U, N_NEW = 150, 600, 1000
BINS = 10
SURE = 1e-6  # nothing is said to be closer to 0 or 1 before the odds are multiplied

Floats = NDArray[np.float64]
SAID: dict[str, Callable[[Floats, float], Floats]] = {
    "nnpu": lambda score, alpha: expit(score),
    "upu": lambda score, alpha: expit(score),
    "nnpu_boosting": lambda score, alpha: expit(score),
    "sar_em": lambda score, alpha: expit(score),
    "lbe": lambda score, alpha: expit(score),
    "pu_trees": lambda score, alpha: score,
    "dedpul": lambda score, alpha: score,
    "drpu": lambda score, alpha: alpha * score,
}
#: Hyperparameters that differ from the packaged ones: the score of the sigmoid loss is no logit.
PARAMS: dict[str, Params] = {"upu": {"surrogate": "logistic"}}


def calibration_error(said: Floats, positive: NDArray[np.bool_]) -> float:
    """Return the mean distance between what is said (n,) and the share of positives, over bins of equal size."""
    bins = np.array_split(np.argsort(said, kind="stable"), BINS)
    return float(
        np.average([abs(said[one].mean() - positive[one].mean()) for one in bins], weights=list(map(len, bins)))
    )


def draw(
    X: Floats, y: NDArray[np.int64], alpha: float, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
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


def matched(said: Floats, of_u: Floats, alpha: float) -> Floats:
    """Return what is said (n,) with its odds multiplied by a factor, by which the mean over U (m,) is alpha."""
    odds, odds_u = (logit(np.clip(one, SURE, 1 - SURE)) for one in (said, of_u))
    shift = brentq(lambda b: float(expit(odds_u + b).mean()) - alpha, -50, 50)
    return np.asarray(expit(odds + shift))


def rows_of(name: str, X: Floats, y: NDArray[np.int64], seeds: int) -> Iterator[dict[str, object]]:
    """Yield one row for each alpha, seed, method, prior and way to say a probability."""
    for alpha in ALPHAS:
        for seed in range(seeds):
            P, U, new, truth = draw(X, y, alpha, np.random.default_rng([seed, round(100 * alpha)]))
            common = {"table": name, "alpha": alpha, "seed": seed, "n_p": len(P), "n_u": len(U), "n_new": len(new)}
            base = float(np.mean((alpha - truth) ** 2))
            prior = {"told": alpha}
            estimated = PUClassifier("pu_knn", class_prior="tice", random_state=seed).fit(X_p=P, X_u=U)
            prior["tice"] = float(estimated.class_prior_)
            for method, says in SAID.items():
                for by, used in prior.items():
                    began = time.process_time()
                    if by == "told" or METHODS[method].needs_alpha:  # the fit of others does not depend on the prior
                        model = PUClassifier(method, params=PARAMS.get(method), class_prior=used, random_state=seed)
                        model.fit(X_p=P, X_u=U)
                    said, of_u = (np.clip(says(model.score_samples(rows), used), 0, 1) for rows in (new, U))
                    seconds = time.process_time() - began
                    ways = {"as said": said, "matched": matched(said, of_u, used)}
                    for way, p in ways.items():
                        brier = float(np.mean((p - truth) ** 2))
                        found = {"brier": brier, "skill": 1 - brier / base, "error": calibration_error(p, truth)}
                        about = {"method": method, "prior": by, "prior_alpha": used, "way": way}
                        yield common | about | found | {"mean": float(p.mean()), "seconds": seconds}


def summary(rows: pd.DataFrame) -> str:
    """Return means and the worst mean over the tables, by method, prior and way, on all tables and on their halves."""
    keys = ["method", "prior", "way"]
    by_table = rows.groupby([*keys, "table"], sort=False)[["brier", "skill", "error"]].mean().reset_index("table")
    first = by_table["table"].isin(sorted(rows["table"].unique())[::2])
    by = by_table.groupby(keys, sort=False)
    means = by[["brier", "skill", "error"]].mean()
    means["worst_table"] = by["error"].max()
    for half, part in (("first_half", by_table[first]), ("second_half", by_table[~first])):
        means[half] = part.groupby(keys, sort=False)["error"].mean()
    return means.assign(n=rows.groupby(keys, sort=False).size()).round(3).to_string()


def main() -> None:
    """Measure, or print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of raw files; what is missing is fetched")
    parser.add_argument("--prepared", type=Path, help="folder of prepared datasets")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--out", type=Path, help="Parquet file of all rows")
    parser.add_argument("--rows", type=Path, help="Parquet file of an earlier run, which is printed")
    options = parser.parse_args()
    if options.rows:
        print(summary(pd.read_parquet(options.rows)))  # noqa: T201
        return
    if not (options.data and options.prepared and options.out):
        parser.error("expected --data, --prepared and --out, or --rows")
    found: list[dict[str, object]] = []
    for name in options.tables:
        dataset = f"keel_{name}"
        ensure(dataset, options.data)
        prepare(dataset, options.data, options.prepared)
        arrays = Prepared.open(options.prepared / dataset)
        X = np.asarray(arrays.X, dtype=np.float64).reshape(len(arrays.y), -1)
        for row in rows_of(name, X, np.asarray(arrays.y), options.seeds):
            found.append(row)
            pd.DataFrame(found).to_parquet(options.out, index=False)  # an interrupted run leaves what it measured
    print(summary(pd.DataFrame(found)))  # noqa: T201


if __name__ == "__main__":
    main()
