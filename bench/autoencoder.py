"""Why OC-SVM depends on its autoencoder: AUC of both SVMs and the place of the codes, as the autoencoder is trained.

    python bench/autoencoder.py --pos 0 --seeds 2 --out docs/evidence/autoencoder.parquet

Needs a prepared cifar10 (`puoc prepare` in a project that asks for it). An autoencoder is trained to several numbers of
epochs: on the labelled positives, on all training positives, and on the labelled ones without dropout. `centre` is the
norm of the mean code of the labelled positives, `margin` the distance of OC-SVM's plane from the origin.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

from puoc import methods, scenarios
from puoc.datasets.prepare.arrays import Prepared
from puoc.methods import encoders
from puoc.methods.training.estimator import Compute, PUSample
from puoc.records import Sample, TestSet

EPOCHS = (1, 2, 5, 10, 20, 40, 100)
VARIANTS = {"labelled positives": 0.5, "all positives": 0.5, "labelled positives, no dropout": 0.0}
PARAMS: dict[str, Any] = {"lr": 1e-3, "lr_decay": 1.0, "batch_size": 128, "batching": "p", "dimension": 128}


def study(data: Prepared, pos: int, seed: int, epochs: list[int]) -> Iterator[dict[str, Any]]:
    """A row for each variant and number of epochs, and one for the mean brightness as a score."""
    neg = tuple(number for number in range(10) if number != pos)
    counts = {"n_pos_lab": 2500, "n_pos_unl": 2500, "n_neg_unl": 2500}
    sample = Sample(dataset=data.name, data_digest=data.digest, pos=(pos,), neg=neg, **counts)
    drawn = scenarios.draw(data, sample, seed)
    test, y = scenarios.test_rows(data, TestSet(pos=(pos,), neg=neg), seed)
    X_p, X_u, X = (data.take(rows) for rows in (drawn.p, drawn.u, test))
    about = {"pos": pos, "seed": seed}
    yield about | {"variant": "mean brightness", "oc_svm": roc_auc_score(y, X.mean((1, 2, 3)))}
    for variant, dropout in VARIANTS.items():
        rows = X_p if variant.startswith("labelled") else data.take(scenarios.positive_rows(data, sample, seed))
        for n in epochs:
            encoder = encoders.make("autoencoder", PARAMS | {"dropout": dropout, "epochs": n})
            encoder = encoder.fit_lanes([PUSample(rows, None, None, seed)], Compute())[0]
            z_p, z_u, z = (encoder.encode(part) for part in (X_p, X_u, X))
            svm = OneClassSVM(kernel="linear", nu=0.5).fit(z_p)
            pu_svm = methods.make(
                "pu_svm", {"solver": "exact", "kernel": "linear", "risk": "non_negative", "lam": 0.01}
            )
            pu_svm.fit(z_p, z_u, alpha=0.5, seed=seed)
            yield about | {
                "variant": variant,
                "epochs": n,
                "loss": encoder.curve_["loss"][-1],
                "oc_svm": roc_auc_score(y, svm.decision_function(z)),
                "pu_svm": roc_auc_score(y, pu_svm.decision_function(z)),
                "centre": float(np.linalg.norm(z_p.mean(0))),
                "norm": float(np.linalg.norm(z_p, axis=1).mean()),
                "margin": float(svm.offset_[0] / np.linalg.norm(svm.coef_)),
            }


def main() -> None:
    """Run the study and write its rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepared", type=Path, default=Path("work/prepared/cifar10"))
    parser.add_argument("--pos", type=int, nargs="+", default=[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, nargs="+", default=list(EPOCHS))
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    data, found = Prepared.open(asked.prepared), []
    for pos in asked.pos:
        for seed in range(asked.seeds):
            for row in study(data, pos, seed, asked.epochs):
                found.append(row)
                pd.DataFrame(found).to_parquet(asked.out)


if __name__ == "__main__":
    main()
