"""A number that means a missing value means it however a file writes it, and in every form of file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from own_files import puoc

from puoc.datasets.readers import How, read_pair
from puoc.methods.persistence import model_file as modelfile

PU = ("fit", "--method", "pu_svm", "--prior", "0.3")


def frame(n: int, seed: int, kind: str = "float64") -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({"a": rng.normal(seed, 1, n).round(2).astype(kind), "b": rng.integers(0, 9, n)})
    made.loc[:5, "a"] = -999
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, seed in (("p", 1), ("u", 0)):
        made = frame(40, seed)
        made.to_csv(tmp_path / f"{name}.csv", index=False)  # -999.0
        made.to_csv(tmp_path / f"{name}_comma.csv", index=False, sep=";", decimal=",")  # -999,0
        made.to_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


def scores(path: Path) -> Any:
    return pd.read_csv(path)["score"].to_numpy()


@pytest.mark.parametrize("trained", [".csv", "_comma.csv", ".parquet"])
@pytest.mark.parametrize("mark", ["-999", "-999.0", "-999,0", " -999 "])
def test_every_form_of_a_file_gives_the_same_scores(trained: str, mark: str, folder: Path) -> None:
    words = (*PU, "--positives", folder / f"p{trained}", "--unlabelled", folder / f"u{trained}", "--missing", mark)
    code, said = puoc(*words, "--out", folder / "model")
    assert code == 0, said
    found = []
    for form in (".csv", "_comma.csv", ".parquet"):
        out = folder / f"scores{form.split('.')[0]}_{form.split('.')[1]}.csv"
        code, said = puoc("score", "--model", folder / "model", folder / f"p{form}", "--out", out)
        assert code == 0, said
        assert "6 missing values in 'a'" in said
        found.append(scores(out))
    model = modelfile.load(folder / "model")
    rows = modelfile.preparing(model.meta).from_frame(pd.read_csv(folder / "p.csv")).X
    for other in found[1:]:
        assert np.array_equal(found[0], other)
    assert np.allclose(found[0], modelfile.score(model, rows), rtol=0, atol=1e-12)  # CSV rounds what it prints


def test_labelled_and_unlabelled_files_of_different_forms_do_not_differ_by_it(folder: Path) -> None:
    pair = read_pair(folder / "p.parquet", folder / "u.csv", How(missing=("-999",)))
    assert pair.unlabelled is not None
    assert [column.missing for column in pair.profile] == [12, 0]
    for rows in (pair.positives, pair.unlabelled):
        assert rows.X[:, 1].tolist() == [1.0] * 6 + [0.0] * 34


def test_a_number_of_single_precision_is_found(tmp_path: Path) -> None:
    made = frame(20, 1, "float32").replace({"a": {-999: -99.9}}).astype({"a": "float32"})
    made.to_parquet(tmp_path / "p.parquet")
    made.to_csv(tmp_path / "p.csv", index=False)
    for name in ("p.parquet", "p.csv"):
        assert read_pair(tmp_path / name, None, How(missing=("-99.9",))).profile[0].missing == 6


def test_other_numbers_and_texts_stay(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("a;t\n-999,5;-999x\n-99;n -999\n9;-9,99\n")
    pair = read_pair(tmp_path / "p.csv", None, How(missing=("-999",), separator=";", category=("t",)))
    assert [column.missing for column in pair.profile] == [0, 0]


def test_a_mark_that_no_cell_equals_is_told(folder: Path) -> None:
    words = (*PU, "--positives", folder / "p.csv", "--unlabelled", folder / "u.csv", "--check")
    told = "was said to mean a missing value, and no cell of the training rows equals it"
    code, said = puoc(*words, "--missing", "nonsense", "--missing", "-999", "--missing", "NA", "--missing", "?")
    assert code == 0  # and what always means a missing value needs no cell
    assert f"'nonsense' {told}" in " ".join(said.split())
    assert said.count("was said to mean") == 1
    assert "was said to mean" not in puoc(*words, "--missing", "-999,0")[1]


@pytest.mark.parametrize(("mark", "expected"), [("1,000", "1000 or 1.000"), ("-1,234,567", "-1234567 or")])
def test_a_mark_that_is_a_thousand_to_some_is_asked_back(mark: str, expected: str, folder: Path) -> None:
    words = (*PU, "--positives", folder / "p.csv", "--unlabelled", folder / "u.csv", "--check")
    code, said = puoc(*words, "--missing", mark)
    assert code == 2
    assert f"--missing: got '{mark}', whose comma may be" in " ".join(said.split())
    assert expected in " ".join(said.split())
