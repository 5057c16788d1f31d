"""Learners added for tables on KEEL's tables, with the hyperparameters of ``puoc fit``.

    python bench/since_2019.py FOLDER 8 1     # FOLDER gets the raw tables, 8 of them, with one seed
    python bench/since_2019.py FOLDER 8 1 --learners nnpu nnpu_noisy --p-noise 0.2
    python bench/since_2019.py FOLDER 8 1 --learners nnpu pue lbe --biased

pyod and pulearn are needed for all learners.

50 labelled positives of the most frequent class; 150 other positives and 150 negatives in U, or as many as leave as
many for the test; up to 300 of each in the test; true class prior. The encoder ``standardised`` makes the
rows of all.

With ``--p-noise``, a share of P are negatives. With ``--biased``, P is drawn with the weights (1.5 - p)^10,
p = p(y=1 | x) of a logistic regression on all rows, so positives that look like negatives come first. The positives of
U and of the test are then a random sample of the others.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from oc_defaults import TABLES
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from puoc.datasets import DATASETS
from puoc.datasets.prepare.folder import ensure
from puoc.datasets.prepare.sources import wheels_downloaded_once
from puoc.methods import make
from puoc.methods.encoders import make as make_encoder
from puoc.records import Array
from puoc.userdata.settings import packaged_methods

LEARNERS = (
    *("knn", "copod", "deep_svdd", "pyod", "nnpu", "naive", "cvir", "dist_pu", "pusb", "count_loss", "sar_em"),
    *("pulda", "pue", "lbe", "robust_pu", "p3mix", "nnpu_noisy", "imb_pu", "glws", "holistic_pu", "pulearn"),
    "naive_forest",
)


def drawn(
    X: Array, positive: Array, seed: int, p_noise: float = 0, biased: bool = False
) -> tuple[Array, Array, Array, Array]:
    """P, U, test rows and their classes."""
    rng = np.random.default_rng([seed, 9])
    p, n = (rng.permutation(np.flatnonzero(side)) for side in (positive, ~positive))
    if biased:
        every = X.astype(np.float32)
        scaled = make_encoder("standardised", {"cut": 6.0}).fit(every, every).encode(every)
        weight = (1.5 - LogisticRegression(max_iter=1000).fit(scaled, positive).predict_proba(scaled)[p, 1]) ** 10
        first = rng.choice(len(p), 50, replace=False, p=weight / weight.sum())
        p = np.concatenate([p[first], np.delete(p, first)])
    in_u = min(150, (len(p) - 50) // 2, len(n) // 2)
    in_test = min(300, len(p) - 50 - in_u, len(n) - in_u - round(50 * p_noise))
    U = np.concatenate([p[50 : 50 + in_u], n[:in_u]])
    test = np.concatenate([p[50 + in_u :][:in_test], n[in_u:][:in_test]])
    n_noise = round(50 * p_noise)
    labelled = np.concatenate([p[: 50 - n_noise], n[len(n) - n_noise :]])
    P, U, T = (X[rows].astype(np.float32) for rows in (labelled, U, test))
    encoder = make_encoder("standardised", {"cut": 6.0}).fit(P, U)
    P, U, T = (encoder.encode(rows) for rows in (P, U, T))
    return P, U, T, np.repeat([1, 0], in_test)


def main() -> None:
    """Print mean AUCs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tables", type=int, help="the first so many tables of oc_defaults.py")
    parser.add_argument("seeds", type=int)
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), help="all by default")
    parser.add_argument("--p-noise", type=float, default=0, help="share of P that are negatives")
    parser.add_argument("--biased", action="store_true", help="P is no random sample of the positives")
    asked = parser.parse_args()
    data, tables = asked.folder, TABLES[: asked.tables]
    params = dict(packaged_methods())
    aucs = pd.DataFrame(index=tables, columns=asked.learners, dtype=float)
    with wheels_downloaded_once():
        for name in tables:
            ensure(f"keel_{name}", data)
    for name in tables:
        X, y, _ = DATASETS[f"keel_{name}"].load(data / f"keel_{name}")
        positive = y == np.bincount(y).argmax()
        draws = [drawn(X, positive, seed, asked.p_noise, asked.biased) for seed in range(asked.seeds)]
        for learner in asked.learners:
            found = []
            for seed, (P, U, T, classes) in enumerate(draws):
                model = make(learner, params[learner]).fit(P, U, alpha=0.5, seed=seed)
                found.append(roc_auc_score(classes, model.decision_function(T)))
            aucs.loc[name, learner] = np.mean(found)
    found = pd.DataFrame({"mean": aucs.mean(), "lowest": aucs.min(), "below .5": (aucs < 0.5).sum()})
    print(found.round(3).to_string())  # noqa: T201


if __name__ == "__main__":
    main()
