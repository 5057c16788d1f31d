"""Components of P and U as an encoder: in tables, for own data, and as the command that an assessment names."""

from __future__ import annotations

import json
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from markupsafe import escape
from own_files import customers, invoke, puoc, refused
from pickles import is_pickle
from planned import Data, Planned

from puoc.datasets.prepare.arrays import Prepared
from puoc.datasets.readers import How, read_pair
from puoc.methods import normalise
from puoc.methods.persistence import model_file as modelfile
from puoc.registry import METHODS
from puoc.run.stages import planned_trials, run_part
from puoc.scenarios import test_rows as rows_of_test
from puoc.store.checked_parquet import read_rows
from puoc.store.ledger import Ledger
from puoc.store.result_rows import ResultRow
from puoc.store.yaml_file import InvalidInput
from puoc.userdata.assess import reference_methods as families
from puoc.userdata.assess.fit_command import command
from puoc.userdata.settings import packaged_methods, settings

PARAMS = """
compute: {workers: 1, lane_map: loop, models: all, device: cpu}
tables:
  first:
    scenario: named_shift
    dataset: digits
    pos: [3]
    shifts: [{neg: 1}, {neg: 1, neg_test: 8}, {neg: 8}]
    n_pos_lab: 20
    n_pos_unl: 20
    n_neg_unl: 20
    seeds: 2
    configs: published
    methods: [oc_svm, oc_raw, pu_svm]
tune: {}
encoders:
  components: {params: {dimension: 5, cut: 6.0}}
priors:
  tice:
    encoder: components
    params: {scaling: minmax, k: 5, folds: 5, splits: 3, max_splits: 500, min_size: 10, iterations: 2}
methods:
  oc_svm: {encoder: components, params: {kernel: rbf, nu: 0.5, gamma: 0.8}}
  oc_raw: {method: oc_svm, params: {kernel: linear, nu: 0.5}}
  pu_svm:
    encoder: components
    prior: tice
    params: {solver: exact, kernel: linear, risk: non_negative, lam: 0.01}
"""
PLANNED = Planned(PARAMS, "digits")


@pytest.fixture
def root(tmp_path: Path, prepared_data: Data) -> Path:
    return PLANNED.at(tmp_path, prepared_data)


def test_in_a_table_one_fit_to_p_and_u_serves_all_that_ask(root: Path) -> None:
    run_part(root, "tables", "first")
    rows = read_rows(root / "results" / "tables" / "first.parquet", ResultRow)
    assert {row.status for row in rows} == {"ok"}
    ledger = Ledger(root / "ledger")
    by_method: dict[str, list[Any]] = {}
    for fit_id in ledger.ids():
        entry = ledger.get(fit_id)
        assert entry is not None
        by_method.setdefault(entry.result.fit.method, []).append(entry.result.fit)
    # two draws (negatives 1 and 8) of two seeds; without the encoder a one-class fit serves both draws
    assert {name: len(fits) for name, fits in by_method.items()} == {
        "components": 4,
        "tice": 4,
        "pu_svm": 4,
        "oc_svm": 4 + 2,
    }
    for fit in by_method["components"]:
        assert (fit.sample.n_pos_lab, fit.sample.n_pos_unl, fit.sample.n_neg_unl, fit.labels) == (20, 20, 20, "pu")
    assert {fit.sample.neg is None for fit in by_method["oc_svm"] if fit.encoder is None} == {True}
    assert {row.encoder_fit_id for row in rows if row.entry != "oc_raw"} == {fit.id for fit in by_method["components"]}
    assert {row.encoder for row in rows} == {None, "components of training_rows"}

    _, asked = planned_trials(root, "tables", "first")
    data = Prepared.open(root / "work" / "prepared" / "digits")
    for one in asked:
        entry = ledger.get(one.trial.fit.id)
        assert entry is not None
        trial = entry.trials[one.trial.id]
        numbers, y = rows_of_test(data, trial.test, one.seed)
        path = ledger.model_path(entry.result)
        assert path is not None
        scored = modelfile.score(modelfile.load(path), data.X[np.concatenate([numbers[y], numbers[~y]])])
        np.testing.assert_allclose(scored, ledger.scores(trial), rtol=1e-4, atol=1e-5)


def test_what_it_is_fitted_to_is_no_choice(root: Path) -> None:
    with pytest.raises(InvalidInput, match="got all_positives for components; expected no such key: it is fitted to P"):
        PLANNED.plan(root, ("components: {params", "components: {ae_data: all_positives, params"))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, n, shift in (("p", 60, 1.5), ("u", 90, 0.0), ("v", 500, 0.5)):
        frame = customers(n, n, shift)
        frame["noise"] = np.random.default_rng(n + 1).normal(size=n).round(3)
        frame.to_csv(f"{name} 1.csv", index=False, sep=";", decimal=",")
    return tmp_path


def run(line: str) -> str:
    first, *words = shlex.split(line)
    assert first == "puoc"
    code, said = puoc(*words)
    assert code == 0, said
    return said


def scores(*words: str) -> Any:
    code, said = puoc("score", "--model", "model", "v 1.csv", "--out", "s.parquet", "--decimal", ",", *words)
    assert code == 0, said
    found = pd.read_parquet("s.parquet")["score"].to_numpy()
    Path("s.parquet").unlink()
    return found


