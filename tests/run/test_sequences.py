"""PenDigits as sequences, in both forms, from params.yaml to scores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from planned import plan

from puoc.datasets.prepare.arrays import Prepared, prepare
from puoc.methods.encoders import make
from puoc.methods.lstm import check_sequences
from puoc.methods.persistence import model_file as modelfile
from puoc.plan.make_plan import make_plan
from puoc.records import TestSet
from puoc.run.stages import run_part
from puoc.scenarios import test_rows as rows_of_test
from puoc.store.checked_parquet import read_rows
from puoc.store.ledger import Ledger
from puoc.store.result_rows import ResultRow
from puoc.store.yaml_file import InvalidInput

PARAMS = """
compute: {workers: 2, lane_map: loop, models: all, device: cpu}
tables:
  sequences:
    scenario: one_vs_all
    dataset: pendigits_odds
    pos: [0]
    n_pos_lab: 60
    n_pos_unl: 60
    n_neg_unl: 40
    seeds: 1
    configs: published
    methods: [oc_lstm, pu_lstm, oc_lstm_positions, pu_lstm_positions]
tune: {}
encoders:
  values: {encoder: sequence, params: {values: 1}}
  positions: {encoder: sequence, params: {values: 2}}
methods:
  oc_lstm: &oc
    method: oc_lstm
    encoder: values
    params:
      {lr: 1.0e-2, lr_decay: 0.99, epochs: 2, batch_size: 32, batching: p, nu: 0.5, hidden: 4, pooling: last,
       training: alternating}
  pu_lstm: &pu
    method: pu_lstm
    encoder: values
    prior: true
    params:
      {lr: 1.0e-2, lr_decay: 0.99, epochs: 2, batch_size: 32, batching: union, lam: 0.5, hidden: 4, pooling: last,
       training: alternating}
  oc_lstm_positions: {<<: *oc, encoder: positions}
  pu_lstm_positions: {<<: *pu, encoder: positions}
"""


@pytest.mark.parametrize(("values", "steps"), [(1, 16), (2, 8), (16, 1)])
def test_a_vector_is_cut_in_order_and_all_steps_count(values: int, steps: int) -> None:
    X = np.random.default_rng(0).random((5, 16), dtype=np.float32)
    sequences = make("sequence", {"values": values}).encode(X)
    assert sequences.shape == (5, steps, 1 + values)
    assert sequences.dtype == np.float32
    check_sequences("a test", sequences)
    assert (sequences[..., 0] == 1).all()
    np.testing.assert_array_equal(sequences[..., 1:].reshape(5, 16), X)


@pytest.mark.parametrize(("shape", "values"), [((2, 16), 3), ((2, 1, 4, 4), 2), ((2, 0), 1), ((2, 4), 8)])
def test_what_cannot_be_cut_is_refused(shape: tuple[int, ...], values: int) -> None:
    with pytest.raises(ValueError, match=f"sequence: vectors of a multiple of {values} numbers expected, got rows of"):
        make("sequence", {"values": values}).encode(np.zeros(shape, dtype=np.float32))


@pytest.fixture
def root(tmp_path: Path, mirror: Callable[[str], Path]) -> Path:
    plan(PARAMS, tmp_path)
    prepare("pendigits_odds", tmp_path / "data", tmp_path / "work" / "prepared", mirror=mirror("pendigits_odds"))
    return tmp_path


@pytest.mark.slow
def test_both_forms_of_pendigits_are_learned_and_scored(root: Path) -> None:
    assert run_part(root, "tables", "sequences")["ok"] == 4
    rows = read_rows(root / "results" / "tables" / "sequences.parquet", ResultRow)
    assert {row.status for row in rows} == {"ok"}
    data, ledger = Prepared.open(root / "work" / "prepared" / "pendigits_odds"), Ledger(root / "ledger")
    numbers, y = rows_of_test(data, TestSet(pos=(0,), neg=(1,)), 0)
    scores = {}
    for row in rows:
        entry = ledger.get(row.fit_id)
        assert entry is not None
        path = ledger.model_path(entry.result)
        assert path is not None
        scores[row.entry] = modelfile.score(modelfile.load(path), data.X[numbers[y]][:30])
        kept = ledger.scores(entry.trials[row.trial_id])
        assert kept is not None
        np.testing.assert_allclose(scores[row.entry], kept[:30], rtol=1e-4, atol=1e-5)
    assert not np.allclose(scores["oc_lstm"], scores["oc_lstm_positions"])


def test_a_length_that_cannot_be_cut_is_refused_before_anything_is_planned(tmp_path: Path) -> None:
    expected = r"encoders.positions: on pendigits_odds: .* multiple of 3 numbers .* got rows of shape \(16,\); change"
    with pytest.raises(InvalidInput, match=expected):
        plan(PARAMS.replace("{values: 2}", "{values: 3}").replace("[oc_lstm, pu_lstm, ", "["), tmp_path)
    assert not (tmp_path / "work").exists()


def test_an_lstm_without_the_encoder_is_told_of_it(tmp_path: Path) -> None:
    """Such a row is skipped with the reason, as any that cannot see its dataset."""
    from puoc.plan.params import read_params

    (tmp_path / "params.yaml").write_text(PARAMS.replace("    encoder: values\n", ""))
    planned = make_plan(read_params(tmp_path / "params.yaml"))
    entries = planned.tables["sequences"].entries_by_name
    assert entries["oc_lstm_positions"].skip is None
    assert "sequence" in str(entries["oc_lstm"].skip)
