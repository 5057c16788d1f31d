"""AUCs of the paper's two synthetic figures, over seeds: what docs/datasets.md says of synth1 and synth2.

python bench/synthetic.py [--seeds 12]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from puoc.analysis.statistics.auc import auc
from puoc.datasets import DATASETS
from puoc.datasets.prepare.arrays import Prepared
from puoc.methods import make
from puoc.records import Sample, TestSet
from puoc.scenarios import draw, test_rows

KERNELS: dict[str, dict[str, Any]] = {"synth1": {"kernel": "linear"}, "synth2": {"kernel": "rbf", "gamma": 4.0}}
CLASSES = {"synth1": ((0,), (1, 2)), "synth2": ((0, 1, 2, 3), (4, 5))}  # positives; negatives in U, others at test
COUNTS = {"n_pos_lab": 500, "n_pos_unl": 500, "n_neg_unl": 500}


def aucs(data: Prepared, seed: int) -> list[float]:
    """OC-SVM and PU-SVM on the negatives of U, then on the others."""
    pos, negatives = CLASSES[data.name]
    sample = Sample(dataset=data.name, data_digest=data.digest, pos=pos, neg=negatives[:1], **COUNTS)
    drawn = draw(data, sample, seed)
    X_p, X_u = data.take(drawn.p), data.take(drawn.u)
    kernel = KERNELS[data.name]
    fitted = [
        make("oc_svm", {"nu": 0.5, **kernel}).fit(X_p),
        make("pu_svm", {"solver": "exact", "risk": "non_negative", "lam": 0.01, **kernel}).fit(X_p, X_u, alpha=0.5),
    ]
    found = []
    for negative in negatives:
        rows, is_positive = test_rows(data, TestSet(pos=pos, neg=(negative,)), seed)
        for method in fitted:
            scores = method.decision_function(data.take(rows))
            found.append(auc(scores[is_positive], scores[~is_positive], method.name))
    return found


def main() -> None:
    """Print mean, smallest and largest AUC."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    seeds = range(parser.parse_args().seeds)
    for name in KERNELS:
        of = DATASETS[name]
        data = Prepared.of(of.load(Path()), name=name, inputs=of.inputs, classes=of.classes, scale=of.scale)
        found = np.array([aucs(data, seed) for seed in seeds])
        for column, what in enumerate(("OC-SVM", "PU-SVM", "OC-SVM, other negatives", "PU-SVM, other negatives")):
            values = found[:, column]
            print(f"{name:7} {what:24} {values.mean():.3f} ({values.min():.3f} to {values.max():.3f})")  # noqa: T201


if __name__ == "__main__":
    main()
