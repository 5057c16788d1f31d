"""The adapters of PyOD and pulearn give these libraries' own scores, and keep them without pickle."""

from __future__ import annotations

import random
from importlib import import_module
from typing import Any, get_args

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.svm import OneClassSVM
from sklearn.tree import DecisionTreeClassifier

from puoc.methods import make
from puoc.methods.pulearn_classifiers import Classifier, labelled
from puoc.methods.pyod_detectors import _MODULES, Detector
from puoc.methods.solvers import refitted
from puoc.records import Array

SEED = 3
#: Settings with which a fit is quick; the others run with PyOD's defaults.
QUICK: dict[str, dict[str, Any]] = {
    "AE1SVM": {"epochs": 2},
    "AnoGAN": {"epochs": 1, "epochs_query": 2},
    "AutoEncoder": {"epoch_num": 2},
    "DeepSVDD": {"epochs": 2},
    "LUNAR": {"n_epochs": 3},
    "SO_GAAL": {"stop_epochs": 1},
    "INNE": {"n_estimators": 20, "max_samples": 8},
    "IForest": {"n_estimators": 20},
}
#: Detectors that neither train a network nor compile functions.
AT_ONCE = {"GMM", "IForest", "INNE", "KDE", "KNN", "KPCA", "LODA", "LOF", "MCD", "OCSVM", "PCA", "Sampling"}
DETECTORS = [pytest.param(name, marks=() if name in AT_ONCE else pytest.mark.slow) for name in get_args(Detector)]
NAIVE_BAYES = sorted(name for name in get_args(Classifier) if name.endswith(("BayesClassifier", "TANClassifier")))


def rows(seed: int, n: int = 40) -> Array:
    return np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32)


@pytest.mark.parametrize("detector", DETECTORS)
def test_pyod_gives_the_scores_of_pyod_and_restores_them(detector: str) -> None:
    pytest.importorskip("pyod")
    settings = QUICK.get(detector, {})
    text = ", ".join(f"{name}={value}" for name, value in settings.items())
    P, X = rows(0, 60), rows(1, 30)
    method = make("pyod", {"detector": detector, "settings": text})
    scores = method.fit(P, seed=SEED).decision_function(X)
    cls = getattr(import_module(f"pyod.models.{_MODULES.get(detector, detector.lower())}"), detector)
    own = {"random_state": SEED} if "random_state" in cls.__init__.__code__.co_varnames else {}
    own |= {"n_features": 4} if detector == "DeepSVDD" else {}
    np.random.seed(SEED)  # noqa: NPY002
    torch.manual_seed(SEED)
    theirs = cls(**own, **settings).fit(P.astype(np.float64)).decision_function(X.astype(np.float64))
    np.testing.assert_allclose(scores, -theirs, rtol=1e-9, atol=1e-9)
    restored = make("pyod", {"detector": detector, "settings": text}).restore(method.state(), (4,))
    np.testing.assert_array_equal(restored.decision_function(X), scores)
    np.testing.assert_allclose(restored.decision_function(X[5:8]), scores[5:8], rtol=1e-5, atol=1e-6)


def pulearn_fit(params: dict[str, Any], own: Any) -> None:
    P, U, X = rows(0, 40), rows(1, 80) + np.float32([1, 0, 0, 0]), rows(2)
    method = make("pulearn", params).fit(P, U, seed=SEED)
    scores = method.decision_function(X)
    theirs = own.fit(np.concatenate([P, U]).astype(np.float64), np.repeat([1, 0], [40, 80]))
    np.testing.assert_allclose(scores, theirs.predict_proba(X.astype(np.float64))[:, 1], rtol=1e-9, atol=1e-9)
    restored = make("pulearn", params).restore(method.state(), (4,))
    np.testing.assert_array_equal(restored.decision_function(X), scores)


def test_pulearn_gives_the_scores_of_elkan_and_noto() -> None:
    pulearn = pytest.importorskip("pulearn")
    base = {"settings": "hold_out_ratio=0.2", "estimator": "LogisticRegression", "estimator_settings": "C=0.5"}
    inside = LogisticRegression(C=0.5, random_state=SEED)
    one = pulearn.ElkanotoPuClassifier(inside, hold_out_ratio=0.2, random_state=SEED)
    pulearn_fit(base | {"classifier": "ElkanotoPuClassifier"}, one)
    weighted = pulearn.WeightedElkanotoPuClassifier(
        inside, labeled=40, unlabeled=80, hold_out_ratio=0.2, random_state=SEED
    )
    pulearn_fit(base | {"classifier": "WeightedElkanotoPuClassifier"}, weighted)


def test_pulearn_gives_the_scores_of_bagging() -> None:
    pulearn = pytest.importorskip("pulearn")
    params = {"classifier": "BaggingPuClassifier", "settings": "n_estimators=8"}
    own = pulearn.BaggingPuClassifier(DecisionTreeClassifier(random_state=SEED), n_estimators=8, random_state=SEED)
    pulearn_fit(params | {"estimator": "DecisionTreeClassifier"}, own)


