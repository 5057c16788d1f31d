"""``fit(X, y)``, as in other libraries, is refused: no method takes labels in the place of unlabelled rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
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


@pytest.mark.parametrize("values", [(0, 1), (-1, 1)])
def test_a_column_of_labels_is_no_unlabelled_rows_of_one_column(values: tuple[int, int]) -> None:
    made = make("oc_svm", dict(packaged_methods())["oc_svm"])
    y = np.array(values)[np.arange(30) % 2][:, None]
    with pytest.raises(ValueError, match="no labels y"):
        made.fit(X[:, :1], y)
    made.fit(y.astype(np.float32), y)  # such rows may be yes/no answers, as those of X_p are
    made.fit(X[:, :1], X[:20, 1:2])


def test_frames_and_lists_of_numbers_are_taken_and_texts_are_refused() -> None:
    params = dict(packaged_methods())["oc_svm"]
    made, alike = make("oc_svm", params).fit(X), make("oc_svm", params).fit(pd.DataFrame(X, columns=list("abcd")))
    assert np.array_equal(made.decision_function(X), alike.decision_function(pd.DataFrame(X)))
    assert np.allclose(made.decision_function(X), made.decision_function(X.tolist()))
    mixed = pd.DataFrame(X, columns=list("abcd")).assign(c="Ulm")
    for texts, found in (
        (X.astype(str), "of type <U"),
        (mixed, r"of type object \(columns c\)"),
        (X.astype(object), ""),
    ):
        with pytest.raises(ValueError, match=rf"X_p has values {found}.*expected an array of numbers"):
            make("oc_svm", params).fit(texts)
        with pytest.raises(ValueError, match=r"X_u has values .*expected an array of numbers"):
            make("naive", dict(packaged_methods())["naive"]).fit(X, texts)
        with pytest.raises(ValueError, match=r"X has values .*expected an array of numbers"):
            made.decision_function(texts)
    with pytest.raises(ValueError, match="X_p has values"):
        PRIORS["tice"].estimate(object.__new__(PRIORS["tice"]), PUSample(X.astype(str), X, None, 0))


def test_every_method_encoder_and_prior_is_guarded() -> None:
    for registry, learns in ((METHODS, "fit_lanes"), (ENCODERS, "fit_lanes"), (PRIORS, "estimate")):
        for name, cls in registry.items():
            assert hasattr(getattr(cls, learns), "__wrapped__"), name
    sample = PUSample(X, np.ones(30), 0.5, 0)
    for made in (PRIORS["tice"], ENCODERS["components"]):
        learn = getattr(made, "estimate", None) or made.fit_lanes
        with pytest.raises(ValueError, match="no labels y"):
            learn(object.__new__(made), sample if hasattr(made, "estimate") else [sample])
