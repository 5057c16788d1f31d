"""Writing many runs in one transaction gives the tables and files that MLflow's own API gives."""

from __future__ import annotations

import json
import math
import re
import shutil
import sqlite3
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tracked_project import Project

from puoc.reporting.tracking import Store, Tracker, track, writer
from puoc.reporting.tracking.all_runs import FoundRun, all_runs
from puoc.reporting.tracking.batch import Batch, sql_store

OUTCOMES = {("pu_svm", 1, 0): "failed", ("oc_svm", 1, 0): "skipped"}
TABLES = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
TIMES = re.compile(r"(time|timestamp|_ms)$")
ID = re.compile(r"(m-)?\b[0-9a-f]{32}\b")


def asked(root: Path) -> Project:
    project = Project(root)
    project.ask("ova", "one_vs_all", outcomes=OUTCOMES)
    project.ask("ova_again", "one_vs_all", entries=("pu_svm",), cells=1)
    project.ask("pu_svm", "one_vs_all", entries=("pu_svm",), cells=1, tune=True)
    # a one-class fit has no U, so the cells of a table over alpha share it
    of_cell = [row for row in project.rows["ova"] if (row.entry, row.cell_index) == ("oc_svm", 0)]
    shared = [replace(row, table="wide", cell=f"alpha={i}", cell_index=i) for row in of_cell for i in range(3)]
    project.save("wide", shared)
    return project


def store_of(root: Path) -> Store:
    store = Store(root)
    with store.lock(10):
        store.open()
    return store


class Names:
    """Equal names for the ids of two stores: what an id belongs to."""

    def __init__(self, database: sqlite3.Connection):
        self.names = dict(database.execute("select run_uuid, experiment_id || name from runs"))
        self.names |= {model: f"model of {self.names[run]}" for model, run in self._models(database)}
        of_datasets = "select dataset_uuid, experiment_id || name || digest from datasets"
        self.names |= dict(database.execute(of_datasets))

    @staticmethod
    def _models(database: sqlite3.Connection) -> list[tuple[str, str]]:
        return database.execute("select model_id, source_run_id from logged_models").fetchall()

    def plain(self, value: Any) -> Any:
        return ID.sub(lambda found: self.names.get(found[0], found[0]), value) if isinstance(value, str) else value


def tables(root: Path) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables, without times, with names in place of ids."""
    found: dict[str, list[dict[str, Any]]] = {}
    with closing(sqlite3.connect(root / "mlruns" / "mlflow.db")) as database:
        database.row_factory = sqlite3.Row
        names = Names(database)
        for (table,) in database.execute(TABLES).fetchall():
            rows = []
            for row in database.execute(f'select * from "{table}"'):
                plain = {k: names.plain(row[k]) for k in dict(row) if not (TIMES.search(k) or k == "input_uuid")}
                if plain.get("key") == "puoc.digest":
                    del plain["value"]  # it includes the id of the parent
                rows.append({k: v.replace(str(root), "ROOT") if isinstance(v, str) else v for k, v in plain.items()})
            found[table] = sorted(rows, key=repr)
    return found


def files(root: Path) -> dict[str, bytes]:
    folder = root / "mlruns" / "artifacts"
    with closing(sqlite3.connect(root / "mlruns" / "mlflow.db")) as database:
        names = Names(database)
    plain = {names.plain(str(path.relative_to(folder))): path for path in folder.rglob("*") if path.is_file()}
    return {
        name: names.plain(re.sub(r"utc_time_created.*", "", path.read_text())).encode()
        if path.name in ("MLmodel", "fit.json")
        else path.read_bytes()
        for name, path in plain.items()
        if path.name != "fit.json"  # the records of the two projects have times of their own
    }


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same project, tracked in batches and with MLflow's API alone."""
    roots = tmp_path_factory.mktemp("batch"), tmp_path_factory.mktemp("api")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        asked(roots[0])
        track(roots[0])
        shutil.copytree(roots[0], roots[1], dirs_exist_ok=True, ignore=shutil.ignore_patterns("mlruns"))
        patch.setattr(writer, "sql_store", lambda _: None)
        track(roots[1])
    return roots


