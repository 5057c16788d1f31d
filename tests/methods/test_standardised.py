"""The encoder of standardised columns: its formula, columns without variation, and restored models."""

from __future__ import annotations

import numpy as np
import pytest

from puoc.methods import encoders
from puoc.methods.encoders.standardised import Standardised
from puoc.methods.training.estimator import PUSample
from puoc.records import Array


def fitted(X_p: Array, X_u: Array, cut: float = 2.0) -> Standardised:
    (made,) = encoders.make("standardised", {"cut": cut}).fit_lanes([PUSample(X_p, X_u, None, 0)])
    assert isinstance(made, Standardised)
    return made


def test_columns_have_mean_0_and_variance_1_over_p_and_u_and_are_cut() -> None:
    rng = np.random.default_rng(0)
    X_p, X_u = (rng.normal(5, [1.0, 40.0], size=(n, 2)).astype(np.float32) for n in (20, 30))
    both = np.concatenate([X_p, X_u]).astype(np.float64)
    expected = ((both - both.mean(axis=0)) / both.std(axis=0)).clip(-2, 2)
    assert np.abs(expected).max() == 2
    found = fitted(X_p, X_u).encode(both)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(fitted(X_p, X_u).encode(both[7:8]), found[7:8])


def test_a_new_value_in_a_column_without_variation_is_seen() -> None:
    rows = np.zeros((10, 1), dtype=np.float32)
    assert fitted(rows, rows).encode(np.array([[0.0], [1.0], [9.0]])).ravel().tolist() == [0.0, 1.0, 2.0]


def test_a_restored_encoder_gives_the_same_rows_and_other_shapes_are_refused() -> None:
    rows = np.random.default_rng(1).normal(size=(9, 3)).astype(np.float32)
    made = fitted(rows, rows)
    again = encoders.make("standardised", {"cut": 2.0}).restore(made.state(), (3,))
    assert isinstance(again, Standardised)
    np.testing.assert_array_equal(again.encode(rows), made.encode(rows))
    for state, shape in ((made.state(), (4,)), ({}, (3,))):
        with pytest.raises(ValueError, match="mean and scale of shape"):
            encoders.make("standardised", {"cut": 2.0}).restore(state, shape)
