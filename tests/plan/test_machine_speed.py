"""The speed of this machine, measured by short fits at the sizes of a plan, and kept for the next forecast."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from puoc.methods import make
from puoc.methods.training.estimator import PUSample
from puoc.plan.forecast.costs import Forecast
from puoc.plan.forecast.machine_speed import FILE, speed_of_machine
from puoc.records import Fit, Sample

PARAMS = {"lr": 1e-3, "lr_decay": 1.0, "epochs": 20, "batch_size": 64, "batching": "union"}


def fit(**more: Any) -> Fit:
    sample = Sample(dataset="digits", data_digest="d", pos=(0,), neg=(1,), n_pos_lab=60, n_pos_unl=60, n_neg_unl=60)
    known = {"method": "naive", "params": PARAMS, "sample": sample, "encoder": "flatten"}
    return Fit(**{**known, "seed": 0, "code_digest": "c", "draw_digest": "w", **more})


def test_a_forecast_by_short_fits_is_near_the_time_of_a_whole_one(tmp_path: Path) -> None:
    """The table alone is ten times too low here: it was measured with larger rows."""
    forecast = Forecast(here=speed_of_machine(tmp_path, [fit()], 60, keep=False).of)
    rng = np.random.default_rng(0)
    P, U = (rng.random((n, 64), dtype=np.float32) for n in (60, 120))
    times = []
    for _ in range(3):
        started = time.thread_time()
        make("naive", PARAMS).fit_lanes([PUSample(P, U, 0.5, 0)])
        times.append(time.thread_time() - started)
    assert forecast.seconds(fit()) == pytest.approx(sorted(times)[1], rel=0.6)
    assert (forecast.from_here, forecast.from_table) == ({"naive"}, set())


def test_what_was_measured_is_kept_for_this_machine_alone(tmp_path: Path) -> None:
    measured = speed_of_machine(tmp_path, [fit()], 60, keep=True)
    assert len(measured.rates) == 1
    assert speed_of_machine(tmp_path, [fit()], 0, keep=False) == measured
    kept = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text(json.dumps(kept | {"machine": "another one"}))
    assert speed_of_machine(tmp_path, [fit()], 0, keep=False).rates == {}
    (tmp_path / FILE).write_text("{")
    assert speed_of_machine(tmp_path, [fit()], 0, keep=False).rates == {}


def test_a_fit_that_would_need_another_one_first_is_not_measured(tmp_path: Path) -> None:
    unusual = [fit(numerics="bf16"), fit(method="tice"), fit(params={**PARAMS, "batching": "no such"})]
    assert speed_of_machine(tmp_path, unusual, 60, keep=True).rates == {}
    assert not (tmp_path / FILE).exists()
