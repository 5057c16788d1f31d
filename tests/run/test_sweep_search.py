"""What a search by TPE tells its study, what it counts, and what it does again: with the real Optuna and Ray."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from math import nan
from pathlib import Path
from typing import Any

import optuna
import psutil
import pytest
from optuna.trial import FrozenTrial, TrialState
from planned import Data
from sweep_project import unrun, with_space

from puoc.plan.bind import bind
from puoc.plan.search_spaces import read_space
from puoc.records import FitResult
from puoc.run.sweep.budget import Budget
from puoc.run.sweep.cluster import MachineRequest, connected
from puoc.run.sweep.evaluate import compute_config
from puoc.run.sweep.gpu_packing import Packing
from puoc.run.sweep.request import Sweep, SweepRequest, resolve_sweep
from puoc.run.sweep.results import write
from puoc.run.sweep.rounds import Suggesting
from puoc.run.sweep.study import write_study
from puoc.run.sweep.tpe import STUDY, KnownConfig, count_configs, evaluated_configs, known_configs, params_of, replay
from puoc.run.sweep.tuner import Tuner
from puoc.store.checked_parquet import read_rows
from puoc.store.ledger import Ledger
from puoc.store.plan_files import read_compute
from puoc.store.result_rows import ResultRow


@pytest.fixture
def root(tmp_path: Path, prepared_data: Data) -> Path:
    """A planned project in which nothing was run."""
    return unrun(tmp_path, prepared_data)


def tuner(root: Path, sweep: Sweep, budget: Budget | None = None, packing: Packing | None = None) -> Tuner:
    return Tuner(root, sweep, packing or Packing(gpus=0, cpus=1), budget or Budget(), 0.0)


def told(tmp: Path, result: dict[str, Any] | None) -> tuple[Suggesting, Tuner, FrozenTrial, dict[str, Any]]:
    """A search whose first suggestion came to a result: with its tuner, what the study has of it, what was asked."""
    sweep = resolve_sweep(tmp, SweepRequest("nnpu", "one_vs_all", "long", "tpe", asha=True))
    storage, owner = optuna.storages.InMemoryStorage(), tuner(tmp, sweep)
    search = Suggesting(owner, storage, {})
    params = params_of(search.suggest("first"), sweep)
    search.on_trial_complete("first", result)
    (trial,) = optuna.load_study(study_name=STUDY, storage=storage).trials
    return search, owner, trial, params


# what the study is told


def test_what_successive_halving_stops_is_pruned_in_the_study_with_its_rungs_value(root: Path) -> None:
    with_space(root, "long:\n  lr: [1.0e-3]\n  epochs: {low: 90, high: 99, type: int}")
    _, _, trial, params = told(root, {"val": 0.7, "epochs": 33, "failed": 0})
    assert params["epochs"] > 33
    assert trial.state == TrialState.PRUNED
    assert trial.intermediate_values == {33: 0.7}


def test_what_ends_is_complete_and_what_fails_at_a_rung_is_failed(root: Path) -> None:
    with_space(root, "long:\n  lr: [1.0e-3]\n  epochs: {low: 99, high: 99, type: int}")
    _, _, trial, _ = told(root, {"val": 0.7, "epochs": 99, "failed": 0})
    assert (trial.state, trial.value) == (TrialState.COMPLETE, 0.7)
    for result in ({"val": nan, "epochs": 11, "failed": 1}, None):
        _, _, trial, _ = told(root, result)
        assert (trial.state, trial.value, trial.intermediate_values) == (TrialState.FAIL, None, {})


def test_what_was_stopped_is_neither_suggested_nor_completed_again(root: Path) -> None:
    with_space(root, "long:\n  lr: [1.0e-3]\n  epochs: {low: 99, high: 99, type: int}")
    search, owner, _, params = told(root, {"val": 0.7, "epochs": 33, "failed": 0})
    owner.record_outcome(params, is_ok=True, was_stopped=True)
    assert search.suggest("second") == Suggesting.FINISHED
    states = [trial.state for trial in search._ot_study.trials]
    assert states[0] == TrialState.PRUNED
    assert set(states[1:]) == {TrialState.FAIL}


# what it counts


def test_what_another_space_asked_is_neither_known_nor_in_the_results(root: Path) -> None:
    with_space(root, "few:\n  lam: [0.2, 0.3]", "pu_svm")
    for config in (grid := resolve_sweep(root, SweepRequest("pu_svm"))).configs:
        compute_config(root, read_compute(root), "a test", grid.plan_of(config.params))
    sweep = resolve_sweep(root, SweepRequest("pu_svm", space="few", search="tpe"))
    assert len(evaluated_configs(sweep, Ledger(root / "ledger"))) == len(grid.configs) == 3
    found = known_configs(sweep, Ledger(root / "ledger"))
    own = [config.params for config in sweep.configs]
    assert found
    assert [one.params for one in found if one.params not in own] == []
    rows = write(root, sweep)
    assert [json.loads(row.params) for row in rows if json.loads(row.params) not in own] == []


def test_a_configuration_that_differs_in_what_the_space_leaves_to_the_entry_is_not_in_the_space(root: Path) -> None:
    with_space(root, "few:\n  lr: [0.2, 0.3]")
    sweep = resolve_sweep(root, SweepRequest("nnpu", "one_vs_all", "few", "tpe"))
    own = sweep.configs[0].params
    found = [KnownConfig(own | changes, 0.7) for changes in ({"lr": 0.2}, {"lr": 0.3, "lr_decay": 0.5}, {"lr": 0.4})]
    assert count_configs(sweep, found) == 1


@pytest.mark.parametrize("epochs", ["{low: 5, high: 99, type: int}", "{low: 90, high: 99, type: int}"])
def test_rungs_are_no_configurations_of_their_own_and_count_once_where_halving_stopped_one(
    root: Path, epochs: str
) -> None:
    with_space(root, f"long:\n  lr: {{low: 0.001, high: 1.0}}\n  epochs: {epochs}")
    sweep = resolve_sweep(root, SweepRequest("nnpu", "one_vs_all", "long", "tpe", asha=True))
    assert sweep.rungs == (11, 33)

    def found(lr: float, *epochs: int) -> list[KnownConfig]:
        return [KnownConfig(sweep.configs[0].params | {"lr": lr, "epochs": n}, 0.7) for n in epochs]

    ended, stopped, elsewhere = found(0.1, 11, 33, 95), found(0.2, 11, 33) + found(0.3, 11), found(2.0, 11, 33, 95)
    assert count_configs(sweep, ended) == 1
    assert count_configs(sweep, ended + stopped) == 3
    assert count_configs(sweep, ended + stopped + elsewhere) == 3
    assert count_configs(sweep._replace(rungs=()), found(0.1, 95) + elsewhere) == 1


def said(root: Path, *words: str, workers: int = 1) -> tuple[int, ...]:
    """Run a sweep to its end; configurations it says it answered, that failed, were stopped, were known."""
    command = [sys.executable, "-m", "puoc", "sweep", "--workers", str(workers), *words]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    numbers = r"(\d+) configurations? computed, (\d+) failed(?:, (\d+) stopped early)?, (\d+) known before"
    found = re.search(numbers, done.stdout + done.stderr)
    assert found, done.stdout + done.stderr
    return tuple(int(number or 0) for number in found.groups())


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_budget_buys_configurations_of_the_space_that_is_searched_whatever_else_is_known(root: Path) -> None:
    with_space(root, "few:\n  lam: [0.2, 0.3, 0.4]", "pu_svm")
    asked = resolve_sweep(root, SweepRequest("pu_svm", space="few", search="tpe"))
    for sweep in (resolve_sweep(root, SweepRequest("pu_svm")), asked):
        for config in sweep.configs:
            compute_config(root, read_compute(root), "a test", sweep.plan_of(config.params))
    listed = len(asked.configs)
    words = ("--method", "pu_svm", "--search", "tpe", "--space", "few", "--budget", str(listed + 3))
    assert said(root, *words) == (3, 0, 0, listed)
    rows = read_rows(root / "results" / "sweeps" / "val" / f"{asked.name}.parquet", ResultRow)
    assert sorted({json.loads(row.params)["lam"] for row in rows})[-3:] == [0.2, 0.3, 0.4]
    assert len({row.params for row in rows}) == listed + 3


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_same_search_with_halving_asks_no_more_than_its_budget_however_often_it_is_called(root: Path) -> None:
    with_space(root, "short:\n  lr: {low: 0.001, high: 0.1, log: true}\n  epochs: {low: 9, high: 12, type: int}")
    words = ("--method", "nnpu", "--scenario", "one_vs_all", "--space", "short", "--search", "tpe", "--asha")
    ok, failed, stopped, before = said(root, *words, "--budget", "9", workers=2)
    assert (ok + stopped, failed, before) == (9, 0, 0)
    assert stopped
    # the published one, listed, may end where it has nobody beside it; so it is asked again if it was stopped
    again = said(root, *words, "--budget", "12")
    assert again[0] + again[2] + again[3] >= 12
    assert 3 <= again[0] + again[2] <= 5


# what its space holds


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("{low: 10, high: 100, step: 10, type: int}", [10, 50, 50.0, 100], [9, 11, 33, 55.5, 110]),
        ("{low: 10, high: 100, type: int}", [10, 33], [33.5, 101]),
        ("{low: 1, high: 100, type: int, log: true}", [1, 33, 33.0], [0, 33.5]),
        ("{low: 0.1, high: 0.9, step: 0.1}", [0.1, 0.3, 0.1 + 2 * 0.1, 0.9], [0.15, 0.0, 1.0, nan]),
        ("{low: 0.1, high: 0.9}", [0.1, 0.15], [0.0, True, None, "0.3", nan]),
        ("[0.1, null]", [0.1, None], [0.2]),
    ],
)
def test_a_space_holds_what_its_study_takes_and_nothing_off_its_steps(
    root: Path, text: str, inside: list[Any], outside: list[Any]
) -> None:
    with_space(root, f"stepped:\n  lam: {text}", "pu_svm")
    parts = read_space(root / "tuning" / "spaces", "pu_svm", "stepped")
    found = [KnownConfig({"lam": value}, 0.7) for value in inside + outside]
    assert replay(optuna.storages.InMemoryStorage(), parts, found) == len(inside)


def test_a_study_leaves_out_what_lies_off_a_range_steps(root: Path) -> None:
    with_space(root, "stepped:\n  lam: {low: 0.25, high: 1.0, step: 0.25}", "pu_svm")
    with_space(root, "two:\n  lam: [0.25, 0.3]", "pu_svm")
    two = resolve_sweep(root, SweepRequest("pu_svm", space="two"))
    for config in two.configs:
        compute_config(root, read_compute(root), "a test", two.plan_of(config.params))
    assert write_study(root, resolve_sweep(root, SweepRequest("pu_svm", space="stepped", search="tpe")))[1] == 1


# a GPU's memory


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_suggestion_that_ran_out_of_memory_among_too_many_is_asked_again_with_half_as_many(root: Path) -> None:
    with_space(root, "few:\n  lam: [0.2, 0.3, 0.4]", "pu_svm")
    sweep = resolve_sweep(root, SweepRequest("pu_svm", space="few", search="tpe"))
    for config in sweep.configs:
        compute_config(root, read_compute(root), "a test", sweep.plan_of(config.params))
    packing = Packing(gpus=1, cpus=2)
    packing.measure(0.4)
    assert packing.each == 2
    owner = tuner(root, sweep, packing=packing)
    owner.settings = read_compute(root)  # Ray counts the GPU that it is told of, and nothing computes on it
    failed = {one.trial.fit.id: one.trial.fit for one in bind(sweep.plan_of(sweep.configs[0].params | {"lam": 0.3}))}
    reason = "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    for fit in failed.values():
        owner.ledger.put(FitResult(fit=fit, status="failed", reason=reason, git={}, session=owner.session))
    with connected(MachineRequest(workers=2, gpus=1), 2):
        found = owner.run()
        started = [" ".join(process.cmdline()) for process in psutil.Process().children(recursive=True)]
        assert any("raylet" in words for words in started)
        assert not [words for words in started if words.startswith("ray::IDLE")], "no trial takes it"
    assert (found.ok, found.failed, found.known) == (3, 0, len(sweep.configs))
    assert (packing.each, packing.was_halved) == (1, True)
    again = [owner.ledger.get(fit_id) for fit_id in failed]
    assert [(entry.result.status, entry.result.attempts) for entry in again if entry] == [("ok", 2)] * len(failed)
