"""Methods of puoc beside PyOD's, pulearn's and scikit-learn's own calls, on the same rows.

    python bench/beside_libraries.py FOLDER 8      # FOLDER gets the raw tables, 8 of them

pyod and pulearn are needed. The tables are those of ``oc_defaults.py`` and then those of profiles/tabular.yaml, 62 in
all. Rows are those of ``since_2019.py``, with one seed. It writes the AUC of each
method on each table, and the largest difference of an adapter's scores to the library's own, to
docs/evidence/beside_libraries.parquet. A library's own call has no code of puoc but the rows.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from defaults_by_halves import suite
from oc_defaults import TABLES
from since_2019 import drawn
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from puoc.datasets import DATASETS
from puoc.datasets.prepare.folder import ensure
from puoc.datasets.prepare.sources import wheels_downloaded_once
from puoc.methods import make
from puoc.records import Array
from puoc.userdata.settings import settings

EVIDENCE = Path(__file__).parents[1] / "docs" / "evidence" / "beside_libraries.parquet"
#: PyOD's detectors that are called, by module, with settings; True: the adapter ``pyod`` takes it.
DETECTORS: dict[str, tuple[str, str, bool]] = {
    "KNN": ("knn", "n_neighbors=5", True),
    "LOF": ("lof", "n_neighbors=10", True),
    "IForest": ("iforest", "n_estimators=100", True),
    "OCSVM": ("ocsvm", "nu=0.5", True),
    "HBOS": ("hbos", "n_bins=10", True),
    "PCA": ("pca", "n_components=2", True),
    "KDE": ("kde", "bandwidth=1.0", True),
    "GMM": ("gmm", "n_components=2", True),
    "INNE": ("inne", "n_estimators=50", True),
    "LODA": ("loda", "n_bins=10", True),
    "MCD": ("mcd", "support_fraction=0.9", True),
    "ECOD": ("ecod", "", False),
    "COPOD": ("copod", "", False),
    "COF": ("cof", "", False),
}
#: Classifiers of P against U that are called without puoc; the first two with pulearn around them.
PULEARN = {
    "ElkanotoPuClassifier": ("hold_out_ratio=0.1", "RandomForestClassifier", "n_estimators=200"),
    "BaggingPuClassifier": ("n_estimators=100", "DecisionTreeClassifier", "min_samples_leaf=1"),
}
SKLEARN: dict[str, Callable[[], object]] = {
    "RandomForestClassifier": lambda: RandomForestClassifier(200, random_state=0),
    "GradientBoostingClassifier": lambda: GradientBoostingClassifier(random_state=0),
    "LogisticRegression": lambda: LogisticRegression(max_iter=1000),
    "KNeighborsClassifier": lambda: KNeighborsClassifier(15),
    "SVC": lambda: SVC(),
}
OURS = (
    *("knn", "lof", "iforest", "ecod", "copod", "hbos", "pca", "oc_svm", "deep_svdd"),
    *("pu_svm", "pu_knn", "pu_iforest", "naive_forest", "naive_boosting", "pu_bagging", "pu_trees", "nnpu_boosting"),
    *("naive", "nnpu", "upu", "drpu", "vpu", "dedpul", "lbe", "pue", "robust_pu", "p3mix", "nnpu_noisy"),
)


def values(text: str) -> dict[str, float | int]:
    """The settings of a text."""
    pairs = [part.split("=") for part in text.split(", ") if part]
    return {name: float(value) if "." in value else int(value) for name, value in pairs}


def seeded() -> None:
    """Seed the global generators, which some detectors draw from."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)


