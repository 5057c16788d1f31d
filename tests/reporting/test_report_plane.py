"""The synthetic figures of the paper, from a question to a picture in the report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from planned import plan, prepared_in
from project import REPOSITORY

from puoc.reporting.page.decision_plane import plane_figure
from puoc.run.stages import run_part
from puoc.store.plan_files import planned_tables

PAPER = (REPOSITORY / "profiles" / "paper.yaml").read_text()
#: The two tables and their methods, as the profile asks them, with one seed and fewer rows.
PARAMS = "\n".join(
    [
        "compute: {workers: 1, lane_map: loop, max_lanes: 8, models: all, device: cpu}",
        "tables:",
        PAPER[PAPER.index("  synth1:") : PAPER.index("\ntune: {}")]
        .replace("seeds: 12", "seeds: 1")
        .replace(": 500", ": 200"),
        "tune: {}",
        "methods:",
        PAPER[PAPER.index("  oc_svm_plane:") :],
    ]
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("plane")
    for name in ("synth1", "synth2"):
        prepared_in(root / "work", name)
    plan(PARAMS, root)
    for name in ("synth1", "synth2"):
        assert run_part(root, "tables", name)["failed"] == 0
    return root


def picture(root: Path, table: str, **changed: Any) -> dict[str, Any] | None:
    [of] = [one for one in planned_tables(root) if one.table == table]
    rows = pd.read_parquet(root / "results" / "tables" / f"{table}.parquet")
    return plane_figure(root, of, rows.assign(**changed))


def test_the_figures_come_out_as_the_paper_prints_them(root: Path) -> None:
    """.92, .97, .91 and .08 there; .07 and .93. Means over 12 seeds are what the report compares."""
    rows = pd.concat([pd.read_parquet(path) for path in sorted((root / "results" / "tables").glob("*.parquet"))])
    found = {(row.entry, row.cell): row.auc for row in rows.itertuples()}
    assert found["oc_svm_plane", "no_shift"] == pytest.approx(0.92, abs=0.03)
    assert found["pu_svm_plane", "no_shift"] == pytest.approx(0.97, abs=0.03)
    assert found["oc_svm_plane", "shift"] == pytest.approx(0.91, abs=0.04)
    assert found["pu_svm_plane", "shift"] < 0.15
    assert found["oc_svm_curve", "modes"] < 0.3
    assert found["pu_svm_curve", "modes"] > 0.9


def test_a_picture_has_a_panel_an_entry_and_cell_with_rows_and_the_models_line(root: Path) -> None:
    shown = picture(root, "synth1")
    assert shown is not None
    json.dumps(shown, allow_nan=False)
    traces = shown["figure"]["data"]
    assert [trace["type"] for trace in traces] == ["contour", "scatter", "scatter"] * 4
    assert [trace["xaxis"] for trace in traces[::3]] == ["x", "x2", "x3", "x4"]
    titles = [note["text"] for note in shown["figure"]["layout"]["annotations"]]
    assert re.fullmatch(r"oc_svm_plane, no_shift<br>AUC 0\.9\d", titles[0])
    assert len(titles) == 4


def test_the_line_has_the_positives_on_its_positive_side(root: Path) -> None:
    shown = picture(root, "synth2")
    assert shown is not None
    line, negative, positive = shown["figure"]["data"][3:]  # of PU-SVM
    z, side = np.array(line["z"]), np.array(line["x"])

    def share(rows: dict[str, Any]) -> float:
        nearest = [np.abs(side[:, None] - np.array(rows[axis])).argmin(axis=0) for axis in "xy"]
        return float((z[nearest[1], nearest[0]] > 0).mean())

    assert share(positive) > 0.6
    assert share(negative) < 0.3


def test_without_a_score_or_without_a_plane_there_is_no_picture(root: Path) -> None:
    assert picture(root, "synth1", status="failed") is None
    [of] = [one for one in planned_tables(root) if one.table == "synth1"]
    rows = pd.read_parquet(root / "results" / "tables" / "synth1.parquet")
    assert plane_figure(root / "elsewhere", of, rows) is None


def test_a_model_that_was_not_kept_leaves_the_picture_without_its_line(root: Path) -> None:
    models = list((root / "ledger").rglob("*.safetensors"))
    contents = {path: path.read_bytes() for path in models}
    for path in models:
        path.unlink()
    shown = picture(root, "synth1")
    for path, content in contents.items():
        path.write_bytes(content)
    assert shown is not None
    assert {trace["type"] for trace in shown["figure"]["data"]} == {"scatter"}
