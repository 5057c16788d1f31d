"""One-class methods on KEEL's tables as ``puoc fit`` prepares them, to choose the packaged hyperparameters of tables.

    python bench/oc_defaults.py FOLDER     # FOLDER gets the raw tables

50 labelled positives of the most frequent class, 500 other positives and 500 negatives (or as many as there are), two
seeds. The mean AUC is printed over the first, third, ... table and over the others, so that a choice on one half can be
judged on the other.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from puoc.datasets import DATASETS
from puoc.datasets.prepare.folder import ensure
from puoc.datasets.prepare.sources import wheels_downloaded_once
from puoc.datasets.readers import read_pair
from puoc.methods import make
from puoc.records import Array

TABLES = [
    "magic",
    "phoneme",
    "spambase",
    "pima",
    "german",
    "banana",
    "ring",
    "twonorm",
    "vehicle",
    "satimage",
    "penbased",
    "segment",
    "optdigits",
    "ionosphere",
    "mammographic",
    "titanic",
    "chess",
    "mushroom",
    "splice",
    "letter",
    "texture",
    "wdbc",
    "contraceptive",
]
CANDIDATES: dict[str, tuple[str, dict[str, Any]]] = {
    "oc_svm linear, nu .5": ("oc_svm", {"kernel": "linear", "nu": 0.5}),
    **{
        f"oc_svm rbf, gamma {gamma}, nu {nu}": ("oc_svm", {"kernel": "rbf", "nu": nu, "gamma": gamma})
        for gamma in (0.1, 0.3, 1.0, 3.0)
        for nu in (0.05, 0.1, 0.5)
    },
    **{f"knn, k {k}": ("knn", {"k": k, "max_rows": 20_000}) for k in (1, 3, 5)},
    "lof": ("lof", {"k": 20, "max_rows": 20_000}),
    "iforest": ("iforest", {"trees": 100, "subsample": 256}),
    "pca": ("pca", {"variance": 0.9}),
    "ecod": ("ecod", {"largest": "column", "added": 1.0}),
    "hbos": ("hbos", {"bins": 10}),
}


def prepared(X: Array, positive: Array, seed: int) -> tuple[Array, Array, Array]:
    """Labelled positives and test rows as ``puoc fit`` prepares them for a one-class method, and the classes."""
    rng = np.random.default_rng([seed, 5])
    p, n = (rng.permutation(np.flatnonzero(side)) for side in (positive, ~positive))
    rows = {"p": p[:50], "t": np.concatenate([p[50:550], n[:500]])}
    with TemporaryDirectory() as folder:
        for name, numbers in rows.items():
            pd.DataFrame(X[numbers]).add_prefix("c").to_csv(Path(folder) / f"{name}.csv", index=False)
        pair = read_pair(Path(folder) / "p.csv", from_positives=True)
        return pair.X_p, pair.read(Path(folder) / "t.csv").X, np.repeat([1, 0], [len(p[50:550]), len(n[:500])])


def main() -> None:
    """Print mean AUCs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    data = parser.parse_args().folder
    aucs = pd.DataFrame(index=TABLES, columns=list(CANDIDATES), dtype=float)
    with wheels_downloaded_once():
        for name in TABLES:
            ensure(f"keel_{name}", data)
    for name in TABLES:
        declared = DATASETS[f"keel_{name}"]
        X, y, _ = declared.load(data / f"keel_{name}")
        draws = [prepared(X, y == np.bincount(y).argmax(), seed) for seed in range(2)]
        for label, (method, params) in CANDIDATES.items():
            found = []
            for seed, (X_p, rows, classes) in enumerate(draws):
                scores = make(method, params).fit(X_p, seed=seed).decision_function(rows)
                found.append(roc_auc_score(classes, scores))
            aucs.loc[name, label] = np.mean(found)
    columns = {"mean": aucs, "one half": aucs.iloc[::2], "other half": aucs.iloc[1::2]}
    found = pd.DataFrame({name: part.mean() for name, part in columns.items()})
    found["lowest"], found["below .5"] = aucs.min(), (aucs < 0.5).sum()
    print(found.sort_values("mean").round(3).to_string())  # noqa: T201


if __name__ == "__main__":
    main()