def test_all_tables_have_the_rows_that_the_api_writes(two: tuple[Path, Path]) -> None:
    batch, api = map(tables, two)
    assert batch.keys() == api.keys()
    for name in api:
        assert batch[name] == api[name], name
    assert {
        "runs",
        "tags",
        "params",
        "metrics",
        "latest_metrics",
        "logged_models",
        "logged_model_metrics",
        "inputs",
        "datasets",
        "input_tags",
    } <= {name for name, rows in api.items() if rows}


def test_the_store_has_the_statistics_without_which_sorting_by_a_metric_takes_seconds(two: tuple[Path, Path]) -> None:
    with closing(sqlite3.connect(two[0] / "mlruns" / "mlflow.db")) as database:
        analysed = {name for (name,) in database.execute("select distinct tbl from sqlite_stat1")}
    assert {"runs", "latest_metrics", "tags"} <= analysed


def test_the_artifacts_are_those_that_the_api_writes(two: tuple[Path, Path]) -> None:
    batch, api = map(files, two)
    assert batch == api
    assert any(name.endswith("scores.npy") for name in api)
    assert any(name.endswith("MLmodel") for name in api)


def test_the_installed_version_of_mlflow_is_one_whose_tables_are_compared(two: tuple[Path, Path]) -> None:
    assert sql_store(store_of(two[0])) is not None


def test_files_of_a_batch_that_was_cut_short_go_with_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(_: Batch) -> None:
        raise Killed

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    rows = asked(tmp_path).rows["ova"]
    with monkeypatch.context() as patch:
        patch.setattr(Batch, "write", killed)
        with pytest.raises(Killed):
            track(tmp_path)
    artifacts = tmp_path / "mlruns" / "artifacts"
    lost = {path.name for path in artifacts.glob("*") if path.name != "models"}
    assert lost
    track(tmp_path)
    assert not lost & {path.name for path in artifacts.glob("*")}
    models = store_of(tmp_path).client.search_logged_models(list(store_of(tmp_path).experiments()))
    assert {model.model_id for model in models} == {path.name for path in (artifacts / "models").glob("*")}
    assert not (tmp_path / "mlruns" / ".batch").exists()
    with Tracker(tmp_path) as tracker:  # and nothing is written twice
        tracker.add(rows)
    assert track(tmp_path) == {"one_vs_all": 8, "tune/one_vs_all": 2}


def test_a_first_look_shows_what_a_run_is_and_the_auc_first(two: tuple[Path, Path]) -> None:
    store = store_of(two[0])
    for experiment in store.own_experiments():
        assert experiment.tags["mlflow.experimentKind"] == "custom_model_development"
        assert experiment.tags["mlflow.experiment.primaryMetric.name"] == "auc"
        note = experiment.tags["mlflow.note.content"]
        assert (two[0] / "reports" / "index.html").as_uri() in note
        columns = json.loads(experiment.tags["mlflow.sharedViewState.puoc"])["selectedColumns"]
        assert "metrics.`auc`" in columns
        assert f"/{experiment.experiment_id}/runs?viewStateShareKey=puoc" in note
    for run in store.runs(list(store.experiments())):
        names = sorted(name for name in run.data.metrics if not name.startswith("curve/"))
        assert not names or names[0] in ("auc", "auc_val_pu", "fit_seconds"), names
        assert not {"n", "n_failed", "attempts"} & run.data.metrics.keys()
        assert run.data.tags["mlflow.note.content"].startswith(("**", "The sweep"))
        if run.data.tags["kind"] != "trial":
            assert int(run.data.tags["n"]) >= 0


def test_a_trial_has_its_dataset_as_input_without_a_row_of_it(two: tuple[Path, Path]) -> None:
    store = store_of(two[0])
    for run in store.runs(list(store.experiments())):
        inputs = run.inputs.dataset_inputs
        assert len(inputs) == (run.data.tags["kind"] == "trial")
        for one in inputs:
            assert (one.dataset.name, one.dataset.digest) == ("toy", run.data.tags["data_digest"])
            assert {tag.key: tag.value for tag in one.tags} == {"mlflow.data.context": "training, test"}


