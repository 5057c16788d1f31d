"""``puoc fit`` says where ``knn`` has a higher mean AUC than the chosen method, by the published rows alone."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from benches import bench
from own_files import customers, puoc

from puoc.datasets.readers import read_pair
from puoc.registry import METHODS
from puoc.userdata.settings import settings
from puoc.userdata.table_means import means, note_on

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence" / "defaults_by_halves.parquet"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    customers(60, 1, 1.5).to_csv("p.csv", index=False)
    customers(90, 2).to_csv("u.csv", index=False)
    return tmp_path


def test_the_means_are_those_of_the_published_rows() -> None:
    rows = pd.read_parquet(EVIDENCE)
    rows = rows[rows["packaged"]]
    assert not rows.duplicated(["method", "table"]).any()
    expected = rows.groupby("method")["auc"].agg(["mean", "size"])
    expected = expected[[METHODS[name].kind == "oc" for name in expected.index]]
    assert {name: mean.tables for name, mean in means().items()} == expected["size"].to_dict()
    for name, mean in means().items():
        assert mean.auc == pytest.approx(expected.loc[name, "mean"], abs=5.1e-5)


def test_no_table_is_in_both_halves_and_none_twice() -> None:
    tables = bench("defaults_by_halves").suite()
    datasets = [dataset for dataset, _ in tables.values()]
    assert len(datasets) == len(set(datasets))
    rows = pd.read_parquet(EVIDENCE)
    assert set(rows["table"]) == set(tables)
    assert rows.groupby("table")["half"].nunique().max() == 1


def test_a_method_below_knn_is_named_with_both_means_and_no_other_is(files: Path) -> None:
    preparing = read_pair("p.csv", "u.csv").preparing
    below = {name for name, mean in means().items() if round(mean.auc, 3) < round(means()["knn"].auc, 3)}
    assert "iforest" in below
    for name in means():
        note = note_on(settings(name).for_inputs("vector"), preparing)
        assert (note is not None) == (name in below), name
        if note is not None:
            assert f"{means()['knn'].auc:.3f} against {means()[name].auc:.3f} of {name}" in note
            assert f"{means()['knn'].tables} tables" in note


def test_means_of_packaged_values_say_nothing_on_other_values_encoders_and_rows(files: Path) -> None:
    preparing = read_pair("p.csv", "u.csv").preparing
    assert note_on(settings("iforest"), preparing)
    assert note_on(settings("iforest", given=("trees=10",)), preparing) is None
    assert note_on(settings("iforest", encoder="components"), preparing) is None
    assert note_on(settings("iforest"), object()) is None
    assert note_on(settings("naive_forest"), preparing) is None


@pytest.mark.parametrize("check", [True, False])
def test_fit_says_it(check: bool, files: Path) -> None:
    words = ("fit", "--method", "iforest", "--positives", "p.csv", "--unlabelled", "u.csv")
    last = ("--check",) if check else ("--out", "model")
    code, said = puoc(*words, *last)
    assert code == 0, said
    sentence = note_on(settings("iforest"), read_pair("p.csv", "u.csv").preparing)
    assert sentence is not None
    assert sentence in " ".join(said.split())
    code, said = puoc(*words, *(("--check",) if check else ("--out", "model2")), "--json")
    assert sentence in json.loads(said[said.index("{") :])["notes"]
    code, said = puoc(*words[:1], "--method", "knn", *words[3:], *(("--check",) if check else ("--out", "model3")))
    assert code == 0
    assert "higher mean AUC" not in said
