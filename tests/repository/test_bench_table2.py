"""bench/table2.py: a table is packed, computed in a bare folder in pieces, and its records are those of the project."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benches import bench
from planned import Data, Planned
from project import REPOSITORY
from typer.testing import CliRunner

from puoc.cli.app import app
from puoc.run.stages import run_part

PLANNED = Planned(
    """
compute: {workers: 1, lane_map: loop, models: none, device: cpu}
tables:
  one_vs_all:
    scenario: one_vs_all
    dataset: mnist5k
    pos: [0, 1]
    n_pos_lab: 20
    n_pos_unl: 20
    n_neg_unl: 20
    seeds: 3
    configs: published
    methods: [oc_svm, nnpu]
tune: {}
methods:
  oc_svm: {encoder: flatten, params: {kernel: linear, nu: 0.5}}
  nnpu:
    prior: true
    params: {lr: 0.01, lr_decay: 0.9, epochs: 1, batch_size: 64, batching: union, surrogate: sigmoid, correction: clamp}
""",
    "mnist5k",
)


@pytest.mark.parametrize("n", [1, 24, 25, 60])
@pytest.mark.parametrize(
    ("shape", "dtype"), [((1, 8, 8), "uint8"), ((3, 9, 7), "uint8"), ((5,), "float32"), ((2, 4, 4), "uint8")]
)
def test_rows_are_packed_without_loss(n: int, shape: tuple[int, ...], dtype: str) -> None:
    table2, rng = bench("table2"), np.random.default_rng(n)
    X = rng.integers(0, 256, (n, *shape)).astype(dtype)
    restored = table2.restored(table2.compressed(X))
    assert restored.dtype == X.dtype
    assert np.array_equal(restored, X)


def script(*words: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, REPOSITORY / "bench" / "table2.py", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_records_of_another_machine_are_those_that_the_project_lacks(
    prepared_data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, parts, there, out = (tmp_path / name for name in ("project", "parts", "there", "out"))
    project.mkdir()
    PLANNED.at(project, prepared_data)
    options = ("--methods", "nnpu", "--seeds", "2", "--lanes", "2", "--megabytes", "0.5")
    script("pack", "--project", project, *options, "--out", parts)
    packed = sorted(parts.glob("part-*.tar"))
    assert len(packed) > 1
    assert all(path.stat().st_size < 550_000 for path in packed)
    words = ("--work", there, "--out", out, "--device", "cpu", "--budget", "10m")
    for path in packed[:-1]:
        assert "waiting for the others" in script("run", path, *words)
    assert not out.exists()
    script("run", packed[-1], *words)
    before = {path: path.stat().st_mtime_ns for path in (there / "ledger").rglob("*.json")}
    assert len(before) == 4  # two classes, two seeds
    script("run", *words)  # the next lease continues, and finds nothing to do
    assert {path: path.stat().st_mtime_ns for path in (there / "ledger").rglob("*.json")} == before

    monkeypatch.chdir(project)
    assert CliRunner().invoke(app, ["ledger", "import", str(out / "records.parquet")]).exit_code == 0
    here = shutil.copytree(project, tmp_path / "alone")
    assert run_part(project, "tables", "one_vs_all")["ok"] == 6 + 2  # the other method, and the third seed
    shutil.rmtree(here / "ledger")
    run_part(here, "tables", "one_vs_all")
    both = [pd.read_parquet(root / "results" / "tables" / "one_vs_all.parquet") for root in (project, here)]
    assert both[0]["trial_id"].tolist() == both[1]["trial_id"].tolist()
    assert np.allclose(both[0]["auc"], both[1]["auc"], atol=1e-6)  # lanes of a batch there, one by one here

    script("pack", "--project", project, *options, "--known", out / "records.parquet", "--out", parts)
    again = tmp_path / "another"
    script("run", *sorted(parts.glob("part-*.tar")), "--work", again, *words[2:])
    assert {path.name for path in (again / "ledger").rglob("*.json")} == {path.name for path in before}
    results = pd.read_parquet(again / "results" / "tables" / "one_vs_all.parquet")
    assert set(results["status"]) == {"ok"}
