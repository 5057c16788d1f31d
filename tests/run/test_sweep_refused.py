"""Spaces that no sweep can have are refused before anything is started, at the place where they can be mended."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from planned import Data
from sweep_project import TINY, unrun, with_space
from typer.testing import CliRunner

from puoc.cli.app import app
from puoc.plan.search_spaces import read_space
from puoc.run.sweep.request import SweepRequest, resolve_sweep
from puoc.store.yaml_file import InvalidInput


@pytest.fixture
def root(tmp_path: Path, prepared_data: Data) -> Path:
    """A planned project in which nothing was run."""
    return unrun(tmp_path, prepared_data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{lr: {low: -1.0, high: -0.5}}", r"bad\.lr: hyperparameter 'lr': got -1.0, expected greater than 0"),
        (
            "{lr: {low: 0.1, high: 0.5}, epochs: {low: 1, high: 5.5}}",
            r"bad\.epochs: .*'epochs': got 1.0, expected a whole number",
        ),
        ("{lrr: {low: 0.1, high: 0.5}}", r"bad\.lrr: unknown hyperparameter 'lrr' \(did you mean 'lr'\?\)"),
        ("{lr: [0.1, -0.2, 0.3]}", r"bad\.lr: hyperparameter 'lr': got -0.2, expected greater than 0"),
        ("[{lr: [0.1]}, {lr: [0.1], epochs: [0, 9]}]", r"bad\[1\]\.epochs: hyperparameter 'epochs': got 0, expected "),
    ],
)
def test_a_search_whose_space_holds_what_the_method_does_not_take_is_refused_at_its_place(
    root: Path, text: str, message: str
) -> None:
    with_space(root, f"bad: {text}")
    with pytest.raises(InvalidInput, match=rf"^tuning/spaces/nnpu\.yaml:\d+: {message}"):
        resolve_sweep(root, SweepRequest("nnpu", "one_vs_all", "bad", "tpe"))


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_such_a_search_ends_with_2_and_starts_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    with_space(root, "bad: {lr: {low: -1.0, high: -0.5}}")
    monkeypatch.chdir(root)
    asked = ["sweep", "--method", "nnpu", "--scenario", "one_vs_all", "--space", "bad", "--search", "tpe"]
    done = CliRunner().invoke(app, [*asked, "--budget", "9", *words])
    assert done.exit_code == 2, done.output
    assert re.search(r"nnpu\.yaml:\d+: bad\.lr: ", done.output)
    assert not (root / "work" / "ray").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{low: .nan, high: 1.0}", "low: got nan; expected a finite number"),
        ("{low: 0.1, high: .inf}", "high: got inf; expected a finite number"),
        ("{low: 0.1, high: 0.5, step: .nan}", "step: got nan; expected a finite number"),
        ("{low: true, high: 2.0}", "low: got True; expected a finite number"),
        ("{low: a, high: 2.0}", "low: got 'a'; expected a finite number"),
        ("{low: 1.5, high: 9, type: int}", "low: got 1.5; expected a whole number"),
        ("{low: 1, high: .inf, type: int}", "high: got inf; expected a whole number"),
    ],
)
def test_a_range_needs_ends_that_are_numbers(root: Path, text: str, message: str) -> None:
    with_space(root, f"bad:\n  lr: {text}")
    with pytest.raises(InvalidInput, match=rf"nnpu\.yaml:\d+: bad\.lr: {message}$"):
        read_space(root / "tuning" / "spaces", "nnpu", "bad")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{lr: {low: 0.1, high: 0.5}}", "lr is a range without a step, .*, or ask --search tpe"),
        ("{lr: [0.1, -0.2]}", "nnpu: hyperparameter 'lr': got -0.2, expected greater than 0"),
    ],
)
def test_a_grid_of_the_command_line_that_cannot_be_is_told_there_and_at_its_space(
    root: Path, text: str, message: str
) -> None:
    with_space(root, f"bad: {text}")
    TINY.plan(root, ("tune:\n  pu_svm:", "tune:\n  nnpu:"))  # params.yaml asks another space of nnpu
    with pytest.raises(InvalidInput, match=rf"^--space: got bad; tuning/spaces/nnpu\.yaml:\d+: bad: {message}"):
        resolve_sweep(root, SweepRequest("nnpu", space="bad"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sweep", "--method", "../compute"], "--method: got ../compute, which no plan sweeps; planned: pu_svm; or"),
        (
            ["sweep", "--method", "../tune/pu_svm"],
            "--method: got ../tune/pu_svm, which no plan sweeps; planned: pu_svm",
        ),
        (["sweep", "--method", "../x"], "--method: got ../x, which no plan sweeps; planned: pu_svm; or"),
        (["study", "--method", "../x"], "--method: got ../x, which no plan sweeps; planned: pu_svm; or"),
        (["tune", "../compute"], "no plan of '../compute' in tune; planned: pu_svm"),
        (["run", "../tune/pu_svm"], "no plan of '../tune/pu_svm' in tables; planned: one_vs_all"),
    ],
)
def test_a_name_is_never_read_as_a_path(
    root: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(root)
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2, done.output
    assert message in " ".join(done.output.split())
