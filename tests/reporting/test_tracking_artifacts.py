"""Which trials get artifacts and training curves in the MLflow store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tracked_project import Project

from puoc.reporting.tracking import Store, artifacts, project_trials, track, writer
from puoc.reporting.tracking.artifacts import LEFT_OUT, TAG, best_trials, with_artifacts


def logged(root: Path) -> dict[str, tuple[bool, bool]]:
    """Whether each trial has its files, and its training curve."""
    store = Store(root)
    store.open()
    runs = store.runs([each.experiment_id for each in store.own_experiments()])
    trials = {run.data.tags["trial_id"]: run for run in runs if run.data.tags["kind"] == "trial"}
    found = {}
    for name, run in trials.items():
        folder = Path(run.info.artifact_uri.removeprefix("file://"))
        has_files = (folder / "fit.json").is_file()
        has_curve = "curve/objective" in run.data.metrics
        assert (run.data.tags.get(TAG) == LEFT_OUT) == (not has_files)
        assert "auc" in run.data.metrics
        found[name] = (has_files, has_curve)
    return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    made = Project(tmp_path)
    rows = made.ask("ova", "one_vs_all")
    # the AUCs of records are random; here one entry is better in each cell
    better = {("oc_svm", 0): 0.9, ("pu_svm", 0): 0.8, ("oc_svm", 1): 0.7, ("pu_svm", 1): 0.75}
    made.save("ova", [replace(row, auc=better[row.entry, row.cell_index]) for row in rows])
    return made


def best_of(project: Project) -> set[str]:
    return {row.trial_id for row in project.rows["ova"] if row.auc in (0.9, 0.75)}


@pytest.mark.slow
@pytest.mark.parametrize("api", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_large_store_has_the_artifacts_of_the_best_entries_until_all_are_asked_for(
    project: Project, monkeypatch: pytest.MonkeyPatch, api: bool
) -> None:
    if api:
        monkeypatch.setattr(writer, "sql_store", lambda _: None)
    monkeypatch.setattr(artifacts, "MOST", 3)
    track(project.root)
    assert {name for name, found in logged(project.root).items() if found == (True, True)} == best_of(project)
    assert (False, False) in logged(project.root).values()
    track(project.root, artifacts="all")
    assert set(logged(project.root).values()) == {(True, True)}
    track(project.root, artifacts="none")  # what is there stays
    assert set(logged(project.root).values()) == {(True, True)}


def test_a_table_that_is_being_computed_has_no_best_entry_yet(project: Project) -> None:
    trials = project_trials.trials(project.rows["ova"])
    assert with_artifacts("best", trials, len(trials), complete=False) == frozenset()
    assert {key for _, key in with_artifacts("best", trials, len(trials), complete=True)} == best_of(project)
    assert with_artifacts("auto", trials, len(trials), complete=False) == frozenset(trials)


def test_references_and_entries_with_holes_are_not_the_best(project: Project) -> None:
    rows = [row for row in project.rows["ova"] if row.cell_index == 0]
    oracle = [replace(row, labels="oracle") if row.entry == "oc_svm" else row for row in rows]
    holes = [replace(row, status="failed", auc=None) if (row.entry, row.seed) == ("oc_svm", 1) else row for row in rows]
    for changed in (oracle, holes):
        best = {key for _, key in best_trials(project_trials.trials(changed))}
        assert best == {row.trial_id for row in rows if row.entry == "pu_svm"}
