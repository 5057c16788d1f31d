"""Encoders and estimates of alpha are fits of their own: computed once, shared, and a reason when they fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dead_claims
import numpy as np
import pytest
from planned import Data, Planned

from puoc import methods, registry
from puoc.datasets.prepare.arrays import Prepared
from puoc.methods import encoders
from puoc.methods.persistence import model_file as modelfile
from puoc.records import Fit
from puoc.run.executors import frozen_features as features
from puoc.run.pending import pending
from puoc.run.runner import Progress
from puoc.run.stages import allow_retry, planned_trials, run_part
from puoc.run.status import pipeline_status
from puoc.scenarios import test_rows as rows_of_test
from puoc.store.checked_parquet import read_rows
from puoc.store.ledger import Ledger
from puoc.store.ledger_records import Entry
from puoc.store.result_rows import ResultRow
from puoc.store.yaml_file import InvalidInput

PARAMS = """
compute: {workers: 2, lane_map: loop, models: all, device: cpu}
tables:
  first: &table
    scenario: one_vs_all
    dataset: mnist5k
    pos: [0]
    n_pos_lab: 60
    n_pos_unl: 60
    n_neg_unl: 60
    seeds: 2
    configs: published
    methods: [oc_svm, pu_svm, nnpu]
  second:
    <<: *table
    methods: [oc_svm]
tune: {}
encoders:
  code:
    encoder: autoencoder
    params: {lr: 1.0e-3, lr_decay: 1.0, epochs: 2, batch_size: 32, batching: p, dimension: 16, dropout: 0.5}
priors:
  tice:
    encoder: code
    params: {scaling: minmax, k: 5, folds: 5, splits: 3, max_splits: 500, min_size: 10, iterations: 2}
methods:
  oc_svm: {encoder: code, params: {kernel: linear, nu: 0.5}}
  pu_svm: {encoder: code, prior: tice, params: {solver: exact, kernel: linear, risk: non_negative, lam: 0.01}}
  nnpu:
    prior: tice
    params:
      {lr: 1.0e-2, lr_decay: 1.0, epochs: 1, batch_size: 64, batching: union, surrogate: sigmoid, correction: ascent}
