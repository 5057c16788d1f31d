"""What a search by TPE tells its study, what it counts, and what it does again: with the real Optuna and Ray."""

from __future__ import annotations

import shutil
from math import nan
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState
from planned import Data, Planned
from project import REPOSITORY

from puoc.sweep.asking import Asking, Sweep, ask
from puoc.sweep.budget import Budget
from puoc.sweep.packing import Packing
from puoc.sweep.rounds import Suggesting
from puoc.sweep.search import STUDY, params_of
from puoc.sweep.tuner import Tuner

PARAMS = (REPOSITORY / "profiles" / "tiny.yaml").read_text().replace("configs: selected", "configs: published")
TINY = Planned(PARAMS, "digits")


@pytest.fixture
def root(tmp_path: Path, prepared_data: Data) -> Path:
    """A planned project in which nothing was run."""
    shutil.copytree(REPOSITORY / "tuning", tmp_path / "tuning")
    return TINY.at(tmp_path, prepared_data)


def with_space(root: Path, text: str, method: str = "nnpu") -> None:
    path = root / "tuning" / "spaces" / f"{method}.yaml"
    path.write_text(f"{path.read_text()}\n{text}\n")


def tuner(root: Path, sweep: Sweep, budget: Budget | None = None, packing: Packing | None = None) -> Tuner:
    return Tuner(root, sweep, packing or Packing(gpus=0, cpus=1), budget or Budget(), 0.0)


def told(tmp: Path, result: dict[str, Any] | None) -> tuple[Suggesting, Tuner, FrozenTrial, dict[str, Any]]:
    """A search whose first suggestion came to a result: with its tuner, what the study has of it, what was asked."""
    sweep = ask(tmp, Asking("nnpu", "one_vs_all", "long", "tpe", asha=True))
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
    owner.has_outcome(params, is_ok=True, was_stopped=True)
    assert search.suggest("second") == Suggesting.FINISHED
    states = [trial.state for trial in search._ot_study.trials]
    assert states[0] == TrialState.PRUNED
    assert set(states[1:]) == {TrialState.FAIL}
