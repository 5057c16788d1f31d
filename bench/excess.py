"""What the PU-OC extensions of kNN and isolation forests do where U helps and where it does not.

    python bench/excess.py

Six columns. Positives are N(0, I). The negatives of U lie near them (deviation .7, shifted by 1.5 and 1 in two
columns), so their density alone does not tell them; new negatives lie on the other side (shifted by -2.5). 300
labelled positives, 1,000 rows of U, 1,000 test rows of each kind, means over 10 seeds, alpha as drawn. A hybrid should
have the AUC of its one-class twin where U holds no negatives, that of a PU method on negatives of U, and more than a
PU method on new ones.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.metrics import roc_auc_score

from puoc.methods import make
from puoc.records import Array
from puoc.userdata.settings import packaged_methods

SEEDS = 10
ALPHAS = (0.999, 0.9, 0.5, 0.1)
METHODS = ("knn", "pu_knn", "iforest", "pu_iforest", "oc_svm", "pu_svm", "naive_forest", "pu_trees", "nnpu_boosting")


def draw(seed: int, alpha: float) -> tuple[Array, Array, Array, Array, Array]:
    """P, U, and test rows: positives, negatives as in U, new negatives."""
    rng = np.random.default_rng(seed)

    def positives(n: int) -> Array:
        return rng.normal(size=(n, 6)).astype(np.float32)

    def known(n: int) -> Array:
        return rng.normal([1.5, 1, 0, 0, 0, 0], 0.7, size=(n, 6)).astype(np.float32)

    n = rng.binomial(1000, alpha)
    U = np.concatenate([positives(n), known(1000 - n)])
    new = rng.normal([-2.5, 0, 0, 0, 0, 0], 1, size=(1000, 6)).astype(np.float32)
    return positives(300), U, positives(1000), known(1000), new


def main() -> None:
    """Print the table in Markdown."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    lines = [["method", *(f"alpha {alpha}: as in U, new" for alpha in ALPHAS)]]
    y, params = np.repeat([1, 0], 1000), dict(packaged_methods())
    for name in METHODS:
        cells = []
        for alpha in ALPHAS:
            aucs = []
            for seed in range(SEEDS):
                P, U, of_p, known, new = draw(seed, alpha)
                scores = make(name, params[name]).fit(P, U, alpha=alpha, seed=seed).decision_function
                aucs.append([roc_auc_score(y, scores(np.concatenate([of_p, negatives]))) for negatives in (known, new)])
            cells.append(", ".join(f"{mean:.2f}" for mean in np.mean(aucs, axis=0)))
        lines.append([f"`{name}`", *cells])
    for line in (lines[0], ["---"] * len(lines[0]), *lines[1:]):
        print("| " + " | ".join(line) + " |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
