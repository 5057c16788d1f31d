"""``puoc fit --method oc_svm`` on real tables: its packaged hyperparameters rank new positives above negatives."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from keel_files import fetched
from own_files import puoc

from puoc.datasets import DATASETS
from puoc.datasets.prepare.sources import wheels_downloaded_once
from puoc.records import Array
from puoc.userdata.settings import settings

#: Tables of numbers, with the class that is positive: the most frequent one.
TABLES = {"magic": 0, "phoneme": 0, "spambase": 0, "pima": 0, "vehicle": 0, "twonorm": 0, "mammographic": 0}


def test_columns_have_other_hyperparameters_than_encoded_rows_and_given_ones_count() -> None:
    linear, rbf = {"kernel": "linear", "nu": 0.5, "gamma": None}, {"kernel": "rbf", "nu": 0.5, "gamma": 3.0}

    def of(*given: str, inputs: str = "vector", encoder: str | None = None) -> dict[str, object]:
        found = settings("oc_svm", given=given, encoder=encoder).for_inputs(inputs).params
        return {key: found.get(key) for key in linear}

    assert of() == rbf
    assert of(encoder="components") == linear
    assert of(inputs="image", encoder="imagenet") == linear
    assert of("nu=0.1") == rbf | {"nu": 0.1}
    assert of("gamma=1.0") == rbf | {"gamma": 1.0}
    assert of("kernel=linear") == linear
    assert of("kernel=rbf", "gamma=2.0") == rbf | {"gamma": 2.0}
    with pytest.raises(ValueError, match="nu"):
        of("nu=2")


def test_the_default_of_oc_svm_ranks_on_seven_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    aucs = {}
    with wheels_downloaded_once():
        for name in TABLES:
            fetched(f"keel_{name}", tmp_path / "data", monkeypatch)
    for name, positive in TABLES.items():
        declared = DATASETS[f"keel_{name}"]
        X, y, _ = declared.load(tmp_path / "data" / f"keel_{name}")
        aucs[name] = _fitted_auc(X, y == positive)
    assert min(aucs.values()) > 0.5, aucs
    assert np.mean([aucs[name] for name in ("magic", "phoneme", "spambase", "pima")]) > 0.6, aucs


def _fitted_auc(X: Array, positive: Array) -> float:
    """AUC of 50 labelled positives on 300 others and 300 negatives, as ``puoc fit --test`` prints it."""
    rng = np.random.default_rng(0)
    p, n = (rng.permutation(np.flatnonzero(side)) for side in (positive, ~positive))
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    frame.iloc[p[:50]].to_csv("p.csv", index=False)
    frame.iloc[[*p[50:350], *n[:300]]].assign(y=np.repeat([1, 0], [len(p[50:350]), len(n[:300])])).to_csv(
        "t.csv", index=False
    )
    words = ("--method", "oc_svm", "--positives", "p.csv", "--test", "t.csv", "--label", "y", "--allow-overlap")
    Path("model").unlink(missing_ok=True)
    code, said = puoc("fit", *words, "--out", "model")
    assert code == 0, said
    found = re.search(r"AUC on the test rows: ([\d.]+)", said)
    assert found, said
    return float(found[1])
