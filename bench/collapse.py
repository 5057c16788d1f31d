"""What a PU-OC method becomes where U holds no negatives: its AUC and its objective beside its one-class parent's.

    python bench/collapse.py --out docs/evidence/collapse.parquet

On the digits that scikit-learn ships: labelled positives and as many again of the same class as U. Parent and hybrid
see the same draw, have the same network and seed, and are scored on all test rows. `objective_oc` is the parent's
objective at its own solution, `objective_at_oc` the hybrid's there, `objective_pu` the hybrid's at its own: one that
collapses to its parent finds nothing better than the parent's solution. Minutes on one core.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import roc_auc_score

from puoc import methods, scenarios
from puoc.datasets.prepare.arrays import Prepared, prepare
from puoc.methods.solvers.hinge import double_hinge
from puoc.methods.training.lanes import Lane
from puoc.records import Sample, TestSet

Array = np.ndarray[Any, Any]
N_P, N_U = 60, 75

SHELL: dict[str, Any] = {"lam": 0.5, "radius": 8.0, "gamma": 1.5, "ascent_step": 1e-2, "ascent_steps": 20}
SHELL |= {"warmup_epochs": 6, "net": "lenet", "space": "feature", "lr": 1e-3, "lr_decay": 1.0, "epochs": 30}
VIEWS: dict[str, Any] = {"lam": 0.5, "temperature": 0.5, "mirror": "never", "feature": "projection", "input_norm": True}
VIEWS |= {"lr": 1e-3, "lr_decay": 0.99, "epochs": 20, "batch_size": 30, "batching": "p"}
HEAD: dict[str, Any] = {"lr": 1e-3, "lr_decay": 1.0, "epochs": 30, "hidden": 256, "dropout": 0.5}
STATE: dict[str, Any] = {"lr": 1e-2, "lr_decay": 0.99, "epochs": 40, "hidden": 16, "pooling": "last"}
STATE |= {"training": "joint"}


class Twin(NamedTuple):
    """A hybrid and its parent, their hyperparameters and the rows they take."""

    oc: str
    of_oc: dict[str, Any]
    of_pu: dict[str, Any]
    rows: Callable[[Array], Array]
    alphas: tuple[float, ...]  # class priors given to the hybrid; any one where it takes none


def _flat(X: Array) -> Array:
    return X


def _images(X: Array) -> Array:
    return X.reshape(-1, 1, 8, 8)


def _sequences(X: Array) -> Array:
    """Eight steps, a line of the image each, after the mask."""
    return np.concatenate([np.ones((len(X), 8, 1), np.float32), X.reshape(-1, 8, 8)], axis=2)


ALMOST_ALL, HALF = 0.999, 0.5
TWINS = {
    "pu_svm": Twin(
        "oc_svm",
        {"kernel": "linear", "nu": 0.5},
        {"solver": "exact", "kernel": "linear", "risk": "non_negative", "lam": 0.01},
        _flat,
        (ALMOST_ALL, HALF),
    ),
    "pu_cnn": Twin(
        "oc_cnn",
        HEAD | {"batch_size": 30, "batching": "p", "sigma": 0.1},
        HEAD | {"batch_size": 68, "batching": "union", "surrogate": "logistic", "correction": "clamp"},
        _flat,
        (ALMOST_ALL, HALF),
    ),
    "pu_lstm": Twin(
        "oc_lstm",
        STATE | {"batch_size": 30, "batching": "p", "nu": 0.5},
        STATE | {"batch_size": 68, "batching": "union", "lam": 0.01},
        _sequences,
        (ALMOST_ALL, HALF),
    ),
    "pu_drocc": Twin(
        "drocc",
        SHELL | {"batch_size": 30, "batching": "p"},
        SHELL | {"batch_size": 68, "batching": "union"},
        _images,
        (HALF,),
    ),
    "pu_csi": Twin("csi", VIEWS, VIEWS | {"batch_size_u": 8, "w": 0.1}, _images, (HALF,)),
}


def study(data: Prepared, name: str, pos: int, seed: int) -> Iterator[dict[str, Any]]:
    """A row for each class prior that the hybrid is given."""
    twin = TWINS[name]
    neg = tuple(number for number in range(10) if number != pos)
    counts = {"n_pos_lab": N_P, "n_pos_unl": N_U, "n_neg_unl": 0}
    sample = Sample(dataset=data.name, data_digest=data.digest, pos=(pos,), neg=neg, **counts)
    drawn = scenarios.draw(data, sample, seed)
    test, y = scenarios.test_rows(data, TestSet(pos=(pos,), neg=neg), seed)
    X_p, X_u, X = (twin.rows(data.take(rows)) for rows in (drawn.p, drawn.u, test))
    parent = methods.make(twin.oc, twin.of_oc).fit(X_p, seed=seed)
    for alpha in twin.alphas:
        hybrid = methods.make(name, twin.of_pu).fit(X_p, X_u, alpha=alpha, seed=seed)
        takes_prior = getattr(hybrid, "needs_alpha", True)
        yield {
            "method": name,
            "twin": twin.oc,
            "alpha_given": alpha if takes_prior else np.nan,
            "pos": pos,
            "seed": seed,
            "auc_oc": roc_auc_score(y, parent.decision_function(X)),
            "auc_pu": roc_auc_score(y, hybrid.decision_function(X)),
            "objective_oc": objective(parent, parent, X_p, X_u[:0], alpha),
            "objective_at_oc": objective(hybrid, parent, X_p, X_u, alpha),
            "objective_pu": objective(hybrid, hybrid, X_p, X_u, alpha),
        }


def objective(method: Any, solution: Any, X_p: Array, X_u: Array, alpha: float) -> float:
    """A method's objective over all rows at a solution, its own or its twin's; randomness, if any, from one seed."""
    if method.name == "oc_svm":
        return float(method.curve_["objective"][-1])
    if method.name == "pu_svm":
        f_p, f_u = (solution.decision_function(X) for X in (X_p, X_u))
        w = solution.arrays_["w"]
        bracket = double_hinge(-f_u).mean() - alpha * double_hinge(-f_p).mean()
        return float(method.lam * w @ w + alpha * double_hinge(f_p).mean() + max(0, bracket))
    x_p, x_u = (torch.from_numpy(np.array(X)) for X in (X_p, X_u))
    net = solution.net_
    lane = Lane(net, dict(net.named_parameters()), dict(net.named_buffers()))
    noise = method.draws(x_p, x_u, torch.Generator().manual_seed(0))
    return float(method.loss(lane, x_p, x_u, torch.tensor(alpha), noise, method.epochs).detach())


def main() -> None:
    """Run all twins and write their rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=list(TWINS), choices=list(TWINS))
    parser.add_argument("--pos", type=int, nargs="+", default=[3])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        prepare("digits", Path(folder) / "data", Path(folder) / "prepared")
        data = Prepared.open(Path(folder) / "prepared" / "digits")
        for name in asked.methods:
            for pos in asked.pos:
                for seed in range(asked.seeds):
                    found.extend(study(data, name, pos, seed))
                    pd.DataFrame(found).to_parquet(asked.out)


if __name__ == "__main__":
    main()
