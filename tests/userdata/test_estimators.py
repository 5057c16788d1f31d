"""The estimators in scikit-learn's own tools, their rows and labels, and their model files."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ruamel.yaml import YAML
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from typer.testing import CliRunner

import puoc
from puoc import KNN, NNPU, OCSVM, PUSVM, OneClassDetector, PUClassifier, PUKFold, make_pu, pu_scorer
from puoc.cli.app import app
from puoc.methods.persistence import model_file

ROOT = Path(__file__).parents[2]
X, Y, TRUTH = make_pu(60, 90, alpha=0.4, random_state=1)
SVM = {"class_prior": 0.4}


def frame() -> pd.DataFrame:
    """The rows with names, a column of categories, and missing values."""
    table = pd.DataFrame(X.copy(), columns=list("abcde"))  # before pandas 3, the table shares the array's memory
    table["colour"] = np.where(TRUTH == 1, "red", "blue")
    table.loc[::7, "a"] = np.nan
    return table


def command(*words: str) -> str:
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_grid_search_chooses_by_a_score_without_labels_of_negatives() -> None:
    search = GridSearchCV(PUSVM(**SVM), {"lam": np.logspace(-3, 1, 3)}, scoring=pu_scorer("pu_auc"), cv=PUKFold(3))
    search.fit(X, Y)
    assert search.best_score_ > 0.7
    assert search.predict(X[:5]).shape == (5,)


def test_a_pipeline_with_a_column_transformer_fits_and_predicts() -> None:
    columns = ColumnTransformer([("numbers", StandardScaler(), list("bcde")), ("kind", OneHotEncoder(), ["colour"])])
    model = make_pipeline(columns, PUSVM(**SVM)).fit(frame(), Y)
    assert model.predict(frame()[Y == 0]).sum() == round(0.4 * 90)
    assert clone(model).fit(frame(), Y).score(frame(), Y) == model.score(frame(), Y)


@pytest.mark.parametrize("scorer", ["pu_auc", "lee_liu", "proxy_accuracy"])
def test_cross_validation_with_the_splitter_and_each_scorer(scorer: str) -> None:
    arguments = {"alpha": 0.4} if scorer == "proxy_accuracy" else {}
    scores = cross_val_score(PUSVM(**SVM), X, Y, cv=PUKFold(3), scoring=pu_scorer(scorer, **arguments))
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("profile", [None, "quick"])
def test_nnpu_by_default_does_not_collapse_at_a_small_share_of_positives(profile: str | None) -> None:
    """With the sigmoid loss, or a tenth of lr, the AUC is below .7 at alpha .05."""
    digits, classes = load_digits(return_X_y=True)
    own = np.isin(classes, (3, 5, 8))
    params: dict[str, Any] = {}
    if profile:
        params = YAML(typ="safe").load(ROOT / "profiles" / f"{profile}.yaml")["methods"]["nnpu"]["params"]
    for seed in range(2):
        rng = np.random.default_rng(seed)
        pos, neg = rng.permutation(np.flatnonzero(own)), rng.permutation(np.flatnonzero(~own))
        rows = digits[np.concatenate([pos[:110], neg[:190]])] / 16
        model = NNPU(class_prior=0.05, random_state=seed, **params).fit(rows, np.arange(300) < 100)
        test = np.concatenate([pos[110:], neg[190:]])
        assert roc_auc_score(own[test], model.decision_function(digits[test] / 16)) > 0.9


@pytest.mark.slow
def test_two_processes_give_the_scores_of_one() -> None:
    one, two = (cross_val_score(OCSVM(recall=0.5), X, Y, cv=PUKFold(2), n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_rows_by_labels_and_rows_by_side_give_one_model() -> None:
    by_y = PUSVM(**SVM).fit(X, Y)
    by_side = PUSVM(**SVM).fit(X_p=X[Y == 1], X_u=X[Y == 0])
    general = PUClassifier("pu_svm", **SVM).fit(X, np.where(Y == 1, 1, -1))
    np.testing.assert_array_equal(by_y.score_samples(X), by_side.score_samples(X))
    np.testing.assert_array_equal(by_y.score_samples(X), general.score_samples(X))
    assert set(general.predict(X)) == {1, -1}
    assert set(by_y.predict(X)) == {1, 0}


def test_a_detector_learns_from_the_positives_alone() -> None:
    alone = OneClassDetector("knn").fit(X[Y == 1])
    np.testing.assert_array_equal(KNN().fit(X, Y).score_samples(X), alone.score_samples(X))
    assert set(alone.predict(X)) == {1, -1}
    by_alpha = KNN(threshold="alpha", class_prior=0.4).fit(X, Y)
    assert (by_alpha.predict(X[Y == 0]) == 1).sum() == round(0.4 * 90)


def test_the_threshold_is_the_one_that_is_named() -> None:
    by_recall = PUSVM(threshold="recall", recall=0.5, **SVM).fit(X, Y)
    assert by_recall.threshold_ != PUSVM(**SVM).fit(X, Y).threshold_
    np.testing.assert_array_equal(by_recall.decision_function(X) > 0, by_recall.predict(X) == 1)
    without = PUSVM(threshold=None, **SVM).fit(X, Y)
    np.testing.assert_array_equal(without.decision_function(X), without.score_samples(X))
    with pytest.raises(ValueError, match="threshold: got None"):
        without.predict(X)


def test_only_a_method_whose_score_is_a_posterior_has_probabilities() -> None:
    assert not hasattr(PUSVM(), "predict_proba")
    posterior = puoc.DEDPUL(epochs=1, class_prior=0.4).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    assert (posterior >= 0).all()


def test_hyperparameters_are_those_of_puoc_fit_until_they_are_given() -> None:
    assert PUSVM(**SVM).fit(X, Y).hyperparameters_["lam"] == 0.01
    assert PUSVM(lam=0.5, **SVM).fit(X, Y).hyperparameters_["lam"] == 0.5
    assert OCSVM(recall=0.5).fit(X, Y).hyperparameters_ == {"kernel": "rbf", "nu": 0.5, "gamma": 3.0}
    assert OCSVM(recall=0.5, kernel="rbf", gamma=1).fit(X, Y).hyperparameters_["gamma"] == 1.0
    assert puoc.PAN().get_params()["pan_score"] is None  # the name score is a method's


def test_the_class_prior_is_estimated_or_given() -> None:
    assert PUSVM(**SVM).fit(X, Y).class_prior_ == 0.4
    assert PUSVM().fit(X, Y).class_prior_ == pytest.approx(puoc.tice(X[Y == 1], X[Y == 0]), abs=0.1)


def test_a_saved_model_scores_a_file_as_the_estimator_scores_the_frame(tmp_path: Path) -> None:
    table = frame()
    model = PUSVM(**SVM).fit(table, Y)
    model.save(tmp_path / "model")
    table.to_csv(tmp_path / "rows.csv", index=False)
    command("score", "--model", str(tmp_path / "model"), str(tmp_path / "rows.csv"), "--out", str(tmp_path / "s.csv"))
    scored = pd.read_csv(tmp_path / "s.csv", float_precision="round_trip")
    np.testing.assert_array_equal(scored["score"], model.score_samples(table))
    np.testing.assert_array_equal(scored["positive_by_alpha_0.4"], model.predict(table) == 1)
    with pytest.raises(FileExistsError, match="no file is replaced"):
        model.save(tmp_path / "model")
    loaded = puoc.load(tmp_path / "model")
    assert isinstance(loaded, PUSVM)
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    assert list(loaded.feature_names_in_) == list(table)
    np.testing.assert_array_equal(clone(loaded).fit(table, Y).score_samples(table), model.score_samples(table))


def test_puoc_fit_and_the_estimator_make_one_model(tmp_path: Path) -> None:
    table = frame().drop(columns="colour")
    table.insert(1, "one", 1.0)  # left out of the fit, so that the order of the file is not in the model
    for name, part in (("p", table[Y == 1]), ("u", table[Y == 0])):
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    words = ["--positives", str(tmp_path / "p.csv"), "--unlabelled", str(tmp_path / "u.csv"), "--by-alpha"]
    command("fit", "--method", "pu_svm", "--prior", "0.4", *words, "--out", str(tmp_path / "m"), "--no-ranking-check")
    fitted, loaded = PUSVM(**SVM).fit(table, Y), puoc.load(tmp_path / "m")
    with pytest.raises(ValueError, match="expected a DataFrame with the columns a, b, c"):
        loaded.predict(table.to_numpy())
    np.testing.assert_array_equal(loaded.score_samples(table), fitted.score_samples(table))
    np.testing.assert_array_equal(loaded.predict(table), fitted.predict(table))
    assert loaded.get_params()["class_prior"] == 0.4


def test_a_pickle_scores_as_the_estimator() -> None:
    model = NNPU(epochs=2, **SVM).fit(frame(), Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.score_samples(frame()), model.score_samples(frame()))


def test_frames_of_polars_are_taken() -> None:
    polars = pytest.importorskip("polars")
    model = PUSVM(**SVM).fit(polars.from_pandas(frame()), Y)
    np.testing.assert_array_equal(model.score_samples(frame()), PUSVM(**SVM).fit(frame(), Y).score_samples(frame()))


def test_a_table_of_arrow_is_taken() -> None:
    import pyarrow as pa

    model = PUSVM(**SVM).fit(pa.Table.from_pandas(frame()), Y)
    assert list(model.feature_names_in_) == list(frame())


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_pictures_are_rows_too(dtype: str) -> None:
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 255, (40, 1, 8, 8), dtype=np.uint8)
    pictures[20:, :, :4] //= 4
    pictures = pictures if dtype == "uint8" else (pictures / np.float32(255)).astype(np.float32)
    y = np.repeat([1, 0], 20)
    model = NNPU(epochs=2, class_prior=0.4).fit(pictures, y)
    assert model.score_samples(pictures).shape == (40,)
    loaded = model_file.load(model.model_bytes_)
    assert (loaded.meta.dtype, loaded.meta.scale) == (dtype, 255.0 if dtype == "uint8" else 1.0)


def test_sequences_are_rows_too() -> None:
    rows = np.random.default_rng(0).random((30, 4, 3), dtype=np.float32)
    rows[:, :, 0] = 1
    common = {"lr": 0.01, "lr_decay": 1.0, "epochs": 1, "batch_size": 8, "hidden": 4, "pooling": "last"}
    model = puoc.OCLSTM(recall=0.5, batching="p", training="joint", nu=0.5, **common)
    model.fit(rows)
    assert model.predict(rows).shape == (30,)
    assert pickle.loads(pickle.dumps(model)).predict(rows).shape == (30,)


def texts(dtype: str) -> pd.DataFrame:
    return frame().assign(colour=pd.Series([f"no {i}" for i in range(len(X))], dtype=dtype))


def test_a_column_of_pandas_type_category_is_one_of_categories() -> None:
    model = PUSVM(**SVM).fit(texts("category"), Y)
    assert model.predict(texts("category")).shape == Y.shape


REFUSED: list[tuple[Any, str]] = [
    (lambda: PUSVM().fit(X, np.where(Y == 1, 2, 1)), "y has the labels"),
    (lambda: PUSVM().fit(X, np.where(Y == 1, "yes", "no")), "pos_label that names the positives"),
    (lambda: PUSVM(pos_label=3).fit(X, Y), "pos_label: got 3"),
    (lambda: PUSVM().fit(X, np.arange(len(X)) % 3), "Only binary classification"),
    (lambda: PUSVM().fit(X, np.zeros(len(X))), "y has the labels"),
    (lambda: PUSVM().fit(X, np.ones(len(X))), "one class only"),
    (lambda: PUSVM().fit(X), "requires y to be passed"),
    (lambda: PUSVM().fit(), "got X and X_p, or neither"),
    (lambda: PUSVM().fit(X, Y, X_u=X), "got X and X_u"),
    (lambda: PUSVM().fit(X_p=X, X_u=X[:, :2]), "features"),
    (lambda: PUSVM(lam=-1).fit(X, Y), "hyperparameter 'lam'"),
    (lambda: PUSVM(class_prior=2.0).fit(X, Y), "class_prior: got 2.0"),
    (lambda: PUSVM(class_prior="tise").fit(X, Y), "class_prior: got 'tise'"),
    (lambda: PUSVM(threshold="half").fit(X, Y), "threshold: got 'half'"),
    (lambda: PUSVM(encoder="imagnet").fit(X, Y), "encoder: got 'imagnet'"),
    (lambda: KNN(k=500, recall=0.5).fit(X, Y), "k=48"),
    (lambda: KNN().fit(X[:20]), "recall: a recall of 0.9 needs at least 9 withheld positives"),
    (lambda: KNN(threshold="alpha").fit(X[:20]), "unlabelled rows are needed; give them as X_u"),
    (lambda: PUClassifier("nnpuu").fit(X, Y), "did you mean 'nnpu'"),
    (lambda: PUClassifier("knn").fit(X, Y), "a method of OneClassDetector"),
    (lambda: OneClassDetector("nnpu").fit(X), "a method of PUClassifier"),
    (lambda: PUSVM(**SVM).fit(X, Y).predict(np.full_like(X, np.inf)), "infinity"),
    (lambda: PUSVM(**SVM).fit(texts("object"), Y), "give it pandas' type category"),
    (
        lambda: PUSVM(**SVM).fit(frame().assign(a=pd.Timestamp("2020-01-01") + pd.to_timedelta(X[:, 0], "D")), Y),
        "column 'a'",
    ),
    (lambda: PUSVM(**SVM).fit(frame(), Y).predict(frame().assign(b="q")), "column 'b' holds 'q'"),
    (lambda: PUSVM(class_prior=[0.3]).fit(X, Y), "class_prior: got [0.3]"),
    (lambda: PUSVM(scaling="robust").fit(X, Y), "scaling: got 'robust'; expected 'minmax' or 'standard'"),
    (lambda: PUSVM(repeats="both").fit(X, Y), "repeats: got 'both'"),
    (lambda: PUSVM(withhold="a").fit(X, Y), "withhold: got 'a'; expected a share in (0, 1)"),
    (lambda: PUSVM(threshold="recall", recall=90).fit(X, Y), "recall: got 90"),
    (lambda: PUSVM(threshold=["alpha"]).fit(X, Y), "threshold: got ['alpha']"),
    (lambda: PUSVM(encoder=3).fit(X, Y), "encoder: got 3; expected a name"),
    (lambda: PUClassifier(["nnpu"]).fit(X, Y), "method: got ['nnpu']"),
    (lambda: PUClassifier("pu_svm", params="lam=1").fit(X, Y), "params: got 'lam=1'; expected a dict"),
    (lambda: puoc.CSI(recall=0.5).fit(X), "csi takes image rows"),
    (lambda: puoc.OCLSTM(recall=0.5).fit(X), "give all of them as arguments"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_does_not_fit_is_refused_in_words_of_python(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)) as refused:
        call()
    assert "--" not in str(refused.value)


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(TypeError, match="lamb"):
        PUSVM(lamb=1)


def test_importing_puoc_and_looking_for_a_name_loads_nothing(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = "import sys, puoc; hasattr(puoc, 'no_such'); dir(puoc); print(sorted({'numpy', 'torch'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "[]"
