"""The MLflow view: derived from rows and ledger, written once, made again when deleted; with real stores."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pickles import is_pickle
from postgresql import free_port
from tracked_project import Project, model, stored_rows

from puoc.analysis.selection.surface import unplanned
from puoc.methods.persistence import model_file as modelfile
from puoc.reporting.tracking import Store, Tracker, TrackingError, register_best, server_command, track, writer
from puoc.reporting.tracking.models import save_folder
from puoc.reporting.tracking.places import unpack_places
from puoc.reporting.tracking.writer import NOT_PLANNED, RETIRED, Writer
from puoc.store.checked_parquet import to_parquet
from puoc.store.result_rows import write_sweep

Runs = dict[tuple[str, str], Any]


@pytest.fixture(autouse=True)
def _own_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without runs. Making one takes about a second, so most tests start from a copy."""
    os.environ.pop("MLFLOW_TRACKING_URI", None)
    root = tmp_path_factory.mktemp("empty")
    with sqlite3.connect(opened(root).database) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    return root / "mlruns" / "mlflow.db"


@pytest.fixture
def project(tmp_path: Path, empty_database: Path) -> Project:
    (tmp_path / "mlruns").mkdir()
    shutil.copyfile(empty_database, tmp_path / "mlruns" / "mlflow.db")
    return Project(tmp_path)


def opened(root: Path) -> Store:
    store = Store(root)
    with store.lock(30):
        store.open()
    return store


def runs(root: Path, kind: str = "trial") -> Runs:
    """Active runs by experiment and id, read page by page; a second one of a key is an error."""
    store, found = opened(root), {}
    names = store.experiments()
    for run in store.runs(list(names)):
        if run.info.lifecycle_stage == "active" and run.data.tags["kind"] == kind:
            key = (names[run.info.experiment_id], run.data.tags["trial_id" if kind == "trial" else "cell_id"])
            assert key not in found, f"written twice: {key}"
            found[key] = run
    return found


def content(root: Path) -> dict[str, Any]:
    """What a replay must give again: everything but ids and times."""
    client, said = opened(root).client, {}
    for kind in ("trial", "cell"):
        for key, run in runs(root, kind).items():
            uri = run.data.tags.get("model_uri", "")
            logged = client.get_logged_model(uri.removeprefix("models:/")).tags["fit_id"] if uri else None
            curve = [(m.step, m.value) for m in client.get_metric_history(run.info.run_id, "curve/objective")]
            said[kind, *key] = (run.info.run_name, run.info.status, run.data.params, run.data.metrics, logged, curve)
    return said


def files(root: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in (root / "mlruns" / "artifacts").rglob("*")}


OUTCOMES = {("pu_svm", 1, 0): "failed", ("oc_svm", 1, 0): "skipped", ("oc_svm", 1, 1): "missing"}


def small(project: Project) -> Project:
    project.ask("ova", "one_vs_all", outcomes=OUTCOMES)
    project.ask("ova_again", "one_vs_all", entries=("pu_svm",), cells=1)
    project.ask("shift", "shift", entries=("pu_svm",), cells=1)
    project.ask("pu_svm", "one_vs_all", entries=("pu_svm",), cells=1, tune=True)
    return project


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> Project:
    os.environ.pop("MLFLOW_TRACKING_URI", None)
    project = small(Project(tmp_path_factory.mktemp("tracked")))
    assert track(project.root) == {"one_vs_all": 7, "shift": 2, "tune/one_vs_all": 2}
    return project


def test_a_run_leads_to_everything_behind_its_number(tracked: Project) -> None:
    row = next(r for r in tracked.rows["ova"] if (r.entry, r.cell_index, r.seed) == ("pu_svm", 1, 1))
    run, client = runs(tracked.root)["one_vs_all", row.trial_id], opened(tracked.root).client
    assert run.info.status == "FINISHED"
    assert run.data.metrics["auc"] == row.auc
    assert (run.data.params["params.lam"], run.data.params["seed"], run.data.params["neg"]) == ("0.1", "1", "[2]")
    wanted = {"fit_id": row.fit_id, "status": "ok", "sweep": "tables/ova", "git.dirty": "true", "data_digest": "d"}
    assert wanted.items() <= run.data.tags.items()
    scores = Path(client.download_artifacts(run.info.run_id, "scores.npy"))
    entry = tracked.ledger.get(row.fit_id)
    assert np.array_equal(np.load(scores), tracked.ledger.scores(entry.trials[row.trial_id]))
    history = client.get_metric_history(run.info.run_id, "curve/objective")
    assert [(m.step, m.value) for m in history] == [(0, 1.0), (1, 0.25)]
    assert not client.get_metric_history(run.info.run_id, "auc")[1:]


def test_failures_and_skips_are_runs_with_their_reason_and_missing_rows_are_none(tracked: Project) -> None:
    found, told = runs(tracked.root), {}
    for row in tracked.rows["ova"]:
        run = found.get(("one_vs_all", row.trial_id))
        told[row.status] = (run and run.info.status, run and run.data.tags.get("reason"))
    assert told["failed"] == ("FAILED", "failed: as the test wants it")
    assert told["skipped"] == ("FINISHED", "skipped: as the test wants it")
    assert told["missing"] == (None, None)


