"""Hours before anything is computed: units of work, seconds by measured costs, corrections by the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plans import entry_plan, table_plan
from project import REPOSITORY

from puoc.cli.plan_overview import can_show
from puoc.datasets import DATASETS
from puoc.methods.training.deep import batch_sizes
from puoc.plan.bind import bind
from puoc.plan.forecast.costs import Forecast, about, duration, encoding_seconds, estimate, measured, scored_rows
from puoc.plan.forecast.work import passes, work_of
from puoc.plan.make_plan import make_plan
from puoc.plan.params import read_params
from puoc.records import Encoding, Fit, FitResult, Sample, TestSet
from puoc.registry import ENCODERS, METHODS, PRIORS
from puoc.store.ledger import Ledger
from puoc.store.plans import TablePlan

DIGESTS = {name: dataset.digest for name, dataset in DATASETS.items()}
UNION = {"epochs": 4, "batch_size": 64, "batching": "union"}


def fit(method: str = "drpu", n: int = 100, dataset: str = "cifar10", **params: Any) -> Fit:
    return Fit(
        method=method,
        params=UNION | params,
        sample=Sample(
            dataset=dataset,
            data_digest=DIGESTS.get(dataset, "d"),
            pos=(0,),
            n_pos_lab=n,
            neg=(1,),
            n_pos_unl=n,
            n_neg_unl=n,
        ),
        seed=0,
        code_digest="c",
        draw_digest="d",
    )


def test_work_is_rows_that_pass_times_their_values() -> None:
    rows = sum(map(sum, batch_sizes(100, 200, 64, "union")))
    assert work_of(fit()).units == 4 * rows * 3072
    assert work_of(fit(epochs=8)).units == 2 * work_of(fit()).units
    encoded = fit().model_copy(
        update={
            "encoder": Encoding(name="autoencoder", params={"dimension": 128}, ae_data="all_positives", code_digest="")
        }
    )
    assert work_of(encoded).inputs == "vector"
    assert work_of(encoded).units == 4 * rows * 128


def test_an_image_counts_by_its_pixels_and_not_by_its_channels() -> None:
    """Grey pictures cost a convolutional network as much as coloured ones of the same size."""
    rows = sum(map(sum, batch_sizes(100, 200, 64, "union")))
    grey = fit(dataset="elpv")  # 1 x 200 x 200
    assert work_of(grey).units == 4 * rows * 3 * 200 * 200
    assert work_of(fit(dataset="abnormal1001")).units == work_of(grey).units  # 3 x 200 x 200
    linear = {"net": "branches"}
    assert work_of(fit("hrn", dataset="elpv", **linear)).units == 4 * rows * 200 * 200
    estimates = [estimate(fit(dataset=name), [TestSet(pos=(0,), neg=(1,))]) for name in ("elpv", "cifar10")]
    per_row = [estimate.scored for estimate in estimates if estimate]
    rows_scored = [scored_rows(fit(dataset=name), TestSet(pos=(0,), neg=(1,))) for name in ("elpv", "cifar10")]
    assert per_row == [3 * 200 * 200 * rows_scored[0], 3 * 32 * 32 * rows_scored[1]]


def test_a_frozen_network_costs_by_the_size_to_which_it_resizes_images() -> None:
    def seconds(dataset: str, **params: Any) -> float:
        frozen = {"network": "mobilenet_v2", "weights": "b0353104"} | params
        found = encoding_seconds(Encoding(name="imagenet", params=frozen, code_digest=""), dataset)
        assert found is not None
        return found

    # measured with one thread: .64 ms a row of 32 x 32 pixels, 6.3 ms of 96 x 96, also where these are resized
    assert seconds("cifar10", pixels=96) == pytest.approx(9 * seconds("cifar10"))
    n = [sum(sum(part) for part in DATASETS[name].counts.values()) for name in ("elpv", "cifar10")]
    assert seconds("elpv") / n[0] == pytest.approx(seconds("cifar10") / n[1] * (200 / 32) ** 2)


def test_what_a_method_does_besides_is_work_too() -> None:
    plain = passes("drpu", UNION, 100, 200)
    assert passes("pu_drocc", UNION | {"ascent_steps": 10, "warmup_epochs": 4}, 100, 200) == plain
    u = 2 * sum(u for _, u in batch_sizes(100, 200, 64, "union"))  # in the epochs that search
    searching = passes("pu_drocc", UNION | {"ascent_steps": 10, "warmup_epochs": 2}, 100, 200)
    assert searching == pytest.approx(plain + (0.3 + 0.25 * 10) * u)
    assert passes("pu_drocc", UNION | {"ascent_steps": 10, "warmup_epochs": 2}, 100, 200, "vector") > searching
    assert passes("dedpul", UNION | {"folds": 3}, 100, 200) == 2 * plain
    assert passes("dedpul", UNION | {"folds": 1}, 100, 200) == plain
    both = {"epochs": 3, "trend_epochs": 2, "batch_size": 64}  # networks, with as many rows of P as of U
    assert passes("holistic_pu", both, 100, 200) == (3 + 2) * 2 * 200
    assert passes("oc_cnn", UNION | {"hidden": 10}, 100, 0) == 10 * passes("csi", UNION, 100, 0)


def test_a_trial_scores_the_test_rows_and_the_training_pool() -> None:
    assert scored_rows(fit(), TestSet(pos=(0,), neg=(1, 2))) == 3000 + 5000 + 5000
    drawn = fit(dataset="pendigits_odds")
    assert scored_rows(drawn, TestSet(pos=(0,), neg=(1,))) == (6714 - 5371) + (156 - 124) + 5371 + 124


def test_seconds_grow_with_work_and_with_test_sets() -> None:
    forecast = Forecast()
    once = forecast.seconds(fit())
    assert 0 < once < forecast.seconds(fit(epochs=8))
    assert forecast.seconds(fit(), [TestSet(pos=(0,), neg=(1,))]) > once
    assert forecast.from_table == {"drpu"}
    assert not forecast.unknown


@pytest.mark.parametrize("name", ["paper_small", "quick"])
def test_everything_that_a_profile_asks_has_a_cost(name: str) -> None:
    plan = make_plan(read_params(REPOSITORY / "profiles" / f"{name}.yaml", REPOSITORY))
    forecast = Forecast()
    for table in plan.tables.values():
        one_seed = table.model_copy(update={"seeds": table.seeds[:1], "cells": table.cells[:1]})
        for asked in bind(one_seed, plan.configs[table.table]):
            for one in (asked.trial.fit, *asked.trial.fit.needs()):
                assert forecast.seconds(one) > 0
                encoding = one.frozen_encoder()
                assert encoding is None or encoding_seconds(encoding, table.dataset)
    assert not forecast.unknown
    assert {method for method, _, _ in measured()} <= METHODS.keys() | ENCODERS.keys() | PRIORS.keys()


def test_the_ledgers_own_fits_correct_a_cost_within_reason(tmp_path: Path) -> None:
    ledger, table = Ledger(tmp_path / "ledger"), Forecast().seconds(fit())
    for times, expected in ((1.5, 1.5), (100.0, 3.0)):
        other = Ledger(tmp_path / str(times))
        seconds = times * Forecast().seconds(fit(n=5000))
        other.put(FitResult(fit=fit(n=5000), status="ok", fit_seconds=seconds, device="cpu"))
        corrected = Forecast(other)
        assert corrected.seconds(fit()) == pytest.approx(expected * table, rel=1e-6)
        assert corrected.from_ledger == {"drpu"}
    ledger.put(FitResult(fit=fit(n=60), status="failed", fit_seconds=1e9, device="cpu"))
    ledger.put(FitResult(fit=fit(n=70), status="ok", fit_seconds=0.9, device="cpu"))  # too short to tell
    ledger.put(FitResult(fit=fit(n=80), status="ok", fit_seconds=1e9, device="cuda"))
    assert Forecast(ledger).seconds(fit()) == table


def encoded(name: str, **params: Any) -> dict[str, Any]:
    return {"encoder": Encoding(name=name, params=params, ae_data="labelled_positives", code_digest="")}


ODD = {
    "of data as they were": {"sample": fit().sample.model_copy(update={"data_digest": "earlier"})},
    "of a dataset that is gone": {"sample": fit(dataset="gone").sample},
    "through an encoder that is gone": encoded("gone"),
    "through an encoder of other rows": encoded("sequence"),
    "through an encoder of other values": encoded("autoencoder", dimension="many"),
    "of values a step that there are none of": encoded("autoencoder", values=0),
    "without its hyperparameters": {"params": {"epochs": 3}},
    "with a text for a number": {"params": UNION | {"epochs": "three"}},
    "in batches of nothing": {"params": UNION | {"batch_size": 0}},
    "of no work": {"params": UNION | {"epochs": 0}},
}


@pytest.mark.parametrize("odd", ODD)
def test_a_fit_of_the_ledger_that_cannot_be_told_of_changes_no_forecast(tmp_path: Path, odd: str) -> None:
    ledger, table = Ledger(tmp_path / "ledger"), Forecast().seconds(fit())
    strange = fit().model_copy(update=ODD[odd])
    ledger.put(FitResult(fit=strange, status="ok", fit_seconds=1e9, device="cpu"))
    assert Forecast(ledger).seconds(fit()) == table


def test_a_damaged_record_changes_no_forecast(tmp_path: Path) -> None:
    ledger, table = Ledger(tmp_path / "ledger"), Forecast().seconds(fit())
    ledger.put(FitResult(fit=fit(n=60), status="ok", fit_seconds=1e9, device="cpu"))
    (record,) = (tmp_path / "ledger").rglob("*.json")
    record.write_bytes(record.read_bytes()[:100])
    assert Forecast(ledger).seconds(fit()) == table


def test_an_asked_fit_whose_work_cannot_be_told_is_unknown() -> None:
    forecast = Forecast()
    assert forecast.seconds(fit().model_copy(update={"params": {"epochs": 3}})) == 0
    assert forecast.unknown == {"drpu"}


def test_on_a_gpu_the_ledger_is_all_there_is(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    forecast = Forecast(ledger, "cuda:0")
    assert forecast.seconds(fit()) == 0
    assert forecast.unknown == {"drpu"}
    ledger.put(FitResult(fit=fit(n=50), status="ok", fit_seconds=2.0, device="cuda"))
    ratio = work_of(fit()).units / work_of(fit(n=50)).units
    assert Forecast(ledger, "cuda:0").seconds(fit()) == pytest.approx(2.0 * ratio)


def plan(n_seeds: int, cells: int, **entries: tuple[str, Any, str | None]) -> TablePlan:
    planned = [entry_plan(name, *parts) for name, parts in entries.items()]
    return table_plan("t", "s", "digits", "T", map(str, range(cells)), planned, range(n_seeds))


def test_what_seeds_can_show_is_counted_over_pairs_and_columns() -> None:
    twins = {"a": ("oc_svm", "oc", None), "b": ("pu_svm", "pu_oc", "oc_svm"), "c": ("drpu", "pu", None)}
    assert (
        can_show(plan(12, 40, **twins)) == "12 seeds and 40 comparisons: smallest possible p 0.00049, 0.02 after Holm"
    )
    said = can_show(plan(10, 40, **twins))
    assert said.endswith(
        "smallest possible p 0.002, 0.078 after Holm; no significant result is possible (11 seeds would be enough)"
    )
    assert can_show(plan(10, 40, c=twins["c"])) == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "less than 1 s"), (59, "59 s"), (90, "1.5 min"), (3600 * 30, "30.0 h"), (86400 * 3, "3.0 days")],
)
def test_durations_are_said_in_a_readers_units(seconds: float, said: str) -> None:
    assert duration(seconds) == said
    assert about(seconds) == (said if said.startswith("less") else f"about {said}")
