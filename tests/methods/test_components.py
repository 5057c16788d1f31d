"""The encoder of components: its formula by another way, rows that do not depend on companions, what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from puoc.methods import encoders
from puoc.methods.encoders.components import Components
from puoc.methods.persistence import model_file as modelfile
from puoc.methods.training.estimator import PUSample
from puoc.methods.training.principal_components import Seen

PARAMS = {"dimension": 3, "cut": 2.0}


def drawn(n: int, seed: int, columns: int = 8) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, columns)) @ rng.normal(size=(columns, columns)) + 5).astype(np.float32)


def fitted(X_p: Any, X_u: Any, **params: Any) -> Components:
    (made,) = encoders.make("components", PARAMS | params).fit_lanes([PUSample(X_p, X_u, None, 0)])
    assert isinstance(made, Components)
    return made


def test_it_is_the_leading_singular_vectors_of_standardised_rows_that_are_cut() -> None:
    X_p, X_u, new = drawn(30, 0), drawn(50, 1), drawn(40, 2)
    X = np.concatenate([X_p, X_u]).astype(np.float64)

    def standardised(rows: Any) -> Any:
        return ((rows - X.mean(0)) / X.std(0)).clip(-2, 2)

    _, singular, right = np.linalg.svd(standardised(X), full_matrices=False)
    expected = standardised(new) @ right[:3].T / np.sqrt((singular[:3] ** 2 / 80).mean())
    encoder = fitted(X_p, X_u)
    found = encoder.encode(new)
    assert found.shape == (40, 3)
    assert found.dtype == np.float32
    assert np.abs((new - X.mean(0)) / X.std(0)).max() > 2  # something was cut
    np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose((encoder.encode(X.astype(np.float32)) ** 2).mean(), 1, rtol=1e-4)
    by_assess = Seen.by(X_p, X_u, 3, 2.0)(new)
    np.testing.assert_allclose(found, by_assess, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(5,), (8,), (1, 5, 7)])
def test_no_row_depends_on_its_companions_and_a_file_gives_the_same_bits(shape: tuple[int, ...]) -> None:
    columns = int(np.prod(shape))
    X = drawn(300, 3, columns).reshape(300, *shape)
    encoder = fitted(X[:40], X[40:90], dimension=20)
    whole = encoder.encode(X)
    assert whole.shape == (300, min(20, columns))
    assert np.array_equal(np.concatenate([encoder.encode(X[i : i + 1]) for i in range(300)]), whole)
    assert np.array_equal(encoder.encode(X[::-1])[::-1], whole)
    assert encoder.encode(X[:0]).shape == (0, min(20, columns))
    params = {"dimension": encoder.dimension, "cut": encoder.cut}
    meta = modelfile.Meta(method=encoder.name, params=params, shape=shape, dtype="float32", scale=1.0)
    model = modelfile.load(modelfile.dump(encoder, meta))
    assert isinstance(model.estimator, Components)
    assert np.array_equal(model.estimator.encode(X), whole)
    np.testing.assert_allclose(encoder.decision_function(X), -(whole.astype(float) ** 2).sum(1), rtol=1e-6)


def test_it_needs_rows_of_u_and_the_arrays_it_wrote() -> None:
    X = drawn(20, 4)
    with pytest.raises(ValueError, match="components is a PU method: no unlabelled rows"):
        fitted(X, None)
    encoder = fitted(X[:10], X[10:])
    state = encoder.state()
    for wrong in ({"mean": state["mean"]}, state | {"mean": np.zeros(3)}, state | {"more": np.zeros(1)}):
        with pytest.raises(ValueError, match=r"components: arrays of shapes .* expected for rows of shape"):
            encoder.restore(wrong, (8,))
    for params in ({"dimension": 0}, {"cut": 0}, {"cut": -1.0}, {"dimension": 2.5}):
        with pytest.raises(ValueError, match="hyperparameter"):
            encoders.make("components", PARAMS | params)
