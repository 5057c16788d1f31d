"""What ``fit`` and ``score`` say of rows that are unlike the training rows, and what a model file keeps for it."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from own_files import puoc, refused

from puoc.datasets.readers.unseen import Unseen
from puoc.methods.persistence import model_file as modelfile


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A flag that is 0 in all positives and 7 in negatives; no other column tells them apart."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)

    def rows(n: int, alarm: int) -> pd.DataFrame:
        return pd.DataFrame(rng.normal(size=(n, 3)).round(3), columns=list("abc")).assign(alarm=alarm)

    rows(100, 0).to_csv("p.csv", index=False)
    pd.concat([rows(50, 0).assign(y=1), rows(50, 7).assign(y=0)]).to_csv("t.csv", index=False)
    pd.concat([rows(50, 0), rows(50, 7)]).to_csv("u.csv", index=False)
    return tmp_path


def fit(*words: object) -> str:
    code, said = puoc("fit", "--positives", "p.csv", "--out", "model", "--no-ranking-check", *words)
    assert code == 0, said
    return said


HRN = ("--params", "epochs=5")


@pytest.mark.parametrize(
    "words",
    [
        ("--method", "oc_svm"),
        ("--method", "oc_svm", "--scaling", "standard"),
        ("--method", "oc_svm", "--params", "kernel=rbf", "--params", "gamma=1"),
        ("--method", "hrn", *HRN),
    ],
    ids=["linear", "standard", "rbf", "hrn"],
)
def test_a_one_class_method_uses_a_flag_that_all_positives_share(words: tuple[str, ...], files: Path) -> None:
    """The flag is asked about, since it separates the test rows as a copy of their labels would; --number keeps it."""
    files_of = ("--unlabelled", "u.csv", "--test", "t.csv", "--label", "y")
    code, asked = puoc("fit", *words, *files_of, "--positives", "p.csv", "--out", "none")
    assert code == 2
    assert "column 'alarm'" in asked
    said = fit(*words, *files_of, "--number", "alarm")
    auc = re.search(r"AUC on the test rows: ([\d.]+)", said)
    assert auc
    assert float(auc[1]) > 0.95
    told = "50 rows have 7 in 'alarm' (50 %), where all training rows have 0"
    assert f"u.csv: {told}" in said
    assert f"t.csv: {told}" in said
    assert told in puoc("score", "--model", "model", "t.csv", "--out", "s.csv")[1]


def test_a_pu_method_says_which_rows_differ_in_a_column_that_it_does_not_use(files: Path) -> None:
    frame = pd.read_csv("u.csv").assign(alarm=0)
    frame.to_csv("u.csv", index=False)
    fit("--method", "pu_svm", "--prior", "0.5", "--unlabelled", "u.csv")
    code, said = puoc("score", "--model", "model", "t.csv", "--out", "s.csv", "--unseen", "--report", "r.json")
    assert code == 0, said
    assert "50 rows have 7 in 'alarm' (50 %), where all training rows have 0; the model does not use this" in said
    assert pd.read_csv("s.csv")["unseen"].tolist() == [0] * 50 + [1] * 50
    found = Unseen.model_validate_json(Path("r.json").read_text())
    assert (found.rows, found.concerned) == (100, 50)
    (alarm,) = found.columns
    assert (alarm.column, alarm.kind, alarm.rows, alarm.used, alarm.values) == ("alarm", "constant", 50, False, ("7",))
    assert alarm.first_rows[:2] == (51, 52)


def test_the_numbers_of_unseen_values_do_not_depend_on_chunks(files: Path) -> None:
    fit("--method", "oc_svm")
    pd.concat([pd.read_csv("t.csv")] * 50).to_csv("many.csv", index=False)
    found = []
    for chunk in ((), ("--chunk", 99)):
        assert puoc("score", "--model", "model", "many.csv", "--out", "s.parquet", "--unseen", *chunk)[0] == 0
        found.append(pd.read_parquet("s.parquet"))
        Path("s.parquet").unlink()
    pd.testing.assert_frame_equal(*found)
    assert found[0]["unseen"].tolist() == ([0] * 50 + [1] * 50) * 50


def header(path: Path) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    file = path.read_bytes()
    length = struct.unpack("<Q", file[:8])[0]
    parts = json.loads(file[8 : 8 + length])
    return parts, json.loads(parts["__metadata__"]["puoc"]), file[8 + length :]


def write(path: Path, parts: dict[str, Any], meta: dict[str, Any], data: bytes) -> None:
    parts["__metadata__"]["puoc"] = json.dumps(meta)
    text = json.dumps(parts).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_a_model_of_an_older_version_scores_the_same_and_says_once_what_it_lacks(files: Path) -> None:
    pd.read_csv("p.csv").drop(columns="alarm").to_csv("p.csv", index=False)
    fit("--method", "oc_svm")
    parts, meta, data = header(Path("model"))
    del meta["prepared"]["watched"]
    for column in meta["prepared"]["columns"]:
        del column["range"]
    write(Path("old"), parts, meta, data)
    frame = pd.read_csv("t.csv")
    frame.loc[3, "a"] = 100
    frame.to_csv("t.csv", index=False)
    said = puoc("score", "--model", "old", "t.csv", "--out", "old.csv", "--chunk", 9)[1]
    assert said.count("the model is of an older version") == 1
    assert "1 values of 'a' (1 %) far outside those of training" in said
    new = puoc("score", "--model", "model", "t.csv", "--out", "new.csv")[1]
    assert "older version" not in new
    assert Path("old.csv").read_bytes() == Path("new.csv").read_bytes()
    refused(puoc("score", "--model", "old", "t.csv", "--unseen"), "--unseen: old is a model of table of an older")
    assert modelfile.score(modelfile.load(Path("old")), np.zeros((2, 3), np.float32)).shape == (2,)


HOSTILE = {
    "a range that falls": (["columns", 0, "range", "quantiles", 0], 1e9, "do not rise"),
    "a range without an end": (["columns", 0, "range", "quantiles", 6], 1e999, "finite"),
    "a short range": (["columns", 0, "range", "quantiles"], [1.0], "at least 7 items"),
    "a long range": (["columns", 0, "range", "quantiles"], [0.0] * 10**5, "at most 7 items"),
    "a range of no rows": (["columns", 0, "range", "n"], 0, "greater than or equal to 1"),
    "a number that is none": (["watched"], [{"name": "k", "value": "1", "number": 1e999}], "finite"),
    "no columns that are watched": (["watched"], 3, "valid tuple"),
    "a value of another type": (["columns", 3, "value"], [[[]]], "valid string"),
}


@pytest.mark.parametrize(("place", "value", "expected"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_range_or_constant_is_refused_in_words(
    place: list[str | int], value: object, expected: str, files: Path
) -> None:
    fit("--method", "oc_svm")
    parts, meta, data = header(Path("model"))
    tree: Any = meta["prepared"]
    for key in place[:-1]:
        tree = tree[key]
    tree[place[-1]] = value
    write(Path("bad"), parts, meta, data)
    refused(puoc("score", "--model", "bad", "t.csv"), "header field 'prepared': field", expected)


def test_places_of_a_report_that_cannot_be_are_refused_before_a_file_is_scored(files: Path) -> None:
    fit("--method", "oc_svm")
    before = sorted(files.iterdir())
    ask = ("score", "--model", "model", "t.csv", "--out", "s.csv", "--report")
    refused(puoc(*ask, "p.csv"), "p.csv: already exists")
    refused(puoc(*ask, "s.csv"), "--report: got s.csv, which is also the path of --out")
    refused(puoc(*ask, "new/r.json", "--encoding", "ebcdic"), "ebcdic")
    assert sorted(files.iterdir()) == before


def test_texts_have_a_report_but_no_columns(files: Path) -> None:
    Path("p.txt").write_text("a dog\nthe cat\n" * 9)
    Path("v.txt").write_text("a dog\n∅\n")
    code, said = puoc("fit", "--method", "oc_svm", "--positives", "p.txt", "--out", "model")
    assert code == 0, said
    assert puoc("score", "--model", "model", "v.txt", "--out", "s.csv", "--report", "r.json")[0] == 0
    assert json.loads(Path("r.json").read_text())["others"] == {"texts without a known word": 1}
    refused(puoc("score", "--model", "model", "v.txt", "--unseen"), "--unseen: model is a model of texts")
