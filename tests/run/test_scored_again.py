"""Scoring code that changes: its scores are made again, of the same models, and are said to be old until then."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from planned import Data, Planned
from project import REPOSITORY
from site_pages import site_text
from typer.testing import CliRunner

from puoc.analysis.statistics.auc import auc
from puoc.cli.app import app
from puoc.plan.bind import bind
from puoc.records import FitResult
from puoc.reporting.tracking.project_trials import read_results_of_project, rows_with_outcome, trials
from puoc.run.stages import planned_trials, result_path, run_part
from puoc.run.status import pipeline_status
from puoc.run.sweep.evaluate import mean_val
from puoc.run.sweep.request import SweepRequest, resolve_sweep
from puoc.run.sweep.results import failed_rows
from puoc.run.sweep.results import write as write_results
from puoc.run.sweep.tpe import known_configs
from puoc.store import ledger_archive as archive
from puoc.store import ledger_upkeep as upkeep
from puoc.store.checked_parquet import read_rows
from puoc.store.ledger import MAX_ATTEMPTS, Ledger
from puoc.store.result_rows import ResultRow

PARAMS = """
compute: {workers: 1, lane_map: loop, models: all, device: cpu}
tables:
  first:
    scenario: named_shift
    dataset: digits
    pos: [3]
    shifts: [{neg: 1}, {neg: 1, neg_test: 8}]
    n_pos_lab: 20
    n_pos_unl: 20
    n_neg_unl: 20
    seeds: 2
    configs: published
    methods: [oc_svm, pu_svm]
tune:
  pu_svm:
    scenario: fixed_classes
    dataset: digits
    pos: 3
    neg: 8
    n_pos_lab: 20
    n_pos_unl: 20
    n_neg_unl: 20
    seeds: 2
    space: tiny
    search: grid
    holdout: 0.2
methods:
  oc_svm: {params: {kernel: linear, nu: 0.5}}
  pu_svm: {prior: true, params: {solver: exact, kernel: linear, risk: non_negative, lam: 0.01}}
