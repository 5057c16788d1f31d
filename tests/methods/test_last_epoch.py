"""bench/last_epoch.py watches a training and does not touch it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from puoc.methods import make
from puoc.methods.training.estimator import Compute, PUSample

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("last_epoch", ROOT / "bench" / "last_epoch.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["last_epoch"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("lane_map", ["loop", "vmap"])
@pytest.mark.parametrize("name", ["drocc", "pu_drocc"])
def test_the_last_epochs_auc_is_that_of_a_fit_and_every_epoch_has_one(
    bench: ModuleType, name: str, lane_map: Any
) -> None:
    rng = np.random.default_rng(0)
    samples = [PUSample(*(rng.random((n, 1, 8, 8), dtype=np.float32) for n in (20, 30)), None, seed) for seed in (4, 7)]
    X, y = rng.random((60, 1, 8, 8), dtype=np.float32), np.arange(60) % 2
    params = bench.published(name, 0) | {"epochs": 4, "batch_size": 10, "ascent_steps": 2, "warmup_epochs": 1}
    rows: list[dict[str, Any]] = []
    compute = Compute(lane_map=lane_map)
    bench.study(name, params, samples, {4: (X, y), 7: (X, 1 - y)}, compute, rows.append)
    assert sorted((row["seed"], row["epoch"]) for row in rows) == [(s, e) for s in (4, 7) for e in (1, 2, 3, 4)]
    for fitted, sample, truth in zip(make(name, params).fit_lanes(samples, compute), samples, (y, 1 - y), strict=True):
        own = [row for row in rows if row["seed"] == sample.seed]
        assert [row["loss"] for row in own] == fitted.curve_["loss"]
        assert own[-1]["auc"] == roc_auc_score(truth, fitted.decision_function(X))
        assert len({row["auc"] for row in own}) > 1


def test_a_class_has_its_published_settings(bench: ModuleType) -> None:
    assert bench.published("drocc", 5) | {"radius": 36.0, "lam": 0.2, "lr": 5e-3} == bench.published("drocc", 5)
    assert bench.published("drocc", 0)["radius"] == 24.0
    assert bench.published("pu_drocc", 5)["radius"] == 2.0