def test_a_cell_has_mean_spread_and_counts_and_its_trials_below_it(tracked: Project) -> None:
    cells = {(key[0], r.data.tags["table"], r.info.run_name): r for key, r in runs(tracked.root, "cell").items()}
    whole = cells["one_vs_all", "ova", "pu_svm cell 0"]
    aucs = [r.auc for r in tracked.rows["ova"] if (r.entry, r.cell_index) == ("pu_svm", 0)]
    assert whole.data.metrics["auc"] == pytest.approx(np.mean(aucs), rel=1e-12)
    assert whole.data.metrics["auc_std"] == pytest.approx(np.std(aucs, ddof=1), rel=1e-12)
    broken = cells["one_vs_all", "ova", "pu_svm cell 1"]
    assert (broken.data.tags["n"], broken.data.tags["n_failed"]) == ("1", "1")
    below = [r for r in runs(tracked.root).values() if r.data.tags["mlflow.parentRunId"] == whole.info.run_id]
    assert {r.data.metrics["auc"] for r in below} == set(aucs)


def test_a_trial_that_two_tables_and_two_scenarios_ask_is_a_run_in_each_and_one_model(tracked: Project) -> None:
    trial = next(r.trial_id for r in tracked.rows["shift"] if r.status == "ok" and r.seed == 1)
    found = runs(tracked.root)
    table, other = found["one_vs_all", trial], found["shift", trial]
    assert table.data.tags["tables"] == "ova,ova_again"
    assert table.data.tags["model_uri"] == other.data.tags["model_uri"]
    client = opened(tracked.root).client
    every = client.search_logged_models(list(opened(tracked.root).experiments()), max_results=100)
    ok = {r.fit_id for rows in tracked.rows.values() for r in rows if r.status == "ok"}
    assert sorted(one.tags["fit_id"] for one in every) == sorted(ok)


def test_a_logged_model_loads_by_both_names_and_scores_to_the_last_bit(tracked: Project) -> None:
    import mlflow

    X = stored_rows(30, seed=8)
    owner = next(r for r in runs(tracked.root).values() if r.data.tags.get("model_owner") == r.info.run_id)
    expected = modelfile.score(modelfile.load(tracked.models[owner.data.tags["method"]]), X)
    mlflow.set_tracking_uri(Store(tracked.root).uri)
    for uri in (owner.data.tags["model_uri"], f"runs:/{owner.info.run_id}/model"):
        loaded = mlflow.pyfunc.load_model(uri)
        assert np.array_equal(loaded.predict(X.astype(np.float32)), expected)
    assert loaded.metadata.run_id == owner.info.run_id


def test_no_file_of_a_logged_model_is_a_pickle_or_holds_a_row_of_the_data(tracked: Project) -> None:
    found = [path for path in (tracked.root / "mlruns" / "artifacts" / "models").rglob("*") if path.is_file()]
    assert {"MLmodel", "model.safetensors", "model.json", "requirements.txt", "input_example.json"} <= {
        p.name for p in found
    }
    for path in found:
        assert path.suffix in {"", ".safetensors", ".json", ".yaml", ".txt"}
        assert not is_pickle(path.read_bytes()), path


def test_a_model_has_the_files_that_mlflow_writes_for_it_alone(tracked: Project, tmp_path: Path) -> None:
    """Models share a folder that is written once; it must not have anything of the first model."""
    of_one = re.compile("^(model_id|model_uuid|run_id|model_size_bytes|utc_time_created): .*\n", re.M)
    methods = set()
    for folder in (path.parent for path in (tracked.root / "mlruns" / "artifacts" / "models").rglob("MLmodel")):
        [model] = folder.rglob("model.safetensors")
        methods.add(json.loads((model.parent / "model.json").read_text())["method"])
        alone = tmp_path / folder.parent.name
        save_folder(model, alone)
        for path in (path for path in alone.rglob("*") if path.is_file()):
            shared = folder / path.relative_to(alone)
            texts = [of_one.sub("", one.read_bytes().decode("latin1")) for one in (path, shared)]
            assert texts[0] == texts[1], shared
    assert len(methods) > 1


def test_a_second_track_writes_nothing(tracked: Project) -> None:
    database = tracked.root / "mlruns" / "mlflow.db"

    def state() -> tuple[Any, ...]:
        with sqlite3.connect(database) as connection:
            counts = [
                connection.execute(f"select count(*) from {t}").fetchone()
                for t in ("runs", "metrics", "tags", "params")
            ]
        return counts, files(tracked.root), (tracked.root / "mlruns" / ".last-writer").read_text()

    before = state()
    track(tracked.root)
    assert state() == before


def test_a_deleted_store_is_made_again_with_the_same_content(tracked: Project) -> None:
    before = content(tracked.root)
    assert {len(said) for said in before.values()} == {6}
    assert any(logged for *_, logged, _curve in before.values())
    shutil.rmtree(tracked.root / "mlruns")
    track(tracked.root)
    assert content(tracked.root) == before


