"""What a plan amounts to, before and after it is computed; and a report that takes what exists."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from planned import Data, Planned
from site_pages import site_text
from typer.testing import CliRunner

from puoc.analysis.compare import comparison_is_old
from puoc.cli.app import app
from puoc.cli.plan_overview import describe
from puoc.plan.make_plan import make_plan
from puoc.plan.params import read_params
from puoc.run.stages import run_part

PARAMS = """
compute: {workers: 1, lane_map: loop, models: all, device: cpu}
tables:
  first:
    title: A title of its own
    scenario: named_shift
    dataset: digits
    pos: [3]
    shifts: [{neg: 1}, {neg: 1, neg_test: 8}]
    n_pos_lab: 20
    n_pos_unl: 20
    n_neg_unl: 20
    seeds: 5
    configs: published
    methods: [oc_svm, pu_svm]
  second:
    scenario: fixed_classes
    dataset: digits
    pos: 3
    neg: 8
    n_pos_lab: 20
    n_pos_unl: 20
    n_neg_unl: 20
    seeds: 5
    configs: published
    methods: [oc_svm, pu_svm]
tune: {}
methods:
  oc_svm: {params: {kernel: linear, nu: 0.5}}
  pu_svm: {prior: true, params: {solver: exact, kernel: linear, risk: non_negative, lam: 0.01}}
