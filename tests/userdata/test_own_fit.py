"""``puoc fit`` and ``puoc score``: one way from a file to its scores, in Python, in MLflow and in any chunks."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
from own_files import customers, invoke, puoc, refused
from pickles import is_pickle
from PIL import Image

from puoc.datasets.readers import read_pair
from puoc.methods import METHODS, inputs_of, make
from puoc.methods.persistence import model_file as modelfile
from puoc.store.yaml_file import YamlFile
from puoc.userdata import settings

NETWORK = ("--params", "epochs=2", "--params", "batch_size=16")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    customers(60, 1, 1.5).to_csv("p.csv", index=False)
    frame = customers(90, 2)
    frame.loc[3, "âge"] = np.nan
    frame.to_csv("u.csv", index=False)
    test = pd.concat([customers(20, 3, 1.5).assign(y="pos"), customers(30, 4).assign(y="neg")])
    test.to_csv("t.csv", index=False)
    customers(9000, 5).to_csv("v.csv", index=False)
    return tmp_path


def fit(method: str, *words: object, out: str = "model") -> str:
    code, said = puoc("fit", "--method", method, "--positives", "p.csv", "--unlabelled", "u.csv", "--out", out, *words)
    assert code == 0, said
    return said


def scores(path: str = "v.csv", *words: object, model: str = "model") -> pd.DataFrame:
    code, said = puoc("score", "--model", model, path, "--out", "scores.parquet", *words)
    assert code == 0, said
    found = pd.read_parquet("scores.parquet")
    Path("scores.parquet").unlink()
    return found


@pytest.mark.parametrize(("method", "more"), [("oc_svm", ()), ("pu_svm", ("--prior", "0.4")), ("naive", NETWORK)])
def test_command_python_and_mlflow_give_the_same_scores(method: str, more: tuple[str, ...], files) -> None:
    fit(method, *more, "--mlflow", "folder", "--seed", 7)
    found = scores()
    assert list(found.columns) == ["row", "score"]
    assert found["row"].tolist() == list(range(1, 9001))
    for at_once in (1000, 4097, 8999, 20_000):
        assert scores("v.csv", "--chunk", at_once).equals(found)

    model = modelfile.load(Path("model"))
    preparing = modelfile.preparing(model.meta)
    assert preparing is not None
    frame = pd.read_csv("v.csv")
    assert np.array_equal(modelfile.score(model, preparing.from_frame(frame).X), found["score"])
    assert np.array_equal(mlflow.pyfunc.load_model("folder").predict(frame), found["score"])

    # the method by its own hand
    one_class = method == "oc_svm"
    pair = read_pair(Path("p.csv"), Path("u.csv"), from_positives=one_class)
    alone = make(method, model.meta.params)
    alone.fit(pair.X_p, None if one_class else pair.X_u, alpha=0.4 if method == "pu_svm" else None, seed=7)
    assert np.allclose(alone.decision_function(pair.read(Path("v.csv")).X), found["score"], rtol=1e-5, atol=1e-6)


def test_a_served_model_logs_what_scoring_a_file_notes(files, caplog: pytest.LogCaptureFixture) -> None:
    fit("pu_svm", "--prior", "0.4", "--mlflow", "folder")
    frame = pd.read_csv("v.csv").head(50)
    served = mlflow.pyfunc.load_model("folder")
    served.predict(frame)
    assert not [record for record in caplog.records if record.name == "puoc.serving"]
    wide = frame.assign(größe=1000 - frame["größe"])
    wide.to_csv("w.csv", index=False)
    said = puoc("score", "--model", "model", "w.csv", "--out", "s.csv")[1]
    served.predict(wide)
    (logged,) = [record.getMessage() for record in caplog.records if record.name == "puoc.serving"]
    assert logged in said
    assert "50 values of 'größe'" in logged


def test_chunks_of_one_row_and_a_printed_csv_are_the_same(files) -> None:
    fit("pu_svm", "--prior", "0.4")
    whole = scores("u.csv")
    assert scores("u.csv", "--chunk", 1).equals(whole)
    done = invoke("score", "--model", "model", "u.csv")
    assert done.exit_code == 0
    assert pd.read_csv(io.StringIO(done.stdout)).equals(whole)
    assert done.stderr.splitlines() == ["1 missing values in 'âge'", "90 rows scored: printed"]


def test_a_model_file_holds_no_pickle_no_row_and_no_path_and_is_the_same_again(files) -> None:
    fit("pu_svm", "--prior", "0.4")
    fit("pu_svm", "--prior", "0.4", out="again")
    content = Path("model").read_bytes()
    assert content == Path("again").read_bytes()
    assert not is_pickle(content)
    assert str(files).encode() not in content
    assert len(content) < 5000


def test_what_was_used_is_said_and_stands_in_the_model(files) -> None:
    said = fit("pu_svm")
    assert "pu_svm: solver=exact, kernel=linear, risk=non_negative, lam=0.01  (packaged, defaults.yaml: paper" in said
    estimated = re.search(r"class prior ([.\d]+): estimated by tice from these rows; no --prior was given", said)
    assert estimated
    assert "no threshold: the model gives scores" in said
    about = modelfile.read_meta(Path("model")).about
    assert about["prior"] == "tice"
    assert about["alpha"] == pytest.approx(float(estimated[1]), rel=1e-3)
    assert (about["positives"], about["unlabelled"], about["seed"]) == (60, 90, 0)
    said = fit("pu_svm", "--params", "lam=0.5", "--prior", "0.25", out="other")
    assert "lam=0.5" in said
    assert "lam by --params" in said
    assert "class prior 0.25: as given" in said
    assert modelfile.read_meta(Path("other")).params["lam"] == 0.5


def test_entries_of_a_profile_serve_as_settings(files) -> None:
    Path("mine.yaml").write_text(
        "methods:\n"
        "  narrow:\n    method: oc_svm\n    source: our data\n    params: {kernel: rbf, nu: 0.1, gamma: 2.0}\n"
        "  told:\n    method: naive\n    labels: oracle\n    params: {}\n"
        "  with_prior:\n    method: pu_svm\n    prior: {fixed: 0.25}\n"
        "    params: {solver: exact, kernel: linear, risk: unbiased, lam: 0.1}\n"
    )
    said = fit("narrow", "--settings", "mine.yaml")
    assert "oc_svm: kernel=rbf, nu=0.1, gamma=2.0  (mine.yaml: our data)" in said
    assert modelfile.read_meta(Path("model")).contains_training_rows
    assert "the model contains training rows" in said
    assert "class prior 0.25: as given" in fit("with_prior", "--settings", "mine.yaml", out="other")
    words = ("--settings", "mine.yaml", "--positives", "p.csv", "--check")
    refused(puoc("fit", "--method", "told", *words), "told needs the true classes")


def test_a_threshold_by_alpha_calls_that_share_of_u_positive(files) -> None:
    said = fit("pu_svm", "--prior", "0.3", "--by-alpha")
    assert "by the share alpha = 0.3 of 90 unlabelled rows" in said
    found = scores("u.csv")
    assert found["positive_by_alpha_0.3"].sum() == 27
    value = modelfile.read_meta(Path("model")).threshold.value
    assert ((found["score"] >= value) == found["positive_by_alpha_0.3"]).all()


def test_a_threshold_by_recall_rests_on_positives_that_nothing_was_fitted_to(files) -> None:
    said = fit("oc_svm", "--recall", "0.9", "--withhold", "0.5", "--seed", "3")
    assert "a recall of at least 0.9 is expected of new positives; with 95 % confidence it is at least 0.80" in said
    assert "; 0.9333 of 30 withheld" in said
    threshold = modelfile.read_meta(Path("model")).threshold
    assert threshold.by == "recall"
    pair = read_pair(Path("p.csv"), Path("u.csv"), from_positives=True, withhold=0.5, seed=3)
    assert pair.held is not None
    held = np.sort(modelfile.score(modelfile.load(Path("model")), pair.held.X))
    assert held[2] == threshold.value  # the 3rd of 30: 3 <= .1 * 31
    assert "positive_at_recall_0.9" in scores("v.csv").columns
    refused(
        puoc("fit", "--method", "oc_svm", "--positives", "p.csv", "--out", "m", "--recall", "0.99"),
        "needs at least 99 withheld positives, and 12 were withheld",
    )
    assert not Path("m").exists()


def test_the_recall_is_kept_on_new_positives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    new = customers(4000, 99, 1.5)
    missed = []
    for seed in range(12):
        customers(80, seed, 1.5).to_csv("p.csv", index=False)
        pair = read_pair(Path("p.csv"), None, from_positives=True, withhold=0.5, seed=seed)
        from puoc.userdata import fit as fitting
        from puoc.userdata.settings import settings
        from puoc.userdata.thresholds import ThresholdRule

        made = fitting.fit(pair, settings("oc_svm"), rule=ThresholdRule(recall=0.9))
        model = modelfile.load(made.content)
        preparing = modelfile.preparing(model.meta)
        assert preparing is not None
        found = modelfile.score(model, preparing.from_frame(new).X)
        missed.append((found < model.meta.threshold.value).mean())
    # exact for the mean over draws: 4 / 41; the spread of a mean of 12 is about .013
    assert np.mean(missed) == pytest.approx(4 / 41, abs=0.045)


def test_test_rows_give_an_auc(files) -> None:
    said = fit("pu_svm", "--prior", "0.3", "--test", "t.csv", "--label", "y")
    assert "20 rows) read as positive" in said
    found = re.search(r"AUC on the test rows: ([.\d]+)", said)
    assert found
    assert 0.6 < float(found[1]) <= 1


@pytest.mark.parametrize(
    ("out", "mlflow"),
    [("in", "in/x"), ("in", "in/x/y"), ("in/x", "in"), ("same", "../DIR/same"), ("same", "a/../same"), ("a", "a")],
)
def test_a_model_file_and_a_folder_in_each_others_way_are_refused_before_a_fit(out: str, mlflow: str, files) -> None:
    mlflow = mlflow.replace("DIR", files.name)
    words = ("--positives", "p.csv", "--out", out, "--mlflow", mlflow)
    refused(puoc("fit", "--method", "oc_svm", *words), "expected another path", mlflow)
    assert sorted(path.name for path in files.iterdir()) == ["p.csv", "t.csv", "u.csv", "v.csv"]


def test_what_cannot_be_written_is_told_before_anything_is_done(files) -> None:
    fit("oc_svm")
    to_fit = ("fit", "--method", "oc_svm", "--positives", "p.csv")
    for option, words in (
        ("--out: /proc/nothing/m", (*to_fit, "--out", "/proc/nothing/m")),
        ("--mlflow: /proc/nothing/f", (*to_fit, "--out", "m", "--mlflow", "/proc/nothing/f")),
        ("--out: /proc/nothing/s.csv", ("score", "--model", "model", "v.csv", "--out", "/proc/nothing/s.csv")),
    ):
        said = refused(puoc(*words), option, "cannot be written, since /proc takes no file", "that you may write")
        assert len(said.splitlines()) == 1
        assert not Path("m").exists()


def test_a_reader_who_has_seen_enough_ends_the_printing_quietly(files) -> None:
    fit("oc_svm")
    words = [sys.executable, "-m", "puoc", "score", "--model", "model", "v.csv"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as printing:
        assert printing.stdout is not None
        assert printing.stderr is not None
        assert printing.stdout.readline() == b'"row","score"\n'
        printing.stdout.close()
        assert printing.stderr.read() == b""
        assert printing.wait() == 1


@pytest.mark.parametrize(
    ("positive", "other"),
    [("labelled", "unlabelled"), ("Labeled", "Unlabeled"), ("P", "U"), ("P", "unl"), ("pos", "unlabelled")],
)
def test_unlabelled_rows_are_no_test_rows_unless_somebody_says_that_they_are_negatives(
    positive: str, other: str, files
) -> None:
    test = pd.read_csv("t.csv")
    test.assign(y=test["y"].map({"pos": positive, "neg": other})).to_csv("t.csv", index=False)
    words = ("--positives", "p.csv", "--unlabelled", "u.csv", "--test", "t.csv", "--label", "y", "--prior", "0.3")
    refused(
        puoc("fit", "--method", "pu_svm", *words, "--out", "m"),
        f"t.csv: the label 'y' is {other!r} in 30 rows; unlabelled rows are no test rows",
        f"expected negatives. If these are, use --positive {positive}",
    )
    assert not Path("m").exists()
    assert f"{other} (30 rows) as negative" in fit("pu_svm", *words[4:], "--positive", positive)


REFUSED = {
    "a method for pictures": (
        ["--method", "csi"],
        ["csi takes image rows", "What fits them: ", "pu_svm"],
    ),
    "an unknown method": (["--method", "pu_svn"], ["unknown method 'pu_svn' (did you mean 'pu_svm'?)"]),
    "a method without packaged values": (["--method", "oc_lstm"], ["no hyperparameters of oc_lstm are packaged"]),
    "an unknown hyperparameter": (["--method", "naive", "--params", "lrr=1"], ["'lrr'", "did you mean 'lr'?"]),
    "a wrong value": (["--method", "naive", "--params", "lr=fast"], ["hyperparameter 'lr': got 'fast'"]),
    "no value": (["--method", "naive", "--params", "lr"], ["--params: got 'lr'; expected name=value"]),
    "a prior that is none": (["--method", "nnpu", "--prior", "1.5"], ["--prior: got 1.5", "in (0, 1)"]),
    "an unknown estimator": (["--method", "nnpu", "--prior", "ticee"], ["'ticee' (did you mean 'tice'?)"]),
    "a prior for nothing": (["--method", "naive", "--prior", "0.5"], ["naive takes no class prior"]),
    "an unknown encoder": (["--method", "naive", "--encoder", "x"], ["--encoder: got 'x'", "flatten", "autoencoder"]),
    "an encoder for pictures": (["--method", "naive", "--encoder", "autoencoder"], ["takes image rows, got vector"]),
    "two thresholds": (["--method", "nnpu", "--by-alpha", "--recall", "0.9"], ["expected one threshold"]),
    "a rate that is none": (["--method", "naive", "--recall", "2"], ["--recall: got 2"]),
    "no share to withhold": (
        ["--method", "oc_svm", "--recall", "0.9", "--withhold", "0"],
        ["--withhold: got 0; expected a share in (0, 1)"],
    ),
    "all withheld": (["--method", "oc_svm", "--recall", "0.9", "--withhold", "1"], ["--withhold: got 1"]),
    "no number to withhold": (["--method", "oc_svm", "--recall", "0.9", "--withhold", "nan"], ["got nan"]),
    "withheld for nothing": (["--method", "oc_svm", "--withhold", "0.3"], ["got 0.3", "without --recall"]),
    "too few withheld": (["--method", "oc_svm", "--recall", "0.99"], ["at least 99 withheld positives"]),
    "an open bracket": (["--method", "pu_svm", "--params", "lam=[1"], ["--params: got 'lam=[1'; expected name=value"]),
    "a tag": (["--method", "pu_svm", "--params", "lam=!!python/name:os.system x"], ["--params: got 'lam=!!python"]),
    "a date": (["--method", "pu_svm", "--params", "lam=2020-01-01"], ["--params: lam is a date; expected a number"]),
    "a mapping": (["--method", "pu_svm", "--params", "lam={a: 1}"], ["--params: lam is a mapping; expected a number"]),
    "a list in itself": (["--method", "pu_svm", "--params", "lam=&a [*a]"], ["--params: lam is a list; expected"]),
    "a name too long": (["--method", "naive", "--positives", "p" * 300 + ".csv"], ["File name too long; expected"]),
    "an output too long": (["--method", "naive", "--out", "m" * 300], ["File name too long; expected another path"]),
    "a place below a file": (["--method", "naive", "--out", "p.csv/x/m"], ["p.csv/x/m: p.csv is a file; expected"]),
    "a folder below a file": (["--method", "naive", "--mlflow", "p.csv/x"], ["p.csv/x: p.csv is a file; expected"]),
    "one place for two": (["--method", "naive", "--mlflow", "m"], ["--mlflow: got m, which is also the path of --out"]),
    "a folder for settings": (["--method", "naive", "--settings", "."], ["expected"]),
    "a kind that is none": (["--method", "naive", "--kind", "tabel"], ["--kind: got 'tabel'; expected 'table'"]),
    "a wrong decimal": (["--method", "naive", "--decimal", "x"], ["--decimal: got 'x'; expected '.' or ','"]),
    "no such file": (["--method", "naive", "--positives", "none.csv"], ["none.csv: there is no such file"]),
    "a folder": (["--method", "naive", "--positives", ".", "--kind", "table"], ["a folder; expected a file"]),
    "a model that is there": (["--method", "naive", "--out", "p.csv"], ["p.csv: already exists"]),
    "both ways of labelling": (["--method", "naive", "--data", "t.csv"], ["expected one way"]),
    "a file without methods": (["--method", "naive", "--settings", "p.csv"], ["p.csv: no section methods"]),
    "a label of no labelled file": (
        ["--method", "naive", "--label", "stadt"],
        ["--label: got 'stadt', and without --d"],
    ),
    "a label of no column": (["--method", "naive", "--label", "x"], ["--label: got 'x'", "nothing has labels"]),
    "a value of no label": (["--method", "naive", "--positive", "1"], ["--positive: got '1'", "nothing has labels"]),
}


@pytest.mark.parametrize(("words", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_what_does_not_fit_is_refused_and_nothing_is_written(words: list[str], expected: list[str], files) -> None:
    before = sorted(files.iterdir())
    given = dict(zip(words[::2], words[1::2], strict=False)) if "--by-alpha" not in words else {}
    usual = {"--positives": "p.csv", "--unlabelled": "u.csv", "--out": "m"}
    rest = [word for name, value in usual.items() if name not in given for word in (name, value)]
    refused(puoc("fit", *words, *rest), *expected)
    assert sorted(files.iterdir()) == before


DIVERGING = """
priors:
  wild: {prior: dedpul_alpha, params: {classifier: network, lr: 1.0e+30, lr_decay: 1.0, epochs: 3, batch_size: 16,
    batching: union, folds: 3, bandwidth_p: 0.1, bandwidth_u: 0.05, share: positive}}
