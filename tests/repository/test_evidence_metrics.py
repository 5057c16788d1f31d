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
    assert counts["enough"].sum() >= 2990


@pytest.mark.parametrize("file", FILES)
def test_metrics_have_names_that_are_registered_and_the_auc_of_the_row(tables: Any, file: str) -> None:
    rows = pd.read_parquet(EVIDENCE / f"{file}.parquet")
    if "metrics" not in rows:
        assert file in tables.FEWER or not any(tables.is_auc(name) for name in rows)
        return
    known = {name for name, one in metrics().items() if one.rows == "test"}
    read = [json.loads(text) for text in rows["metrics"]]
    assert all(set(one) <= known for one in read)
    assert [one["auc"] for one in read] == rows["auc"].to_list()


def test_each_reason_stands_beside_a_table_or_in_the_list(tables: Any) -> None:
    lines = tables.rows_with_metrics()
    assert {line[0].strip("`"): line[-1] for line in lines[1:] if line[-1]} == tables.FEWER
    for file in ("cifar10", "labelling"):
        assert tables.FEWER[file] in tables.sentence(file)