"""
PLANNED = Planned(PARAMS, "digits")
OTHER = "0123456789abcdef"


@pytest.fixture
def root(tmp_path: Path, prepared_data: Data, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(REPOSITORY / "tuning", tmp_path / "tuning")
    monkeypatch.chdir(PLANNED.at(tmp_path, prepared_data))
    return tmp_path


def change(root: Path, monkeypatch: pytest.MonkeyPatch, planned: Planned = PLANNED) -> None:
    """Scoring that has its sides the wrong way round, and the plan that knows of it."""
    monkeypatch.setattr("puoc.run.executors.trial.auc", lambda positive, negative, what: auc(negative, positive, what))
    monkeypatch.setattr("puoc.plan.make_plan.scoring_digest", lambda: OTHER)
    planned.plan(root)


def rows(root: Path, part: str = "tables", name: str = "first") -> list[ResultRow]:
    return read_rows(result_path(root, part, name), ResultRow)  # type: ignore[arg-type]


def reversed_(row: ResultRow, *columns: str) -> ResultRow:
    """The row as the changed code scores it, apart from the other metrics."""
    aucs = {name: pytest.approx(1 - getattr(row, name)) for name in columns}
    return replace(without_metrics(row), scoring_digest=OTHER, **aucs)


def without_metrics(row: ResultRow) -> ResultRow:
    """The row without its metrics, whose AUCs are those of its columns."""
    for text, value in ((row.metrics, row.auc), (row.metrics_val_pu, row.auc_val_pu)):
        assert value in ({} if text is None else json.loads(text)).values() or text is None
    return replace(row, metrics=None, metrics_val_pu=None)


def models(root: Path) -> set[Path]:
    return set((root / "ledger").rglob("*.safetensors"))


def test_results_without_a_checksum_are_named_and_written_again_with_one(root: Path, monkeypatch) -> None:
    run_part(root, "tables", "first")
    path = result_path(root, "tables", "first")
    assert pipeline_status(root).unchecked == []
    pd.read_parquet(path).to_parquet(path)  # as an earlier version wrote it
    monkeypatch.chdir(root)
    said = CliRunner().invoke(app, ["status"]).output
    assert "without a checksum" in said
    assert "results/tables/first.parquet; delete them" in " ".join(said.split())
    path.unlink()
    assert run_part(root, "tables", "first").total() == 0  # the ledger answers
    assert pipeline_status(root).unchecked == []


@pytest.mark.parametrize("kept", ["all", "none"])
def test_a_table_is_scored_again_and_no_fit_is_another(root: Path, monkeypatch, kept: str) -> None:
    PLANNED.plan(root, ("models: all", f"models: {kept}"))
    assert run_part(root, "tables", "first")["ok"] == 4  # two methods, two seeds; both columns share them
    before, known_models = rows(root), models(root)
    assert not pipeline_status(root).stale
    change(root, monkeypatch)
    PLANNED.plan(root, ("models: all", f"models: {kept}"))
    assert (pipeline_status(root).unrecorded, pipeline_status(root).stale) == (0, 8)
    assert run_part(root, "tables", "first")["ok"] == 4
    after = rows(root)
    assert models(root) == known_models
    for old, new in zip(before, after, strict=True):
        assert without_metrics(new) == reversed_(old, "auc", "auc_train_pool")
    assert not pipeline_status(root).stale
    assert run_part(root, "tables", "first").total() == 0

    # the code as it was before: its scores are still there
    monkeypatch.undo()
    monkeypatch.chdir(root)
    PLANNED.plan(root)
    assert run_part(root, "tables", "first").total() == 0
    assert rows(root) == before


def test_a_sweep_is_scored_again_and_chooses_by_what_it_sees_now(root: Path, monkeypatch) -> None:
    assert run_part(root, "tune", "pu_svm")["ok"] == 6  # lam published and two more, two seeds
    before = rows(root, "tune", "pu_svm")
    change(root, monkeypatch)
    sweep, ledger = resolve_sweep(root, SweepRequest("pu_svm", search="tpe")), Ledger(root / "ledger")
    assert known_configs(sweep, ledger) == []
    assert run_part(root, "tune", "pu_svm")["ok"] == 6
    for old, new in zip(before, rows(root, "tune", "pu_svm"), strict=True):
        assert old.auc_val_pu is not None
        assert without_metrics(new) == reversed_(old, "auc_val_pu")
    found = known_configs(sweep, ledger)
    assert len(found) == 3
    for one in found:
        of_config = [row for row in rows(root, "tune", "pu_svm") if row.fit_id in fits_of(sweep, one.params)]
        assert one.val == pytest.approx(sum(row.auc_val_pu for row in of_config) / 2)
        assert one.val == mean_val(list(bind(sweep.plan_of(one.params))), ledger, OTHER)


def fits_of(sweep, params) -> set[str]:
    return {one.trial.fit.id for one in bind(sweep.plan_of(params))}


def test_a_test_set_asked_for_after_the_change_has_its_own_validation(root: Path, monkeypatch) -> None:
    run_part(root, "tune", "pu_svm")
    change(root, monkeypatch)
    _, asked = planned_trials(root, "tune", "pu_svm")
    other = [one._replace(trial=one.trial.model_copy(update={"test": one.trial.test.model_copy(update={"neg": (1,)})}))
             for one in asked]  # fmt: skip
    from puoc.run.runner import Runner
    from puoc.store.plan_files import read_compute

    plan, _ = planned_trials(root, "tune", "pu_svm")
    runner = Runner(root, read_compute(root))
    assert runner.run(plan, other)["ok"] == 6
    for one in other:
        entry = runner.ledger.get(one.trial.fit.id)
        assert entry is not None
        later = entry.scored(one.trial.id, OTHER)
        assert entry.result.auc_val_pu is not None
        assert entry.auc_val_pu(later) == pytest.approx(1 - entry.result.auc_val_pu)
        assert entry.scored(one.trial.id) == later  # the first there is


def test_a_ledger_with_scores_made_again_is_sound_and_travels_whole(root: Path, monkeypatch, tmp_path: Path) -> None:
    run_part(root, "tables", "first")
    change(root, monkeypatch)
    run_part(root, "tables", "first")
    ledger = Ledger(root / "ledger")
    assert upkeep.verify(ledger) == []
    archive.export(ledger, tmp_path / "all.parquet")
    other = Ledger(tmp_path / "imported")
    assert archive.import_(other, tmp_path / "all.parquet") == (4 + 8, 0)
    for one in planned_trials(root, "tables", "first")[1]:
        fit_id, trial_id = one.trial.fit.id, one.trial.id
        assert other.get(fit_id) == ledger.get(fit_id)
        assert other.has(fit_id, trial_id, OTHER)
        assert not other.has(fit_id, trial_id, OTHER[::-1])
    again = next(ledger.root.rglob(f"*.{OTHER}.json"))
    again.rename(again.with_name(again.name.replace(OTHER, OTHER[::-1])))
    assert "got a trial scored by code 0123456789abcdef; expected the digest in its name" in upkeep.verify(ledger)[0]


def test_status_and_the_page_say_which_scores_are_old(root: Path, monkeypatch) -> None:
    run_part(root, "tables", "first")
    runner = CliRunner()

    def page() -> str:
        done = runner.invoke(app, ["report", "--no-track"])
        assert done.exit_code == 0, done.output
        return site_text(root)

    note = "8 trials were scored by other code than the current; dvc repro scores them again"
    assert note not in page()
    assert "another version of the code" not in runner.invoke(app, ["status"]).output
    change(root, monkeypatch)
    assert note in page()
    said = " ".join(runner.invoke(app, ["status"]).output.split())
    assert "8 rows of results/ scored by another version of the code; dvc repro rescores them" in said
    run_part(root, "tables", "first")
    assert note not in page()
    assert "another version of the code" not in runner.invoke(app, ["status"]).output


def test_what_another_table_had_scored_again_is_old_in_this_one_and_new_in_mlflow(root: Path, monkeypatch) -> None:
    section = PARAMS[PARAMS.index("  first:") : PARAMS.index("tune:")]
    both = Planned(PARAMS.replace("tune:", section.replace("first:", "second:") + "tune:"), "digits")
    both.plan(root)
    for name in ("first", "second"):
        run_part(root, "tables", name)
    change(root, monkeypatch, both)
    monkeypatch.setattr("puoc.reporting.tracking.project_trials.scoring_digest", lambda: OTHER)
    run_part(root, "tables", "second")
    assert pipeline_status(root).stale == len(rows(root, name="second")) == len(rows(root))
    aucs = {row.trial_id: row.auc for row in rows(root, name="second")}
    asked = trials(rows_with_outcome(read_results_of_project(root)[0]))
    assert {key[1]: trial.row.auc for key, trial in asked.items()} == aucs
    run_part(root, "tables", "first")
    assert pipeline_status(root).stale == 0


def test_scoring_that_failed_is_due_once_and_once_more_for_each_leave(root: Path, monkeypatch) -> None:
    def fails(positive: object, negative: object, what: str) -> float:
        raise MemoryError("no memory just now")

    def dues() -> str:
        assert runner.invoke(app, ["pending"]).exit_code == 0
        return (root / "work" / "pending" / "tables" / "first.json").read_text()

    runner = CliRunner()
    run_part(root, "tables", "first")
    sound = dues()
    change(root, monkeypatch)
    works = pytest.MonkeyPatch()
    works.setattr("puoc.run.executors.trial.auc", fails)
    assert run_part(root, "tables", "first")["failed"] == 4
    status = runner.invoke(app, ["status"])
    assert status.exit_code == 3
    assert "the next dvc repro tries a fit once more" in status.output
    due = dues()
    assert due != sound  # the stage runs
    run_part(root, "tables", "first")
    assert dues() == due  # it failed once more: in quarantine
    assert runner.invoke(app, ["retry", "all"]).exit_code == 0
    again = dues()
    assert again != due
    works.undo()
    change(root, monkeypatch)
    run_part(root, "tables", "first")
    assert {row.status for row in rows(root)} == {"ok"}
    assert dues() == again  # and nothing runs for nothing
    monkeypatch.setattr("puoc.plan.make_plan.scoring_digest", lambda: OTHER[::-1])
    PLANNED.plan(root)
    monkeypatch.setattr("puoc.run.executors.trial.auc", fails)
    run_part(root, "tables", "first")
    assert dues() != again  # by other code it is due anew


def test_failed_fits_of_a_sweep_that_no_section_plans_are_named_and_can_be_tried_again(root: Path) -> None:
    asked = resolve_sweep(root, SweepRequest(entry="oc_svm", scenario="first", space="grid"))
    ledger = Ledger(root / "ledger")
    fit = next(iter(bind(asked.plan))).trial.fit
    for attempt in range(MAX_ATTEMPTS):
        ledger.put(FitResult(fit=fit, status="failed", reason="RuntimeError: no such luck", session=str(attempt)))
    [line, *_] = failed_rows(write_results(root, asked))
    assert line.endswith(f"[{fit.id}]")
    stands = pipeline_status(root)
    assert not stands.failed
    assert {row.fit_id for row in stands.failed_unplanned} == {fit.id}
    assert fit.id in CliRunner().invoke(app, ["status"]).output
    for given in ("all", fit.id):
        assert not ledger.may_try(fit.id)
        assert CliRunner().invoke(app, ["retry", given]).exit_code == 0
        assert ledger.may_try(fit.id)
        ledger.put(FitResult(fit=fit, status="failed", reason="RuntimeError: none again", session=given))