def of_pyod(name: str, P: Array, T: Array) -> tuple[Array, Array | None]:
    """Scores of a detector's own call, and of the adapter if it takes the detector."""
    module, text, adapted = DETECTORS[name]
    cls = getattr(import_module(f"pyod.models.{module}"), name)
    own = {"random_state": 0} if "random_state" in cls.__init__.__code__.co_varnames else {}
    seeded()
    theirs = -cls(**own, **values(text)).fit(P.astype(np.float64)).decision_function(T.astype(np.float64))
    if not adapted:
        return theirs, None
    return theirs, make("pyod", {"detector": name, "settings": text}).fit(P, seed=0).decision_function(T)


def of_pulearn(name: str, P: Array, U: Array, T: Array) -> tuple[Array, Array]:
    """Scores of a classifier's own call, and of the adapter."""
    import pulearn

    text, inside, inside_text = PULEARN[name]
    module = import_module("sklearn.tree" if "Tree" in inside else "sklearn.ensemble")
    estimator = getattr(module, inside)(random_state=0, **values(inside_text))
    cls = getattr(pulearn, name)
    own = {"random_state": 0} if "random_state" in cls.__init__.__code__.co_varnames else {}
    X, y = np.concatenate([P, U]).astype(np.float64), np.repeat([1, 0], [len(P), len(U)])
    seeded()
    theirs = cls(estimator, **own, **values(text)).fit(X, y).predict_proba(T.astype(np.float64))[:, 1]
    params = {"classifier": name, "settings": text, "estimator": inside, "estimator_settings": inside_text}
    return theirs, make("pulearn", params).fit(P, U, seed=0).decision_function(T)


def of_table(P: Array, U: Array, T: Array) -> list[tuple[str, str, bool, Array, float]]:
    """Source, method, whether the registry has it, scores and the adapter's largest difference, of each method."""
    found: list[tuple[str, str, bool, Array, float]] = []
    for name in OURS:
        params = settings(name).for_inputs("vector").params
        scores = make(name, params).fit(P, U, alpha=0.5, seed=0).decision_function(T)
        found.append(("puoc", name, True, scores, np.nan))
    for name in (*DETECTORS, *PULEARN):
        theirs, adapter = of_pyod(name, P, T) if name in DETECTORS else of_pulearn(name, P, U, T)
        far = np.nan if adapter is None else float(np.abs(theirs - adapter).max())
        found.append(("PyOD" if name in DETECTORS else "pulearn", name, adapter is not None, theirs, far))
    X, y = np.concatenate([P, U]), np.repeat([1, 0], [len(P), len(U)])
    for name, made in SKLEARN.items():
        fitted = made().fit(X, y)  # type: ignore[attr-defined]
        scores = fitted.decision_function(T) if name == "SVC" else fitted.predict_proba(T)[:, 1]
        found.append(("scikit-learn", name, False, scores, np.nan))
    return found


def rows_of(table: str, folder: Path) -> list[tuple[str, str, str, bool, float, float]]:
    """The rows of a table."""
    X, y, _ = DATASETS[f"keel_{table}"].load(folder / f"keel_{table}")
    P, U, T, classes = drawn(X, y == np.bincount(y).argmax(), 0)
    found = of_table(P, U, T)
    return [(table, source, name, has, roc_auc_score(classes, scores), far) for source, name, has, scores, far in found]


def main() -> None:
    """Write the rows, and print means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tables", type=int, help="the first so many tables")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    tables = list(dict.fromkeys([*TABLES, *suite()]))[: asked.tables]
    with wheels_downloaded_once():
        for name in tables:
            ensure(f"keel_{name}", asked.folder)
    rows = []
    with ProcessPoolExecutor(asked.workers) as pool:
        for part in pool.map(rows_of, tables, [asked.folder] * len(tables)):
            rows += part
            frame = pd.DataFrame(rows, columns=["table", "source", "method", "in_registry", "auc", "difference"])
            frame.to_parquet(EVIDENCE, index=False)  # after each table, so that an interruption keeps what is done
    means = frame.groupby(["source", "method"], sort=False).agg({"auc": "mean", "difference": "max"})
    print(means.to_string())  # noqa: T201


if __name__ == "__main__":
    main()