def made_older(database: Path) -> None:
    """Change the runs to what version 2 of the layout had: counts and other names as metrics, and no description."""
    with sqlite3.connect(database) as connection:
        connection.execute("delete from tags where key in ('puoc.layout', 'mlflow.note.content', 'n', 'n_failed')")
        connection.execute("update tags set value = 'older' where key = 'puoc.digest'")
        for table in ("metrics", "latest_metrics"):
            columns = "key, value, timestamp, step, is_nan, run_uuid"
            for name in ("n", "mean", "attempts"):
                connection.execute(f"insert into {table} ({columns}) select '{name}', 1, 1, 0, 0, run_uuid from runs")
        connection.execute("insert into tags (key, value, run_uuid) select 'mine', 'kept', run_uuid from runs")
        first = "select min(run_uuid) from runs"
        note = f"insert into tags (key, value, run_uuid) values ('mlflow.note.content', 'My words.', ({first}))"
        connection.execute(note)


@pytest.mark.parametrize("in_batches", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_store_of_an_older_layout_is_brought_to_the_present_one_with_its_runs(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_batches: bool
) -> None:
    project.ask("ova", "one_vs_all", entries=("pu_svm",), cells=1)
    track(tmp_path)
    before, ids = content(tmp_path), {key: run.info.run_id for key, run in runs(tmp_path).items()}
    made_older(tmp_path / "mlruns" / "mlflow.db")
    if not in_batches:  # as on a server
        monkeypatch.setattr(writer, "sql_store", lambda _: None)
    track(tmp_path)
    after = runs(tmp_path) | runs(tmp_path, "cell")
    assert {key: run.info.run_id for key, run in runs(tmp_path).items()} == ids
    assert len(after) == 3
    notes = [run.data.tags["mlflow.note.content"] for run in after.values()]
    assert sorted(note == "My words." for note in notes) == [False, False, True]
    for run in after.values():
        assert (run.data.tags["mine"], run.data.tags["puoc.layout"]) == ("kept", "3")
        old = {"n", "mean", "attempts"} & run.data.metrics.keys()
        assert not old if in_batches else all(np.isnan(run.data.metrics[name]) for name in old)
    if in_batches:
        assert content(tmp_path) == before
    written = [run.info.end_time for run in after.values()]
    track(tmp_path)
    assert [run.info.end_time for run in (runs(tmp_path) | runs(tmp_path, "cell")).values()] == written


def test_a_repeated_trial_is_updated_and_not_written_twice(project: Project, tmp_path: Path) -> None:
    rows = project.ask("ova", "one_vs_all", entries=("pu_svm",), cells=1, outcomes={("pu_svm", 0, 0): "failed"})
    track(tmp_path)
    key = ("one_vs_all", rows[0].trial_id)
    failed = runs(tmp_path)[key]
    project.save("ova", [project.answer(rows[0]), rows[1]])
    track(tmp_path)
    again = runs(tmp_path)[key]
    assert again.info.run_id == failed.info.run_id
    assert (failed.info.status, again.info.status) == ("FAILED", "FINISHED")
    assert (again.data.tags["attempts"], again.data.metrics["auc"]) == ("2", project.rows["ova"][0].auc)
    assert "reason" not in {tag for tag, text in again.data.tags.items() if text}
    assert again.data.tags["model_uri"].startswith("models:/")
    (cell,) = runs(tmp_path, "cell").values()
    assert (cell.data.tags["n"], cell.data.tags["n_failed"]) == ("2", "0")


def test_what_a_table_asks_no_more_is_put_away_and_comes_back_when_asked(project: Project, tmp_path: Path) -> None:
    rows = project.ask("ova", "one_vs_all", entries=("oc_svm", "pu_svm"), cells=1)
    track(tmp_path)
    before = {key: run.info.run_id for key, run in runs(tmp_path).items()}
    project.save("ova", rows[:2])
    assert track(tmp_path) == {"one_vs_all": 2}
    assert len(runs(tmp_path)) == 2
    assert len(runs(tmp_path, "cell")) == 1
    project.save("ova", rows)
    assert track(tmp_path) == {"one_vs_all": 4}
    assert {key: run.info.run_id for key, run in runs(tmp_path).items()} == before
    assert not [run for run in runs(tmp_path).values() if run.data.tags.get(RETIRED) == NOT_PLANNED]


def test_a_table_that_is_planned_no_more_is_put_away_from_the_projects_own_store(
    project: Project, tmp_path: Path
) -> None:
    kept = project.ask("ova", "one_vs_all", entries=("pu_svm",), cells=1)
    project.ask("former", "one_vs_all", cells=2)  # the kept trials among its own
    whole = track(tmp_path)
    before = {key: run.info.run_id for key, run in runs(tmp_path).items()}
    plan = tmp_path / "work" / "plan" / "tables" / "former.json"
    plan.unlink()
    assert track(tmp_path) == {"one_vs_all": len(kept)}
    said = content(tmp_path)
    assert {run.data.tags["tables"] for run in runs(tmp_path).values()} == {"ova"}
    assert len(runs(tmp_path, "cell")) == 1
    plan.write_text("{}")  # another branch has it
    assert track(tmp_path) == whole
    assert {key: run.info.run_id for key, run in runs(tmp_path).items()} == before
    plan.unlink()
    for path in (tmp_path / "mlruns").glob("mlflow.db*"):
        path.unlink()
    track(tmp_path)
    assert content(tmp_path) == said


def test_a_table_that_is_planned_no_more_stays_in_a_store_that_others_may_share(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'team.db'}")
    shutil.copyfile(tmp_path / "mlruns" / "mlflow.db", tmp_path / "team.db")
    project.ask("ova", "one_vs_all", entries=("pu_svm",), cells=1)
    project.ask("former", "shift", entries=("pu_svm",), cells=1)
    track(tmp_path)
    (tmp_path / "work" / "plan" / "tables" / "former.json").unlink()
    assert track(tmp_path) == {"one_vs_all": 2}
    assert {run.data.tags["tables"] for run in runs(tmp_path).values()} == {"former", "ova"}


def test_a_sweep_that_no_plan_has_is_tracked_as_what_it_is_and_goes_with_its_rows(
    project: Project, tmp_path: Path
) -> None:
    planned = project.ask("pu_svm", "one_vs_all", entries=("pu_svm",), cells=1, tune=True)
    asked = project.ask("pu_svm", "one_vs_all", entries=("pu_svm",), cells=2, tune=True)  # its cell among them
    other, folder = "pu_svm-one_vs_all-wide-tpe", tmp_path / "results" / "sweeps"
    for part in ("val", "test"):
        (folder / part).mkdir(parents=True)
        (tmp_path / "results" / "tune" / part / "pu_svm.parquet").rename(folder / part / f"{other}.parquet")
    project.save("pu_svm", planned, tune=True)
    for _ in range(2):
        assert track(tmp_path) == {"tune/one_vs_all": 4}
        told = {trial: run.data.tags["tables"] for (_, trial), run in runs(tmp_path).items()}
        shared = {row.trial_id for row in planned}
        assert told == {row.trial_id: f"pu_svm,{other}" if row.trial_id in shared else other for row in asked}
    assert len(runs(tmp_path, "cell")) == 3
    save = [row for row in asked if row.trial_id in shared]
    assert save
    write_sweep(folder, other, save)
    assert track(tmp_path) == {"tune/one_vs_all": 2}
    assert len(runs(tmp_path)) == 2


def test_every_sweep_that_the_report_shows_is_in_a_fresh_store_planned_or_not(project: Project, tmp_path: Path) -> None:
    project.ask("pu_svm", "one_vs_all", entries=("pu_svm",), cells=1, tune=True)
    gone = project.ask("oc_svm", "shift", entries=("oc_svm",), cells=1, tune=True)
    other = project.ask("vpu", "one_vs_all", entries=("pu_svm",), cells=2, tune=True)
    (tmp_path / "results" / "sweeps").mkdir()
    for part in ("val", "test"):
        (tmp_path / "results" / "sweeps" / part).mkdir()
        asked = tmp_path / "results" / "tune" / part / "vpu.parquet"
        asked.rename(tmp_path / "results" / "sweeps" / part / "pu_svm-one_vs_all-wide-tpe.parquet")
    for name in ("oc_svm", "vpu"):
        (tmp_path / "work" / "plan" / "tune" / f"{name}.json").unlink()
    assert set(unplanned(tmp_path)) == {"oc_svm", "pu_svm-one_vs_all-wide-tpe"}
    for _ in range(2):
        assert track(tmp_path) == {"tune/one_vs_all": len(other), "tune/shift": len(gone)}
    shown = {name for run in runs(tmp_path).values() for name in run.data.tags["tables"].split(",")}
    assert shown == {"pu_svm", *unplanned(tmp_path)}
    assert {r.auc for r in gone} == {r.data.metrics["auc"] for (e, _), r in runs(tmp_path).items() if "shift" in e}


def test_tracking_while_results_come_in_gives_what_track_gives(project: Project, tmp_path: Path) -> None:
    small(project)
    with Tracker(tmp_path, {"stage": "run@ova"}) as tracker:
        for rows in project.rows.values():
            for row in rows:
                assert tracker.add([row], project.ledger)
    live = content(tmp_path)
    assert {r.data.tags["stage"] for r in runs(tmp_path).values()} == {"run@ova"}
    ids = {key: run.info.run_id for key, run in runs(tmp_path).items()}
    track(tmp_path)
    assert {key: run.info.run_id for key, run in runs(tmp_path).items()} == ids
    assert content(tmp_path) == live


def test_rows_wait_while_another_process_writes(project: Project, tmp_path: Path) -> None:
    rows = project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=1)
    tracker = Tracker(tmp_path)
    with Store(tmp_path).lock(1):
        assert tracker.add(rows[:1]) is False
    assert not runs(tmp_path)
    assert tracker.add(rows[1:]) is True
    assert len(runs(tmp_path)) == 2
    assert tracker.close() is True