methods:
  by_prior: {method: pu_svm, prior: wild, params: {solver: exact, kernel: linear, risk: unbiased, lam: 0.1}}
  by_itself: {method: naive, params: {lr: 1.0e+30, lr_decay: 1.0, epochs: 3, batch_size: 16, batching: union}}
"""


@pytest.mark.parametrize(("method", "part"), [("by_prior", "--prior"), ("by_itself", "--method naive")])
def test_a_training_that_comes_to_nothing_ends_in_words(method: str, part: str, files) -> None:
    Path("mine.yaml").write_text(DIVERGING)
    words = ("--positives", "p.csv", "--unlabelled", "u.csv", "--settings", "mine.yaml", "--out", "m")
    said = refused(puoc("fit", "--method", method, *words), f"{part}: ", "a smaller lr by --params may help")
    assert said.count("smaller lr") == 1
    assert not Path("m").exists()


def test_one_column_is_too_little_for_a_network_that_standardises_rows(files) -> None:
    pd.read_csv("p.csv")[["âge"]].to_csv("p1.csv", index=False)
    said = puoc("fit", "--method", "oc_cnn", "--positives", "p1.csv", "--out", "m", "--check")
    refused(said, "oc_cnn standardises each row by its own values: vectors of at least 3 values expected, got 1")


PACKAGED = YamlFile(Path(settings.__file__).with_name("defaults.yaml")).data["methods"]


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted(PACKAGED))
def test_every_packaged_method_fits_what_it_takes(method: str, files) -> None:
    if (library := getattr(METHODS[method], "package", None)) is not None:
        pytest.importorskip(library)
    short = [f"{name}={n}" for name, n in (("epochs", 1), ("warmup_epochs", 0), ("ascent_steps", 2))]
    params = [word for pair in short if pair.split("=")[0] in PACKAGED[method]["params"] for word in ("--params", pair)]
    taken = inputs_of(method, PACKAGED[method]["params"])
    if "vector" in taken:
        fit(method, *params)
        assert np.ptp(scores("u.csv")["score"]) > 0
    if "image" in taken:
        rng = np.random.default_rng(0)
        for name, n in (("p", 12), ("u", 16)):
            Path(name).mkdir()
            for i in range(n):
                Image.fromarray(rng.integers(0, 256, (12, 12, 3), dtype=np.uint8)).save(f"{name}/{i}.png")
        words = ("--positives", "p", "--unlabelled", "u", "--out", "pictures", *params)
        if METHODS[method].kind != "oc" and getattr(METHODS[method], "needs_alpha", True):
            words = (*words, "--prior", "0.5")
        code, said = puoc("fit", "--method", method, *words)
        assert code == 0, said
        assert np.isfinite(scores("u", model="pictures")["score"]).all()


MIRRORED = "encoders:\n  imagenet: {params: {network: mobilenet_v2, weights: %s}}\nmethods: {}\n"


@pytest.mark.parametrize("method", ["oc_cnn", "pu_cnn"])
def test_a_method_on_imagenet_features_takes_pictures_by_them(method: str, mirror, monkeypatch, files) -> None:
    monkeypatch.setenv("PUOC_MIRROR", str(mirror("weights")))
    rng = np.random.default_rng(0)
    for name in ("p", "u"):
        Path(name).mkdir()
        for i in range(12):
            Image.fromarray(rng.integers(0, 256, (33, 33, 3), dtype=np.uint8)).save(f"{name}/{i}.png")
    Path("mine.yaml").write_text(MIRRORED % "85010ce2f4552da4")
    words = ("fit", "--method", method, "--positives", "p", "--unlabelled", "u", "--params", "epochs=1")
    words = (*words, "--no-ranking-check", "--params", "hidden=8", *(("--prior", "0.5") if method == "pu_cnn" else ()))
    code, said = puoc(*words, "--settings", "mine.yaml", "--out", "pictures")
    assert code == 0, said
    assert "encoder: imagenet" in said
    assert np.ptp(scores("u", model="pictures")["score"]) > 0
    Path("mine.yaml").write_text(MIRRORED % "ffffffff")
    lacking = "--encoder: imagenet needs the weights of mobilenet_v2 trained on ImageNet, which are not here: no w"
    for last in (("--out", "m"), ("--check",)):
        refused(puoc(*words, "--settings", "mine.yaml", *last), lacking, "data/weights", "--encoder flatten")
    assert not Path("m").exists()
    code, said = puoc(*words, "--encoder", "flatten", "--out", "flat")
    assert code == 0, said
    packaged = settings.settings(method).for_inputs("image").encoder
    assert (packaged.name, packaged.params["weights"]) == ("imagenet", "b0353104")
    assert settings.settings(method).for_inputs("vector").encoder is None


def test_a_pu_method_needs_unlabelled_rows(files) -> None:
    refused(puoc("fit", "--method", "naive", "--positives", "p.csv", "--out", "m"), "unlabelled rows are needed")
    assert not Path("m").exists()


SCORED_WRONGLY = {
    "a column is lacking": ("größe,âge\n1,2\n", ["no column 'stadt', 'aktiv'; it has 'größe', 'âge'"]),
    "a text among numbers": (
        "größe,âge,stadt,aktiv\n1,2,Ulm,true\nx,2,Ulm,true\n",
        ["row 2: column 'größe' holds 'x', no number; the model was trained with numbers there"],
    ),
    "an infinite value": (
        "größe,âge,stadt,aktiv\n-inf,2,Ulm,true\n",
        ["row 1: column 'größe' holds '-inf', an inf"],
    ),
    "nothing": ("", ["the file is empty"]),
}


@pytest.mark.parametrize(("content", "expected"), SCORED_WRONGLY.values(), ids=SCORED_WRONGLY.keys())
def test_a_file_that_does_not_fit_the_model_leaves_no_scores(content: str, expected: list[str], files) -> None:
    fit("pu_svm", "--prior", "0.4")
    Path("w.csv").write_text(content)
    before = sorted(files.iterdir())
    refused(puoc("score", "--model", "model", "w.csv", "--out", "s.csv"), *expected)
    assert sorted(files.iterdir()) == before


def test_scoring_says_what_it_met_and_scores_every_row(files) -> None:
    fit("pu_svm", "--prior", "0.4")
    Path("w.csv").write_text("stadt;aktiv;größe;âge;more\nParis;True;1,5;;x\nUlm;FALSE;2,5;30;y\n")
    code, said = puoc("score", "--model", "model", "w.csv", "--out", "s.csv")
    assert code == 0
    assert "1 missing values in 'âge'" in said
    assert "1 values of 'stadt' that training did not have" in said
    assert "2 rows scored: s.csv" in said
    refused(puoc("score", "--model", "model", "w.csv", "--out", "s.csv"), "s.csv: already exists")
    Path("e.csv").write_text("stadt,aktiv,größe,âge\n")
    assert scores("e.csv").empty


def test_what_is_no_model_of_ones_own_data_is_refused(files) -> None:
    refused(puoc("score", "--model", "none", "u.csv"), "none: there is no such file")
    refused(puoc("score", "--model", "p.csv", "u.csv"), "p.csv: not a model file of puoc")
    from tracked_project import model

    Path("of_dataset").write_bytes(model("oc_svm"))
    refused(puoc("score", "--model", "of_dataset", "u.csv"), "it knows no way from a file to its rows")


def test_models_of_datasets_have_the_bytes_they_had_before_own_data() -> None:
    from tracked_project import model

    header = model("oc_svm")[:2000]
    assert not any(name in header for name in (b"prepared", b"threshold", b"marks"))


@pytest.mark.slow
@pytest.mark.parametrize("words", [("fit", "--method", "nnpu", "--prior", "0.3", *NETWORK, "--out", "m"), ("assess",)])
def test_the_largest_seed_is_taken_and_the_next_one_refused(words: tuple[str, ...], files) -> None:
    words = (*words, "--positives", "p.csv", "--unlabelled", "u.csv")
    for seed in (2**63, 2**70):
        code, said = puoc(*words, "--seed", seed)
        assert code == 2
        assert "--seed" in said
        assert "9223372036854775807" in said
    code, said = puoc(*words, "--seed", 2**63 - 1)
    assert code == 0, said


UNFIT = {
    "no unlabelled rows": (["--method", "naive", "--positives", "p.csv"], "unlabelled rows are needed"),
    "a label of no labelled file": (
        ["--method", "oc_svm", "--positives", "p.csv", "--label", "stadt"],
        "--label: got 'stadt', and without --data or --test nothing has labels",
    ),
    "no unlabelled rows for alpha": (["--method", "oc_svm", "--positives", "p.csv", "--by-alpha"], "rows are needed"),
    "too few withheld": (
        ["--method", "oc_svm", "--positives", "p.csv", "--recall", "0.99"],
        "at least 99 withheld positives, and 12 were",
    ),
    "a label of parts of pictures": (
        ["--method", "vpu", "--positives", "p", "--unlabelled", "u", "--test", "parts", "--label", "stadt"],
        "--label: got 'stadt', and the test rows of images are read from the parts positive and negative of parts",
    ),
    "a method that takes vectors": (
        ["--method", "oc_svm", "--positives", "p", "--unlabelled", "u"],
        "oc_svm takes vector rows, and these are image rows",
    ),
}


@pytest.mark.parametrize(("words", "expected"), UNFIT.values(), ids=UNFIT.keys())
def test_a_check_refuses_what_a_fit_refuses(words: list[str], expected: str, files) -> None:
    rng = np.random.default_rng(0)
    for name in ("p", "u", "parts/positive", "parts/negative"):
        Path(name).mkdir(parents=True)
        for i in range(3):
            Image.fromarray(rng.integers(0, 256, (12, 12), dtype=np.uint8)).save(f"{name}/{i}.png")
    checked = refused(puoc("fit", *words, "--check"), expected)
    assert checked == refused(puoc("fit", *words, "--out", "m"), expected)
    assert not Path("m").exists()


def test_columns_that_are_not_used_may_have_any_names(files) -> None:
    fit("pu_svm", "--prior", "0.4")
    whole = scores("u.csv")
    frame = pd.read_csv("u.csv")
    frame = pd.concat(
        [frame, frame[["âge"]].set_axis(["x"], axis=1)] + [frame.iloc[:, :1].set_axis([""], axis=1)] * 2, axis=1
    )
    frame = pd.concat([frame, frame[["x"]]], axis=1)
    frame.to_csv("more.csv", index=False)
    assert scores("more.csv").equals(whole)
    pd.concat([frame, frame[["âge"]]], axis=1).to_csv("twice.csv", index=False)
    refused(puoc("score", "--model", "model", "twice.csv"), "the column 'âge' stands 2 times (columns 2, 9)")


def test_a_file_that_does_not_fit_prints_no_beginning_of_scores(files) -> None:
    fit("pu_svm", "--prior", "0.4")
    for content, *_ in SCORED_WRONGLY.values():
        Path("w.csv").write_text(content)
        done = invoke("score", "--model", "model", "w.csv")
        assert (done.exit_code, done.stdout) == (2, "")


ELSEWHERE = {
    "a folder for a model": (["--model", "."], ".: a folder; expected a model file"),
    "a model's name too long": (["--model", "m" * 300], "File name too long; expected another path"),
    "scores below a file": (["--model", "model", "--out", "p.csv/x"], "p.csv/x: p.csv is a file; expected a folder"),
    "scores deep below a file": (["--model", "model", "--out", "p.csv/x/y.csv"], "p.csv is a file; expected a folder"),
    "a name of scores too long": (["--model", "model", "--out", "s" * 300], "File name too long; expected another"),
}


@pytest.mark.parametrize("name", ["s.xlsx", "s.csv.gz", "s.PDF", "s", "s."])
def test_a_form_that_scores_are_not_written_in_is_refused_before_anything_is_read(name: str, files) -> None:
    Path("model").write_text("damaged, and not looked at")
    before = sorted(files.iterdir())
    got = Path(name).suffix or "no suffix"
    refused(
        puoc("score", "--model", "model", "u.csv", "--out", name), f"--out: got {got} ({name}); expected .csv, .tsv"
    )
    assert sorted(files.iterdir()) == before


def test_scores_are_written_in_the_form_that_the_suffix_names_in_any_case(files) -> None:
    fit("pu_svm", "--prior", "0.4")
    whole = scores("u.csv")
    reads = {"csv": pd.read_csv, "tsv": lambda path: pd.read_csv(path, sep="\t"), "parquet": pd.read_parquet}
    for suffix, read in reads.items():
        for name in (f"s.{suffix}", f"S.{suffix.upper()}"):
            assert puoc("score", "--model", "model", "u.csv", "--out", name)[0] == 0
            pd.testing.assert_frame_equal(read(name), whole, check_exact=True)


def test_places_that_cannot_be_are_refused_before_a_file_is_scored(files) -> None:
    fit("pu_svm", "--prior", "0.4")
    before = sorted(files.iterdir())
    for words, expected in ELSEWHERE.values():
        refused(puoc("score", *words, "u.csv"), expected)
    refused(puoc("score", "--model", "model", "u" * 300), "File name too long; expected another path")
    assert sorted(files.iterdir()) == before


def test_what_was_met_is_told_alike_by_fit_and_score_whatever_a_column_is_called(files) -> None:
    for name, cells in (("p", "ab"), ("u", "ba"), ("t", "cc")):
        label = ",y" if name == "t" else ""
        rows = [f"{cell},{i}{f',{i % 2}' if label else ''}\n" for i, cell in enumerate(cells * 4)]
        Path(f"{name}.csv").write_text(f"the kind,n{label}\n" + "".join(rows))
    said = fit("pu_svm", "--prior", "0.4", "--test", "t.csv", "--label", "y", "--allow-overlap")
    told = "8 values of 'the kind' that training did not have"
    assert f"t.csv: {told}" in said
    assert told in puoc("score", "--model", "model", "t.csv", "--out", "s.csv")[1]