"""


PLANNED = Planned(PARAMS, "mnist5k")
plan = PLANNED.plan


@pytest.fixture
def root(tmp_path: Path, prepared_data: Data) -> Path:
    """A planned project with its data, in which nothing was run."""
    return PLANNED.at(tmp_path, prepared_data)


def rows(root: Path, table: str = "first") -> list[ResultRow]:
    return read_rows(root / "results" / "tables" / f"{table}.parquet", ResultRow)


def entries(root: Path, method: str) -> list[Entry]:
    ledger = Ledger(root / "ledger")
    found = [ledger.get(fit_id) for fit_id in ledger.ids()]
    return [entry for entry in found if entry and entry.result.fit.method == method]


def records(root: Path, method: str) -> list[Fit]:
    return [entry.result.fit for entry in entries(root, method)]


def test_encoder_and_prior_are_computed_once_a_sample_and_shared(root: Path) -> None:
    counts = run_part(root, "tables", "first")
    assert counts["ok"] == 2 * (1 + 1 + 3)  # by seed: the autoencoder, TIcE, three methods
    assert {row.status for row in rows(root)} == {"ok"}
    (codes, estimates) = (records(root, name) for name in ("autoencoder", "tice"))
    assert sorted(fit.seed for fit in codes) == sorted(fit.seed for fit in estimates) == [0, 1]
    ledger = Ledger(root / "ledger")
    for row in rows(root):
        code = next(fit.id for fit in codes if fit.seed == row.seed)
        assert row.encoder_fit_id == (None if row.entry == "nnpu" else code)
        if row.entry == "oc_svm":
            assert row.prior_fit_id is None
            continue
        estimate = ledger.get(row.prior_fit_id)
        assert estimate is not None
        assert estimate.result.alpha_hat is not None
        assert row.prior_alpha == min(max(estimate.result.alpha_hat, 0.001), 0.999)
        assert row.prior == "tice"
    assert run_part(root, "tables", "second")["ok"] == 0  # the same question from another table
    assert run_part(root, "tables", "first").total() == 0


def test_a_later_run_removes_claims_of_workers_that_were_killed_after_the_record(root: Path) -> None:
    """A fit with a record is not computed again, so no process takes its claim over."""
    run_part(root, "tables", "first")
    ledger = Ledger(root / "ledger")
    fits = set(ledger.ids())
    computed_now = fits.pop()
    dead_claims.leave(ledger, fits)
    assert dead_claims.left(ledger) == fits
    assert ledger.claim(computed_now) is not None
    assert run_part(root, "tables", "first").total() == 0
    assert dead_claims.left(ledger) == {computed_now}


@pytest.mark.slow
def test_an_encoder_sees_the_kept_labelled_positives_and_no_unlabelled_row(root: Path) -> None:
    run_part(root, "tables", "first")
    for fit in records(root, "autoencoder"):
        assert fit.sample.neg is None
        assert fit.sample.n_pos_unl is None
        assert fit.labels == "pu"


@pytest.mark.slow
def test_a_model_file_scores_raw_rows_as_the_ledger_did(root: Path) -> None:
    run_part(root, "tables", "first")
    _, asked = planned_trials(root, "tables", "first")
    data, ledger = Prepared.open(root / "work" / "prepared" / "mnist5k"), Ledger(root / "ledger")
    for one in asked:
        entry = ledger.get(one.trial.fit.id)
        assert entry is not None
        trial = entry.trials[one.trial.id]
        numbers, y = rows_of_test(data, trial.test, one.seed)
        model = modelfile.load(ledger.model_path(entry.result))
        scored = modelfile.score(model, data.X[np.concatenate([numbers[y], numbers[~y]])])
        np.testing.assert_allclose(scored, ledger.scores(trial), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_all_positives_is_another_encoder_and_sees_more_rows(root: Path) -> None:
    run_part(root, "tables", "second")
    plan(root, ("encoder: autoencoder", "encoder: autoencoder\n    ae_data: all_positives"))
    assert run_part(root, "tables", "second")["ok"] == 2 * 2
    assert sorted(fit.labels for fit in records(root, "autoencoder")) == ["all_positives"] * 2 + ["pu"] * 2
    assert {row.encoder for row in rows(root, "second")} == {"autoencoder of all_positives"}


def test_a_method_that_estimates_alpha_may_serve_as_a_prior(root: Path) -> None:
    drpu = "{lr: 1.0e-3, lr_decay: 1.0, epochs: 1, batch_size: 32, batching: equal, alpha_min: 0.001, output: softplus}"
    plan(
        root,
        ("priors:\n", f"priors:\n  ratio: {{prior: drpu, params: {drpu}}}\n"),
        ("nnpu:\n    prior: tice", "nnpu:\n    prior: ratio"),
        ("methods: [oc_svm, pu_svm, nnpu]", "methods: [nnpu]"),
    )
    assert run_part(root, "tables", "first")["ok"] == 2 * 2
    ledger = Ledger(root / "ledger")
    for row in rows(root):
        estimate = ledger.get(row.prior_fit_id)
        assert estimate is not None
        assert row.prior == estimate.result.fit.method == "drpu"
        assert row.prior_alpha == min(max(estimate.result.alpha_hat or 0, 0.001), 0.999)


def test_fits_of_images_and_of_wide_layers_on_a_cpu_are_jobs_of_one_lane(root: Path) -> None:
    sizes = "epochs: 1, batch_size: 64, batching: p, hidden: 64"
    wide = f"oc_cnn: {{encoder: code, params: {{lr: 1.0e-4, lr_decay: 1.0, {sizes}, dropout: 0.5, sigma: 0.1}}}}"
    settings = (("lane_map: loop", "lane_map: auto"), ("workers: 2", "workers: 1"))
    plan(
        root,
        *settings,
        ("    methods: [oc_svm]\n", "    methods: [oc_svm, oc_cnn]\n"),
        ("\nmethods:\n", f"\nmethods:\n  {wide}\n"),
    )
    run_part(root, "tables", "second")
    assert [entry.result.n_lanes for entry in entries(root, "autoencoder")] == [1, 1]
    assert [entry.result.n_lanes for entry in entries(root, "oc_cnn")] == [1, 1]
    assert [entry.result.n_lanes for entry in entries(root, "oc_svm")] == [2, 2]


def test_what_an_encoder_failed_for_is_the_reason_of_all_that_need_it(root: Path) -> None:
    plan(root, ("{lr: 1.0e-3", "{lr: 1.0e+30"))
    assert run_part(root, "tables", "first")["failed"] == 2 * (1 + 1 + 3)
    for row in rows(root):
        assert row.status == "failed"
        needed = "tice" if row.entry == "nnpu" else "autoencoder"
        assert row.reason.startswith(f"its {needed} failed: ")
        assert "the loss of the lane with seed" in row.reason
    assert len(pipeline_status(root).failed) == 6
    assert run_part(root, "tables", "second")["failed"] == 0  # the same session does not try again
    due = pending(root)["tables/first"]
    assert set(due.values()) == {1}


def test_retry_lifts_the_quarantine_of_what_a_fit_needs_too(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan(root, ("{lr: 1.0e-3", "{lr: 1.0e+30"), ("seeds: 2", "seeds: 1"))
    fit, ledger = planned_trials(root, "tables", "second")[1][0].trial.fit, Ledger(root / "ledger")
    code = fit.encoder_fit()
    assert code is not None
    for session, attempts in (("first", 1), ("second", 2), ("third", 2)):  # of dvc repro
        monkeypatch.setattr("puoc.run.runner.session", lambda name=session: name)
        run_part(root, "tables", "second")
        assert (ledger.attempts(code.id), ledger.attempts(fit.id)) == (attempts, attempts)
    allow_retry(ledger, fit.id)
    monkeypatch.setattr("puoc.run.runner.session", lambda: "fourth")
    run_part(root, "tables", "second")
    assert (ledger.attempts(code.id), ledger.attempts(fit.id)) == (3, 3)
    assert not ledger.may_try(code.id)


@pytest.mark.parametrize("register", [registry.method, registry.encoder, registry.prior])
@pytest.mark.parametrize("name", [next(iter(table)) for table in (methods.METHODS, encoders.ENCODERS, registry.PRIORS)])
def test_a_name_is_a_method_or_an_encoder_or_a_prior(register: Callable[..., Any], name: str) -> None:
    """A fit names one of them and nothing in it says which."""
    with pytest.raises(ValueError, match=f"'{name}' is defined twice"):
        register(name)(type("Other", (), {}))


FROZEN = (
    (
        "  code:\n    encoder: autoencoder\n",
        "  frozen: {encoder: imagenet, params: IMAGENET}\n  code:\n    encoder: autoencoder\n",
    ),
    ("IMAGENET", "{network: mobilenet_v2, weights: 85010ce2f4552da4}"),
    ("oc_svm: {encoder: code,", "oc_svm: {encoder: frozen,"),
)


@pytest.mark.slow
def test_frozen_features_are_computed_once_a_dataset_and_in_parts(
    root: Path, mirror: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUOC_MIRROR", str(mirror("weights")))
    plan(root, *FROZEN, ("seeds: 2", "seeds: 1"))
    _, (asked, *_) = planned_trials(root, "tables", "second")
    encoding = asked.trial.fit.frozen_encoder()
    assert encoding is not None
    folder, prepared = root / "work" / "features", root / "work" / "prepared" / "mnist5k"
    data = Prepared.open(prepared)
    parts = features.missing(folder, prepared, data, encoding)
    assert len(parts) == 5
    features.compute(parts[3])  # what a killed run has left
    assert len(features.missing(folder, prepared, data, encoding)) == 4
    states: list[Progress] = []
    assert run_part(root, "tables", "second", on_progress=states.append)["ok"] == 1
    assert [(s.wanted, s.ok) for s in states if s.what == "features of mnist5k"] == [(4, n) for n in (1, 2, 3, 4)]
    whole = features.read(folder, data.digest, encoding)
    assert whole is not None
    encoded = encoders.make(encoding.name, encoding.params).encode(data.take(np.array([5, 4000])))
    np.testing.assert_allclose(whole[[5, 4000]], encoded, rtol=1e-3, atol=1e-5)
    (row,) = rows(root, "second")
    assert row.encoder == "imagenet mobilenet_v2 85010ce2f4552da4"
    assert row.encoder_fit_id is None
    entry = Ledger(root / "ledger").get(row.fit_id)
    assert entry is not None
    path = Ledger(root / "ledger").model_path(entry.result)
    assert path is not None
    numbers, y = rows_of_test(data, entry.trials[row.trial_id].test, 0)
    scored = modelfile.score(modelfile.load(path), data.X[numbers[y]][:20])
    kept = Ledger(root / "ledger").scores(entry.trials[row.trial_id])
    assert kept is not None
    np.testing.assert_allclose(scored, kept[:20], rtol=1e-3, atol=1e-4)


WRONG = {
    "an unknown encoder": (
        ("encoder: autoencoder", "encoder: autoencodr"),
        "encoders.code.encoder: unknown encoder 'autoencodr' (did you mean 'autoencoder'?); expected one of auto",
    ),
    "a hyperparameter of an encoder": (
        ("dimension: 16", "dimensions: 16"),
        "encoders.code.params: unknown hyperparameter 'dimensions' (did you mean 'dimension'?)",
    ),
    "an encoder that is not there": (
        ("tice:\n    encoder: code", "tice:\n    encoder: cod"),
        "priors.tice.encoder: got 'cod' (did you mean 'code'?)",
    ),
    "a prior that is not there": (
        ("  nnpu:\n    prior: tice", "  nnpu:\n    prior: tce"),
        "methods.nnpu.prior: got 'tce' (did you mean 'tice'?)",
    ),
    "a method as a prior that estimates none": (
        ("  tice:\n    encoder: code", "  tice:\n    prior: naive\n    encoder: code"),
        "priors.tice.prior: unknown prior 'naive'",
    ),
    "a sweep through an encoder that saw the withheld rows": (
        (
            "tune: {}\nencoders:\n  code:",
            "tune:\n  pu_svm: {scenario: one_vs_all, dataset: mnist5k, pos: [0], n_pos_lab: 60, n_pos_unl: 60,"
            " n_neg_unl: 60, seeds: 1, holdout: 0.2, space: tiny, search: grid}\n"
            "encoders:\n  code:\n    ae_data: all_positives",
        ),
        "tune.pu_svm: got an encoder with ae_data: all_positives",
    ),
    "a precision that a method does not have": (
        ("oc_svm: {encoder: code,", "oc_svm: {numerics: bf16, encoder: code,"),
        "methods.oc_svm.numerics: got bf16 for oc_svm; expected fp32",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_meant_is_refused_with_its_place(root: Path, case: str) -> None:
    change, said = WRONG[case]
    with pytest.raises(InvalidInput) as caught:
        plan(root, change)
    assert said in str(caught.value)
