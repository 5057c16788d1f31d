"""Tables on texts from params.yaml to scores: word vectors once a dataset, LSTMs on them, a prior from their means."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from planned import plan
from typer.testing import CliRunner

from puoc.cli import app as cli
from puoc.datasets.declare.texts import to_rows
from puoc.datasets.prepare.arrays import Prepared, prepare
from puoc.methods.encoders.frozen import Frozen
from puoc.methods.persistence import model_file as modelfile
from puoc.run.executors import frozen_features as features
from puoc.run.stages import planned_trials, run_part
from puoc.scenarios import test_rows as rows_of_test
from puoc.store.checked_parquet import read_rows
from puoc.store.ledger import Ledger
from puoc.store.result_rows import ResultRow

PARAMS = """
compute: {workers: 1, lane_map: loop, models: all, device: cpu}
tables:
  texts:
    scenario: one_vs_all
    dataset: DATASET
    pos: [0]
    n_pos_lab: 40
    n_pos_unl: 40
    n_neg_unl: 40
    seeds: 1
    configs: published
    methods: [oc_lstm, pu_lstm, pu_lstm_tice, pu_svm]
tune: {}
encoders:
  words: {encoder: word_vectors, params: {vectors: "GLOVE", steps: look_up_first, length: 12}}
  mean: {encoder: mean_word_vector, params: {vectors: "GLOVE", steps: paper}}
priors:
  tice:
    encoder: mean
    params: {scaling: minmax, k: 5, folds: 5, splits: 3, max_splits: 500, min_size: 10, iterations: 2}
methods:
  oc_lstm:
    encoder: words
    params:
      {lr: 1.0e-2, lr_decay: 1.0, epochs: 2, batch_size: 32, batching: p, hidden: 4, pooling: last, nu: 0.5,
       training: alternating}
  pu_lstm: &pu
    encoder: words
    prior: true
    params: &params
      {lr: 1.0e-2, lr_decay: 1.0, epochs: 4, batch_size: 32, batching: union, hidden: 4, pooling: mean, lam: 0.01,
       training: alternating}
  pu_lstm_tice: {<<: *pu, method: pu_lstm, prior: tice}
  pu_svm: {encoder: mean, prior: true, params: {solver: exact, kernel: linear, risk: non_negative, lam: 0.01}}
"""


def project(root: Path, mirror: Callable[[str], Path], glove: str, dataset: str, *changes: tuple[str, str]) -> Path:
    """A planned project with its data, in which nothing was run."""
    prepare(dataset, root / "data", root / "work" / "prepared", mirror=mirror(dataset))
    plan(PARAMS.replace("DATASET", dataset).replace("GLOVE", glove), root, *changes)
    return root


def rows(root: Path) -> dict[str, ResultRow]:
    return {row.entry: row for row in read_rows(root / "results" / "tables" / "texts.parquet", ResultRow)}


@pytest.mark.parametrize("dataset", ["op_spam", pytest.param("sms_spam", marks=pytest.mark.slow)])
def test_lstms_run_on_texts_from_end_to_end(
    tmp_path: Path, mirror: Callable[[str], Path], glove: str, dataset: str
) -> None:
    root = project(tmp_path, mirror, glove, dataset)
    counts = run_part(root, "tables", "texts")
    assert counts["failed"] == 0
    assert counts["ok"] == 4 + 1  # and TIcE
    found = rows(root)
    assert {row.status for row in found.values()} == {"ok"}
    assert all(0 <= row.auc <= 1 for row in found.values())
    assert found["pu_svm"].auc > {"op_spam": 0.5, "sms_spam": 0.8}[dataset]
    assert found["pu_lstm"].prior_alpha == 0.5 != found["pu_lstm_tice"].prior_alpha
    order = "entities+lower+punctuation+stop_words+look_up+stem"
    assert found["oc_lstm"].encoder == f"word_vectors {glove} {order} 12"
    _check_records(root, dataset)
    _check_models(root, dataset)


def _check_records(root: Path, dataset: str) -> None:
    """What was computed of each encoder, and how many words have a vector, stands beside the features."""
    data = Prepared.open(root / "work" / "prepared" / dataset)
    abouts = [json.loads(path.read_text()) for path in (root / "work" / "features").glob("*.json")]
    assert sorted(about["encoding"]["name"] for about in abouts) == ["mean_word_vector", "word_vectors"]
    for about in abouts:
        assert (about["dataset"], about["digest"]) == (dataset, data.digest)
        counts = about["counts"]
        assert counts["texts"] == len(data.y)
        assert 0.8 < counts["words_with_vector"] / counts["words"] < 1
        assert about["encoding"]["params"]["steps"][-1] == "stem"


def _check_models(root: Path, dataset: str) -> None:
    """A model's file scores the texts themselves, stored ones as the ledger did and new ones too."""
    data, ledger = Prepared.open(root / "work" / "prepared" / dataset), Ledger(root / "ledger")
    for one in planned_trials(root, "tables", "texts")[1]:
        entry = ledger.get(one.trial.fit.id)
        assert entry is not None
        path = ledger.model_path(entry.result)
        assert path is not None
        model, trial = modelfile.load(path), entry.trials[one.trial.id]
        numbers, y = rows_of_test(data, trial.test, one.seed)
        kept = ledger.scores(trial)
        assert kept is not None
        np.testing.assert_allclose(modelfile.score(model, data.X[numbers[y]][:20]), kept[:20], rtol=1e-4, atol=1e-5)
        new = to_rows(["win a free prize now", "", "\N{GRINNING FACE}", "x" * 9999], *data.shape, longer="cut")
        assert np.isfinite(modelfile.score(model, new)).all()