def test_a_store_that_fails_stops_tracking_and_is_told_at_the_end(project: Project, tmp_path: Path) -> None:
    rows = project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=1)
    tracker = Tracker(tmp_path)
    with sqlite3.connect(tmp_path / "mlruns" / "mlflow.db") as connection:
        connection.execute("drop table metrics")
        connection.execute("drop table latest_metrics")
    assert tracker.add(rows) is False
    with pytest.raises(TrackingError, match="The results are safe; `puoc track` writes the rest"):
        tracker.close()


def python(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


#: A process for each folder, all at once; MLflow is loaded before, so that they meet.
AT_ONCE = """
import os, sys, traceback
import mlflow.store.tracking.sqlalchemy_store
from mlflow import MlflowClient
from puoc.reporting.tracking import Store, track

def opening(root):
    store = Store(root)
    with store.lock(600):
        store.open()

work, started = {"track": track, "open": opening}[sys.argv[1]], []
for root in sys.argv[2:]:
    if not (pid := os.fork()):
        try:
            work(root)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    started.append(pid)
sys.exit(sum(os.waitpid(pid, 0)[1] != 0 for pid in started))
"""
#: Kills itself when it opens the journal of its batch for the tenth time.
KILLED = """
import os, signal, sys
from puoc.reporting.tracking import track

opened = []

def watch(event, arguments):
    if event == "open" and str(arguments[0]).endswith("/.batch"):
        opened.append(arguments[0])
        if len(opened) == 10:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(watch)
track(sys.argv[1])
"""
#: Reads until its input ends. SQLite's locks are those of a process, so the tests' own process is another one.
READER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("pragma journal_mode=wal")
connection.execute("create table noted (something integer)")
connection.commit()
print("open", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_four_first_starts_at_once_leave_a_working_store(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=1)
    done = python(AT_ONCE, "track", *[str(tmp_path) for _ in range(4)])
    assert done.returncode == 0, done.stdout
    assert len(runs(tmp_path)) == 2
    assert track(tmp_path) == {"one_vs_all": 2}
    with sqlite3.connect(tmp_path / "mlruns" / "mlflow.db") as connection:
        assert connection.execute("pragma journal_mode").fetchone() == ("wal",)


@pytest.mark.slow
def test_a_killed_writer_leaves_nothing_running_and_nothing_twice(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.ask("ova", "one_vs_all", entries=("pu_svm",), cells=2, seeds=15)
    opened(tmp_path)
    writer = python(KILLED, str(tmp_path))
    assert writer.returncode == -signal.SIGKILL, writer.stdout
    assert len((tmp_path / "mlruns" / ".batch").read_text().splitlines()) >= 8
    with sqlite3.connect(tmp_path / "mlruns" / "mlflow.db", timeout=240) as connection:
        assert connection.execute("select count(*) from runs where status = 'RUNNING'").fetchone() == (0,)
    assert track(tmp_path) == {"one_vs_all": 30}
    assert len(runs(tmp_path)) == 30
    with sqlite3.connect(tmp_path / "mlruns" / "mlflow.db") as connection:
        assert connection.execute("select count(*) from runs where status = 'RUNNING'").fetchone() == (0,)
    store = opened(tmp_path)
    every = store.client.search_logged_models(list(store.experiments()), max_results=100)
    assert len({one.tags["fit_id"] for one in every}) == len(every) == 30
    folders = {path.name for path in (tmp_path / "mlruns" / "artifacts" / "models").iterdir()}
    assert folders == {one.model_id for one in every}


def test_a_trial_of_many_cells_is_one_run_that_knows_them_all(project: Project, tmp_path: Path) -> None:
    """A one-class fit stands at every share of a long alpha sweep: more than one tag of MLflow holds."""
    (row,) = project.ask("sweep", "alpha_sweep", entries=("oc_svm",), cells=1, seeds=1)
    every = [replace(row, cell=f"alpha={i / 1000:.3f}", cell_index=i) for i in range(150)]
    for n in (2, 150, 2):
        project.save("sweep", every[:n])
        track(tmp_path)
        (run,) = runs(tmp_path).values()
        assert all(len(text) < 8000 for text in run.data.tags.values())
        assert {place.cell for place in unpack_places(run.data.tags).values()} == {row.cell for row in every[:n]}
        assert len(runs(tmp_path, "cell")) == n


@pytest.mark.parametrize("name", ["a#b", "it's a+b=c&d mit Umläuten und Blanks"])
def test_a_folder_may_have_any_name_that_mlflow_takes(name: str, tmp_path: Path) -> None:
    project = Project(tmp_path / name)
    project.ask("a", "one_vs_all", entries=("pu_svm",), cells=1, seeds=1)
    assert track(project.root) == track(project.root) == {"one_vs_all": 1}
    assert (project.root / "mlruns" / "mlflow.db").exists()
    (run,) = runs(project.root).values()
    assert [one.path for one in opened(project.root).client.list_artifacts(run.info.run_id)]
    assert register_best(project.root)[0].version == "1"
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["what?now", "my%20project", "half%41", "50%"])
def test_a_folder_whose_name_means_something_else_in_an_address_is_refused_at_once(name: str, tmp_path: Path) -> None:
    project = Project(tmp_path / name)
    project.ask("a", "one_vs_all", entries=("pu_svm",), cells=1, seeds=1)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(TrackingError, match=r"MLflow takes no path with \? or %; expected a folder with another name"):
        track(project.root)
    assert sorted(tmp_path.rglob("*")) == before


class Killed(BaseException):
    """Ends a writer where it stands; nothing catches it."""


@pytest.mark.parametrize("step", ["_write", "_finish"])
def test_a_model_that_other_runs_share_outlives_a_writer_killed_at_an_update(
    step: str, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [project.ask(*of, entries=("pu_svm",), cells=1, seeds=1)[0] for of in (("a", "one_vs_all"), ("b", "shift"))]
    assert rows[0].trial_id == rows[1].trial_id
    track(tmp_path)
    project.ask("c", "one_vs_all", entries=("pu_svm",), cells=1, seeds=1)  # the first run is updated by it

    def killed(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Writer, step, killed)
        with pytest.raises(Killed):
            track(tmp_path)
    track(tmp_path)
    assert {run.info.status for run in runs(tmp_path).values()} == {"FINISHED"}
    assert len(live_models(tmp_path)) == 1
    assert {run.data.tags["model_uri"] for run in runs(tmp_path).values()} == live_models(tmp_path)
    assert {one.version for one in register_best(tmp_path)} == {"1"}


def test_a_model_deleted_by_hand_is_told_and_logged_again(project: Project, tmp_path: Path) -> None:
    project.ask("a", "one_vs_all", entries=("pu_svm",), cells=1, seeds=1)
    track(tmp_path)
    (uri,) = live_models(tmp_path)
    opened(tmp_path).client.delete_logged_model(uri.removeprefix("models:/"))
    (gone,) = register_best(tmp_path)
    assert gone.version is None
    assert "was deleted from MLflow's store; `puoc track` logs it again" in gone.note
    track(tmp_path)
    assert {run.data.tags["model_uri"] for run in runs(tmp_path).values()} == live_models(tmp_path) != {uri}
    assert register_best(tmp_path)[0].version == "1"


def live_models(root: Path) -> set[str]:
    """Addresses of the models in the store."""
    store = opened(root)
    return {f"models:/{one.model_id}" for one in store.client.search_logged_models(list(store.experiments()))}


def test_a_store_whose_making_was_cut_short_is_made_anew(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=1)
    database = tmp_path / "mlruns" / "mlflow.db"
    database.parent.mkdir()
    with sqlite3.connect(database) as connection:
        connection.execute("create table runs (half integer)")
    with pytest.raises(TrackingError, match=r"mlflow\.db in .*delete mlruns/mlflow\.db\* and run `puoc track` again"):
        track(tmp_path)
    (database.parent / ".mlflow.db.making").touch()
    assert "or that was interrupted; the next command that writes makes it anew" in Store(tmp_path).look()
    assert track(tmp_path) == {"one_vs_all": 2}


def test_a_database_deleted_under_a_reader_is_made_again_at_once(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # by MLflow's own migrations, since the -wal and -shm of the deleted database would disturb them alone
    monkeypatch.setattr(Store, "_begin_creation", Store._begin_creation.__wrapped__)  # type: ignore[attr-defined]
    project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=1)
    database = tmp_path / "mlruns" / "mlflow.db"
    with reader(database):
        database.unlink()
        assert database.with_name("mlflow.db-wal").stat().st_size > 0
        assert track(tmp_path) == {"one_vs_all": 2}
    assert len(runs(tmp_path)) == 2


def test_a_database_that_sqlite_refuses_is_told_in_one_sentence(
    project: Project, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=1)
    database = tmp_path / "mlruns" / "mlflow.db"
    with reader(database):
        database.unlink()
        database.touch()  # another file beside the -wal and -shm of the first
        with pytest.raises(TrackingError) as told:
            track(tmp_path)
    said = str(told.value)
    assert len(said.splitlines()) == 1
    assert "mlflow.db, mlflow.db-wal, mlflow.db-shm in" in said
    assert "delete mlruns/mlflow.db* and run `puoc track` again (stop `make ui` first)" in said
    assert capfd.readouterr() == ("", "")


@contextmanager
def reader(database: Path) -> Iterator[None]:
    """A process that keeps the database open with something in its -wal, as the server of the UI does."""
    held = subprocess.Popen(
        [sys.executable, "-S", "-c", READER, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert held.stdin is not None
    assert held.stdout is not None
    assert held.stdout.readline() == "open\n"
    yield
    held.communicate(timeout=240)
    assert held.returncode == 0


def test_artifacts_of_a_deleted_database_go_with_it(project: Project, tmp_path: Path) -> None:
    project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=1)
    track(tmp_path)
    before = files(tmp_path)
    (tmp_path / "mlruns" / "mlflow.db").unlink()
    track(tmp_path)
    assert before
    assert len(files(tmp_path)) == len(before)
    assert not before.keys() & {path for path in files(tmp_path) if path.endswith("scores.npy")}


def test_artifacts_of_a_store_named_by_the_environment_stay(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=1)
    other = tmp_path / "other" / "mlflow.db"
    other.parent.mkdir()
    shutil.copyfile(tmp_path / "mlruns" / "mlflow.db", other)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{other}")
    track(tmp_path)
    before = files(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    (tmp_path / "mlruns" / "mlflow.db").unlink()
    track(tmp_path)
    assert len(before) > 4
    assert before.keys() < files(tmp_path).keys()


def test_a_database_deleted_while_rows_come_in_gets_the_rows_that_follow(project: Project, tmp_path: Path) -> None:
    rows = project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=1)
    with Tracker(tmp_path) as tracker:
        assert tracker.add(rows[:1])
        (tmp_path / "mlruns" / "mlflow.db").unlink()
        assert tracker.add(rows[1:])
    assert {key for _, key in runs(tmp_path)} == {rows[1].trial_id}


def test_a_moved_project_says_how_to_make_the_store_again(tmp_path: Path) -> None:
    project = Project(tmp_path / "here")
    project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=1)
    track(tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    with pytest.raises(TrackingError, match=r"here/mlruns/artifacts, which does not exist.*moved or copied.*delete"):
        track(tmp_path / "there")
    shutil.rmtree(tmp_path / "there" / "mlruns")
    assert track(tmp_path / "there") == {"one_vs_all": 2}


def test_a_run_deleted_or_finished_by_hand_is_found_and_mended(project: Project, tmp_path: Path) -> None:
    rows = project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=1)
    track(tmp_path)
    key, client = ("one_vs_all", rows[0].trial_id), opened(tmp_path).client
    client.delete_run(runs(tmp_path)[key].info.run_id)
    assert track(tmp_path) == {"one_vs_all": 2}
    client.set_terminated(runs(tmp_path)[key].info.run_id, "KILLED")
    assert track(tmp_path) == {"one_vs_all": 2}
    assert runs(tmp_path)[key].info.status == "FINISHED"


def test_an_experiment_deleted_by_hand_comes_back_with_its_runs(project: Project, tmp_path: Path) -> None:
    project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=1)
    track(tmp_path)
    before, client = {r.info.run_id for r in runs(tmp_path).values()}, opened(tmp_path).client
    client.delete_experiment(client.get_experiment_by_name("one_vs_all").experiment_id)
    track(tmp_path)
    assert {r.info.run_id for r in runs(tmp_path).values()} == before


def test_the_best_configuration_is_registered_once_and_loads_by_its_alias(project: Project, tmp_path: Path) -> None:
    import mlflow

    small(project)
    track(tmp_path)
    for _ in range(2):
        done = {one.name: one for one in register_best(tmp_path)}
        assert (done["shift.toy"].entry, done["shift.toy"].version) == ("pu_svm", "1")
    version = opened(tmp_path).client.get_model_version_by_alias("shift.toy", "best")
    assert version.tags["chosen_by"] == "test_auc_mean"
    X = stored_rows(5)
    expected = modelfile.score(modelfile.load(project.models["pu_svm"]), X)
    mlflow.set_tracking_uri(Store(tmp_path).uri)
    try:
        assert np.array_equal(
            mlflow.pyfunc.load_model("models:/shift.toy@best").predict(X.astype(np.float32)), expected
        )
    finally:
        mlflow.set_tracking_uri("")  # MLflow keeps the address for the process, and in its environment


def test_each_dataset_of_a_scenario_has_a_best_of_its_own(project: Project, tmp_path: Path) -> None:
    project.ask("ova", "one_vs_all", entries=("pu_svm",), cells=1)
    track(tmp_path)
    (first,) = register_best(tmp_path)
    project.ask("ova_other", "one_vs_all", entries=("oc_svm",), cells=1, dataset="other")
    track(tmp_path)
    done = register_best(tmp_path)
    assert [(one.name, one.entry, one.version) for one in done] == [
        ("one_vs_all.other", "oc_svm", "1"),
        ("one_vs_all.toy", "pu_svm", "1"),
    ]
    assert done[1] == first
    for one in done:
        tags = opened(tmp_path).client.get_model_version_by_alias(one.name, "best").tags
        assert (tags["entry"], tags["dataset"]) == (one.entry, one.dataset)


def test_a_table_that_is_planned_no_more_has_no_say_in_what_is_best(project: Project, tmp_path: Path) -> None:
    project.ask("good", "one_vs_all", entries=("pu_svm",), cells=1)
    best = project.ask("former", "one_vs_all", entries=("oc_svm",), cells=1)
    project.save("former", [replace(row, auc=0.99) for row in best])
    track(tmp_path)
    assert [(one.name, one.entry) for one in register_best(tmp_path)] == [
        ("one_vs_all.toy.former", "oc_svm"),  # an easier table says nothing of the other's entries
        ("one_vs_all.toy.good", "pu_svm"),
    ]
    (tmp_path / "work" / "plan" / "tables" / "former.json").unlink()
    track(tmp_path)
    assert [(one.name, one.entry) for one in register_best(tmp_path)] == [("one_vs_all.toy", "pu_svm")]


def test_an_entry_that_the_plan_asks_no_more_has_no_say_in_what_is_best(project: Project, tmp_path: Path) -> None:
    rows = project.ask("ova", "one_vs_all", cells=1)
    project.save("ova", [replace(row, auc=0.99) if row.entry == "oc_svm" else row for row in rows])
    track(tmp_path)
    now = {"ova": frozenset(row.trial_id for row in rows if row.entry == "pu_svm")}
    assert [one.entry for one in register_best(tmp_path, now)] == ["pu_svm"]
    assert [one.entry for one in register_best(tmp_path, {})] == ["oc_svm"]


def test_an_entry_of_which_some_cells_are_asked_anew_is_not_the_best_by_the_others(
    project: Project, tmp_path: Path
) -> None:
    rows = project.ask("ova", "one_vs_all", cells=2)
    easy = {("oc_svm", 0): 0.9, ("oc_svm", 1): 0.1, ("pu_svm", 0): 0.92, ("pu_svm", 1): 0.6}
    project.save("ova", [replace(row, auc=easy[row.entry, row.cell_index]) for row in rows])
    track(tmp_path)
    left = [row for row in rows if (row.entry, row.cell_index) != ("oc_svm", 1)]
    now = {"ova": frozenset(row.trial_id for row in left)}
    assert [one.entry for one in register_best(tmp_path, now)] == ["pu_svm"]


def test_an_entry_with_a_hole_is_not_registered(project: Project, tmp_path: Path) -> None:
    project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=1, outcomes={("oc_svm", 0, 1): "failed"})
    track(tmp_path)
    (done,) = register_best(tmp_path)
    assert done.version is None
    assert "no entry has come out well in all of its trials" in done.note


def test_the_later_answer_stands_where_two_tables_disagree(project: Project, tmp_path: Path) -> None:
    project.ask("a", "one_vs_all", entries=("pu_svm",), cells=1, seeds=1, outcomes={("pu_svm", 0, 0): "failed"})
    project.ask("b", "one_vs_all", entries=("pu_svm",), cells=1, seeds=1)
    assert track(tmp_path) == {"one_vs_all": 1}
    (run,) = runs(tmp_path).values()
    assert (run.info.status, run.data.tags["tables"]) == ("FINISHED", "a,b")


def test_a_fit_without_a_kept_model_is_not_registered_and_no_command_is_advised_that_would_not_help(
    project: Project, tmp_path: Path
) -> None:
    project.ask("ova", "one_vs_all", entries=("pu_svm",), cells=1)
    for path in (tmp_path / "ledger").rglob("*.safetensors"):
        path.unlink()
    track(tmp_path)
    (done,) = register_best(tmp_path)
    assert done.version is None
    assert "the ledger keeps no model of it" in done.note
    assert "puoc track" not in done.note


def test_a_model_with_training_rows_is_marked_and_not_registered(project: Project, tmp_path: Path) -> None:
    project.models["oc_svm"] = model("oc_svm", contains_training_rows=True)
    project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=1)
    track(tmp_path)
    (done,) = register_best(tmp_path)
    assert done.version is None
    assert "oc_svm is best but its models contain training rows" in done.note
    assert not opened(tmp_path).client.search_registered_models()


