"""``puoc fit`` without ``--method`` takes what ``puoc assess`` recommends, and says so."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from own_files import puoc

from puoc.cli.recommended import Recommendation, method_of
from puoc.datasets.readers import read_pair
from puoc.datasets.readers.options import How
from puoc.userdata.kept_apart import kept_apart, rows_to_choose_by
from puoc.userdata.settings import Settings, settings
from puoc.userdata.thresholds import ThresholdRule

FILES = ("--data", "all.csv", "--label", "y", "--no-ranking-check", "--out")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a table of 60 labelled positives, and 120 unlabelled rows, half of them positive."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(120, 3)), rng.normal(2.5, 1, size=(60, 3))])
    pd.DataFrame(X, columns=list("abc")).assign(y=np.repeat([1, 0], [60, 120])).to_csv("all.csv", index=False)


@pytest.mark.slow
def test_the_model_is_that_of_the_default_method_which_assess_names_too() -> None:
    code, said = puoc("fit", *FILES, "model1")
    assert code == 0, said
    assert "no --method was given, so the rows were assessed: " in said
    code, assessed = puoc("assess", "--data", "all.csv", "--label", "y")
    named = re.search(r"puoc fit without --method takes (\w+), the default of", assessed)
    assert named, assessed
    assert f"the method is {named[1]}, the default of" in said
    code, told = puoc("fit", "--method", named[1], *FILES, "model2")
    assert code == 0, told
    assert Path("model1").read_bytes() == Path("model2").read_bytes()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--params", "k=3", *FILES, "m"), "--params: got k=3 without --method"),
        (("--encoder", "components", *FILES, "m"), "--encoder: got components without --method"),
        (("--settings", "params.yaml", *FILES, "m"), "--settings: got params.yaml without --method"),
        (("--prior", "2", *FILES, "m"), "--prior: got 2; expected a share"),
        (("--positives", "all.csv", "--out", "m"), "--method: the method is missing; expected --method METHOD"),
    ],
)
def test_options_of_a_method_need_one_and_so_do_positives_alone(words: tuple[str, ...], expected: str) -> None:
    code, said = puoc("fit", *words)
    assert (code, expected in said) == (2, True), said
    assert not Path("m").exists()


def test_rows_that_cannot_be_assessed_name_the_way_without() -> None:
    pd.read_csv("all.csv").iloc[55:64].to_csv("all.csv", index=False)
    code, said = puoc("fit", *FILES, "m")
    assert code == 2
    assert "The rows were assessed because --method is missing; --method METHOD does without" in said


def test_too_few_rows_for_the_threshold_are_refused_before_the_rows_are_assessed() -> None:
    for rule, part in (
        (("--recall", "0.99"), "needs at least 99 withheld positives, and 12 were withheld"),
        (("--precision", "0.9", "--alpha-interval", "0.01,0.02"), "60 unlabelled rows that the model does not"),
    ):
        code, said = puoc("fit", *FILES, "m", *rule)
        assert (code, part in said, "assessed" in said) == (2, True, False), said


def test_a_prior_outside_of_the_interval_of_alpha_is_refused() -> None:
    rule = ("--prior", "0.5", "--false-alarms", "0.3", "--alpha-interval", "0.2,0.4")
    for method in ((), ("--method", "knn")):
        code, said = puoc("fit", *method, *FILES, "m", *rule)
        assert (code, "got 0.5, which --alpha-interval 0.2,0.4 excludes" in said) == (2, True), said


def test_a_prior_that_the_recommended_method_does_not_take_is_left_out_and_said() -> None:
    def read(method: str, *, given: list[str], encoder: str, prior: str | None = "0.3") -> Settings:
        return settings(method, given=given, encoder=encoder, prior=prior, may_use_prior=True)

    one_class, other = Recommendation("oc_svm", [], "components"), Recommendation("pu_svm", [], "components")
    assert method_of(one_class, read, "0.3", ThresholdRule()).prior is None
    assert method_of(one_class, read, "0.3", ThresholdRule(recall=0.9)).prior == 0.3
    assert method_of(other, read, "0.3", ThresholdRule()).prior == 0.3


def test_the_method_is_chosen_without_the_rows_that_a_bound_rests_on() -> None:
    pair = read_pair(how=How(label="y"), data=Path("all.csv"), withhold=0.2)
    bounded = ThresholdRule(false_alarms=0.5)
    [before, after] = [rows_to_choose_by(pair, rule, seed=0) for rule in (ThresholdRule(recall=0.8), bounded)]
    assert len(before.X_u) == 120
    learned, new = kept_apart(pair, settings("pu_svm", prior="0.3"), bounded, 0)
    assert (after.X_u == pair.X_u[learned]).all()
    assert not {*learned} & {*new}
