"""The metric that params.yaml names: what compares follows it, and nothing that is fitted does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from planned import Data, Planned
from project import REPOSITORY
from ruamel.yaml import YAML

from puoc.analysis.compare import compare, comparison_is_old, read_comparison
from puoc.analysis.metrics import metrics
from puoc.analysis.tables.metric_tables import MetricRow, winners
from puoc.plan.params import read_params
from puoc.reporting.site import build
from puoc.reporting.tracking.project_trials import trials
from puoc.reporting.tracking.run_specs import trial_spec
from puoc.run.result_rows import collect
from puoc.run.stages import run_part, selected_trials
from puoc.store.ledger import Ledger
from puoc.store.plan_files import read_metric
from puoc.store.result_rows import read_results, write_table
from puoc.store.yaml_file import InvalidInput

PARAMS = """
compute: {workers: 1, lane_map: loop, max_lanes: 8, models: none, device: cpu}
tables:
  first:
    scenario: one_vs_all
    dataset: digits
    pos: [0, 8]
    n_pos_lab: 30
    n_pos_unl: 10
    n_neg_unl: 30
    seeds: 2
    configs: published
    methods: [oc_svm, pu_svm, pu_trees]
tune:
  pu_svm:
    scenario: one_vs_all
    dataset: digits
    pos: [2]
    n_pos_lab: 30
    n_pos_unl: 30
    n_neg_unl: 30
    seeds: 1
    holdout: 0.2
    space: tiny
    search: grid
methods:
  oc_svm: {encoder: flatten, params: {kernel: linear, nu: 0.5}}
  pu_svm: {encoder: flatten, prior: true, params: {solver: exact, kernel: linear, risk: non_negative, lam: 0.01}}
  pu_trees: {encoder: flatten, prior: true, params: {trees: 5, min_leaf: 3, max_rows: 100}}