def test_features_of_another_order_are_other_features(
    tmp_path: Path, mirror: Callable[[str], Path], glove: str
) -> None:
    asked = []
    for steps in ("look_up_first", "paper", "[stop_words, punctuation, lower, stem]"):
        root = project(tmp_path / steps[:5], mirror, glove, "op_spam", ("steps: look_up_first", f"steps: {steps}"))
        encoding = planned_trials(root, "tables", "texts")[1][0].trial.fit.frozen_encoder()
        assert encoding is not None
        asked.append(features.key("0" * 32, encoding))
    assert asked[1] == asked[2] != asked[0]


def test_a_part_that_lacks_its_counts_is_computed_again(
    tmp_path: Path, mirror: Callable[[str], Path], glove: str
) -> None:
    root = project(tmp_path, mirror, glove, "op_spam")
    encoding = planned_trials(root, "tables", "texts")[1][0].trial.fit.frozen_encoder()
    assert encoding is not None
    folder, prepared = root / "work" / "features", root / "work" / "prepared" / "op_spam"
    data = Prepared.open(prepared)
    (part,) = features.missing(folder, prepared, data, encoding)
    features.compute(part)
    assert features.missing(folder, prepared, data, encoding) == []
    next((folder / features.key(data.digest, encoding)).glob("*.json")).unlink()
    assert features.missing(folder, prepared, data, encoding) == [part]


REFUSED = {
    "no encoder": (
        ("  oc_lstm:\n    encoder: words\n", "  oc_lstm:\n"),
        "oc_lstm takes sequence rows; op_spam gives text rows; an encoder that fits: word_vectors",
    ),
    "an encoder that makes vectors": (
        ("oc_lstm:\n    encoder: words", "oc_lstm:\n    encoder: mean"),
        "oc_lstm takes sequence rows; op_spam through the encoder mean gives vector rows; an encoder that fits: word_v",
    ),
    "flattened texts": (
        ("oc_lstm:\n    encoder: words", "oc_lstm:\n    encoder: flatten"),
        "op_spam: encoder 'flatten' takes image or vector rows, got text",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_method_that_cannot_see_texts_is_told_what_would_help(tmp_path: Path, case: str) -> None:
    change, said = REFUSED[case]
    plan(PARAMS.replace("DATASET", "op_spam").replace("GLOVE", "0" * 8), tmp_path, change)
    entries = json.loads((tmp_path / "work" / "plan" / "tables" / "texts.json").read_text())["entries"]
    assert entries["oc_lstm"]["skip"].startswith(said)
    assert entries["pu_lstm"]["skip"] is None


def test_a_prior_that_cannot_see_sequences_is_refused(tmp_path: Path) -> None:
    params = PARAMS.replace("DATASET", "op_spam").replace("GLOVE", "0" * 8)
    plan(params, tmp_path, ("  tice:\n    encoder: mean", "  tice:\n    encoder: words"))
    entries = json.loads((tmp_path / "work" / "plan" / "tables" / "texts.json").read_text())["entries"]
    assert (
        "tice takes image or vector rows; op_spam through the encoder words gives sequence"
        in entries["pu_lstm_tice"]["skip"]
    )


def test_fetch_asks_for_the_word_vectors_before_anything_runs(
    tmp_path: Path, mirror: Callable[[str], Path], glove: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    project(tmp_path, mirror, glove, "sms_spam")
    done = CliRunner().invoke(cli.app, ["fetch"])
    assert (done.exit_code, done.output) == (0, "raw data of sms_spam present and verified\n")
    plan(PARAMS.replace("DATASET", "sms_spam").replace("GLOVE", "0" * 8), tmp_path)
    done = CliRunner().invoke(cli.app, ["fetch"])
    assert done.exit_code == 2
    assert "no word vectors with sha256 00000000... in data/vectors" in " ".join(done.output.split())


def test_every_frozen_encoder_has_the_base_that_counts() -> None:
    from puoc.methods.encoders import ENCODERS

    assert {name for name, cls in ENCODERS.items() if cls.frozen} == {
        name for name, cls in ENCODERS.items() if issubclass(cls, Frozen)
    }
