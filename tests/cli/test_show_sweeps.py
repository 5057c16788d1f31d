"""``puoc show tune`` and ``puoc status``: what sweeps have found, and what killed ones lack."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from planned import Data
from sweep_project import unrun
from typer.testing import CliRunner, Result

from puoc.cli.app import app
from puoc.run.stages import run_part
from puoc.run.sweep.evaluate import compute_config
from puoc.run.sweep.request import Sweep, SweepRequest, resolve_sweep
from puoc.run.sweep.results import begin, write
from puoc.store.plan_files import read_compute


def ran(*words: str) -> Result:
    done = CliRunner().invoke(app, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory, prepared_data: Data) -> Path:
    """A project whose sweep was run. To be read, not changed."""
    root = unrun(tmp_path_factory.mktemp("swept"), prepared_data)
    assert not run_part(root, "tune", "pu_svm")["failed"]
    return root


def test_all_sweeps_are_listed_and_the_overview_leads_to_them(swept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(swept)
    assert "puoc show tune lists the sweeps" in ran("show").stdout
    lines = ran("show", "tune").stdout.splitlines()
    of_sweep = {line.split()[0]: line for line in lines if line}
    n = len(pd.read_parquet("results/tune/val/pu_svm.parquet")["config_id"].unique())
    assert f"{n} of {n}" in of_sweep["pu_svm"]
    assert "not chosen yet" in of_sweep["pu_svm"]


def test_configurations_are_ordered_by_the_criterion_with_means_and_errors_of_the_rows(
    swept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(swept)
    rows = pd.read_parquet("results/tune/val/pu_svm.parquet")
    means = rows.groupby("config_id")["auc_val_pu"].mean()
    shown = json.loads(ran("show", "tune/pu_svm", "--json").stdout)["rows"]
    assert {row["config_id"] for row in shown} == set(means.index)
    assert [row["val"] for row in shown] == sorted((row["val"] for row in shown), reverse=True)
    assert [row["val"] for row in shown] == pytest.approx([means[row["config_id"]] for row in shown], abs=1e-15)
    for row in shown:
        by_seed = rows[rows["config_id"] == row["config_id"]].groupby("seed")["auc_val_pu"].mean()
        assert row["val_se"] == pytest.approx(by_seed.std() / len(by_seed) ** 0.5)
    text = ran("show", "tune/pu_svm", "--digits", "4").stdout
    [best] = [row for row in shown if "best value" in row["roles"]]
    assert re.search(rf"{best['val']:.4f} ± {best['val_se']:.4f}\* .*best value", text)
    differing = [name for name in json.loads(best["params"]) if len({json.loads(r["params"])[name] for r in shown}) > 1]
    assert all(text.count(f"{name} ") >= len(shown) for name in differing)


def test_an_unknown_sweep_is_named_with_those_that_exist(swept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(swept)
    done = ran("show", "tune/pu_swm")
    assert done.exit_code == 2
    assert "got the sweep 'pu_swm' (did you mean 'pu_svm'?); there are: " in done.stderr


def other_sweep(root: Path) -> Sweep:
    return resolve_sweep(root, SweepRequest("pu_svm", scenario="one_vs_all", space="published", search="tpe"))


def test_a_killed_sweep_of_its_own_space_is_listed_with_what_it_lacks(
    prepared_data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = unrun(tmp_path, prepared_data)
    monkeypatch.chdir(root)
    assert re.search(r"pu_svm .* not run", ran("show", "tune").stdout)
    expected = "no rows yet; puoc tune pu_svm computes what is missing and writes them"
    assert " ".join(ran("show", "tune/pu_svm").stdout.split()).endswith(expected)
    sweep = other_sweep(root)
    begin(root, sweep)  # and here it is killed
    lines = ran("show", f"tune/{sweep.name}").stdout.splitlines()
    assert sum(" \N{EN DASH} " in line for line in lines) == len(sweep.configs)
    rows = len(pd.read_parquet(f"results/sweeps/val/{sweep.name}.parquet"))
    words = "row" if rows == 1 else "rows"
    expected = f"missing in a sweep: {sweep.name}: {rows} {words}; running the same puoc sweep computes them"
    assert expected in ran("status").stdout
    assert json.loads(ran("status", "--json").stdout)["missing_unplanned"] == {sweep.name: rows}
    for config in sweep.configs:
        compute_config(root, read_compute(root), "a test", sweep.plan_of(config.params))
    write(root, sweep)
    before = Path(f"results/sweeps/val/{sweep.name}.parquet").read_bytes()
    begin(root, sweep)  # what it has stays
    assert Path(f"results/sweeps/val/{sweep.name}.parquet").read_bytes() == before
    assert "missing in a sweep" not in ran("status").stdout
