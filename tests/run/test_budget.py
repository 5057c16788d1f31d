"""Runs with a budget: the order of fits, what starts and what does not, and the same rows in the end."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from forked import forked
from planned import Data, Planned
from two_tables import PARAMS
from typer.testing import CliRunner

from puoc.cli.app import app
from puoc.plan.bind import PlannedTrial
from puoc.plan.forecast.costs import Estimate, Forecast, estimate, measured
from puoc.records import Fit, FitResult
from puoc.run import budget_run
from puoc.run.budget_tasks import Remaining
from puoc.run.executors.job import Done, Job, compute
from puoc.run.pending import MISSING, pending
from puoc.run.runner import Progress, Runner
from puoc.run.schedule import Group, TableTrials, ordered, sets_to_score
from puoc.run.stages import planned_trials, run_part, run_tables
from puoc.run.status import PipelineStatus, pipeline_status
from puoc.run.task_queue import Features, Task, TaskQueue
from puoc.store.checked_parquet import read_rows
from puoc.store.ledger import MAX_ATTEMPTS, Ledger
from puoc.store.plan_files import read_compute
from puoc.store.plans import TablePlan
from puoc.store.result_rows import ResultRow
from puoc.store.times import limit_text, read_time

PLANNED = Planned(PARAMS, "digits")
KEY = ("nnpu", "", "image")  # of a method with a measured cost
BOTH = ("first", "second")


@pytest.fixture
def root(tmp_path: Path, prepared_data: Data) -> Path:
    """A planned project with its data, in which nothing was run."""
    return PLANNED.at(tmp_path, prepared_data)


def tables(root: Path, *names: str) -> list[TableTrials]:
    found = []
    for name in names or BOTH:
        plan, trials = planned_trials(root, "tables", name)
        assert isinstance(plan, TablePlan)
        found.append(TableTrials(plan, trials))
    return found


def rows(root: Path, name: str = "first") -> list[ResultRow]:
    return read_rows(root / "results" / "tables" / f"{name}.parquet", ResultRow)


def outcomes(root: Path) -> dict[tuple[object, ...], tuple[object, ...]]:
    return {
        (name, row.entry, row.cell, row.seed, row.trial_id): (row.status, row.auc, row.auc_train_pool, row.prior_alpha)
        for name in BOTH
        for row in rows(root, name)
    }


# times


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("30m", 1800), ("1h30m", 5400), (" 2h ", 7200), ("0s", 0), ("1h1m1s", 3661)],
)
def test_a_time_is_read(text: str, seconds: int) -> None:
    assert read_time(text) == seconds


@pytest.mark.parametrize("text", ["", "90", "2x", "1.5h", "-1h", "1m1h", "h", "1 h"])
def test_what_is_no_time_is_none(text: str) -> None:
    assert read_time(text) is None


@pytest.mark.parametrize("seconds", [0.0, 0.2, 1.0, 59.9, 60.0, 3599.5, 86400.0])
def test_a_limit_is_longer_and_can_be_read(seconds: float) -> None:
    limit = read_time(limit_text(seconds))
    assert limit is not None
    assert seconds < limit <= seconds + 1


# order


def seconds_with_needs(fit: Fit, tests: dict[str, dict[str, object]]) -> float:
    forecast = Forecast()
    return sum(forecast.seconds(one, tests.get(one.id, {}).values()) for one in (*fit.needs(), fit))  # type: ignore[arg-type]


def test_entries_come_by_seconds_per_fit_and_their_fits_seed_by_seed_over_all_cells(root: Path) -> None:
    asked = tables(root)
    tests = sets_to_score(asked)
    groups = ordered(asked, Forecast())
    assert {fit.id for group in groups for fit in group.fits} == tests.keys()
    assert sum(len(group.fits) for group in groups) == len(tests)
    costs: dict[tuple[str, str], float] = {}
    for name in ("oc_svm", "pu_svm", "nnpu"):
        for table, trials in asked:
            fits = {p.trial.fit.id: p.trial.fit for p in trials if p.entry == name}
            seconds = [seconds_with_needs(fit, tests) for fit in fits.values()]
            costs[table.table, name] = sum(seconds) / len(seconds)
    expected = sorted(costs, key=lambda key: (round(costs[key], 9), key[0]))
    assert [key for key in expected if costs[key] == max(costs.values())] != expected  # they differ
    seen = list(dict.fromkeys((group.table, group.entry) for group in groups))
    assert seen == expected
    for key in seen:
        of_entry = [group for group in groups if (group.table, group.entry) == key]
        assert [group.seed for group in of_entry] == [0, 1]
        # the tables share the fits of the cell pos=1, which are computed for the table that comes first
        is_first = key == next(other for other in seen if other[1] == key[1])
        assert {len(group.fits) for group in of_entry} == {2 if is_first else 1}


def test_the_order_ignores_what_was_computed_and_unknown_costs_come_last(root: Path) -> None:
    asked = tables(root)
    before = ordered(asked, Forecast())
    ledger = Ledger(root / "ledger")
    for planned in asked[1].trials:
        ledger.put(FitResult(fit=planned.trial.fit, status="ok"))
    assert ordered(asked, Forecast(ledger)) == before
    on_gpu = ordered(asked, Forecast(device="cuda"))  # every cost is unknown: the order of the tables
    assert list(dict.fromkeys((g.table, g.entry) for g in on_gpu))[:3] == [
        ("first", name) for name in ("nnpu", "pu_svm", "oc_svm")
    ]

    def odd(planned: PlannedTrial) -> PlannedTrial:
        fit = planned.trial.fit
        if planned.entry != "oc_svm":
            return planned
        unknown = fit.model_copy(update={"params": {"epochs": "many"}})
        return planned._replace(trial=planned.trial.model_copy(update={"fit": unknown}))

    changed = [TableTrials(plan, [odd(planned) for planned in trials]) for plan, trials in asked]
    last: list[Group] = ordered(changed, Forecast())[-4:]
    assert {group.entry for group in last} == {"oc_svm"}


# the choice of the next job


def job_of(root: Path, fit: Fit) -> Job:
    runner = Runner(root, read_compute(root))
    return runner._jobs("s", {fit.id: fit}, {fit.id: ()})[0]


class Times:
    """Seconds that a test sets."""

    def __init__(self, rest: float):
        self.rest, self.now = rest, 0.0

    def queue(self, *tasks: Task, features: dict[Features, float | None] | None = None) -> TaskQueue:
        return TaskQueue(tasks, Forecast(), features or {}, lambda: self.rest, lambda: self.now)


@pytest.fixture
def make(root: Path) -> Callable[..., Task]:
    """A task of some seconds; None: of unknown cost."""
    fits = iter([planned.trial.fit for _, trials in tables(root, "first") for planned in trials])
    runner = Runner(root, read_compute(root))

    def new(seconds: float | None, *needs: Task, **changes: frozenset[Features]) -> Task:
        fit = next(fits)
        (job,) = runner._jobs("s", {fit.id: fit}, {fit.id: ()})
        estimate = None if seconds is None else Estimate(KEY, seconds / measured()[KEY].per_unit, 0.0)
        task = Task(job, (estimate,), needs=list(needs), **changes)
        for need in needs:
            need.needed_by.append(task)
        return task

    return new


def test_the_first_of_the_order_that_fits_is_next(make: Callable[..., Task]) -> None:
    long, short, shorter = make(100.0), make(5.0), make(1.0)
    times = Times(10.0)
    queue = times.queue(long, short, shorter)
    assert queue.next() is short.job
    times.rest = 2.0
    assert queue.next() is shorter.job
    assert queue.next() is None
    times.rest = 200.0
    queue.ended(short.job)
    assert queue.next() is long.job
    assert queue.next() is None
    assert queue.waiting == []


@pytest.mark.parametrize("rest", [0.0, -1.0])
def test_nothing_starts_without_a_rest(make: Callable[..., Task], rest: float) -> None:
    queue = Times(rest).queue(make(0.0), make(None))
    assert queue.next() is None
    assert not queue.waits()


def test_a_need_starts_only_if_a_fit_for_which_it_is_computed_fits_too(make: Callable[..., Task]) -> None:
    encoder = make(5.0)
    prior = make(2.0, encoder)
    dear, cheap = make(50.0, encoder, prior), make(3.0, encoder, prior)
    times = Times(9.9)
    queue = times.queue(encoder, prior, dear, cheap)
    assert queue.seconds_to_finish(encoder) == pytest.approx(10.0)
    assert queue.seconds_to_finish(dear) == pytest.approx(57.0)
    assert queue.next() is None
    times.rest, queue = 10.1, Times(10.1).queue(encoder, prior, dear, cheap)
    assert queue.next() is encoder.job
    assert queue.next() is None  # all others need it
    queue.ended(encoder.job)
    assert queue.next() is prior.job
    queue.ended(prior.job)
    assert queue.next() is cheap.job
    assert queue.seconds_to_finish(dear) == pytest.approx(50.0)


def test_an_unknown_cost_waits_until_nothing_else_fits(make: Callable[..., Task]) -> None:
    unknown, need = make(None), make(1.0)
    after, large = make(1.0, need), make(100.0)
    queue = Times(10.0).queue(unknown, need, after, large)
    assert queue.next() is need.job
    assert queue.next() is None  # the fit after it is cheaper and waits
    queue.ended(need.job)
    assert queue.next() is after.job
    assert queue.next() is unknown.job  # the large one does not fit


def test_a_fit_that_another_process_computes_is_looked_at_later(make: Callable[..., Task]) -> None:
    first, second = make(1.0), make(1.0)
    times = Times(10.0)
    queue = times.queue(first, second)
    assert queue.next() is first.job
    again = first.job._replace()
    queue.again(queue.ended(first.job), [again], not_before=5.0)
    assert queue.next() is second.job
    assert queue.next() is None
    assert queue.waits()
    times.now = 5.0
    assert queue.next() is again
    times.rest = 0.5
    queue.again(queue.ended(again), [again._replace()], not_before=9.0)
    assert not queue.waits()


def test_features_are_part_of_the_cost_and_come_before_their_first_fit(make: Callable[..., Task]) -> None:
    frozen = Features("digits", "f")
    task, other, plain = make(1.0, features=frozenset({frozen})), make(1.0, features=frozenset({frozen})), make(2.0)
    times = Times(10.0)
    queue = times.queue(task, other, plain, features={frozen: 20.0})
    assert queue.next() is plain.job
    assert queue.next() is None
    assert queue.features_due is None
    queue = times.queue(task, other, features={frozen: 8.0})
    assert queue.next() is None
    assert queue.features_due is task
    queue.has_features(task.features)
    assert [queue.next(), queue.next()] == [task.job, other.job]


def test_fits_of_this_run_correct_the_forecast(root: Path) -> None:
    fit = next(planned.trial.fit for planned in tables(root, "first")[0].trials if planned.entry == "nnpu")
    forecast, gpu = Forecast(), Forecast(device="cuda")
    work = estimate(fit)
    before = forecast.seconds_of(work)
    assert before is not None
    for some in (forecast, gpu):
        some.add(FitResult(fit=fit, status="failed", fit_seconds=500.0))
    assert forecast.seconds_of(work) == before
    assert gpu.seconds_of(work) is None
    for some in (forecast, gpu):
        some.add(FitResult(fit=fit, status="ok", fit_seconds=50.0))
        assert some.seconds_of(work) == pytest.approx(50.0)


# runs


def test_a_budget_of_nothing_starts_nothing_and_says_what_would_be_needed(root: Path) -> None:
    counts, remaining = run_tables(root, BOTH, 0.0)
    assert counts.total() == 0
    assert not list((root / "ledger").rglob("*.json"))
    n_fits = 4 * 3 * 2  # nnpu, pu_svm, TIcE and oc_svm; three cells, since the tables share one; two seeds
    assert (remaining.fits, remaining.unknown) == (n_fits, 0)
    assert 0 < remaining.seconds < 60
    fits = {planned.trial.fit.id: planned.trial.fit for _, trials in tables(root) for planned in trials}
    tests = sets_to_score(tables(root))
    assert remaining.next_seconds == pytest.approx(min(seconds_with_needs(fit, tests) for fit in fits.values()))
    assert {row.status for name in BOTH for row in rows(root, name)} == {"missing"}
    assert len(pipeline_status(root).missing) == len(outcomes(root))


def test_an_interrupted_budget_leaves_whole_seeds_and_the_rest_gives_equal_rows(
    root: Path, tmp_path_factory: pytest.TempPathFactory, prepared_data: Data
) -> None:
    PLANNED.plan(root, ("workers: 2", "workers: 1"))
    told: list[ResultRow] = []
    counts, remaining = run_tables(root, BOTH, 0.3, on_rows=told.extend)
    assert 0 < counts["ok"] < counts["ok"] + remaining.fits == 24
    order = [fit.id for group in ordered(tables(root), Forecast()) for fit in group.fits]
    ledger = Ledger(root / "ledger")
    done = [ledger.is_final(fit_id) for fit_id in order]
    assert all(before or not after for before, after in pairwise(done))
    assert {row.trial_id for row in told} == {
        row.trial_id for name in BOTH for row in rows(root, name) if row.status == "ok"
    }
    again, nothing = run_tables(root, BOTH, 60.0)
    assert again["ok"] == remaining.fits
    assert nothing == Remaining(0, 0.0, 0, None)
    assert pipeline_status(root) == PipelineStatus()
    other = PLANNED.at(tmp_path_factory.mktemp("whole"), prepared_data)
    for name in BOTH:
        run_part(other, "tables", name)
    assert outcomes(root) == outcomes(other)
    assert set(ledger.ids()) == set(Ledger(other / "ledger").ids())
    assert run_tables(root, BOTH, 0.0)[1] == nothing


def test_a_need_that_failed_for_good_fails_the_fits_that_need_it(root: Path) -> None:
    ledger = Ledger(root / "ledger")
    (table,) = tables(root, "first")
    fit = next(planned.trial.fit for planned in table.trials if planned.entry == "pu_svm")
    for _ in range(MAX_ATTEMPTS):
        ledger.put(FitResult(fit=fit.needs()[0], status="failed", reason="ValueError: no estimate"))
    counts, remaining = run_tables(root, ["first"], 60.0)
    assert counts == {"ok": 14, "failed": 1, "known": 0}
    assert remaining.fits == 0
    (failed,) = [row for row in rows(root) if row.status == "failed"]
    assert (failed.fit_id, failed.reason) == (fit.id, "its tice failed: ValueError: no estimate")


def test_a_fit_that_another_process_holds_is_left_when_the_budget_ends(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PLANNED.plan(root, ("seeds: 2", "seeds: 1"), ("methods: [nnpu, pu_svm, oc_svm]", "methods: [oc_svm]"))
    held = tables(root, "first")[0].trials[0].trial.fit.id
    claim = Ledger(root / "ledger").claim(held)
    assert claim is not None
    now, passed = time.monotonic, [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now() + passed[0])

    def end_when_nothing_else_is_left(progress: Progress) -> None:
        if (progress.ok, progress.waiting) == (1, 1):
            passed[0] = 700.0

    counts, remaining = run_tables(root, ["first"], 600.0, on_progress=end_when_nothing_else_is_left)
    assert (counts["ok"], remaining.fits, passed) == (1, 1, [700.0])
    claim.release()
    assert run_tables(root, ["first"], 30.0)[0]["ok"] == 1


def test_a_worker_that_dies_is_replaced_and_its_fit_run_once_more(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = tables(root, "first")[0].trials
    once, always = (next(p.trial.fit.id for p in trials if p.entry == name) for name in ("oc_svm", "nnpu"))
    mark = root / "died"

    def dying(job: Job) -> list[Done]:
        if job.fits[0].id == always or (job.fits[0].id == once and not mark.exists()):
            mark.write_text("once")
            os.kill(os.getpid(), signal.SIGKILL)
        return compute(job)

    monkeypatch.setattr(budget_run, "compute", dying)
    counts, remaining = run_tables(root, ["first"], 60.0)
    assert counts == {"ok": 15, "failed": 1, "known": 0}
    assert remaining.fits == 0
    (failed,) = [row for row in rows(root) if row.status == "failed"]
    assert failed.fit_id == always
    assert "killed by signal 9" in str(failed.reason)


# commands


def test_trials_that_a_budget_left_make_their_stage_due_until_all_are_there(root: Path) -> None:
    assert pending(root)["tables/first"] == {}
    run_tables(root, ["first"], 0.0)
    assert [pending(root)["tables/first"] for _ in range(2)] == [{MISSING: 1}, {MISSING: 2}]
    assert pending(root)["tables/second"] == {}
    run_tables(root, ["first"], 60.0)
    assert [pending(root)["tables/first"] for _ in range(2)] == [{MISSING: 3}, {MISSING: 3}]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("first", "--budget", "2x"), "--budget: got '2x'; expected a time such as 90s, 30m or 1h30m"),
        (("first", "--budget", "50"), "--budget: got '50'; expected a time such as 90s, 30m or 1h30m"),
        (("first", "--nice", "20"), "--nice: got '20'; expected a whole number from 0 to 19"),
        (("first", "--nice", "-1"), "--nice: got '-1'; expected a whole number from 0 to 19"),
        (("first", "third", "--budget", "1h"), "no plan of 'third' in tables; planned: first, second"),
    ],
)
def test_an_invalid_option_or_table_ends_with_2_before_anything_starts(
    root: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(root)
    done = CliRunner().invoke(app, ["run", *words])
    assert done.exit_code == 2
    assert message in done.output
    assert not (root / "ledger").exists()
    assert not (root / "results").exists()


@pytest.mark.parametrize("value", ["2x", "90", "1.5", "[1h]", "yes"])
def test_an_invalid_budget_of_params_is_told_with_its_line(
    root: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.chdir(root)
    Path("params.yaml").write_text(PARAMS.replace("device: cpu", f"device: cpu, budget: {value}"))
    done = CliRunner().invoke(app, ["plan", "--check"])
    assert done.exit_code == 2
    assert "params.yaml:2: compute.budget: got " in done.output
    assert "expected a time such as 90s, 30m or 1h30m" in done.output


def test_without_the_key_the_file_of_the_plan_is_the_same_as_before_there_was_one(root: Path) -> None:
    path = root / "work" / "plan" / "compute.json"
    assert json.loads(path.read_text()) == {
        "workers": 2,
        "lane_map": "loop",
        "max_lanes": 8,
        "models": "all",
        "device": "cpu",
    }
    assert list(json.loads(path.read_text())) == ["workers", "lane_map", "max_lanes", "models", "device"]
    assert read_compute(root).budget is None
    PLANNED.plan(root, ("device: cpu", "device: cpu, budget: 1h30m"))
    assert json.loads(path.read_text())["budget"] == "1h30m"
    assert read_compute(root).budget == "1h30m"


def test_the_command_reports_what_is_left_and_the_option_has_priority_over_params(root: Path) -> None:
    PLANNED.plan(root, ("device: cpu", "device: cpu, budget: 0s"))

    def run(*words: str) -> str:
        done = forked(root, "run", *words, DVC_STAGE="run@first")
        assert done.code == 0, done.output
        return done.output

    said = run("second", "first", "--nice", "3")
    assert "second, first: 0 fits computed, 0 failed" in said
    assert "budget used up: 24 fits not started, forecast " in said
    assert said.rstrip().endswith("; the smallest budget that starts the next one is 1s")
    assert {row.status for row in rows(root)} == {"missing"}
    said = run("second", "first", "--budget", "1h")
    assert "second, first: 24 fits computed, 0 failed" in said
    assert "budget" not in said
    assert {row.status for name in BOTH for row in rows(root, name)} == {"ok"}


def test_several_tables_without_a_budget_are_computed_one_after_the_other(root: Path) -> None:
    done = forked(root, "run", "second", "first", "second", DVC_STAGE="run@first")
    assert done.code == 0, done.output
    said = [line for line in done.output.splitlines() if "computed" in line]
    assert said == ["second: 16 fits computed, 0 failed", "first: 8 fits computed, 0 failed"]


@pytest.mark.parametrize("budget", [(), ("--budget", "1h")])
def test_the_workers_have_the_priority_that_was_asked_for(root: Path, budget: tuple[str, ...]) -> None:
    PLANNED.plan(root, ("seeds: 2", "seeds: 1"))
    before = os.getpriority(os.PRIO_PROCESS, 0)
    path = root / "priority"

    def watched() -> None:
        from puoc.run import runner

        def told(job: Job) -> list[Done]:
            autogroup = Path("/proc/self/autogroup")  # "/autogroup-52 nice 7", where the kernel has them
            of_session = autogroup.read_text().split()[-1] if autogroup.exists() else "none"
            path.write_text(f"{os.getpriority(os.PRIO_PROCESS, 0)} {of_session}")
            return compute(job)

        for module in (runner, budget_run):
            module.compute = told  # type: ignore[attr-defined]

    done = forked(root, "run", "first", "--nice", "7", *budget, before=watched, DVC_STAGE="run@first")
    assert done.code == 0, done.output
    expected, (own, of_session) = min(before + 7, 19), path.read_text().split()
    assert int(own) == expected
    assert of_session in (str(expected), "none")  # a nice value counts only within its session
