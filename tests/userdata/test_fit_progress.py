"""A long ``puoc fit`` shows what it is doing, and how much of the epochs is left."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from own_files import invoke

from puoc.cli import progress
from puoc.store import steps


class Heard:
    """The stages, each with the epochs that were reported."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, list[tuple[float, float, str]]]] = []

    def begin(self, title: str) -> None:
        self.stages.append((title, []))

    def update(self, done: float, total: float, unit: str = "") -> None:
        self.stages[-1][1].append((done, total, unit))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    paths = tmp_path / "p.csv", tmp_path / "u.csv"
    pd.DataFrame(rng.normal(1, 1, (60, 3)), columns=["a", "b", "c"]).to_csv(paths[0], index=False)
    pd.DataFrame(rng.normal(0, 1.5, (90, 3)), columns=["a", "b", "c"]).to_csv(paths[1], index=False)
    return paths


def fit(files: tuple[Path, Path], *words: str) -> str:
    P, U = files
    done = invoke("fit", "--positives", P, "--unlabelled", U, "--out", P.parent / "model", *words)
    assert done.exit_code == 0, done.output
    return done.output


def test_each_training_is_a_stage_with_its_epochs(files: tuple[Path, Path]) -> None:
    heard = Heard()
    with steps.shown_by(heard):
        fit(files, "--method", "nnpu", "--prior", "tice", "--params", "epochs=3")
    by_stage = dict(heard.stages)
    epochs = [(1, 3, "epochs"), (2, 3, "epochs"), (3, 3, "epochs")]
    halves = [f"checking the ranking by nnpu on half {half} of 2" for half in (1, 2)]
    assert [title for title, _ in heard.stages][1:] == ["class prior by tice", "fitting nnpu", "scoring", *halves]
    assert [by_stage[title] for title in ("fitting nnpu", *halves)] == [epochs] * 3
    assert by_stage["class prior by tice"] == []
    steps.update(1, 2, "epochs")
    assert len(heard.stages[-1][1]) == 3, "nothing is heard after the block"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--method", "nnpu", "--prior", "0.5", "--params", "epochs=10"), r"fitting nnpu: \d+/10 epochs, ETA \d:\d\d"),
        (("--method", "naive_forest", "--params", "trees=40"), r"fitting naive_forest: \d:\d\d so far"),
    ],
)
def test_a_long_fit_writes_lines_where_there_is_no_terminal(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], expected: str
) -> None:
    """The fit waits for the line, since it may be over before a line is due."""
    for name in ("SECONDS_UNSEEN", "SECONDS_TO_FIRST_LINE", "SECONDS_BETWEEN_LINES"):
        monkeypatch.setattr(progress, name, 0.0)
    written, text = threading.Event(), progress.Working.text

    def noted(self: progress.Working) -> str:
        words = text(self)
        if re.search(expected, words):
            written.set()
        return words

    def waiting(name: str) -> Callable[..., None]:
        plain = getattr(progress.Working, name)

        def then_wait(self: progress.Working, *state: Any) -> None:
            plain(self, *state)
            if re.search(expected, text(self)):
                assert written.wait(120)

        return then_wait

    monkeypatch.setattr(progress.Working, "text", noted)
    for name in ("begin", "update"):
        monkeypatch.setattr(progress.Working, name, waiting(name))
    assert re.search(expected, fit(files, *words, "--no-ranking-check"))
