"""The audit counts what a model will not see in test and incoming rows: of tables, texts and pictures."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from own_files import puoc
from PIL import Image

N = 60


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)

    def rows(n: int) -> pd.DataFrame:
        rows = pd.DataFrame(rng.normal(170, 5, size=(n, 2)).round(2), columns=["a", "b"])
        return rows.assign(kind=rng.choice(["x", "y"], n), one=1)

    rows(N).assign(flag=0).to_csv("p.csv", index=False)
    rows(N).assign(flag=np.arange(N) % 4 // 3).to_csv("u.csv", index=False)
    test = rows(40).assign(flag=np.arange(40) % 2, one=2, y=np.arange(40) % 2)
    test["kind"] = test["kind"].where(np.arange(40) >= 6, "new")
    test["a"] = test["a"].mask(np.arange(40) < 3, 1e6)
    test.to_csv("t.csv", index=False)
    rows(30).assign(flag=0, b=rng.normal(1.7, 0.05, 30).round(4)).to_csv("v.csv", index=False)
    return tmp_path


PAIR = ("--positives", "p.csv", "--unlabelled", "u.csv")


def test_later_rows_of_a_table_are_compared_with_the_training_rows(here: Path) -> None:
    code, said = puoc("audit", "--no-effect", *PAIR, "--test", "t.csv", "--label", "y", "--incoming", "v.csv",
                      "--json", "a.json", "--html", "a.html")  # fmt: skip
    assert code == 0, said
    unseen = {
        (one["group"], one["trained_on"]): one["found"] for one in json.loads(Path("a.json").read_text())["unseen"]
    }
    found = {(c["column"], c["kind"]): c["rows"] for c in unseen["test", "P and U"]["columns"] if c["noted"]}
    assert found == {("one", "constant"): 40, ("kind", "category"): 6, ("a", "range"): 3}
    factor = next(c for c in unseen["incoming", "P and U"]["columns"] if c["kind"] == "factor")
    assert (factor["column"], factor["factor"]) == ("b", 0.01)
    # for a one-class method, also of a column in doubt: to leave it out would blind the method
    assert {c["column"]: c["rows"] for c in unseen["U", "P"]["columns"]} == {"flag": 15}
    assert {c["column"]: c["rows"] for c in unseen["test", "P"]["columns"]} == {"flag": 20, "one": 40}
    assert ("incoming", "P") not in unseen
    plain = " ".join(said.split())
    assert "note: the test rows: 6 values of 'kind' that training did not have (15 %), such as new" in plain
    assert "note: the unlabelled rows, beside P alone: 15 rows have 1 in 'flag'" in plain
    page = Path("a.html").read_text()
    assert "What the model will not see" in page
    assert "unknown category" in page
    assert "another unit?, about 0.01 times" in page
    assert page.count('>b</th><td class="wide">') == 1  # not as far values too


def test_without_later_rows_nothing_is_compared(here: Path) -> None:
    assert puoc("audit", "--no-effect", *PAIR, "--json", "a.json", "--html", "a.html")[0] == 0
    assert json.loads(Path("a.json").read_text())["unseen"] == []
    assert "What the model will not see" not in Path("a.html").read_text()


def test_the_command_of_the_page_has_no_option_of_the_audit_alone(here: Path) -> None:
    assert puoc("audit", "--no-effect", *PAIR, "--html", "a.html")[0] == 0
    base = Path("a.html").read_text().split('"base": "')[1].split('"')[0]
    assert shlex.split(base) == ["puoc", "assess", *PAIR]


def test_a_later_file_that_lacks_a_column_stops_nothing(here: Path) -> None:
    pd.read_csv("v.csv").drop(columns="a").to_csv("w.csv", index=False)
    code, said = puoc("audit", "--no-effect", *PAIR, "--incoming", "w.csv", "--json", "a.json")
    assert code == 0, said
    found = json.loads(Path("a.json").read_text())["unseen"]
    assert not [one for one in found if one["trained_on"] == "P and U"]


def test_texts_without_a_known_word_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["red apple pie", "green apple tart", "red plum cake", "green plum jam"]
    for name in ("p", "u"):
        Path(f"{name}.txt").write_text("".join(f"{words[i % 4]} {words[(i // 4) % 4]} {i}\n" for i in range(24)))
    Path("v.txt").write_text("red apple\nquux zyzzy\nfoo bar baz\n" * 2)
    code, said = puoc("audit", "--positives", "p.txt", "--unlabelled", "u.txt", "--incoming", "v.txt",
                      "--json", "a.json")  # fmt: skip
    assert code == 0, said
    found = json.loads(Path("a.json").read_text())["unseen"]
    assert [one["group"] for one in found] == ["incoming"]
    assert list(found[0]["found"]["others"].values()) == [4]


def test_pictures_say_which_modes_were_converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, mode in (("p", "RGB"), ("u", "RGB"), ("v", "RGBA")):
        Path(name).mkdir()
        for i in range(12):
            pixels = rng.integers(0, 256, (16, 16, 4 if mode == "RGBA" else 3), dtype=np.uint8)
            Image.fromarray(pixels, mode).save(Path(name) / f"{i}.png")
    code, said = puoc("audit", "--positives", "p", "--unlabelled", "u", "--incoming", "v", "--json", "a.json")
    assert code == 0, said
    found = json.loads(Path("a.json").read_text())["unseen"]
    assert [(one["group"], one["found"]["rows"]) for one in found] == [("incoming", 12)]
    assert 12 in found[0]["found"]["others"].values()
