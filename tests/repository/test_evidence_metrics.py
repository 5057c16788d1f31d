"""Which metrics the rows of docs/evidence have, and which of its files are excepted."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from puoc.analysis.metrics import metrics

ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "docs" / "evidence"
FILES = sorted(path.stem for path in EVIDENCE.glob("*.parquet"))


@pytest.fixture(scope="module")
def tables() -> Any:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import evidence_metrics
    finally:
        sys.path.remove(str(ROOT / "docs"))
    return evidence_metrics


def test_each_row_has_eight_metrics_but_for_those_of_the_named_files(tables: Any) -> None:
    counts = tables.metric_counts()
    lacking = set(counts.index[counts["enough"] < counts["rows"]])
    assert lacking == set(tables.FEWER), "a file lacks metrics without a reason, or no longer needs its reason"
    assert counts["enough"].sum() >= counts.loc[["labelling", "quick"], "rows"].sum()


@pytest.mark.parametrize("file", FILES)
def test_metrics_have_names_that_are_registered_and_the_auc_of_the_row(tables: Any, file: str) -> None:
    rows = pd.read_parquet(EVIDENCE / f"{file}.parquet")
    if "metrics" not in rows:
        assert file in tables.FEWER or not any(tables.is_auc(name) for name in rows)
        return
    rows = rows[rows["status"] == "ok"]
    known = {name for name, one in metrics().items() if one.rows == "test"}
    read = [json.loads(text) for text in rows["metrics"]]
    assert all(set(one) <= known for one in read)
    assert [one["auc"] for one in read] == rows["auc"].to_list()


def test_each_reason_stands_beside_a_table_or_in_the_list(tables: Any) -> None:
    lines = tables.rows_with_metrics()
    assert {line[0].strip("`"): line[-1] for line in lines[1:] if line[-1]} == tables.FEWER
    for file in ("cifar10", "tabular"):
        assert tables.FEWER[file] in tables.sentence(file)
    assert tables.sentence("quick") == "Each of the 510 rows has eight metrics or more.\n"


def test_rows_take_the_metrics_of_the_same_trials_and_of_no_others(
    tables: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = json.dumps({"auc": 0.75, "f1": 0.5})
    rows = pd.DataFrame({"trial_id": ["a", "a", "b", "c"], "auc": [0.75, 0.75, 0.5, 0.25], "metrics": None})
    rows["metrics"] = [json.dumps({"auc": auc}) for auc in rows["auc"]]
    rows.to_parquet(tmp_path / "some.parquet", index=False)
    there = tmp_path / "project" / "results" / "tables"
    there.mkdir(parents=True)
    moved = json.dumps({"auc": 0.5 + 1e-9, "f1": 0.5})
    again = pd.DataFrame(
        {"trial_id": ["a", "b", "d"], "auc": [0.75, 0.5 + 1e-9, 0.1], "metrics": [whole, moved, whole]}
    )
    again.to_parquet(there / "some.parquet", index=False)
    monkeypatch.setattr(tables, "EVIDENCE", tmp_path)
    said = tables.fill("some", tmp_path / "project")
    assert said == "2 rows were computed again with the same AUC, and 1 with another; 2 got more metrics"
    filled = pd.read_parquet(tmp_path / "some.parquet")
    assert filled["metrics"].to_list() == [whole, whole, *rows["metrics"][2:]]
    assert tables.fill("some", tmp_path / "project").endswith("; 0 got more metrics")
    with pytest.raises(ValueError, match="no results/tables"):
        tables.fill("some", tmp_path)
