"""SAR-EM: its steps by hand, a likelihood that never falls, and labels that depend on a column."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from puoc.methods import make
from puoc.methods.sar_em import expected, fitted
from puoc.records import Array

PARAMS = {"rounds": 100, "l2": 1.0}


def biased(n: int = 3000) -> tuple[Array, Array, Array]:
    """P, U and the classes of U. The first column tells the class, and the second which positives are labelled."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = rng.random(n) < 1 / (1 + np.exp(-3 * X[:, 0]))
    s = y & (rng.random(n) < 1 / (1 + np.exp(1 - 3 * X[:, 1])))
    return X[s].astype(np.float32), X[~s].astype(np.float32), y[~s]


def test_the_expected_label_of_an_unlabelled_row_is_bayes_rule() -> None:
    f, e = np.array([0.2, 0.9, 0.5]), np.array([0.3, 0.8, 0.01])
    logits = [np.log(p / (1 - p)) for p in (f, e)]
    np.testing.assert_allclose(expected(*logits), f * (1 - e) / (1 - f * e), rtol=1e-12)
    assert expected(np.array([800.0, -800.0]), np.array([800.0, 800.0])).tolist() == pytest.approx([0.5, 0], abs=1e-9)


def test_a_maximisation_is_a_weighted_logistic_regression() -> None:
    rng = np.random.default_rng(1)
    X, target, weight = rng.normal(size=(50, 2)), rng.random(50), rng.random(50)
    ours = fitted(np.c_[X, np.ones(50)], target, weight, 2.0, np.zeros(3))
    both = np.r_[weight * target, weight * (1 - target)]
    theirs = LogisticRegression(C=0.5, tol=1e-10).fit(np.r_[X, X], np.repeat([1, 0], 50), sample_weight=both)
    np.testing.assert_allclose(ours, np.r_[theirs.coef_[0], theirs.intercept_], atol=1e-4)


def test_the_likelihood_never_falls_and_labels_that_depend_on_a_column_do_not_mislead() -> None:
    P, U, y = biased()
    model = make("sar_em", PARAMS).fit(P, U, alpha=float(y.mean()))
    (objective,) = model.curve_.values()
    assert (np.diff(objective) < 1e-6 * abs(objective[0])).all()
    naive = LogisticRegression().fit(np.r_[P, U], np.repeat([1, 0], [len(P), len(U)]))
    auc, without = (roc_auc_score(y, scores) for scores in (model.decision_function(U), naive.decision_function(U)))
    assert auc > without + 0.1, (auc, without)
    slopes = model.state()["f"] / np.abs(model.state()["f"]).max()
    assert slopes[0] == 1


def test_coefficients_of_other_rows_are_not_restored() -> None:
    P, U, _ = biased(300)
    state = make("sar_em", PARAMS).fit(P, U, alpha=0.4).state()
    with pytest.raises(ValueError, match="4 coefficients and positive spreads expected"):
        make("sar_em", PARAMS).restore(state | {"spread": np.zeros(3)}, (3,))
