"""After every fit: does the method rank positives that it has not seen above unlabelled rows, and is it told?"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from own_files import customers, invoke, puoc
from safetensors.numpy import load

from puoc.analysis.statistics.auc_interval import auc_interval
from puoc.datasets.readers import read_pair
from puoc.methods.persistence import model_file as modelfile
from puoc.userdata.fit import fit
from puoc.userdata.settings import settings
from puoc.userdata.thresholds import ThresholdRule

WIDE, NARROW = 3.0, 0.3  # a one-class method ranks rows in the middle highest


def spread(n: int, seed: int, width: float) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).normal(0, width, (n, 4)), columns=list("abcd"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fitted(*words: object, method: str = "oc_svm", out: str = "model") -> tuple[str, str]:
    """What a fit printed, and what it said beside it."""
    done = invoke("fit", "--method", method, "--positives", "p.csv", "--unlabelled", "u.csv", "--out", out, *words)
    assert done.exit_code == 0, done.output
    return done.stdout, done.stderr


OF_HALVES = (
    "models fitted to half of the rows rank labelled positives BELOW unlabelled rows, so this one may too: AUC 0."
)
OF_ITSELF = "this model ranks labelled positives BELOW unlabelled rows: AUC 0."


@pytest.mark.parametrize(
    ("words", "expected"),
    [((), OF_HALVES), (("--recall", 0.8, "--withhold", 0.4), OF_ITSELF)],
    ids=["halves", "itself"],
)
def test_a_model_that_ranks_positives_below_unlabelled_rows_is_told_at_fit_and_at_score(words, expected, here) -> None:
    spread(80, 1, WIDE).to_csv("p.csv", index=False)
    spread(120, 2, NARROW).to_csv("u.csv", index=False)
    _, warned = fitted("--params", "kernel=rbf", "--params", "gamma=0.1", "--params", "nu=0.5", *words)
    assert f"WARNING: {expected}" in warned
    ranking = modelfile.read_meta(Path("model")).ranking
    assert ranking is not None
    assert ranking.high < 0.5
    done = invoke("score", "--model", "model", "u.csv")
    assert done.exit_code == 0
    assert done.stderr.count("WARNING") == 1
    assert expected in done.stderr
    assert "WARNING" not in done.stdout


def test_rows_that_nothing_tells_apart_are_told_and_separate_ones_are_not(here) -> None:
    spread(80, 1, 1).to_csv("p.csv", index=False)
    spread(120, 2, 1).to_csv("u.csv", index=False)
    said, warned = fitted(method="pu_svm")
    assert (
        "models fitted to half of the rows are not shown to rank labelled positives above unlabelled rows, so" in warned
    )
    customers(60, 1, 3).to_csv("p.csv", index=False)
    customers(90, 2).to_csv("u.csv", index=False)
    for method, counted in (("pu_svm", (60, 90)), ("oc_svm", (60, 90))):
        said, warned = fitted(method=method, out=method)
        assert warned == ""
        assert re.search(r"ranking of positives that were not learned from: AUC 0\.[89]", said)
        ranking = modelfile.read_meta(Path(method)).ranking
        assert (ranking.positives, ranking.unlabelled) == counted
        assert ranking.low > 0.5
    assert invoke("score", "--model", "pu_svm", "u.csv").stderr.count("WARNING") == 0


def test_the_check_changes_no_array_of_the_model_and_can_be_left_out(here) -> None:
    customers(60, 1, 3).to_csv("p.csv", index=False)
    customers(90, 2).to_csv("u.csv", index=False)
    network = ("--params", "epochs=2", "--params", "batch_size=16")
    fitted(*network, method="naive", out="checked")
    said, _ = fitted(*network, "--no-ranking-check", method="naive", out="unchecked")
    assert "ranking not checked: as asked" in said
    checked, unchecked = (load(Path(name).read_bytes()) for name in ("checked", "unchecked"))
    assert all(np.array_equal(checked[key], unchecked[key]) for key in checked.keys() | unchecked.keys())
    assert modelfile.read_meta(Path("unchecked")).ranking is None


def test_copies_of_a_row_are_not_scored_by_a_model_that_saw_one(here) -> None:
    pd.concat([spread(40, 1, 1)] * 4).to_csv("p.csv", index=False)
    spread(200, 2, 1).to_csv("u.csv", index=False)
    flexible = ("--params", "kernel=rbf", "--params", "gamma=20.0")
    fitted(*flexible)
    ranking = modelfile.read_meta(Path("model")).ranking
    assert ranking.positives == 40
    assert ranking.low < 0.5  # with copies on both sides the AUC is near 1


def test_test_rows_that_contradict_the_check_of_the_ranking_are_named_beside_it(here) -> None:
    pd.concat([spread(60, 3, NARROW).assign(y=1), spread(60, 4, WIDE).assign(y=0)]).to_csv("t.csv", index=False)
    spread(80, 1, WIDE).to_csv("p.csv", index=False)
    spread(120, 2, NARROW).to_csv("u.csv", index=False)
    rbf = ("--params", "kernel=rbf", "--params", "gamma=0.1", "--params", "nu=0.5", "--test", "t.csv", "--label", "y")
    said, warned = fitted(*rbf, "--positive", "1")
    interval = re.search(r"95 % interval of the AUC: (0\.[\d]+ to [\d.]+)", said)
    assert interval
    assert "The test rows contradict this: on them, this model has an AUC of " in warned
    assert interval[1] in warned
    assert "worse than chance" not in warned
    spread(80, 1, NARROW).to_csv("p.csv", index=False)
    spread(120, 2, WIDE).to_csv("u.csv", index=False)
    _, warned = fitted(*rbf, "--positive", "0", out="other")
    assert "WARNING: the two checks of the ranking contradict each other. On the test rows, this model has an" in warned
    assert "but models fitted to half of the rows rank labelled positives above" in warned.lower()


def test_the_interval_of_a_perfect_test_has_a_width(here) -> None:
    customers(60, 1, 3).to_csv("p.csv", index=False)
    customers(90, 2).to_csv("u.csv", index=False)
    pd.concat([customers(9, 3, 90).assign(y=1), customers(8, 4, -90).assign(y=0)]).to_csv("t.csv", index=False)
    said, _ = fitted("--prior", 0.3, "--test", "t.csv", "--label", "y", method="pu_svm")
    assert "AUC on the test rows: 1.0000" in said
    low, high = auc_interval(1.0, 9, 8)
    assert 0.7 < low < high == 1
    assert f"95 % interval of the AUC: {low:.3f} to 1.000" in said


def test_what_cannot_be_checked_is_told_and_the_model_is_written(here) -> None:
    customers(60, 1).to_csv("p.csv", index=False)
    code, said = puoc("fit", "--method", "oc_svm", "--positives", "p.csv", "--out", "model")
    assert code == 0
    assert "ranking not checked: there are no unlabelled rows; give some by --unlabelled FILE" in said
    customers(5, 2).to_csv("u.csv", index=False)
    customers(6, 1).to_csv("p.csv", index=False)
    said, _ = fitted("--prior", 0.4, method="pu_svm", out="other")
    assert "ranking not checked: a half of the different rows would be 2 rows" in said


def test_the_interval_covers_with_few_rows_and_at_the_ends() -> None:
    rng = np.random.default_rng(0)
    for effect, truth in ((0.0, 0.5), (1.0, 0.7602), (2.5, 0.9615)):
        p, u = rng.normal(effect, 1, (400, 15, 1)), rng.normal(0, 1, (400, 1, 40))
        found = [auc_interval(float(auc), 15, 40) for auc in (p > u).mean((1, 2))]
        assert np.mean([low <= truth <= high for low, high in found]) > 0.92
    assert auc_interval(1.0, 20, 50) == (pytest.approx(0.92995, abs=1e-4), 1.0)
    assert auc_interval(1.0, 1, 1)[0] < 0.5 < auc_interval(0.0, 1, 1)[1]
    assert auc_interval(0.0, 20, 50) == (0.0, pytest.approx(0.07005, abs=1e-4))
    with pytest.raises(ValueError, match="got 0 and 3 scores"):
        auc_interval(0.5, 0, 3)


def test_a_threshold_by_recall_tells_the_alert_rate_and_the_precision(here) -> None:
    customers(60, 1, 3).to_csv("p.csv", index=False)
    pd.concat([customers(60, 2), customers(30, 5, 3)]).to_csv("u.csv", index=False)
    said, _ = fitted("--recall", 0.9, "--withhold", 0.5, "--prior", 0.3, method="pu_svm")
    threshold = modelfile.read_meta(Path("model")).threshold
    scored = pd.read_csv(here / "u.csv")
    model = modelfile.load(Path("model"))
    reached = modelfile.score(model, modelfile.preparing(model.meta).from_frame(scored).X) >= threshold.value
    assert threshold.alerts == pytest.approx(reached.mean())
    assert f"alert rate {threshold.alerts:.4g}: of the 90 unlabelled rows, that share reaches the threshold" in said
    precision = 0.3 * threshold.share / threshold.alerts
    assert precision < 1
    assert f"precision among them about {precision:.2g} if alpha is 0.3" in said
    said, _ = fitted("--recall", 0.9, "--withhold", 0.5, "--prior", 0.95, method="pu_svm", out="other")
    assert "alert rate" in said
    assert "precision unknown: alpha 0.95 times the recall 0." in said
    assert "so they contradict each other. Alpha may be too high, or the recall lower" in said
    assert "precision among them" not in said


def test_a_class_prior_that_is_known_gives_the_precision_of_a_one_class_method_too(here) -> None:
    customers(60, 1, 3).to_csv("p.csv", index=False)
    customers(90, 2).to_csv("u.csv", index=False)
    words = ("--recall", 0.9, "--withhold", 0.5)
    said, _ = fitted(*words, "--prior", 0.2)
    assert "class prior 0.2: as given" in said
    assert re.search(r"precision among them about 0\.\d+ if alpha is 0\.2", said)
    said, _ = fitted(*words, out="without")
    assert "class prior" not in said
    known, without = (load(Path(name).read_bytes()) for name in ("model", "without"))
    assert all(np.array_equal(known[key], without[key]) for key in known.keys() | without.keys())
    code, said = puoc("fit", "--method", "oc_svm", "--positives", "p.csv", "--out", "m", "--prior", "0.2")
    assert code == 2
    assert "--prior: oc_svm takes no class prior; leave it out. With oc_svm, only --by-alpha, --recall, " in said


def test_the_former_name_of_the_option_is_refused_with_the_new_one(here) -> None:
    code, said = puoc("fit", "--method", "oc_svm", "--positives", "p.csv", "--out", "m", "--miss-rate", "0.1")
    assert code == 2
    assert "Use --recall 0.9 in place of --miss-rate 0.1" in said


def test_a_model_with_the_former_key_is_read_as_a_recall(here) -> None:
    customers(60, 1, 3).to_csv("p.csv", index=False)
    customers(90, 2).to_csv("u.csv", index=False)
    pair = read_pair(Path("p.csv"), Path("u.csv"), from_positives=True, withhold=0.5)
    content = fit(pair, settings("oc_svm"), rule=ThresholdRule(recall=0.9)).content
    older = content.replace(
        b'\\"asked\\":0.9,\\"by\\":\\"recall\\"', b'\\"asked\\":0.1,\\"by\\":\\"false_alarm_rate\\"'
    )
    assert older != content
    grown = len(older) - len(content)
    older = (int.from_bytes(older[:8], "little") + grown).to_bytes(8, "little") + older[8:]
    threshold = modelfile.load(older).meta.threshold
    assert (threshold.by, threshold.asked) == ("recall", 0.9)
    Path("older").write_bytes(older)
    done = invoke("score", "--model", "older", "u.csv")
    assert done.stdout.splitlines()[0] == '"row","score","positive_at_recall_0.9"'
