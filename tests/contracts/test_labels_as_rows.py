"""``fit(X, y)``, as in other libraries, is refused: no method takes labels in the place of unlabelled rows."""

from __future__ import annotations

import numpy as np
import pytest

from puoc.methods import make
from puoc.methods.training.estimator import PUSample
from puoc.registry import ENCODERS, METHODS, PRIORS
from puoc.userdata.settings import packaged_methods

X = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
LABELS = (np.arange(30) % 2, np.arange(30)[:, None] % 2, list(range(30)))


@pytest.mark.parametrize("labels", LABELS, ids=["vector", "column", "list"])
@pytest.mark.parametrize("method", [name for name, _ in packaged_methods()])
def test_labels_are_no_unlabelled_rows_of_any_method(method: str, labels) -> None:
    made = make(method, dict(packaged_methods())[method])
    with pytest.raises(ValueError, match=r"X_u has shape \(30,.*expected unlabelled rows \(n_u, 4\).*no labels y"):
        made.fit(X, labels)


def test_every_method_encoder_and_prior_is_guarded() -> None:
    for registry, learns in ((METHODS, "fit_lanes"), (ENCODERS, "fit_lanes"), (PRIORS, "estimate")):
        for name, cls in registry.items():
            assert hasattr(getattr(cls, learns), "__wrapped__"), name
    sample = PUSample(X, np.ones(30), 0.5, 0)
    for made in (PRIORS["tice"], ENCODERS["components"]):
        learn = getattr(made, "estimate", None) or made.fit_lanes
        with pytest.raises(ValueError, match="no labels y"):
            learn(object.__new__(made), sample if hasattr(made, "estimate") else [sample])
