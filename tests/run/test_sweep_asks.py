"""What a sweep asks, what it knows from the ledger, and what it refuses: all before Ray is started."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from math import isnan
from pathlib import Path
from typing import Any

import optuna
import pytest
from forked import forked
from planned import Data
from sweep_project import TINY, unrun
from typer.testing import CliRunner

from puoc.cli.app import app
from puoc.plan.bind import bind
from puoc.plan.forecast.costs import Forecast
from puoc.run.runner import Runner
from puoc.run.sweep.budget import Budget
from puoc.run.sweep.cluster import MachineRequest, MachineResources, present_here
from puoc.run.sweep.evaluate import compute_config, mean_val
from puoc.run.sweep.gpu_packing import Packing, ran_out_of_memory
from puoc.run.sweep.request import Sweep, SweepRequest, resolve_sweep
from puoc.run.sweep.status import sweep_status
from puoc.run.sweep.study import write_study
from puoc.run.sweep.submit import entrypoint
from puoc.run.sweep.tpe import known_configs, params_of, suggest, suggestion_of
from puoc.store.counting import counted
from puoc.store.ledger import Ledger
from puoc.store.plan_files import planned_sweep, read_compute
from puoc.store.yaml_file import InvalidInput


@pytest.fixture
def root(tmp_path: Path, prepared_data: Data) -> Path:
    """A planned project in which nothing was run."""
    return unrun(tmp_path, prepared_data)


def answer_first(root: Path, sweep: Sweep, n: int, session: str = "a test") -> None:
    for config in sweep.configs[:n]:
        compute_config(root, read_compute(root), session, sweep.plan_of(config.params))


def fits(plan: dict[str, Any]) -> list[str]:
    return [one.trial.fit.id for one in bind(plan)]


# what is asked


def test_without_a_space_it_asks_what_the_plan_asks(root: Path) -> None:
    sweep = resolve_sweep(root, SweepRequest("pu_svm"))
    assert sweep.is_planned
    assert sweep.plan == planned_sweep(root, "pu_svm")
    assert sweep == resolve_sweep(root, SweepRequest("pu_svm", scenario="one_vs_all"))


def test_the_plans_own_space_named_asks_the_same_fits(root: Path) -> None:
    named = resolve_sweep(root, SweepRequest("pu_svm", space="tiny"))
    assert not named.is_planned
    assert fits(named.plan) == fits(resolve_sweep(root, SweepRequest("pu_svm")).plan)


def test_a_table_lends_its_question_and_a_grid_holds_every_configuration(root: Path) -> None:
    sweep = resolve_sweep(root, SweepRequest("oc_svm", scenario="one_vs_all", space="grid"))
    assert len(sweep.configs) == 12  # the published one among them: linear, nu 0.5
    assert [config.is_published for config in sweep.configs] == [True] + 11 * [False]
    assert sweep.plan.holdout == 0.2
    assert len(sweep.plan.cells) == 2


WRONG = {
    "no such entry": (
        SweepRequest("nnpv", space="wide", scenario="one_vs_all"),
        "--method: got 'nnpv'; expected an entry",
    ),
    "not planned": (SweepRequest("nnpu"), "--method: got nnpu, which no plan sweeps; planned: pu_svm"),
    "no space": (
        SweepRequest("nnpu", "one_vs_all"),
        "--space: params.yaml sweeps no nnpu; expected a space of nnpu: quick",
    ),
    "no grid printed": (
        SweepRequest("nnpu", "one_vs_all", "grid"),
        r"nnpu.yaml: no space 'grid'; it has: .*published.*wide",
    ),
    "no such scenario": (SweepRequest("nnpu", "shift", "tiny"), r"--scenario: got shift; .*; tables: one_vs_all"),
    "a range as a grid": (SweepRequest("nnpu", "one_vs_all", "wide", "grid"), "is a range without a step"),
    "no epochs to halve": (
        SweepRequest("oc_svm", "one_vs_all", "grid", asha=True),
        "--asha: got a method without epochs",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_asked_is_refused_with_what_there_is(root: Path, name: str) -> None:
    asking, message = WRONG[name]
    with pytest.raises(InvalidInput, match=message):
        resolve_sweep(root, asking)


def test_a_search_without_the_space_that_it_begins_with_is_refused_by_its_name(root: Path) -> None:
    (root / "tuning" / "spaces" / "nnpu.yaml").write_text("wide:\n  lr: [0.01, 0.1]\n")
    with pytest.raises(
        InvalidInput, match=r"--search tpe begins with the space published, .*; expected a space of nnpu: wide"
    ):
        resolve_sweep(root, SweepRequest("nnpu", "one_vs_all", search="tpe"))


def test_rungs_of_successive_halving_are_a_ninth_and_a_third_of_the_most_epochs(root: Path) -> None:
    assert resolve_sweep(root, SweepRequest("nnpu", "one_vs_all", "quick", asha=True)).rungs == (11, 33)
    assert resolve_sweep(root, SweepRequest("nnpu", "one_vs_all", search="tpe", asha=True)).rungs == (11, 33)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90s", Budget(90)), ("1h30m", Budget(5400)), ("2m", Budget(120)), ("50", Budget(None, 50))],
)
def test_a_budget_is_a_time_or_a_number(text: str, expected: Budget) -> None:
    assert Budget.read(text) == expected


@pytest.mark.parametrize("text", ["", "0", "0s", "-3", "1.5h", "3 days", "5m2h"])
def test_another_budget_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"--budget: got .*; expected a time"):
        Budget.read(text)


# what is known


def test_what_is_missing_is_what_the_ledger_lacks(root: Path) -> None:
    sweep = resolve_sweep(root, SweepRequest("pu_svm"))
    names = [config.config_id for config in sweep.configs]
    answer_first(root, sweep, 2)
    now = sweep_status(Runner(root, read_compute(root)), sweep)
    assert (now.done, now.failed, now.missing) == (names[:2], [], names[2:])


def test_a_configuration_that_fails_is_not_missing_in_its_session_and_is_tried_once_in_the_next(root: Path) -> None:
    spaces = root / "tuning" / "spaces" / "nnpu.yaml"
    spaces.write_text(spaces.read_text() + "\nbad:\n  lr: [1.0e+30]\n")
    TINY.plan(root, ("tune:\n  pu_svm:", "tune:\n  nnpu:"), ("space: tiny", "space: bad"))
    sweep = resolve_sweep(root, SweepRequest("nnpu"))
    bad = sweep.configs[1]
    found = compute_config(root, read_compute(root), "first", sweep.plan_of(bad.params))
    runner = Runner(root, read_compute(root))
    assert found.failed == 2  # seeds
    assert isnan(found.val)
    runner.session = "first"
    assert sweep_status(runner, sweep).failed == [bad.config_id]
    runner.session = "second"
    assert bad.config_id in sweep_status(runner, sweep).missing
    compute_config(root, read_compute(root), "second", sweep.plan_of(bad.params))
    runner.session = "third"
    assert sweep_status(runner, sweep).failed == [bad.config_id]  # quarantined


def test_a_study_knows_every_configuration_of_the_same_question_and_no_other(root: Path) -> None:
    sweep = resolve_sweep(root, SweepRequest("pu_svm", search="tpe"))
    assert known_configs(sweep, Ledger(root / "ledger")) == []
    answer_first(root, resolve_sweep(root, SweepRequest("pu_svm")), 3)
    other = resolve_sweep(root, SweepRequest("pu_svm", scenario="one_vs_all", space="tiny"))
    table = other._replace(plan=other.plan.model_copy(update={"seeds": (7, 8)}))
    answer_first(root, table, 1)
    found = known_configs(sweep, Ledger(root / "ledger"))
    assert len(found) == 3
    for one in found:
        asked = list(bind(sweep.plan_of(one.params)))
        assert one.val == mean_val(asked, Ledger(root / "ledger"), sweep.plan.scoring_digest)


def test_a_configuration_that_lacks_a_seed_is_not_known(root: Path) -> None:
    sweep = resolve_sweep(root, SweepRequest("pu_svm"))
    one_seed = sweep._replace(plan=sweep.plan.model_copy(update={"seeds": (0,)}))
    answer_first(root, one_seed, 1)
    assert known_configs(sweep, Ledger(root / "ledger")) == []


def test_the_study_for_the_dashboard_holds_validation_values_and_may_be_made_again(root: Path) -> None:
    sweep = resolve_sweep(root, SweepRequest("pu_svm"))
    answer_first(root, sweep, 3)
    path, n = write_study(root, sweep)
    again, m = write_study(root, sweep)
    assert (path, n) == (again, m) == (root / "work" / "study" / "pu_svm.log", 3)
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
    study = optuna.load_study(study_name="pu_svm", storage=storage)
    expected = {one.params["lam"]: one.val for one in known_configs(sweep, Ledger(root / "ledger"))}
    assert {trial.params["lam"]: trial.value for trial in study.trials} == expected
    assert optuna.importance.get_param_importances(study) == {"lam": 1.0}


# a search's space


@pytest.mark.parametrize("entry", ["pu_svm", "nnpu"])
def test_a_suggestion_becomes_a_configuration_and_is_found_again(root: Path, entry: str) -> None:
    sweep = resolve_sweep(root, SweepRequest(entry, "one_vs_all", search="tpe"))
    assert sweep.parts is not None
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))
    for _ in range(20):
        trial = study.ask()
        suggest(trial, sweep.parts)
        params = params_of(trial.params, sweep)
        back = suggestion_of(params, sweep.parts)
        assert back is not None
        assert params_of(back[0], sweep) == params


# machines


def test_trials_share_a_gpu_by_what_the_first_left_in_use_and_half_as_many_after_memory_ran_out() -> None:
    packing = Packing(gpus=2, cpus=16)
    assert (packing.at_once, packing.resources, packing.is_measured) == (2, {"cpu": 1, "gpu": 1.0}, False)
    packing.measure(0.2)
    assert (packing.each, packing.at_once, packing.resources["gpu"]) == (4, 8, 0.25)
    packing.measure(0.9)  # others are on it now
    assert packing.each == 4
    assert packing.halve()
    assert (packing.each, packing.at_once) == (2, 4)
    assert not packing.halve()


def test_no_more_trials_share_a_gpu_than_there_are_cpus_and_a_large_one_has_it_alone() -> None:
    few = Packing(gpus=1, cpus=3)
    few.measure(0.01)
    assert few.each == 3
    large = Packing(gpus=1, cpus=8)
    large.measure(0.95)
    assert large.each == 1
    assert not large.halve()
    assert Packing(gpus=0, cpus=4).resources == {"cpu": 1}


def test_reasons_of_memory_are_told_from_others() -> None:
    assert ran_out_of_memory("OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
    assert not ran_out_of_memory("ValueError: no rows")
    assert not ran_out_of_memory(None)


def test_more_than_there_is_is_refused_with_the_numbers() -> None:
    from puoc.cli.doctor import machines, raise_for_faults

    raise_for_faults(machines(MachineRequest(4, 1), MachineResources(4, 1, 1)))
    with pytest.raises(ValueError, match=r"GPUs: 2 requested, 1 present on this machine; expected --gpus of"):
        raise_for_faults(machines(MachineRequest(4, 2), MachineResources(4, 1, 1)))
    with pytest.raises(ValueError, match=r"CPUs: 9 requested, 8 present in 2 nodes; expected --workers"):
        raise_for_faults(machines(MachineRequest(9, 0, "auto"), MachineResources(8, 0, 2)))


def test_a_gpu_that_is_not_there_is_refused_within_seconds(root: Path) -> None:
    gpus = present_here().gpus
    done = forked(root, "sweep", "--method", "pu_svm", "--gpus", str(gpus + 1))
    assert done.code == 2, done.output
    assert f"GPUs: {gpus + 1} requested, {gpus} present on this machine" in done.output


@pytest.mark.parametrize("option", ["--address=127.0.0.1:9", "--submit=http://127.0.0.1:9"])
def test_an_address_that_does_not_answer_is_refused(root: Path, option: str) -> None:
    done = forked(root, "sweep", "--method", "pu_svm", option)
    assert done.code == 2, done.output
    assert f"got {option.partition('=')[2]}, " in done.output
    assert "answer" in done.output
    assert "; expected " in done.output


@pytest.mark.slow
def test_doctor_says_what_it_looked_at(root: Path) -> None:
    done = forked(root, "doctor", "--method", "pu_svm")
    assert done.code == 0, done.output
    for what in ("CPUs", "GPUs", "ledger's disk", "temporary folder", "ledger", "versions", "MLflow", "forecast"):
        assert f"ok    {what}: " in done.output
    assert "forecast: 6 fits on" in done.output
    faulty = forked(root, "doctor", "--workers", "100000")
    assert faulty.code == 2
    assert "FAULT CPUs: 100000 requested" in faulty.output


def test_the_forecast_counts_fits_and_shares_them_among_the_workers_that_are_asked(root: Path) -> None:
    from puoc.cli.doctor import forecast

    two_cells = resolve_sweep(root, SweepRequest("oc_svm", scenario="one_vs_all", space="grid"))
    runner, costs = Runner(root, read_compute(root)), Forecast(None)
    trials = list(bind(two_cells.plan))
    once = {one.trial.fit.id: one.trial.fit for one in trials}
    doubled = two_cells._replace(plan=two_cells.plan.model_copy(update={"cells": two_cells.plan.cells[:1] * 2}))
    assert sweep_status(runner, two_cells).n_missing == len(once)
    assert sweep_status(runner, doubled).n_missing == len(once) / 2
    now = sweep_status(runner, two_cells, costs)
    tests = {fit_id: {one.trial.test for one in trials if one.trial.fit.id == fit_id} for fit_id in once}
    assert now.seconds == pytest.approx(sum(Forecast().seconds(fit, tests[fit.id]) for fit in once.values()))
    said = [forecast(9, 3600.0, costs, workers).message for workers in (1, 4)]
    assert said[0].startswith("9 fits on 1 worker: about 1.0 h, from seconds measured on another machine")
    assert said[1].startswith("9 fits on 4 workers: about 15.0 min")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_dry_run_forecasts_for_the_workers_that_are_asked(
    root: Path, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    monkeypatch.chdir(root)
    words = ["sweep", "--method", "pu_svm", "--dry-run", "--address", "auto", "--workers", workers]
    assert f"forecast: 6 fits on {workers} worker" in CliRunner().invoke(app, words).output


def test_a_dry_run_for_a_cluster_that_does_not_answer_forecasts_a_cpu(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    done = CliRunner().invoke(app, ["sweep", "--method", "pu_svm", "--dry-run", "--address", "127.0.0.1:1"])
    assert done.exit_code == 0, done.output
    assert re.search(r"forecast: 6 fits on a cluster that does not respond: .+ divided by its CPUs", done.output)


@pytest.mark.slow
def test_a_dry_run_forecasts_for_the_cpus_of_the_cluster_that_is_named(root: Path) -> None:
    cluster = (
        "import ray; n = ray.init('local', num_cpus=7, include_dashboard=False); print(n['gcs_address'], flush=True)"
    )
    node = subprocess.Popen(
        [sys.executable, "-c", f"{cluster}; input()"],
        env=os.environ | {"RAY_prestart_worker_first_driver": "0"},  # seven processes that nothing takes
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert node.stdout is not None
        address = node.stdout.readline().strip()
        for words in (("sweep", "--dry-run"), ("doctor",)):
            # no fork: if an earlier test of this process has used gRPC, a fork that uses it waits forever
            command = [sys.executable, "-m", "puoc", *words, "--method", "pu_svm", "--address", address]
            done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=800)
            assert "forecast: 6 fits on 7 workers: " in done.stdout, done.stdout + done.stderr
    finally:
        node.communicate()


def test_a_dry_run_on_a_damaged_record_names_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = resolve_sweep(root, SweepRequest("pu_svm"))
    answer_first(root, sweep, 1)
    for record in (root / "ledger").rglob("*.json"):
        record.write_text("{")
    monkeypatch.chdir(root)
    for words in (["sweep", "--method", "pu_svm", "--dry-run"], ["doctor", "--method", "pu_svm"]):
        done = CliRunner().invoke(app, words)
        assert isinstance(done.exception, SystemExit), done.exception
        assert done.exit_code == 2
        assert re.search(r"ledger/[0-9a-f]{2}/\S+\.json: ", done.output), done.output


@pytest.mark.slow
def test_a_sweep_that_lacks_nothing_starts_no_ray(root: Path) -> None:
    dry = forked(root, "sweep", "--method", "pu_svm", "--dry-run")
    assert (dry.code, dry.output.count("3 configurations in total: 0 known, 0 failed, 3 missing")) == (0, 1), dry.output
    answer_first(root, resolve_sweep(root, SweepRequest("pu_svm")), 3)
    done = forked(root, "sweep", "--method", "pu_svm", "--address", "auto")  # of a cluster that is not there
    assert done.code == 0, done.output
    assert "pu_svm: 0 configurations computed, 0 failed, 3 known before" in done.output
    assert re.search(r"choice: lam=\S+ \((selected|default)\b.* of 3 configurations", done.output), done.output


@pytest.mark.parametrize("n_known", [0, 2])
def test_a_dry_run_of_a_search_says_what_is_left_of_its_budget(
    root: Path, n_known: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["sweep", "--method", "pu_svm", "--space", "wide", "--search", "tpe", "--dry-run"]
    sweep = resolve_sweep(root, SweepRequest("pu_svm", None, "wide", "tpe"))
    listed = len(sweep.configs)
    answer_first(root, sweep, n_known)
    known = min(n_known, listed)
    monkeypatch.chdir(root)
    limited = CliRunner().invoke(app, [*words, "--budget", "40"]).output
    assert f"the search has {counted(known, 'configuration')} of 40, {40 - known} remain; " in limited
    assert "nothing is missing" not in limited
    spent = CliRunner().invoke(app, [*words, "--budget", "1"]).output
    assert f"of 1, {1 - min(known, 1)} remain" in spent
    assert ("what it will suggest" in spent) == (known == 0)
    assert f"the search has {counted(known, 'configuration')}; " in CliRunner().invoke(app, words).output
    unread = CliRunner().invoke(app, [*words, "--budget", "many"])
    assert (unread.exit_code, "--budget: got 'many'" in unread.output) == (2, True)


def test_the_job_is_the_same_command_in_the_same_folder_on_the_clusters_own_address(tmp_path: Path) -> None:
    words = ["sweep", "--method", "nnpu", "--submit", "http://head:8265", "--gpus", "2", "--submit=x", "--budget", "8h"]
    line = entrypoint(words, tmp_path)
    assert line == f"cd {tmp_path.resolve()} && puoc sweep --method nnpu --gpus 2 --budget 8h --address auto"