@pytest.mark.parametrize("name", NAIVE_BAYES)
def test_pulearn_gives_the_scores_of_naive_bayes(name: str) -> None:
    pulearn = pytest.importorskip("pulearn")
    pulearn_fit({"classifier": name, "settings": "n_bins=5"}, getattr(pulearn, name)(n_bins=5))


def test_other_detectors_are_refused_with_the_list() -> None:
    with pytest.raises(ValueError, match=r"'detector': got 'ALAD', expected 'ABOD', .*'KNN'"):
        make("pyod", {"detector": "ALAD", "settings": ""})


def test_a_wrong_argument_is_refused_with_the_nearest_one() -> None:
    class Detecting:
        def __init__(self, n_neighbors: int = 5, random_state: int = 0, n_jobs: int = 1) -> None: ...

    for name, hint in (("n_neighbours", r" \(did you mean 'n_neighbors'\?\)"), ("random_state", ""), ("n_jobs", "")):
        with pytest.raises(ValueError, match=f"'settings': got '{name}'{hint}, expected .*Detecting: n_neighbors$"):
            refitted.made(Detecting, f"{name}=3", {"random_state": 1}, "settings")


def test_a_fit_seeds_the_global_generators_and_puts_back_what_they_were() -> None:
    def drawn() -> list[float]:
        return [random.random(), float(np.random.random()), float(torch.rand(()))]  # noqa: NPY002

    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)
    random.seed(0)
    alone = drawn()
    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)
    random.seed(0)
    with refitted._own_generators(5):
        inside = drawn()
    assert drawn() == alone
    with refitted._own_generators(5):
        assert drawn() == inside


def test_an_outlier_that_scores_high_in_pyod_scores_low_here() -> None:
    method: Any = make("pyod", {"detector": "KNN", "settings": ""})
    learner = OneClassSVM().fit(rows(0))  # any object with such a function
    np.testing.assert_array_equal(method.raw_scores(learner, rows(1)), -learner.decision_function(rows(1)))


def test_positives_have_the_label_1_in_pulearn() -> None:
    X, y = labelled(rows(0, 3), rows(1, 2))
    np.testing.assert_array_equal(X, np.r_[rows(0, 3), rows(1, 2)])
    assert y.tolist() == [1, 1, 1, 0, 0]


def test_settings_are_read_as_numbers_lists_and_texts() -> None:
    assert refitted.parsed("") == {}
    text = "n=10, share=.5,lr = 1e-3, hidden=[64, 32], deep=true, none=null, method=mean"
    read = {"n": 10, "share": 0.5, "lr": 1e-3, "hidden": [64, 32], "deep": True, "none": None, "method": "mean"}
    assert refitted.parsed(text) == read
    for wrong in ("n", "n=", "=3", "n=1, n=2", "1n=3"):
        with pytest.raises(ValueError, match=r"'settings': got .* expected arguments name=value, with commas"):
            make("pyod", {"detector": "KNN", "settings": wrong})


def test_a_missing_library_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refitted, "find_spec", lambda name: None)
    method = make("pyod", {"detector": "KNN", "settings": ""})
    for call in (lambda: method.fit(rows(0)), lambda: method.check_counts(10, 0)):
        with pytest.raises(ValueError, match=r"pip install pyod, .*EXTRAS=pyod"):
            call()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"classifier": "ElkanotoPuClassifier", "settings": ""},
            "missing hyperparameter 'estimator': .*one of DecisionTree",
        ),
        (
            {"classifier": "WeightedTANClassifier", "settings": "", "estimator": "SVC"},
            "'estimator': got SVC, expected none",
        ),
        (
            {"classifier": "WeightedTANClassifier", "settings": "", "estimator_settings": "C=1.0"},
            "'estimator_settings': got values without",
        ),
    ],
)
def test_pulearn_takes_an_estimator_where_there_is_one_inside(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make("pulearn", params)


def test_a_seed_that_is_none_is_not_restored() -> None:
    state = {"positives": rows(0), "seed": np.array([0.5])}
    with pytest.raises(ValueError, match="whole seed expected"):
        make("pyod", {"detector": "KNN", "settings": ""}).restore(state, (4,))


def test_rows_that_are_too_few_for_the_library_are_refused_before_and_in_a_fit() -> None:
    pytest.importorskip("pyod")
    method = make("pyod", {"detector": "KNN", "settings": "n_neighbors=20"})
    for call in (lambda: method.fit(rows(0, 9)), lambda: method.check_counts(9, 0)):
        with pytest.raises(ValueError, match=r"pyod cannot be fitted to 9 positives \(ValueError: .*more rows"):
            call()
    method.check_counts(30, 0)
