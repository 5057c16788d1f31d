"""``puoc show``: the numbers are those of the results, in every format and at every place."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from planned import Data, Planned
from typer.testing import CliRunner, Result

from puoc.cli.app import app
from puoc.reporting.show.find import find
from puoc.run.stages import run_part
from puoc.store.plan_files import planned_tables

PLANNED = Planned(
    """
compute: {workers: 2, lane_map: loop, models: none, device: cpu}
tables:
  odd_names:
    scenario: named_shift
    dataset: digits
    pos: [3]
    shifts: [{neg: [1]}, {neg: [1], neg_test: [8]}]
    n_pos_lab: 20
    n_pos_unl: 20
    n_neg_unl: 20
    seeds: 3
    configs: published
    methods: [oc_svm, pu_svm]
  later:
    scenario: one_vs_all
    dataset: digits
    pos: [0]
    n_pos_lab: 20
    n_pos_unl: 20
    n_neg_unl: 20
    seeds: 2
    configs: published
    methods: [oc_svm]
tune: {}
methods:
  oc_svm: {encoder: flatten, params: {kernel: linear, nu: 0.5}}
  pu_svm: {encoder: flatten, prior: true, params: {solver: exact, kernel: linear, risk: non_negative, lam: 0.01}}
""",
    "digits",
)


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory, prepared_data: Data) -> Path:
    """A project of which one table was run and one was not. To be read, not changed."""
    root = PLANNED.at(tmp_path_factory.mktemp("shown"), prepared_data)
    assert run_part(root, "tables", "odd_names")["ok"] == 6  # both cells are tests of the same fits
    return root


@pytest.fixture
def rows(computed: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """The recorded rows; commands run in the project."""
    monkeypatch.chdir(computed)
    return pd.read_parquet("results/tables/odd_names.parquet")


def show(*words: str) -> Result:
    done = CliRunner().invoke(app, ["show", *words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def shown(*words: str) -> str:
    done = show(*words)
    assert done.exit_code == 0, done.output
    return str(done.stdout)


def _json(place: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(shown(place, "--format", "json"))["rows"]
    return rows


def cells_of(rows: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(rows.sort_values("cell_index")["cell"]))


def test_all_tables_with_their_trials_and_what_was_not_run(rows: pd.DataFrame) -> None:
    text = shown()
    assert re.search(r"odd_names +named_shift +digits +12 of 12 +\w", text)
    assert re.search("later +one_vs_all +digits +0 of 2 +\N{EN DASH}", text)
    assert "next: puoc show " in text


@pytest.mark.parametrize("digits", [2, 4])
def test_means_and_deviations_of_a_table_are_those_of_its_rows(rows: pd.DataFrame, digits: int) -> None:
    lines = shown("odd_names", "--digits", str(digits)).splitlines()
    for entry in ("oc_svm", "pu_svm"):
        line = next(line for line in lines if line.startswith(entry))
        of_entry = rows[rows["entry"] == entry]
        for cell in cells_of(rows):
            auc = of_entry[of_entry["cell"] == cell]["auc"]
            assert f"{auc.mean():.{digits}f} ± {auc.std():.{digits}f}" in line
        average = of_entry.groupby("seed")["auc"].mean()
        assert line.rstrip("*+").endswith(f"{average.mean():.{digits}f} ± {average.std():.{digits}f}")
    best = rows.groupby("entry")["auc"].mean().idxmax()
    assert next(line for line in lines if line.startswith(best)).rstrip("+").endswith("*")


def test_an_entry_that_is_told_alpha_says_so_beside_its_numbers_at_each_place(rows: pd.DataFrame) -> None:
    cell = cells_of(rows)[0]
    for place in ([], ["odd_names"], [f"odd_names/{cell}"], [f"odd_names/{cell}/pu_svm"]):
        number = re.compile(rf"pu_svm\b.* 0\.\d\d|^odd_names, {re.escape(cell)}, pu_svm")
        lines = [line for line in shown(*place).splitlines() if number.search(line)]
        assert all("pu_svm (told alpha)" in line for line in lines)
        assert lines or not place


def test_values_for_programs_say_which_entry_is_told_alpha(rows: pd.DataFrame) -> None:
    cell = cells_of(rows)[0]
    for place in ("odd_names", f"odd_names/{cell}"):
        table = list(csv.DictReader(io.StringIO(shown(place, "--format", "csv"))))
        assert {(row["entry"], row["told_alpha"]) for row in table} == {("oc_svm", "False"), ("pu_svm", "True")}
        of_json = json.loads(shown(place, "--format", "json"))["rows"]
        assert {(row["entry"], row["told_alpha"]) for row in of_json} == {("oc_svm", False), ("pu_svm", True)}
    best = json.loads(shown("--format", "json"))["rows"][0]
    assert best["told_alpha"] == (best["best"] == "pu_svm")
    trials = json.loads(shown(f"odd_names/{cell}/pu_svm", "--format", "json"))["rows"]
    assert {row["prior"] for row in trials} == {"true"}


@pytest.mark.parametrize("place", [[], ["odd_names"], ["odd_names/average"]])
def test_an_average_that_hides_a_cell_below_chance_says_so_in_each_format(
    computed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: list[str]
) -> None:
    project = shutil.copytree(computed, tmp_path / "low", symlinks=True)
    monkeypatch.chdir(project)
    results = project / "results" / "tables" / "odd_names.parquet"
    rows = pd.read_parquet(results)
    low, _ = cells_of(rows)
    of_hybrid = rows["entry"] == "pu_svm"
    rows.loc[of_hybrid, "auc"] = 0.97 + 0.01 * rows["seed"]
    rows.loc[of_hybrid & (rows["cell"] == low), "auc"] = 0.40 + 0.01 * rows["seed"]
    rows.loc[~of_hybrid, "auc"] = 0.6
    rows.to_parquet(results)
    note = f"the average of pu_svm (told alpha) hides 0.41 at {low}"
    for name in ("text", "latex", "json"):
        assert note in shown(*place, "--format", name)
    assert note in re.sub(r"\\(.)", r"\1", shown(*place, "--format", "markdown"))
    averages = [row for row in csv.DictReader(io.StringIO(shown(*place, "--format", "csv"))) if row["below_chance"]]
    assert [row["below_chance"] for row in averages] == [f"0.41 at {low}"]
    if place == ["odd_names"]:
        assert f"pu_svm at {low} ranks worse than chance (0.41 ± 0.01, n = 3)" in shown(*place)


def test_a_cell_lists_its_entries_best_first_with_the_test_against_the_twin(rows: pd.DataFrame) -> None:
    cell = cells_of(rows)[0]
    lines = shown(f"odd_names/{cell}").splitlines()
    means = rows[rows["cell"] == cell].groupby("entry")["auc"].mean().sort_values(ascending=False)
    assert [line.split()[0] for line in lines[4:6]] == list(means.index)
    difference = means["pu_svm"] - means["oc_svm"]
    [tests] = [json.loads(row["tests"]) for row in _json(f"odd_names/{cell}") if row["entry"] == "pu_svm"]
    assert [(test["p"], test["family_size_all"], test["p_adjusted_all"]) for test in tests] == [(0.25, 2, 0.5)]
    assert f"{difference:+.3f} to oc_svm, p 0.250" in "\n".join(lines).replace("\N{MINUS SIGN}", "-")  # 2 / 2 ** 3


def test_an_entry_lists_its_trials_and_their_origin(rows: pd.DataFrame) -> None:
    cell = cells_of(rows)[1]
    text = shown(f"odd_names/{cell}/pu_svm")
    chosen = rows[(rows["cell"] == cell) & (rows["entry"] == "pu_svm")]
    assert len(chosen) == 3
    for row in chosen.itertuples():
        assert re.search(rf" {row.seed} +{row.auc:.6f} +ok .*{row.trial_id} +{row.fit_id}", text)
    for digest in ("code_digest", "draw_digest", "scoring_digest"):
        assert chosen[digest].iloc[0] in text
    everywhere = shown("odd_names/average/pu_svm")
    assert all(trial in everywhere for trial in rows[rows["entry"] == "pu_svm"]["trial_id"])


def test_the_command_that_computes_a_number_again_names_that_number(computed: Path, rows: pd.DataFrame) -> None:
    for cell in [*cells_of(rows), "average"]:
        [line] = [line for line in shown(f"odd_names/{cell}/pu_svm").splitlines() if "puoc ledger verify" in line]
        _, _, _, option, place, *more = shlex.split(line.partition(": ")[2])
        assert option == "--place"
        assert find(planned_tables(computed), place)[1:] == (cell, "pu_svm")
        assert more == (["--recompute", "20"] if cell == "average" else [])


def test_csv_and_json_have_every_digit_and_nothing_else_on_the_output(rows: pd.DataFrame) -> None:
    cell = cells_of(rows)[0]
    auc = rows[(rows["cell"] == cell) & (rows["entry"] == "pu_svm")]["auc"]
    table = list(csv.DictReader(io.StringIO(shown("odd_names", "--format", "csv"))))
    mean = next(row["mean"] for row in table if (row["entry"], row["cell"]) == ("pu_svm", cell))
    assert float(mean) == pytest.approx(auc.mean(), abs=1e-15)
    trials = json.loads(shown(f"odd_names/{cell}/pu_svm", "--format", "json"))["rows"]
    assert [row["auc"] for row in trials] == auc.tolist()
    json.loads(shown("--format", "json"))


def test_latex_and_markdown_have_a_row_for_each_entry_and_escape_names(rows: pd.DataFrame) -> None:
    latex = shown("odd_names", "--format", "latex")
    body = latex[latex.index(r"\midrule") : latex.index(r"\bottomrule")]
    assert len(re.findall(r"\\\\$", body, re.MULTILINE)) == 2
    assert r"oc\_svm & OC & " in body
    assert body.count(r"\textbf{") == 3  # the best of each column
    without_comments = "\n".join(line for line in latex.splitlines() if not line.startswith("%"))
    assert not re.search(r"(?<!\\)[_%#]", without_comments)
    markdown = [line for line in shown("odd_names", "--format", "markdown").splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in markdown}) == 1
    assert len(markdown) == 4


def test_a_table_that_was_not_run_is_shown_as_such(rows: pd.DataFrame) -> None:
    assert "not run" in shown("later")
    assert "puoc run later" in shown("later/pos=0/oc_svm")
    assert "puoc run later" in shown("later/pos=0")


def test_all_formats_follow_the_metric_of_the_plan(
    computed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = shutil.copytree(computed, tmp_path / "by_metric", symlinks=True)
    monkeypatch.chdir(project)
    params = project / "params.yaml"
    params.write_text("metric: average_precision\n" + params.read_text())
    assert CliRunner().invoke(app, ["plan"]).exit_code == 0
    rows = pd.read_parquet("results/tables/odd_names.parquet")
    rows["value"] = [json.loads(text)["average_precision"] for text in rows["metrics"]]
    cell = cells_of(rows)[0]
    values = rows[(rows["cell"] == cell) & (rows["entry"] == "pu_svm")]["value"]
    assert shown().startswith("Tables of the plan, by average_precision on held-out rows")
    table = shown("odd_names")
    assert table.startswith("odd_names: named_shift on digits, average_precision on held-out rows")
    line = next(line for line in table.splitlines() if line.startswith("pu_svm"))
    assert f"{values.mean():.2f} ± {values.std():.2f}" in line
    means = list(csv.DictReader(io.StringIO(shown("odd_names", "--format", "csv"))))
    mean = next(row for row in means if (row["entry"], row["cell"]) == ("pu_svm", cell))
    assert (mean["metric"], float(mean["mean"])) == ("average_precision", pytest.approx(values.mean(), abs=1e-15))
    [*trials] = json.loads(shown(f"odd_names/{cell}/pu_svm", "--format", "json"))["rows"]
    assert [(row["metric"], row["value"]) for row in trials] == [("average_precision", value) for value in values]
    assert [row["auc"] for row in trials] == rows.loc[values.index, "auc"].tolist()  # as recorded
    assert "average_precision" in shown(f"odd_names/{cell}/pu_svm").splitlines()[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["odd_name"], "got the table 'odd_name' (did you mean 'odd_names'?); planned: later, odd_names"),
        (["later/pos=1"], "got the cell 'pos=1' (did you mean 'pos=0'?); later has: pos=0"),
        (["later/pos=0/nnpu"], "got the entry 'nnpu'; later has: oc_svm"),
        (["later", "--format", "xlsx"], "--format: got 'xlsx'; expected one of text, markdown, latex, csv, json"),
    ],
)
def test_unknown_places_and_formats_are_refused_with_what_there_is(
    rows: pd.DataFrame, words: list[str], said: str
) -> None:
    done = show(*words)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


def test_a_changed_plan_is_noted_beside_the_output(
    computed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = shutil.copytree(computed, tmp_path / "changed", symlinks=True)
    monkeypatch.chdir(project)
    assert CliRunner().invoke(app, ["plan"]).exit_code == 0
    (project / "params.yaml").write_text((project / "params.yaml").read_text().replace("seeds: 3", "seeds: 4"))
    done = show("odd_names", "--format", "json")
    assert json.loads(done.stdout)["rows"]
    assert "params.yaml changed since the plan" in done.stderr
