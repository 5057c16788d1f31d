"""What the families of an assessment see of rows: leading components, of few columns and of very many."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from puoc.methods.training.principal_components import MOST_VALUES, Seen


def of_low_rank(n: int, columns: int, rank: int = 60) -> NDArray[np.float64]:
    """Rows with distinct leading eigenvalues."""
    rng = np.random.default_rng([n, columns])
    return rng.normal(size=(n, rank)) * 0.9 ** np.arange(rank) @ rng.normal(size=(rank, columns))


@pytest.mark.parametrize("n", [20, 40, 120])
def test_by_the_matrix_of_rows_a_method_sees_what_it_sees_by_that_of_columns(
    monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    X, new = of_low_rank(n, 150), of_low_rank(30, 150)
    by_columns = Seen.by(X[: n // 2], X[n // 2 :])
    monkeypatch.setattr("puoc.methods.training.principal_components._WIDE", 0)
    by_rows = Seen.by(X[: n // 2], X[n // 2 :])
    assert by_rows.spread == pytest.approx(by_columns.spread, rel=1e-9)
    vary = min(MOST_VALUES, n - 1)  # centred rows span one direction fewer than there are
    assert np.any(by_rows.components != by_columns.components)  # two ways, indeed
    Z, Z_rows = by_columns(new)[:, :vary], by_rows(new)[:, :vary]
    signs = np.sign((Z * Z_rows).sum(axis=0))
    assert np.abs(signs).min() == 1
    np.testing.assert_allclose(Z_rows * signs, Z, atol=1e-4)


def test_of_large_pictures_no_matrix_of_columns_is_made() -> None:
    X = of_low_rank(40, 12_288).astype(np.float32).reshape(40, 3, 64, 64)
    tracemalloc.start()
    seen = Seen.by(X[:20], X[20:])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12_288**2 * 8 / 10
    assert seen(X).shape == (40, MOST_VALUES)
    assert (seen(X) ** 2).mean() == pytest.approx(1, rel=1e-4)
    np.testing.assert_allclose(seen.components.T @ seen.components, np.eye(MOST_VALUES), atol=1e-10)


def test_directions_along_which_nothing_varies_are_zero_and_not_noise() -> None:
    X = np.zeros((40, 1200))
    X[:, 7] = np.arange(40)
    seen = Seen.by(X[:20], X[20:])
    assert np.flatnonzero(np.abs(seen.components).sum(axis=0) > 0).tolist() == [0]
    assert np.isfinite(seen(X + 1)).all()
    assert np.ptp(seen(X)[:, 0]) > 0