def test_a_row_that_lacks_a_column_is_refused_by_name(project: Project, tmp_path: Path) -> None:
    project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=1)
    path = tmp_path / "results" / "tables" / "ova.parquet"
    whole = path.read_bytes()
    for column in ("fit_id", "kind", "device"):
        path.write_bytes(to_parquet(pq.ParquetFile(BytesIO(whole)).read().drop_columns([column])))
        with pytest.raises(ValueError, match=rf"ova\.parquet: no column {column} among .*; delete it, and dvc repro"):
            track(tmp_path)


def test_a_row_of_an_unknown_status_is_refused(project: Project, tmp_path: Path) -> None:
    rows = project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=1)
    with pytest.raises(TrackingError, match=f"trial {rows[0].trial_id}: status 'lost', one of ok, failed, .* expected"):
        Tracker(tmp_path).add([replace(rows[0], status="lost")])


@pytest.mark.slow
def test_a_server_is_used_where_the_environment_names_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mlflow

    project = Project(tmp_path / "project")
    rows = project.ask("ova", "one_vs_all", entries=("pu_svm",), cells=1)
    port = free_port()
    command, environment = server_command(tmp_path / "server", port)
    assert command[command.index("--host") + 1] == "127.0.0.1"
    environment["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] = "false"
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/health", server)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
        assert track(tmp_path / "project") == track(tmp_path / "project") == {"one_vs_all": 2}
        run = runs(tmp_path / "project")["one_vs_all", rows[0].trial_id]
        mlflow.set_tracking_uri(f"http://127.0.0.1:{port}")
        loaded = mlflow.pyfunc.load_model(run.data.tags["model_uri"])
        X = stored_rows(5)
        assert np.array_equal(
            loaded.predict(X.astype(np.float32)), modelfile.score(modelfile.load(project.models["pu_svm"]), X)
        )
        assert not (tmp_path / "project" / "mlruns" / "mlflow.db").exists()
        assert "Warning" not in (tmp_path / "log").read_text()
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=240)


