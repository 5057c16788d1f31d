"""``dvc metrics show`` and ``dvc plots show`` carry the means of the comparison."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import pytest
from project import REPOSITORY
from ruamel.yaml import YAML

from puoc.analysis.tables.dvc_files import write_dvc_files
from puoc.analysis.tables.summary import SummaryRow


def row(entry: str, cell: str, index: int, mean: float | None, is_average: bool = False) -> SummaryRow:
    known = {"table": "alpha_sweep", "entry": entry, "cell": cell, "cell_index": index, "is_average": is_average}
    known |= {"n": 3, "mean": mean, "std": 0.01}
    others = {field.name: None for field in fields(SummaryRow) if field.default is MISSING}
    return SummaryRow(**{**others, **known})  # type: ignore[arg-type]


ROWS = [
    row("nnpu", "alpha=0.5", 0, 0.9),
    row("nnpu", "alpha=0.95", 1, 0.7),
    row("nnpu", "average", -1, 0.8, is_average=True),
    row("upu", "alpha=0.5", 0, None),
]


def test_equal_results_give_equal_files_and_those_of_former_tables_go(tmp_path: Path) -> None:
    write_dvc_files(tmp_path, ROWS)
    former = tmp_path / "curves" / "former.csv"
    before = {path.name: path.read_bytes() for path in tmp_path.rglob("*.*")}
    former.write_text("entry")
    write_dvc_files(tmp_path, ROWS)
    assert {path.name: path.read_bytes() for path in tmp_path.rglob("*.*")} == before
    assert json.loads(before["metrics.json"]) == {"alpha_sweep": {"nnpu": {"auc": {"mean": 0.8, "n": 3, "std": 0.01}}}}
    assert before["alpha_sweep.csv"].decode().splitlines() == [
        "entry,cell,cell_index,n,mean,std",
        "nnpu,alpha=0.5,0,3,0.9,0.01",
        "nnpu,alpha=0.95,1,3,0.7,0.01",
    ]


@pytest.mark.slow
def test_dvc_shows_the_means_and_their_curves(tmp_path: Path) -> None:
    pipeline = YAML(typ="safe").load(REPOSITORY / "dvc.yaml")
    outs = [next(iter(out)) for out in pipeline["stages"]["compare"]["outs"]]
    assert all(path.startswith(f"{outs[0]}/") for path in (*pipeline["metrics"], *pipeline["plots"][0]))

    def dvc(*words: str) -> str:
        env = os.environ | {"DVC_NO_ANALYTICS": "1"}
        command = [sys.executable, "-m", "dvc", *words]
        return subprocess.run(command, cwd=tmp_path, env=env, check=True, capture_output=True, text=True).stdout

    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    dvc("init", "-q")
    shutil.copytree(REPOSITORY / ".dvc" / "plots", tmp_path / ".dvc" / "plots")
    top = {key: pipeline[key] for key in ("metrics", "plots")}
    (tmp_path / "dvc.yaml").write_text(json.dumps(top))
    write_dvc_files(tmp_path / "results" / "compare", ROWS)
    shown = json.loads(dvc("metrics", "show", "--json"))
    (data,) = (one["data"] for one in shown.values())
    assert data["results/compare/metrics.json"]["data"]["alpha_sweep"]["nnpu"]["auc"]["mean"] == 0.8
    plots = json.loads(dvc("plots", "show", "--json"))
    text = json.dumps(plots)
    assert "alpha_sweep.csv" in text
    assert "alpha=0.95" in text
    assert not plots.get("errors")
