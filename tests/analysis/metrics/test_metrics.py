"""Metrics of scores equal scikit-learn's; a stored ROC curve says only what it determines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import sklearn.metrics as oracle
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from puoc.analysis.metrics import check_name, curve_metrics, metrics, names_to_compare, test_metrics, withheld_metrics
from puoc.analysis.metrics.counts import Scores, Withheld
from puoc.analysis.metrics.curve import StoredCurve
from puoc.analysis.metrics.probabilities import probabilities_of
from puoc.analysis.statistics import withheld_scores
from puoc.analysis.statistics.auc import auc
from puoc.analysis.statistics.roc import decode, encode, roc_curve

Pair = tuple[np.ndarray, np.ndarray]
# few distinct values, so that ties are common; one row or equal scores alone are frequent too
few = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=40).map(np.array)
many = st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=40).map(lambda values: np.array(values, dtype=float))


def labels_and_scores(pair: Pair) -> Pair:
    positive, negative = pair
    return np.repeat([1, 0], [len(positive), len(negative)]), np.concatenate([positive, negative])


def weights(y: np.ndarray, alpha: float) -> np.ndarray:
    return np.where(y == 1, alpha / (y == 1).sum(), (1 - alpha) / (y == 0).sum())


def highest_precision(y: np.ndarray, s: np.ndarray) -> float:
    precision, recall, _ = oracle.precision_recall_curve(y, s)
    return float(precision[:-1][recall[:-1] >= 0.9 - 1e-9].max())


def recall_at_rate(y: np.ndarray, s: np.ndarray) -> float:
    fpr, tpr, _ = oracle.roc_curve(y, s, drop_intermediate=False)
    return float(tpr[fpr <= 0.01 + 1e-9].max())


def called(y: np.ndarray, s: np.ndarray) -> np.ndarray:
    return np.asarray(s >= np.sort(s)[len(s) - (y == 1).sum()])


ORACLES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "auc": oracle.roc_auc_score,
    "average_precision": oracle.average_precision_score,
    "average_precision_at_alpha": lambda y, s: oracle.average_precision_score(y, s, sample_weight=weights(y, 0.2)),
    "precision_at_recall_90": highest_precision,
    "recall_at_fpr_01": recall_at_rate,
    "partial_auc_10": lambda y, s: oracle.roc_auc_score(y, s, max_fpr=0.1),
    "balanced_accuracy": lambda y, s: oracle.balanced_accuracy_score(y, called(y, s)),
    "f1": lambda y, s: oracle.f1_score(y, called(y, s)),
}


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.tuples(few, few), st.tuples(many, many)))
def test_metrics_of_scores_are_those_of_scikit_learn(pair: Pair) -> None:
    y, s = labels_and_scores(pair)
    values = test_metrics(Scores(*pair, alpha=0.2))
    for name, function in ORACLES.items():
        assert values[name] == pytest.approx(function(y, s), abs=1e-12), name


def test_every_metric_of_test_rows_has_an_oracle() -> None:
    apart = {"recall_at_10_percent", "brier", "calibration_error"}  # tested below
    assert {name for name, one in metrics().items() if one.rows == "test"} == ORACLES.keys() | apart


def test_recall_of_the_first_tenth_is_that_of_the_rows_and_its_mean_over_the_orders_of_tied_rows() -> None:
    rng = np.random.default_rng(0)
    positive, negative = rng.normal(1, 1, 30), rng.normal(0, 1, 70)
    y, s = labels_and_scores((positive, negative))
    first = np.argsort(-s)[:10]
    assert test_metrics(Scores(positive, negative))["recall_at_10_percent"] == pytest.approx(y[first].sum() / 30)
    tied = test_metrics(Scores(np.zeros(3), np.zeros(17)))["recall_at_10_percent"]
    assert tied == pytest.approx(2 / 20)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_metrics_of_probabilities_are_those_of_scikit_learn_and_of_the_definition(
    positive: list[float], negative: list[float]
) -> None:
    y, p = labels_and_scores((np.array(positive), np.array(negative)))
    values = test_metrics(Scores(np.array(positive), np.array(negative), probabilities=p))
    assert values["brier"] == pytest.approx(oracle.brier_score_loss(y, p), abs=1e-12)
    bins = np.minimum((p * 10).astype(int), 9)
    gaps = [(bins == k).sum() * abs(p[bins == k].mean() - y[bins == k].mean()) for k in np.unique(bins)]
    assert values["calibration_error"] == pytest.approx(sum(gaps) / len(p), abs=1e-12)


def test_only_methods_with_probabilities_have_metrics_of_them() -> None:
    scores = np.array([-1000.0, 0.0, 2.0])
    logistic = probabilities_of("nnpu", {"surrogate": "logistic"}, scores)
    assert logistic == pytest.approx([0, 0.5, 1 / (1 + np.exp(-2))])
    assert probabilities_of("nnpu", {"surrogate": "sigmoid"}, scores) is None
    assert probabilities_of("oc_svm", {}, scores) is None
    assert "brier" not in test_metrics(Scores(scores, scores))


def stored(pair: Pair) -> StoredCurve:
    return StoredCurve(auc(*pair, "test"), decode(encode(roc_curve(*pair))), len(pair[0]), len(pair[1]))


def untied(seed: int) -> Pair:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(5, 400), rng.choice([7, 32, 80, 93, 100, 200, 300])
    digits = rng.choice([0, 1, 6])
    return rng.normal(1, 1, n).round(digits), rng.normal(0, 1, m).round(digits)


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.tuples(few, few), st.integers(0, 10_000).map(untied)))
def test_what_a_stored_curve_says_is_what_the_scores_say(pair: Pair) -> None:
    exact, said = test_metrics(Scores(*pair)), curve_metrics(stored(pair))
    assert "auc" in said
    for name, value in said.items():
        assert value == pytest.approx(exact[name], abs=1e-12), name


def test_a_stored_curve_without_ties_says_the_recall_and_precision_in_most_cases() -> None:
    pairs = [(np.random.default_rng(seed).normal(1, 1, 80), np.random.default_rng(-seed % 97).normal(0, 1, 80))
             for seed in range(20)]  # fmt: skip
    names = [set(curve_metrics(stored(pair))) for pair in pairs]
    assert sum("recall_at_fpr_01" in known for known in names) == 20
    assert sum("precision_at_recall_90" in known for known in names) >= 10


def test_a_stored_curve_of_too_many_rows_says_its_auc_alone() -> None:
    rng = np.random.default_rng(0)
    assert curve_metrics(stored((rng.normal(1, 1, 4000), rng.normal(0, 1, 6000)))).keys() == {"auc"}


def test_criteria_of_withheld_rows_are_those_of_their_formulas() -> None:
    positive, unlabelled = np.array([3.0, 2.0, 1.0, -1.0]), np.array([2.5, 0.5, 0.0, -0.5, -2.0])
    values = withheld_metrics(Withheld(positive, unlabelled, alpha=0.4, n_pos=10, n_unl=30))
    of_p, of_u, prior = 3 / 4, 2 / 5, 0.25 + 0.75 * 0.4  # from 0.5 on, rows are called positive
    assert values["auc_val_pu"] == auc(positive, unlabelled, "test")
    assert values["proxy_accuracy"] == pytest.approx(2 * 0.4 * of_p + 1 - of_u)
    assert values["lee_liu"] == pytest.approx(of_p**2 / of_u)
    expected = 2 * prior * of_p + 1 - (0.25 * of_p + 0.75 * of_u) - prior
    assert values["proxy_accuracy_corrected"] == pytest.approx(expected)
    assert withheld_metrics(Withheld(positive, unlabelled)).keys() == {"auc_val_pu"}


def test_proxies_estimate_the_accuracy_that_labels_would_give() -> None:
    rng = np.random.default_rng(1)
    n_p, n_u, alpha = 40_000, 40_000, 0.3
    positive = rng.normal(1, 1, n_p)
    labels = rng.random(n_u) < alpha
    unlabelled = np.where(labels, rng.normal(1, 1, n_u), rng.normal(-1, 1, n_u))
    values = withheld_metrics(Withheld(positive, unlabelled, alpha, n_p, n_u))
    threshold = np.sort(unlabelled)[n_u - round(alpha * n_u)]
    on_u = ((unlabelled >= threshold) == labels).mean()
    assert values["proxy_accuracy"] - alpha == pytest.approx(on_u, abs=0.01)
    together = (on_u * n_u + (positive >= threshold).sum()) / (n_u + n_p)
    assert values["proxy_accuracy_corrected"] == pytest.approx(together, abs=0.01)


@settings(max_examples=50, deadline=None)
@given(many, many)
def test_scores_of_withheld_rows_come_back_from_their_text(positive: np.ndarray, unlabelled: np.ndarray) -> None:
    back = withheld_scores.decode(withheld_scores.encode(positive, unlabelled))
    assert np.array_equal(back.positive, positive)
    assert np.array_equal(back.unlabelled, unlabelled)


@pytest.mark.parametrize("text", ["", "abc", "not base 85 \u00e4", withheld_scores.encode(np.empty(0), np.ones(2))])
def test_a_text_without_scores_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="withheld rows"):
        withheld_scores.decode(text)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("acu", "did you mean auc"),
        ("AUC", "did you mean auc"),
        (3, "got 3"),
        ("brier", "is lower for"),
        ("lee_liu", "withheld rows"),
        (None, "expected one of auc"),
    ],
)
def test_an_unknown_name_is_refused_with_the_list(name: object, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        check_name(name)
    assert ", ".join(names_to_compare()) in str(caught.value)


def test_the_default_is_first_and_all_metrics_say_what_they_are() -> None:
    assert names_to_compare()[0] == "auc"
    assert len([one for one in metrics().values() if one.rows == "test"]) >= 8
    assert all(one.said and one.source for one in metrics().values())


@settings(max_examples=20, deadline=None)
@given(many, many)
def test_metrics_do_not_change_with_the_scale_of_scores(positive: np.ndarray, negative: np.ndarray) -> None:
    together = np.concatenate([positive, negative])
    assume(np.unique(together / 7).size == np.unique(together).size)
    before, after = test_metrics(Scores(positive, negative)), test_metrics(Scores(positive / 7, negative / 7))
    assert before == pytest.approx(after)
