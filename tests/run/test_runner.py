"""The runner with real workers and a real ledger: nothing is lost, nothing done twice, every end is told."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest
from planned import Data
from rich.console import Console
from shift_project import LATER, PLANNED, Said
from typer.testing import CliRunner

from puoc.cli.app import app
from puoc.cli.progress import Reporter
from puoc.records import FitResult
from puoc.run.executors import job as jobs
from puoc.run.executors.local import LocalExecutor, WorkerDied
from puoc.run.executors.process_lifetime import session
from puoc.run.runner import Progress, Runner
from puoc.run.stages import planned_trials, run_part
from puoc.run.status import PipelineStatus, pipeline_status
from puoc.store.checked_parquet import read_rows, to_parquet
from puoc.store.plan_files import read_compute
from puoc.store.result_rows import ResultRow

plan = PLANNED.plan


def rows(root: Path) -> list[ResultRow]:
    return read_rows(root / "results" / "tables" / "shift.parquet", ResultRow)


@pytest.fixture
def root(tmp_path: Path, prepared_data: Data) -> Path:
    """A planned project with its data, in which nothing was run."""
    return PLANNED.at(tmp_path, prepared_data)


@pytest.fixture
def puoc(root: Path, monkeypatch: pytest.MonkeyPatch) -> Said:
    """Exit code and words of a command in the project, as a stage: MLflow is left to the stage report."""
    monkeypatch.chdir(root)
    monkeypatch.setenv("DVC_STAGE", "run@shift")

    def call(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, words)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    return call


# what is there, and what is not


def test_a_table_is_computed_once_and_its_progress_adds_up(root: Path) -> None:
    states: list[Progress] = []
    told: list[ResultRow] = []
    assert run_part(root, "tables", "shift", on_rows=told.extend, on_progress=states.append)["ok"] == 4
    assert {row.status for row in rows(root)} == {"ok"}
    assert sorted(row.trial_id for row in told) == sorted(row.trial_id for row in rows(root))
    done = [state.ok + state.failed for state in states]
    assert done == sorted(done)
    assert {state.wanted for state in states} == {4}
    assert all(state.remaining == 4 - n for state, n in zip(states, done, strict=True))
    before = {path: path.stat().st_mtime_ns for path in (root / "ledger").rglob("*.*")}
    assert run_part(root, "tables", "shift") == {"ok": 0, "failed": 0, "known": 0}
    assert {path: path.stat().st_mtime_ns for path in (root / "ledger").rglob("*.*")} == before


def test_without_prepared_data_nothing_is_started_and_no_attempt_is_used_up(root: Path, puoc: Said) -> None:
    meta = root / "work" / "prepared" / "digits" / "meta.json"
    other = json.loads(meta.read_text()) | {"digest": "0" * 32}
    meta.write_text(json.dumps(other))
    code, said = puoc("run", "shift")
    assert code == 2
    assert f": got data {'0' * 32}; expected" in said
    shutil.rmtree(meta.parent)
    code, said = puoc("run", "shift")
    assert code == 2
    assert "holds no prepared dataset" in said
    assert "run `puoc prepare`" in said
    assert not (root / "ledger").exists()
    assert not (root / "results" / "tables").exists()


def test_a_device_that_is_not_there_is_told_before_any_fit_fails_for_it(root: Path, puoc: Said) -> None:
    plan(root, ("device: cpu", "device: cuda:99"))
    code, said = puoc("run", "shift")
    assert code == 2
    assert "compute.device: got cuda:99; expected cpu, or one of the" in said
    assert not (root / "ledger").exists()


@pytest.mark.parametrize(
    "words",
    ["fetch", "prepare", "pending", "tune x", "select", "run x", "compare", "report", "track", "status", "retry all"],
)
def test_in_a_folder_that_is_no_project_a_command_says_so_and_writes_nothing(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code == 2, done.output
    assert f"no params.yaml here, in {tmp_path}; run this command in the folder of params.yaml" in done.output
    assert not list(tmp_path.iterdir())
    (tmp_path / "params.yaml").write_text("tables: {}\n")
    if words != "doctor":  # it makes the plan itself
        assert f"no work/plan in {tmp_path}; run puoc plan first" in CliRunner().invoke(app, words.split()).output


def test_status_names_what_was_not_run(puoc: Said) -> None:
    code, said = puoc("status")
    assert code == 0
    assert "not run: shift" in said
    assert puoc("run", "shift")[0] == 0
    assert "not run" not in puoc("status")[1]


def test_status_is_that_of_the_present_plan_and_not_of_older_results(root: Path, puoc: Said) -> None:
    run_part(root, "tables", "shift")
    assert pipeline_status(root) == PipelineStatus()
    plan(root, ("seeds: 2", "seeds: 5"))
    assert len(pipeline_status(root).missing) == 2 * 3
    assert "0 failed rows, 6 missing rows" in puoc("status")[1]


def test_status_tells_results_whose_ledger_is_gone(root: Path, puoc: Said) -> None:
    run_part(root, "tables", "shift")
    shutil.rmtree(root / "ledger")
    code, said = puoc("status")
    assert code == 0
    assert "4 rows in results/ but not in ledger/" in said
    assert "0 failed rows, 0 missing rows" in said


def test_an_interrupted_run_writes_no_results_and_the_next_computes_the_rest(root: Path) -> None:
    def stop(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_part(root, "tables", "shift", on_rows=stop)
    assert not (root / "results" / "tables").exists()
    known = len([path for path in (root / "ledger").rglob("*.json") if "+" not in path.name])
    assert 1 <= known < 4
    assert run_part(root, "tables", "shift")["ok"] == 4 - known
    assert list((root / "ledger").rglob("*.claim")) == []


# failures


def test_a_store_that_fails_costs_no_result_and_no_exit_code(
    root: Path, puoc: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DVC_STAGE")
    (root / "mlruns").write_text("a file where MLflow's folder belongs")
    code, said = puoc("run", "shift")
    assert code == 0, said
    assert "shift: 4 fits computed, 0 failed" in said
    assert "some of them are not in MLflow yet" in said
    assert "run puoc track to add them" in said
    assert {row.status for row in rows(root)} == {"ok"}


def test_damaged_results_are_one_sentence_that_names_their_file(root: Path, puoc: Said) -> None:
    run_part(root, "tables", "shift")
    path = root / "results" / "tables" / "shift.parquet"
    content = path.read_bytes()
    thrift = content[:-30] + bytes(22) + content[-8:]  # of parquet's footer
    other = to_parquet(pa.table({"a": [1]}))
    for damaged, reason in ((b"PA", "damaged ("), (thrift, "damaged ("), (other, "no column entry, ")):
        path.write_bytes(damaged)
        for command in ("status", "pending", "compare", "track"):
            code, said = puoc(command)
            assert code == 2, f"{command}: {said}"
            assert f"results/tables/shift.parquet: {reason}" in said
            assert "delete it, and dvc repro writes it again from the ledger" in said
    path.unlink()
    assert puoc("pending")[0] == 0


def test_a_damaged_record_is_one_sentence_that_names_its_file(root: Path, puoc: Said) -> None:
    assert puoc("run", "shift")[0] == 0
    record = next(path for path in (root / "ledger").rglob("*.json"))
    record.write_bytes(b"{")
    code, said = puoc("run", "shift")
    assert code == 2
    assert f"{record.name}: not a record" in said
    assert "delete it and run again" in said


def test_a_ledger_that_cannot_be_written_ends_the_run_with_its_own_words(root: Path, puoc: Said) -> None:
    (root / "ledger").write_text("a file where the ledger's folder belongs")
    code, said = puoc("run", "shift")
    assert code == 1
    assert "Not a directory: '" in said
    assert "/ledger/" in said
    assert "finished results are kept; run the same command again to continue" in said
    assert not (root / "results" / "tables").exists()


def test_a_failure_that_another_run_recorded_meanwhile_leaves_the_next_attempt_to_the_next_run(root: Path) -> None:
    settings = read_compute(root)
    table, asked = planned_trials(root, "tables", "shift")
    runner = Runner(root, settings)
    fit = asked[0].trial.fit
    begun = runner._jobs(table.scoring_digest, {fit.id: fit}, {fit.id: (asked[0].trial.test,)})
    runner.ledger.put(FitResult(fit=fit, status="failed", reason="RuntimeError: elsewhere"))
    assert jobs.compute(begun[0]) == [jobs.Done(fit.id, "failed", "RuntimeError: elsewhere")]
    assert runner.ledger.attempts(fit.id) == 1
    assert run_part(root, "tables", "shift")["ok"] == 4  # which is the next run
    assert runner.ledger.get(fit.id).result.attempts == 2  # type: ignore[union-attr]


def test_a_failed_fit_is_tried_once_in_a_session_however_many_tables_ask_it(root: Path) -> None:
    settings = read_compute(root)
    table, asked = planned_trials(root, "tables", "shift")
    runner = Runner(root, settings)
    fit = asked[0].trial.fit
    runner.ledger.put(FitResult(fit=fit, status="failed", reason="for the first table", session=runner.session))
    assert runner.run(table, asked[:1]) == {"ok": 0, "failed": 0, "known": 0}
    runner.session = "the next dvc repro"
    assert runner.run(table, asked[:1])["ok"] == 1
    assert runner.ledger.attempts(fit.id) == 2


def test_only_fits_that_another_process_still_holds_count_as_computed_elsewhere(root: Path) -> None:
    states: list[Progress] = []
    runner = Runner(root, read_compute(root), on_progress=states.append)
    table, trials = planned_trials(root, "tables", "shift")
    fits = {planned.trial.fit.id: planned.trial.fit for planned in trials}
    waiting = [
        runner._jobs(table.scoring_digest, {fit_id: fit}, {fit_id: ()})[0] for fit_id, fit in list(fits.items())[:2]
    ]
    claim = runner.ledger.claim(waiting[0].fits[0].id)  # the other one ended since it was looked at
    assert claim is not None
    runner.report(4, Counter(ok=1), waiting)
    claim.release()
    runner.report(4, Counter(ok=1), waiting)
    assert [(state.waiting, bool(state.waiting_for)) for state in states] == [(1, True), (0, False)]


# test sets that are asked later


def test_a_test_set_asked_later_is_scored_by_the_same_model_kept_or_not(root: Path) -> None:
    run_part(root, "tables", "shift")
    plan(root, LATER)
    assert run_part(root, "tables", "shift")["ok"] == 4
    kept = {(r.entry, r.cell, r.seed): (r.status, r.auc, r.auc_train_pool) for r in rows(root)}
    assert len(kept) == 8
    shutil.rmtree(root / "ledger")
    for changes in ((), (LATER,)):
        plan(root, ("models: all", "models: none"), *changes)
        run_part(root, "tables", "shift")
    assert not list((root / "ledger").rglob("*.safetensors"))
    again = {(r.entry, r.cell, r.seed): (r.status, r.auc, r.auc_train_pool) for r in rows(root)}
    assert again == kept


def test_a_test_set_that_could_not_be_scored_is_a_failed_row_with_its_reason(root: Path) -> None:
    run_part(root, "tables", "shift")
    for path in (root / "ledger").rglob("*.safetensors"):
        path.write_bytes(b"damaged")
    plan(root, LATER)
    assert run_part(root, "tables", "shift")["failed"] == 4
    assert {(row.cell, row.status) for row in rows(root)} == {("1->1", "ok"), ("1->8", "failed")}
    assert all("safetensors" in row.reason for row in pipeline_status(root).failed)
    assert len(pipeline_status(root).failed) == 4


# workers


def _connection() -> Any:
    return sys._getframe(2).f_locals["connection"]


def _obey(job: str) -> str:
    if job == "dies while it sends":
        os.write(_connection().fileno(), b"\0\0")  # half of a message's length
        os._exit(1)
    if job == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if job == "is too much":
        raise OSError(28, "No space left on device", "ledger")
    if job.startswith("who"):
        return str(os.getpid())
    return job


def test_a_clock_that_is_set_makes_no_other_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each session tries a failed fit once, so one ``dvc repro`` must not have two."""
    before = session()
    monkeypatch.setattr(psutil.Process, "create_time", lambda _: 1.0e9)  # psutil's, from the clock as it is now
    assert session() == before