HOW = How(separator=";", decimal=",", drop=("noise",), category=("stadt",), missing=("-",), header=True)


@pytest.mark.parametrize("family", families.FAMILIES)
def test_the_command_that_is_recommended_fits_what_the_assessment_fitted(family: families.Family, files: Path) -> None:
    p, u, v = (Path(f"{name} 1.csv") for name in "puv")
    pair = read_pair(p, u, HOW)
    assert pair.X_u is not None
    method, params = families.question(family, min(families.MOST_VALUES, pair.X_p.shape[1]))
    said = run(command(method, params, {"positives": p, "unlabelled": u}, HOW, seed=4))
    assert "encoder: components {'dimension': 20, 'cut': 6.0}" in said
    seen, alone = families.fit_one(family, pair.X_p, pair.X_u, seed=4, values=families.MOST_VALUES)
    np.testing.assert_allclose(scores(), alone.decision_function(seen(pair.read(v).X)), rtol=1e-4, atol=1e-5)
    content = Path("model").read_bytes()
    assert not is_pickle(content)
    meta = modelfile.read_meta(content)
    assert meta.encoder == modelfile.FittedEncoder(name="components", params={"dimension": 20, "cut": 6.0})
    assert meta.params == normalise(method, params)
    for chunk in ("7", "499"):
        assert np.array_equal(scores("--chunk", chunk), scores())


def test_a_command_gives_exactly_the_hyperparameters_whatever_is_packaged() -> None:
    for name, params in packaged_methods():
        package = getattr(METHODS[name], "package", None)
        if package is not None and find_spec(package) is None:
            continue  # it is refused without its package
        numbers = [key for key, value in params.items() if isinstance(value, int | float)]
        for changed in ({}, {key: 1 if isinstance(params[key], int) else 1e-05 for key in numbers[:1]}):
            words = shlex.split(command(name, params | changed, {"data": Path("p")}, How()))
            given = [words[i + 1] for i, word in enumerate(words) if word == "--params"]
            assert settings(name, given=given).params == params | changed
    with pytest.raises(ValueError, match="nu"):
        command("oc_svm", {"kernel": "linear", "nu": 2}, {"data": Path("p")}, How())


def test_a_command_is_words_for_a_shell_whatever_files_and_columns_are_called() -> None:
    how = How(kind="texts", text="a b", missing=("-", ""), separator="\t", header=False, encoding="cp1252")
    files = {"positives": Path("-p.csv"), "unlabelled": Path("it's u.csv"), "data": None}
    line = command("oc_svm", {"kernel": "linear", "nu": 0.5}, files, how)
    words = shlex.split(line)
    assert "--data" not in words
    assert "--positives=-p.csv" in words
    assert words[words.index("--unlabelled") + 1] == "it's u.csv"
    assert words[words.index("--text") + 1] == "a b"
    assert {"--missing=-", "--missing=", "--no-header"} <= set(words)
    assert words[words.index("--separator") + 1] == "\\t"
    assert words[-2:] == ["--out", "model"]
    assert "--seed" not in words


def test_a_one_class_method_that_sees_components_needs_unlabelled_rows(files: Path) -> None:
    words = ["fit", "--method", "oc_svm", "--encoder", "components", "--positives", "p 1.csv", "--decimal", ","]
    checked = refused(puoc(*words, "--check"), "oc_svm: unlabelled rows are needed for --encoder components")
    assert checked == refused(puoc(*words, "--out", "model"), "--unlabelled FILE")
    code, said = puoc(*words, "--unlabelled", "u 1.csv", "--check")
    assert code == 0, said


@pytest.mark.slow
def test_an_assessment_names_the_command_in_every_form_and_it_runs(files: Path) -> None:
    words = ["assess", "--positives", "p 1.csv", "--unlabelled", "u 1.csv", "--decimal", ",", "--drop", "noise"]
    done = invoke(*words, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["recommended"]
    assert f"<code>{escape(found['command'])}</code>" in Path("assess.html").read_text()
    run(found["command"])
    meta = modelfile.read_meta(Path("model"))
    assert (meta.method, meta.params) == (found["method"], normalise(found["method"], found["params"]))
    assert f"to fit it: {found['command']}" in puoc(*words)[1]


@pytest.mark.slow
def test_a_table_with_labels_is_assessed_as_its_two_parts_and_fitted_by_the_command(files: Path) -> None:
    p, u = (pd.read_csv(f"{name} 1.csv", sep=";", decimal=",") for name in "pu")
    pd.concat([p.assign(y="2"), u.assign(y="1")]).to_csv("all.csv", index=False)
    words = ("--data", "all.csv", "--label", "y", "--positive", "2", "--drop", "noise")
    one = json.loads(invoke("assess", *words, "--json").stdout)
    parts = ("--positives", "p 1.csv", "--unlabelled", "u 1.csv", "--decimal", ",", "--drop", "noise")
    two = json.loads(invoke("assess", *parts, "--json").stdout)
    assert one["evidence"] == two["evidence"]
    assert one["answer"] == two["answer"]
    assert {role: path for role, path in one["files"].items() if path} == {"data": "all.csv"}
    assert "2 (60 rows) read as positive" in one["reading"][0]
    run(one["recommended"]["command"])