def wait_for(url: str, server: subprocess.Popen[bytes], seconds: float = 400) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        assert server.poll() is None, "the server has ended"
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.2)
    raise AssertionError(f"{url} does not answer")


def test_every_page_of_a_search_is_read(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from puoc.reporting.tracking import store

    monkeypatch.setattr(store, "PAGE", 3)
    project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=2, seeds=2)
    assert track(tmp_path) == {"one_vs_all": 4}
    before = {r.info.run_id for r in runs(tmp_path).values()}
    assert len(before) == 4
    track(tmp_path)
    assert {r.info.run_id for r in runs(tmp_path).values()} == before


@pytest.mark.slow
def test_more_runs_than_a_search_returns_are_all_found(project: Project, tmp_path: Path) -> None:
    # a failed fit has neither scores nor a model, so that its run is written sooner
    failed = {("oc_svm", cell, seed): "failed" for cell in range(2) for seed in range(5, 520)}
    project.ask("ova", "one_vs_all", entries=("oc_svm",), cells=2, seeds=520, outcomes=failed)
    assert track(tmp_path) == {"one_vs_all": 1040}
    assert len(runs(tmp_path)) == 1040
    assert track(tmp_path) == {"one_vs_all": 1040}
    assert len(runs(tmp_path)) == 1040