@pytest.mark.parametrize("job", ["dies while it sends", "is killed"])
def test_a_worker_that_dies_is_replaced_and_its_job_reported(job: str) -> None:
    with LocalExecutor(2, _obey) as executor:
        outcomes = dict(executor.run(["a", job, "b", "c"]))
        assert isinstance(outcomes.pop(job), WorkerDied)
        assert outcomes == {"a": "a", "b": "b", "c": "c"}


def test_a_worker_that_died_idle_costs_one_report_and_no_run() -> None:
    with LocalExecutor(1, _obey) as executor:
        pid = int(dict(executor.run(["who"]))["who"])
        os.kill(pid, signal.SIGKILL)
        executor.workers[0].process.join()
        outcomes = dict(executor.run(["a", "b"]))
    assert isinstance(outcomes["a"], WorkerDied)
    assert outcomes["b"] == "b"


def test_messages_larger_than_a_pipe_stop_nobody() -> None:
    large = [str(i) * 3_000_000 for i in range(6)]
    with LocalExecutor(2, _obey) as executor:
        assert sorted(outcome for _, outcome in executor.run(large)) == sorted(large)


def test_what_all_jobs_need_and_lack_ends_the_run_with_the_workers_own_error() -> None:
    with LocalExecutor(2, _obey) as executor:
        with pytest.raises(OSError, match="No space left on device: 'ledger'"):
            list(executor.run(["a", "is too much", "b"]))
        processes = [worker.process for worker in executor.workers]
    assert not any(process.is_alive() for process in processes)


@pytest.mark.parametrize(
    ("code", "words"),
    [(-9, "killed by signal 9 (Killed)"), (-40, "killed by signal 40 ("), (1, "ended with exit code 1")],
)
def test_how_a_worker_ended_is_told_whatever_the_signal(code: int, words: str) -> None:
    assert words in str(WorkerDied(code))


# words for people


def test_the_time_left_is_that_of_the_fits_done_so_far() -> None:
    reporter = Reporter("table", Console(file=io.StringIO()))
    reporter.started = time.monotonic() - 80
    assert reporter._note(Progress(10, 0, 0, 0)) == "ETA after the first fit"
    assert reporter._note(Progress(10, 3, 1, 0)) == "1 failed, ETA 2:00"
    assert reporter._note(Progress(4, 1, 0, 3, "process 7 on here")).startswith(
        "3 computed elsewhere by process 7 on h"
    )


def test_a_bar_on_a_terminal_leaves_the_streams_of_forked_workers_alone() -> None:
    before = sys.stdout, sys.stderr
    with Reporter("table", Console(file=io.StringIO(), force_terminal=True)) as reporter:
        reporter.update(Progress(10, 3, 1, 0))
        assert (sys.stdout, sys.stderr) == before