"""
PLANNED = Planned(PARAMS, "digits")


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory, prepared_data: Data) -> Path:
    root = tmp_path_factory.mktemp("metric")
    shutil.copytree(REPOSITORY / "tuning", root / "tuning")
    PLANNED.at(root, prepared_data)
    assert run_part(root, "tables", "first")["ok"] == 12
    assert run_part(root, "tune", "pu_svm")["ok"] > 0
    return root


@pytest.fixture
def project(computed: Path, tmp_path: Path) -> Path:
    return shutil.copytree(computed, tmp_path / "project")


def by(root: Path, metric: str) -> None:
    PLANNED.plan(root, ("compute:", f"metric: {metric}\ncompute:"))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_metric_changes_one_file_of_the_plan_and_computes_no_fit(project: Path) -> None:
    plan, ledger, results = files(project / "work" / "plan"), files(project / "ledger"), files(project / "results")
    by(project, "average_precision")
    changed = {name for name, content in files(project / "work" / "plan").items() if plan[name] != content}
    assert changed <= {"metric.json", "source.json"}
    assert read_metric(project) == "average_precision"
    assert run_part(project, "tables", "first").total() == 0
    assert (files(project / "ledger"), files(project / "results")) == (ledger, results)


def test_only_stages_that_compare_depend_on_the_metric_and_rows_on_the_code_of_metrics() -> None:
    stages = YAML(typ="safe").load(REPOSITORY / "dvc.yaml")["stages"]
    deps = {name: stage.get("do", stage)["deps"] for name, stage in stages.items()}
    assert {name for name, paths in deps.items() if "work/plan/metric.json" in paths} == {"compare", "report"}
    assert {name for name, paths in deps.items() if "src/puoc/analysis/metrics" in paths} == {"run", "tune"}


def test_means_tests_and_the_page_follow_the_metric_and_what_the_paper_says_does_not(project: Path) -> None:
    compare(project)
    before = read_comparison(project)
    by(project, "average_precision")
    assert comparison_is_old(project)
    compare(project)
    after = read_comparison(project)
    rows = pd.read_parquet(project / "results" / "tables" / "first.parquet")
    values = rows.assign(ap=[json.loads(text)["average_precision"] for text in rows["metrics"]])
    for row in after.summary:
        here = values[(values["entry"] == row.entry) & ((values["cell"] == row.cell) | row.is_average)]
        assert row.metric == "average_precision"
        assert row.mean == pytest.approx(here["ap"].mean())
    assert {row.mean for row in before.summary} != {row.mean for row in after.summary}
    assert [test.mean_difference for test in before.significance] == [None for _ in before.significance] or (
        before.significance != after.significance
    )
    assert (before.verdicts, before.claims, before.protocol) == (after.verdicts, after.claims, after.protocol)
    assert (before.metrics, before.metric_winners) == (after.metrics, after.metric_winners)
    page = build(project).read_text()
    assert "average_precision on held-out test rows" in page
    assert "Where the best entry changes with the metric" in page
    assert len(pd.read_csv(project / "reports" / "metrics.csv")) == len(after.metrics)
    assert len(pd.read_csv(project / "reports" / "metric_winners.csv")) == len(after.metric_winners)


def test_rows_have_eight_metrics_and_those_of_probabilities_where_a_method_gives_them(computed: Path) -> None:
    rows = read_results(computed / "results" / "tables" / "first.parquet")
    found = {row.entry: json.loads(row.metrics or "") for row in rows}
    assert all(len(values) >= 8 for values in found.values())
    assert {entry for entry, values in found.items() if "brier" in values} == {"pu_trees"}
    assert all(json.loads(row.metrics or "")["auc"] == row.auc for row in rows)
    val = pd.read_parquet(computed / "results" / "tune" / "val" / "pu_svm.parquet")
    assert "metrics" not in val  # no choice may read them
    criteria = json.loads(val["metrics_val_pu"].iloc[0])
    assert criteria.keys() == {name for name, one in metrics().items() if one.rows == "withheld"}
    assert criteria["auc_val_pu"] == val["auc_val_pu"].iloc[0]


def flip(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


@pytest.mark.parametrize("spoil", [Path.unlink, flip, lambda path: path.write_bytes(b"")])
def test_scores_that_are_gone_or_damaged_leave_what_the_curve_determines(
    project: Path, spoil: Callable[[Path], None]
) -> None:
    for path in (project / "ledger").rglob("*.npy"):
        spoil(path)
    plan, planned, _ = selected_trials(project, "tables", "first")
    rows = collect(plan, planned, Ledger(project / "ledger"))
    assert {row.status for row in rows} == {"ok"}
    assert all("average_precision" not in json.loads(row.metrics or "") for row in rows)
    assert [json.loads(row.metrics or "")["auc"] for row in rows] == [row.auc for row in rows]


def test_rows_of_an_earlier_version_have_the_aucs_and_no_other_metric(project: Path) -> None:
    path = project / "results" / "tables" / "first.parquet"
    pd.read_parquet(path).drop(columns=["metrics", "metrics_val_pu"]).to_parquet(path)
    compare(project)
    assert {row.metric for row in read_comparison(project).metrics} == {"auc"}
    by(project, "f1")
    compare(project)
    assert {row.mean for row in read_comparison(project).summary} == {None}


def test_mlflow_gets_the_metrics_without_those_that_a_one_class_fit_does_not_have(computed: Path) -> None:
    rows = read_results(computed / "results" / "tables" / "first.parquet")
    logged = {trial.row.entry: trial_spec(trial, None).metrics for trial in trials(rows).values()}
    assert logged["pu_svm"].keys() - logged["oc_svm"].keys() == {"average_precision_at_alpha"}
    names = [name for name in sorted(logged["pu_trees"]) if name in metrics()]
    assert names[0] == "auc"
    assert len(names) >= 10


@pytest.mark.parametrize("name", ["acu", "brier", "lee_liu", "3", "[auc]"])
def test_a_metric_that_methods_are_not_compared_by_is_refused_with_the_list(name: str, tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(f"metric: {name}\n{PARAMS}")
    with pytest.raises(InvalidInput, match=r"params.yaml:1: metric: got .*expected one of auc, average_precision"):
        read_params(tmp_path / "params.yaml", REPOSITORY)


def row(entry: str, metric: str, mean: float, n: int = 3, labels: str = "pu") -> MetricRow:
    return MetricRow(table="t", entry=entry, kind="pu", labels=labels, cell="c", cell_index=0, metric=metric, n=n,
                     n_ok=3, mean=mean, std=0.1)  # fmt: skip


def test_a_winner_changes_only_if_no_entry_is_best_by_both_and_all_entries_have_the_metric() -> None:
    aucs = [row("a", "auc", 0.9), row("b", "auc", 0.8), row("c", "auc", 0.99, labels="oracle")]
    means = {"f1": (0.2, 0.4), "average_precision": (0.5, 0.5)}
    rows = [
        *aucs,
        *(row(entry, name, mean) for name, pair in means.items() for entry, mean in zip("ab", pair, strict=True)),
    ]
    found = {one.metric: one for one in winners([*rows, row("a", "partial_auc_10", 0.7)])}
    assert (found["f1"].best, found["f1"].best_by_auc, found["f1"].changes) == ("b", "a", True)
    assert found["f1"].mean_of_best_by_auc == 0.2
    assert (found["average_precision"].best, found["average_precision"].changes) == ("a, b", False)
    assert (found["partial_auc_10"].best, found["partial_auc_10"].changes) == (None, False)
    assert found["partial_auc_10"].note == "1 of 2 entries have it in all of their trials"


def test_a_table_is_written_with_its_metrics(computed: Path, tmp_path: Path) -> None:
    rows = read_results(computed / "results" / "tables" / "first.parquet")
    write_table(tmp_path, "again", rows)
    assert read_results(tmp_path / "again.parquet") == rows
