"""A plan that changed under results: rows of an earlier plan are neither shown nor counted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from planned import Data
from site_pages import site_text
from typer.testing import CliRunner

from puoc.cli.app import app

PARAMS = """
compute: {workers: 1, lane_map: loop, models: none, device: cpu}
tables:
  shift:
    scenario: named_shift
    dataset: digits
    pos: [3]
    shifts: [{neg: [1]}]
    n_pos_lab: 20
    n_pos_unl: 20
    n_neg_unl: 20
    seeds: 2
    configs: selected
    methods: [oc_svm, pu_svm]
tune:
  pu_svm:
    {scenario: named_shift, dataset: digits, pos: [3], shifts: [{neg: [1]}], n_pos_lab: 20, n_pos_unl: 20,
    n_neg_unl: 20, seeds: 2, holdout: 0.2, space: few, search: grid}
methods:
  oc_svm: {params: {kernel: linear, nu: 0.5}}
  pu_svm: {prior: true, params: {solver: exact, kernel: linear, risk: non_negative, lam: 0.01}}
"""
SPACE = "published: {}\nfew: {solver: [exact], kernel: [linear], risk: [non_negative], lam: [0.1, 1.0]}\n"


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory, prepared_data: Data) -> Path:
    """A project whose every question has its answer."""
    root = tmp_path_factory.mktemp("answered")
    space = root / "tuning" / "spaces" / "pu_svm.yaml"
    space.parent.mkdir(parents=True)
    space.write_text(SPACE)
    shutil.copytree(prepared_data("digits"), root / "work" / "prepared" / "digits")
    (root / "params.yaml").write_text(PARAMS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setenv("DVC_STAGE", "run@shift")  # where nothing is written to MLflow
        for words in ("plan", "prepare", "tune pu_svm", "select", "run shift", "compare"):
            told(words)
    return root


@pytest.fixture
def root(answered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, to be changed."""
    monkeypatch.chdir(shutil.copytree(answered, tmp_path / "project"))
    monkeypatch.delenv("DVC_STAGE", raising=False)
    return tmp_path / "project"


def told(words: str, code: int = 0) -> str:
    """What a command says, after it ended as it should."""
    done = CliRunner().invoke(app, words.split())
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == code, done.output
    return done.output


def edit(path: Path, *changes: tuple[str, str]) -> None:
    """Change a file, wherever it says so, and plan anew."""
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    told("plan")


def compared(root: Path, name: str) -> pd.DataFrame:
    return pd.read_parquet(root / "results" / "compare" / f"{name}.parquet")


RENAMED = ("methods: [oc_svm,", "methods: [svm,"), ("  oc_svm: {params", "  svm: {method: oc_svm, params")
EARLIER = "rows in results/ belong to an earlier plan and are not shown; dvc repro computes the current plan"


def test_a_sweep_that_asks_something_else_by_now_is_not_run(root: Path) -> None:
    (before,) = compared(root, "sweeps").to_dict("records")
    assert (before["n_complete"], before["note"]) == (3, "")
    edit(root / "params.yaml", ("pos: [3], shifts", "pos: [8], shifts"))
    told("report --no-track")
    (row,) = compared(root, "sweeps").to_dict("records")
    assert row["note"] == f"not run; 6 {EARLIER}"
    assert (row["n_configs"], row["n_cells"], row["n_seeds"]) == (0, 0, 0)
    assert pd.isna([row[name] for name in ("chosen_test", "published_val", "best_on_test_test", "gain")]).all()
    assert compared(root, "surface").empty
    (choice,) = compared(root, "choice").to_dict("records")
    assert (choice["note"], choice["n_configs"]) == (row["note"], 0)
    assert pd.isna([choice["regret"], choice["gain"]]).all()
    assert row["note"] in site_text(root)


def test_of_a_sweep_that_asks_other_configurations_those_of_both_are_shown(root: Path) -> None:
    edit(root / "tuning" / "spaces" / "pu_svm.yaml", ("[0.1, 1.0]", "[1.0, 10.0, 100.0]"))
    told("compare")
    (row,) = compared(root, "sweeps").to_dict("records")
    assert row["note"] == f"4 of 8 trials not run; 2 {EARLIER}"
    assert row["n_configs"] == len(compared(root, "surface")) == 2
    assert pd.isna(row["chosen_config_id"])  # it was chosen among others
    (choice,) = compared(root, "choice").to_dict("records")
    assert choice["note"].startswith(row["note"])
    assert choice["n_configs"] == 2


def test_failed_rows_of_an_earlier_sweep_are_no_failures_of_the_present_one(root: Path) -> None:
    path = root / "results" / "tune" / "val" / "pu_svm.parquet"
    pd.read_parquet(path).assign(status="failed", reason="diverged").to_parquet(path)
    told("compare")
    assert set(compared(root, "failures")["origin"]) == {"tune/pu_svm"}
    assert len(compared(root, "failures")) == 6
    edit(root / "params.yaml", ("pos: [3], shifts", "pos: [8], shifts"))
    told("compare")
    assert compared(root, "failures").empty


def states(root: Path) -> dict[str, str]:
    """What became of each entry of the table."""
    summary = compared(root, "summary")
    return {str(entry): ",".join(sorted(set(rows["state"]))) for entry, rows in summary.groupby("entry")}


def test_an_entry_that_nothing_was_selected_for_yet_is_not_run_and_the_rest_is_shown(root: Path) -> None:
    edit(root / "params.yaml", *RENAMED)
    assert "not run: shift (svm)\n0 failed rows, 0 missing rows\ndvc repro computes what is missing" in told("status")
    told("report --no-track")
    assert states(root) == {"svm": "not run", "pu_svm": "ok"}
    assert "no failed fit x" in told("retry x", 2)
    assert "run the stage select again" in told("run shift", 2)  # what computes needs it


def test_a_table_that_nothing_was_selected_for_yet_is_not_run(root: Path) -> None:
    edit(root / "params.yaml", ("methods: [oc_svm, pu_svm]", "methods: [svm]"), RENAMED[1])
    assert "not run: shift\n" in told("status")
    told("report --no-track")
    assert states(root) == {"svm": "not run"}


def test_what_the_ledger_has_and_the_results_lack_is_counted(root: Path) -> None:
    edit(root / "params.yaml", *RENAMED)
    told("select")
    said = told("status")
    assert "0 missing rows\n2 rows in ledger/ but not in results/; dvc repro writes the missing rows" in said
    told("report --no-track")
    assert states(root) == {"svm": "not run", "pu_svm": "ok"}
    told("run shift")
    assert "not in results" not in told("status")
    told("report --no-track")
    assert states(root) == {"svm": "ok", "pu_svm": "ok"}


def test_a_row_that_another_table_had_tried_again_is_in_the_ledger_alone(root: Path) -> None:
    path = root / "results" / "tables" / "shift.parquet"
    rows = pd.read_parquet(path)
    rows.loc[rows["entry"] == "oc_svm", "status"] = "failed"
    rows.to_parquet(path)
    assert "0 missing rows\n2 rows in ledger/ but not in results/; dvc repro" in told("status")
