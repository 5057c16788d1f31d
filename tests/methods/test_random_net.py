"""The untrained network of bench/random_net.py: what it scores with is the seed's, and no row changes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from benches import bench
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

from puoc.methods import METHODS, make

RandomNet = bench("random_net").RandomNet

SHAPES = [(5,), (3, 16, 16)]


def rows(n: int, shape: tuple[int, ...], seed: int = 0, mean: float = 0.0) -> NDArray[Any]:
    return np.random.default_rng(seed).normal(mean, 1, (n, *shape)).astype(np.float32)


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_network_that_a_method_of_the_same_seed_begins_with(shape: tuple[int, ...]) -> None:
    X = rows(30, shape)
    schedule = {"lr": 1e-3, "lr_decay": 1.0, "epochs": 1, "batch_size": 8, "batching": "union"}
    started = make("naive", schedule)._seeded_net(shape, torch.Generator().manual_seed(4))  # type: ignore[attr-defined]
    with torch.no_grad():
        expected = started(torch.tensor(X)).numpy()
    np.testing.assert_allclose(RandomNet().fit(X, seed=4).decision_function(X), expected, rtol=1e-5, atol=1e-7)
    assert "random_net" not in METHODS


@pytest.mark.parametrize("shape", SHAPES)
def test_the_seed_decides_and_no_row_does(shape: tuple[int, ...]) -> None:
    X, before = rows(30, shape), torch.get_rng_state()
    scores = [
        RandomNet().fit(fitted, seed=seed).decision_function(X) for fitted, seed in ((X, 1), (3 - X[:2], 1), (X, 2))
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])
    assert np.unique(scores[0]).size == 30
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_restored_from_its_arrays_in_the_precision_of_the_rows(shape: tuple[int, ...]) -> None:
    X = rows(9, shape).astype(np.float64)
    fitted = RandomNet().fit(X, seed=3)
    assert fitted.decision_function(X).dtype == np.float64
    again = RandomNet().restore(fitted.state(), shape)
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    with pytest.raises(ValueError, match="no labelled positives"):
        RandomNet().fit(X[:0])


def test_it_tells_a_shifted_sample_from_one_that_is_not_more_often_than_chance() -> None:
    same, other = [], []
    for seed in range(40):
        scored = RandomNet().fit(rows(1, (5,)), seed=seed).decision_function
        P = scored(rows(150, (5,), 3 * seed))
        same.append(mannwhitneyu(P, scored(rows(150, (5,), 3 * seed + 1))).pvalue)
        other.append(mannwhitneyu(P, scored(rows(150, (5,), 3 * seed + 2, mean=1.0))).pvalue)
    assert np.mean(np.array(same) < 0.05) < 0.2
    assert np.mean(np.array(other) < 0.05) > 0.7
