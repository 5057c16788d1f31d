"""``puoc fit`` without ``--method`` takes what ``puoc assess`` recommends, and says so."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from own_files import puoc

FILES = ("--data", "all.csv", "--label", "y", "--no-ranking-check", "--out")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a table of 60 labelled positives, and 120 unlabelled rows, half of them positive."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(120, 3)), rng.normal(2.5, 1, size=(60, 3))])
    pd.DataFrame(X, columns=list("abc")).assign(y=np.repeat([1, 0], [60, 120])).to_csv("all.csv", index=False)


@pytest.mark.slow
def test_the_model_is_that_of_the_command_that_assess_prints() -> None:
    code, said = puoc("fit", *FILES, "model1")
    assert code == 0, said
    assert "no --method was given, so the rows were assessed: " in said
    code, assessed = puoc("assess", "--data", "all.csv", "--label", "y")
    command = re.search(r"to fit it: puoc (.*)", assessed)
    assert command, assessed
    words = shlex.split(command[1])
    assert f"the method is {words[words.index('--method') + 1]} (" in said
    code, told = puoc(*words, "--no-ranking-check")
    assert code == 0, told
    assert Path("model1").read_bytes() == Path("model").read_bytes()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--params", "k=3", *FILES, "m"), "--params: got ['k=3'] without --method"),
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