"""
PLANNED = Planned(PARAMS, "digits")
SECOND = PARAMS[PARAMS.index("  second:") : PARAMS.index("tune:")]


@pytest.fixture
def root(tmp_path: Path, prepared_data: Data, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(PLANNED.at(tmp_path, prepared_data))
    return tmp_path


def lines(root: Path, *changes: tuple[str, str]) -> list[str]:
    PLANNED.plan(root, *changes)
    return describe(make_plan(read_params(root / "params.yaml")), root)


def puoc(*words: str) -> str:
    said = CliRunner().invoke(app, list(words))
    assert said.exit_code == 0, said.output
    return str(said.output)


def test_a_plan_says_when_this_machine_was_measured_and_keeps_it(root: Path) -> None:
    """``--check`` keeps the speeds too, so that the next plan does not train again."""
    first = CliRunner().invoke(app, ["plan", "--check", "--measure"])
    assert first.exit_code == 0, first.output
    rates = json.loads((root / "work" / "speed.json").read_text())["rates"]
    days = {rate["day"] for rate in rates.values() if rate["per_unit"]}
    assert f"short fits on this machine for oc_svm, pu_svm (measured on {min(days)}" in first.output
    assert "puoc plan --measure measures again)" in first.output


def test_fits_are_counted_once_for_columns_and_tables_and_the_ledgers_are_left_out(root: Path) -> None:
    """oc_svm: 5 fits for both tables; pu_svm: 5 for two columns, 5 others for the second table."""
    before = lines(root)
    assert before[0].startswith("30 trials by 15 fits, which tables share 5 times; before them 0 encoders")
    assert before[1] == "the ledger has 0 of these 15"
    assert before[2].startswith("forecast: less than 1 s of computing time")
    [first] = [line for line in before if line.startswith("first: 20 trials, 10 fits, ")]
    assert first.endswith(
        "5 seeds and 2 comparisons: smallest possible p 0.062, "
        "0.12 after Holm; no significant result is possible (7 seeds would be enough)"
    )
    [second] = [line for line in before if line.startswith("second: 10 trials, 10 fits (5 counted above), ")]
    assert second.endswith(
        "5 seeds and 1 comparison: smallest possible p 0.062, "
        "0.062 after Holm; no significant result is possible (6 seeds would be enough)"
    )
    run_part(root, "tables", "first")
    after = lines(root)
    assert after[1] == "the ledger has 10 of these 15"
    run_part(root, "tables", "second")
    done = lines(root)
    assert done[1] == "the ledger has 15 of these 15"
    assert not [line for line in done if "forecast" in line]


@pytest.mark.parametrize("profile", ["cifar10", "cifar10_small", "quick"])
def test_what_comes_before_and_the_fits_add_up_to_what_the_ledger_is_asked(profile: str, tmp_path: Path) -> None:
    repository = Path(__file__).parents[2]
    plan = make_plan(read_params(repository / "profiles" / f"{profile}.yaml", repository))
    first, second = describe(plan, tmp_path)[:2]
    counts = re.search(r"by ([\d,]+) fits?, .* before them ([\d,]+) encoders? and ([\d,]+) estimates? of", first)
    assert counts is not None, first
    total = sum(int(number.replace(",", "")) for number in counts.groups())
    assert second == f"the ledger has 0 of these {total:,}"


def test_more_seeds_show_more(root: Path) -> None:
    [second] = [line for line in lines(root, ("seeds: 5", "seeds: 6")) if line.startswith("second")]
    assert second.endswith("6 seeds and 1 comparison: smallest possible p 0.031, 0.031 after Holm")


@pytest.mark.slow
def test_a_report_takes_what_exists_and_a_table_that_is_taken_out_disappears(root: Path) -> None:
    run_part(root, "tables", "first")
    assert comparison_is_old(root)
    puoc("report", "--no-track")
    assert not comparison_is_old(root)
    summary = root / "results" / "compare" / "summary.parquet"
    whole = summary.read_bytes()
    pd.read_parquet(summary).drop(columns="below_chance").to_parquet(summary)  # as an earlier version wrote it
    assert comparison_is_old(root)
    summary.write_bytes(whole)
    assert not comparison_is_old(root)
    page = site_text(root)
    assert "A title of its own" in page
    assert "not run" in page
    run_part(root, "tables", "second")
    assert comparison_is_old(root)
    puoc("report", "--no-track")
    assert page != (both := site_text(root))
    assert ">second<" in both
    (root / "params.yaml").write_text(PARAMS.replace(SECOND, ""))
    assert "1 table, " in puoc("plan")
    puoc("report", "--no-track")
    assert ">second<" not in site_text(root)
    assert (root / "results" / "tables" / "second.parquet").exists()


def test_the_command_says_what_is_asked_and_writes_nothing_when_it_only_checks(root: Path) -> None:
    def contents() -> dict[Path, Any]:
        return {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}

    before = contents()
    said = puoc("plan", "--check")
    assert "2 tables, 0 sweeps, no errors" in said
    assert "30 trials by 15 fits" in said
    assert contents() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [("n_pos_lab: 20", "n_pos_lab: 21"), ("nu: 0.5", "nu: 0.4"), ("dataset: digits", "dataset: mnist5k")]
)
def test_rows_that_answer_an_earlier_question_are_not_shown_for_the_present_one(
    root: Path, change: tuple[str, str]
) -> None:
    def shown() -> tuple[dict[str, set[str]], str]:
        """States of the first table's cells by entry, and the page."""
        puoc("report", "--no-track")
        summary = pd.read_parquet(root / "results" / "compare" / "summary.parquet")
        first = summary[summary["table"] == "first"]
        states = {str(entry): set(part) for entry, part in first.groupby("entry")["state"]}
        return states, site_text(root)

    run_part(root, "tables", "first")
    states, page = shown()
    assert states == {"oc_svm": {"ok"}, "pu_svm": {"ok"}}
    assert "an earlier plan" not in page
    PLANNED.plan(root, change)
    states, page = shown()
    assert states == {"oc_svm": {"not run"}, "pu_svm": {"ok"} if "nu" in change[0] else {"not run"}}
    n = 10 if "nu" in change[0] else 20
    assert f"{n} rows in results/ belong to an earlier plan and are not shown" in page
    PLANNED.plan(root)
    assert shown()[0]["oc_svm"] == {"ok"}


@pytest.mark.slow
def test_a_comparison_is_old_once_a_choice_is_made_or_results_are_taken_out(root: Path) -> None:
    run_part(root, "tables", "first")
    extra = root / "results" / "sweeps" / "val"
    extra.mkdir(parents=True)
    for changed in (
        lambda: (root / "work" / "configs" / "selected").mkdir(),
        lambda: (root / "work" / "configs" / "selected" / "first.json").write_text("{}"),
        lambda: (root / "work" / "plan" / "tables" / "second.json").unlink(),
        extra.rmdir,
        extra.parent.rmdir,
    ):
        puoc("report", "--no-track")
        assert not comparison_is_old(root)
        changed()
        assert comparison_is_old(root)
