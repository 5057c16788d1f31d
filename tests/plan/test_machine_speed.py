"""The speed of this machine, measured by short fits at the sizes of a plan, and kept for the next forecast."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from puoc.methods import make
from puoc.methods.training.estimator import PUSample
from puoc.plan.forecast.costs import Forecast
from puoc.plan.forecast.machine_speed import FILE, KEPT_DAYS, speed_of_machine
from puoc.records import Fit, Sample
from puoc.registry import METHODS
from puoc.userdata.settings import packaged_methods

PARAMS = {"lr": 1e-3, "lr_decay": 1.0, "epochs": 20, "batch_size": 64, "batching": "union"}
KEY = ("naive", "", "vector")


def fit(**more: Any) -> Fit:
    sample = Sample(dataset="digits", data_digest="d", pos=(0,), neg=(1,), n_pos_lab=60, n_pos_unl=60, n_neg_unl=60)
    known = {"method": "naive", "params": PARAMS, "sample": sample, "encoder": "flatten"}
    return Fit(**{**known, "seed": 0, "code_digest": "c", "draw_digest": "w", **more})


def test_a_forecast_by_short_fits_is_near_the_time_of_a_whole_one(tmp_path: Path) -> None:
    """The table alone is ten times too low here: it was measured with larger rows."""
    rng = np.random.default_rng(0)
    P, U = (rng.random((n, 64), dtype=np.float32) for n in (60, 120))
    ratios = []
    for _ in range(5):
        forecast = Forecast(here=speed_of_machine(tmp_path, [fit()], 60, again=True).of)
        started = time.thread_time()
        make("naive", PARAMS).fit_lanes([PUSample(P, U, 0.5, 0)])
        ratios.append(forecast.seconds(fit()) / (time.thread_time() - started))
        assert (forecast.from_here, forecast.from_table) == ({"naive"}, set())
    assert 0.5 < sorted(ratios)[2] < 2


def change(root: Path, **changed: Any) -> None:
    """Change fields of the kept file, or of its only rate."""
    kept = json.loads((root / FILE).read_text())
    of_rate = {name: changed.pop(name) for name in ("per_unit", "code", "day") if name in changed}
    rates = {key: rate | of_rate for key, rate in kept["rates"].items()}
    (root / FILE).write_text(json.dumps(kept | {"rates": rates} | changed))


def test_what_was_measured_is_kept_and_not_measured_again(tmp_path: Path) -> None:
    measured = speed_of_machine(tmp_path, [fit()], 60)
    assert [rate.per_unit is not None for rate in measured.rates.values()] == [True]
    assert speed_of_machine(tmp_path, (), 0) == measured
    change(tmp_path, per_unit=1234.5)  # a value that no machine has: a plan that measured again would replace it
    assert speed_of_machine(tmp_path, [fit()], 60).of(KEY) == 1234.5
    again = speed_of_machine(tmp_path, [fit()], 60, again=True).of(KEY)
    assert again is not None
    assert again < 1
    assert speed_of_machine(tmp_path, (), 0).of(KEY) == again


STALE: dict[str, dict[str, Any]] = {
    "code": {"code": "earlier"},
    "old": {"day": str(datetime.now(UTC).date() - timedelta(KEPT_DAYS + 1))},
    "future": {"day": str(datetime.now(UTC).date() + timedelta(3))},
    "machine": {"machine": "another one"},
    "units": {"units": 1},
}


@pytest.mark.parametrize("changed", STALE.values(), ids=STALE)
def test_a_stale_speed_is_measured_again(tmp_path: Path, changed: dict[str, Any]) -> None:
    speed_of_machine(tmp_path, [fit()], 60)
    change(tmp_path, per_unit=1234.5, **changed)
    again = speed_of_machine(tmp_path, [fit()], 60).of(KEY)
    assert again is not None
    assert again < 1


DAMAGED = ["{", "", "[]", '{"rates": 3}', "NaN", '{"rates": {"k": {"per_unit": -1, "code": "c", "day": "2030-01-01"}}}']


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_is_measured_again(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).parent.mkdir()
    (tmp_path / FILE).write_text(text)
    assert speed_of_machine(tmp_path, (), 0).rates == {}
    assert speed_of_machine(tmp_path, [fit()], 60).of(KEY)
    assert json.loads((tmp_path / FILE).read_text())["rates"]


def test_a_kind_without_time_is_not_tried_at_the_next_plan(tmp_path: Path) -> None:
    assert speed_of_machine(tmp_path, [fit()], 1e-9).of(KEY) is None
    assert speed_of_machine(tmp_path, [fit()], 60).of(KEY) is None
    assert speed_of_machine(tmp_path, [fit()], 60, again=True).of(KEY) is not None


def test_a_fit_that_would_need_another_one_first_is_not_measured(tmp_path: Path) -> None:
    assert speed_of_machine(tmp_path, [fit(numerics="bf16"), fit(method="tice")], 60).rates == {}
    assert not (tmp_path / FILE).exists()


def test_a_method_that_refuses_random_rows_has_no_speed(tmp_path: Path) -> None:
    assert speed_of_machine(tmp_path, [fit(params={**PARAMS, "batching": "no such"})], 60).of(KEY) is None


WITH_WARM_UP = {name: params for name, params in packaged_methods() if "warmup_epochs" in params}


@pytest.mark.parametrize("method", WITH_WARM_UP)
def test_what_follows_the_warm_up_is_measured(tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An epoch of the warm-up can cost a tenth of a later one, of which a whole fit has more."""
    later = []
    cls: Any = METHODS[method]
    loss = cls.loss

    def seen(self: Any, *args: Any) -> Any:
        later.append(args[-1] >= self.warmup_epochs)
        return loss(self, *args)

    monkeypatch.setattr(cls, "loss", seen)
    one = fit(method=method, params=WITH_WARM_UP[method])
    measured = speed_of_machine(tmp_path, [one], 60)
    assert [rate.per_unit is not None for rate in measured.rates.values()] == [True]
    assert later
    assert all(later)


def test_every_warm_up_has_the_name_that_short_fits_change() -> None:
    names = {name for _, params in packaged_methods() for name in params if "warm" in name}
    assert names == {"warmup_epochs"}
