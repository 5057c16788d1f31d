"""The rows behind the README's table are those of the present code: the same trials, and the same AUCs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from planned import Data

from puoc.plan.bind import PlannedTrial, bind
from puoc.plan.make_plan import make_plan
from puoc.plan.params import read_params
from puoc.run.result_rows import collect
from puoc.run.runner import Runner
from puoc.store.ledger import Ledger
from puoc.store.plan_files import planned_table, read_compute, read_configs, table_names
from puoc.store.plans import Config

ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "docs" / "evidence"
#: What is computed again: each method once. Their cells have the smallest samples, and nnpu_conv is the slowest.
AGAIN = {
    ("size_sweep", "oc_svm", "n_unl=20"),
    ("size_sweep", "pu_svm", "n_unl=20"),
    ("size_sweep", "pu_svm", "n_unl=100"),
    ("size_sweep", "nnpu", "n_unl=20"),
    ("size_sweep", "naive", "n_unl=20"),
    ("alpha_sweep", "pu_svm", "alpha=0.5"),
    ("alpha_sweep", "nnpu", "alpha=0.05"),
    ("neg_shift", "oc_svm", "n=1"),
    ("neg_shift", "naive", "n=1"),
    ("neg_shift", "pn_oracle", "n=1"),
    ("neg_shift", "nnpu_conv", "n=1"),
}


@cache
def committed() -> pd.DataFrame:
    return pd.read_parquet(EVIDENCE / "quick.parquet")


def tolerances() -> dict[str, float]:
    """The largest difference of an AUC between processors that was measured for an entry, and .001 besides."""
    moved = pd.read_parquet(EVIDENCE / "machines.parquet")
    moved = moved[moved["trial_id"].isin(committed()["trial_id"])]  # others have settings of earlier profiles
    aucs = moved.groupby(["entry", "cell", "seed"])["auc"]
    return {entry: 0.001 + float(part.max()) for entry, part in (aucs.max() - aucs.min()).groupby("entry")}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("quick")
    shutil.copy(ROOT / "profiles" / "quick.yaml", root / "params.yaml")
    shutil.copytree(ROOT / "tuning", root / "tuning")
    make_plan(read_params(root / "params.yaml")).write(root)
    return root


def planned(root: Path, table: str) -> Iterator[PlannedTrial]:
    """The trials of a table. A sweep's choice is taken from the rows, since a sweep takes minutes."""
    plan, rows = planned_table(root, table), committed()
    configs = read_configs(root / "work" / "configs" / "published" / f"{table}.json")
    if plan.configs == "selected":
        for entry in set(configs) & {"pu_svm", "nnpu"}:
            [params] = rows.query("table == @table and entry == @entry")["params"].unique()
            configs[entry] = Config(params=json.loads(params), source="selected")
    return bind(plan, configs)


def test_every_row_has_the_trial_and_the_fit_that_the_present_code_plans(root: Path) -> None:
    now = {(trial.trial.id, trial.trial.fit.id) for name in table_names(root) for trial in planned(root, name)}
    rows = committed()
    assert set(zip(rows["trial_id"], rows["fit_id"], strict=True)) == now, "run make evidence"


@pytest.mark.slow
def test_a_row_of_each_method_is_computed_again(root: Path, prepared_data: Data) -> None:
    (root / "work" / "prepared").mkdir(exist_ok=True)
    (root / "work" / "prepared" / "mnist5k").symlink_to(prepared_data("mnist5k"))
    ledger = Ledger(root / "ledger")
    runner = Runner(root, read_compute(root), inline=True)
    allowed, auc_by_trial = tolerances(), committed().set_index("trial_id")["auc"]
    assert set(committed()["entry"]) == {entry for _, entry, _ in AGAIN} == set(allowed)
    for name in table_names(root):
        plan = planned_table(root, name)
        trials = [one for one in planned(root, name) if one.seed == 0 and (name, one.entry, one.cell.name) in AGAIN]
        runner.run(plan, trials)
        for row in collect(plan, trials, ledger):
            assert row.status == "ok", row.reason
            assert row.auc == pytest.approx(auc_by_trial[row.trial_id], abs=allowed[row.entry]), row