def test_a_sweep_is_a_run_with_its_configurations_below_it_and_their_trials_below_those(
    two: tuple[Path, Path],
) -> None:
    store = store_of(two[0])
    (experiment,) = (key for key, name in store.experiments().items() if name == "tune/one_vs_all")
    runs = {run.info.run_id: run for run in store.runs([experiment])}
    (sweep,) = (run for run in runs.values() if run.data.tags["kind"] == "sweep")
    assert (sweep.info.run_name, sweep.data.tags["n_configs"], sweep.data.tags["n"]) == ("sweep pu_svm", "1", "2")
    for run in runs.values():
        parent = runs.get(run.data.tags.get("mlflow.parentRunId", ""))
        above = {"trial": "cell", "cell": "sweep", "sweep": None}[run.data.tags["kind"]]
        assert (parent and parent.data.tags["kind"]) == above
    assert any(run.info.run_name == "pu_svm cell 0 k0" for run in runs.values())


def test_the_curves_of_a_trial_are_those_of_its_scores(two: tuple[Path, Path]) -> None:
    found = sorted((two[0] / "mlruns" / "artifacts").glob("*/artifacts/curves.json"))
    assert len(found) == len(list((two[0] / "mlruns" / "artifacts").glob("*/artifacts/scores.npy"))) > 0
    for path in found:
        scores, curves = np.load(path.with_name("scores.npy")), json.loads(path.read_text())
        positive, negative = scores[:3], scores[3:]  # as the project has them
        auc = float((positive[:, None] > negative).mean())
        assert np.trapezoid(curves["roc"]["tpr"], curves["roc"]["fpr"]) == pytest.approx(auc, abs=1e-5)
        confusion, histogram = curves["confusion"], curves["histogram"]
        assert confusion["tp"] == (positive >= confusion["threshold"]).sum()
        assert confusion["fp"] == (negative >= confusion["threshold"]).sum()
        assert (confusion["tp"] + confusion["fn"], confusion["fp"] + confusion["tn"]) == (3, 4)
        assert (sum(histogram["positives"]), sum(histogram["negatives"])) == (3, 4)
        assert ElementTree.fromstring(path.with_name("curves.svg").read_text()).tag.endswith("svg")


def test_a_filter_by_a_place_finds_every_trial_that_belongs_to_it(two: tuple[Path, Path]) -> None:
    store, rows = store_of(two[0]), asked(two[0]).rows
    for place in ("ova/cell 0/", "ova_again/cell 0/pu_svm|", "wide/", "wide/alpha=1/"):
        found = store.client.search_runs(
            list(store.experiments()), f"tags.kind = 'trial' and tags.member_of LIKE '%|{place}%'"
        )
        expected = {
            row.trial_id
            for table in rows.values()
            for row in table
            if f"{row.table}/{row.cell}/{row.entry}|".startswith(place)
        }
        assert {run.data.tags["trial_id"] for run in found} == expected
        assert expected, place


def test_no_trial_has_a_tag_in_which_equality_finds_only_some_places(two: tuple[Path, Path]) -> None:
    store = store_of(two[0])
    for run in store.runs(list(store.experiments())):
        assert run.data.tags["kind"] != "trial" or not {"cell", "table", "entry"} & run.data.tags.keys()


def test_all_runs_from_the_tables_are_those_of_the_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    asked(tmp_path)
    track(tmp_path)
    store = store_of(tmp_path)
    experiments = store.experiments()
    client = store.client
    own = client.create_run(next(iter(experiments)), tags={"by": "a user"})  # it is not ended
    for step, value in enumerate((0.5, math.nan, math.inf, -math.inf)):
        client.log_metric(own.info.run_id, f"m{step}", value)
        client.log_metric(own.info.run_id, "last", value, step=step)
    client.log_param(own.info.run_id, "text", "\N{SNOWMAN} 'quoted'")
    client.delete_run(next(store.runs(list(experiments))).info.run_id)
    from_tables = all_runs(store, experiments)
    monkeypatch.setattr("puoc.reporting.tracking.all_runs.sql_store", lambda _: None)
    by_api = all_runs(store, experiments)
    assert [sorted_parts(run) for run in from_tables] == [sorted_parts(run) for run in by_api]
    assert {run.is_deleted for run in from_tables} == {True, False}
    assert all_runs(store, {}) == []


def sorted_parts(run: FoundRun) -> list[str]:
    """As texts, since NaN does not equal itself."""
    parts = [*asdict(run.stored).values(), run.start_time, run.is_deleted]
    return [repr(sorted(part.items()) if isinstance(part, dict) else part) for part in parts]
