"""A number of a method that gets the true share of positives in U says so, in each generated table."""

from __future__ import annotations

import re
from functools import cache

import pandas as pd
import pytest
from project import REPOSITORY

from puoc.plan.make_plan import make_plan
from puoc.plan.params import read_params

PAGES = sorted([REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")])
MARK = "told alpha"
PAPER = "published/paper"

#: The rows behind each table that has a number of an entry: files of docs/evidence, or the published results.
ENTRIES_OF = {
    "quick": ["quick"],
    "machines": ["quick"],
    "all_positives": ["cifar10_small"],
    "cifar10": ["cifar10"],
    "cifar10_methods": ["cifar10_methods", "cifar10"],
    "answer_runs": [PAPER, "cifar10", "cifar10_methods", "cifar10_small", "lstm_pendigits"],
    "answer_twins": [PAPER, "cifar10", "cifar10_methods", "cifar10_small", "lstm_pendigits"],
    "paper_verdicts": ["cifar10", "cifar10_methods", "cifar10_small", "lstm_pendigits"],
    "small_map": ["paper_small"],
    "small_map_rest": ["paper_small"],
    "grid_choices": ["grids"],
    "labelling_aucs": ["labelling"],
    "choice_on_tables": ["labelling"],
    "tabular_ranks": ["tabular"],
    "more_ranks": ["tabular", "tabular_more"],
    "tabular_halves": ["tabular"],
}
#: Tables that name entries or alpha in a way of their own; the tests below have them.
OWN_WAY = {"answer_families", "answer_claims", "enlarged", "lstm_pendigits", "autoencoder", "collapse", "probabilities"}
#: Tables without an AUC of an entry that needs alpha: of families, of one-class methods, of times, or of counts.
WITHOUT = {"answer_line", "answer_numbers", "answer_spreads", "assess_answers", "assess_biased", "assess_fresh"}
WITHOUT |= {"assess_judged", "assess_power_alpha", "assess_power_shift", "beside_libraries", "best_in_registry"}
WITHOUT |= {"choice_of_family", "citation", "commands", "epoch", "epoch_summary", "false_alarms_interval"}
WITHOUT |= {"false_alarms_none", "false_alarms_shift", "floor", "forecasts", "judged", "judged_odds", "judged_saving"}
WITHOUT |= {"judged_shift", "keel", "labelling_families", "labelling_metrics", "labelling_turns", "lanes", "last_epoch"}
WITHOUT |= {"left_out", "method_files", "networks", "networks_together", "oc_halves", "outside_map", "overhead"}
WITHOUT |= {"paper_contradictions", "paper_numbers", "paper_progress", "published_metrics", "robustness"}
WITHOUT |= {"rows_with_metrics", "spread_coverage", "tabular_families"}


def blocks() -> list[tuple[str, list[str]]]:
    found = re.findall(r"<!-- table: (\w+) -->\n(.*?)<!-- end -->", "".join(page.read_text() for page in PAGES), re.S)
    return [(name, text.splitlines()) for name, text in found if not name.startswith("metrics_of_")]


@cache
def entries(source: str) -> dict[str, bool]:
    """Return whether each entry of rows is told alpha, by its rows or else by the plan of its profile."""
    if source != PAPER:
        rows = pd.read_parquet(REPOSITORY / "docs" / "evidence" / f"{source}.parquet")
        if "prior" in rows:
            return dict((rows["prior"] == "true").groupby(rows["entry"]).any())
        if "prior_alpha" in rows:
            return dict((rows["prior_alpha"] == rows["alpha"]).groupby(rows["entry"]).any())
    path = REPOSITORY / (f"{PAPER}/params.yaml" if source == PAPER else f"profiles/{source}.yaml")
    plan = make_plan(read_params(path, REPOSITORY))
    planned = [*plan.tables.values(), *plan.sweeps.values()]
    return {name: entry.told_alpha for table in planned for name, entry in table.entries_by_name.items()}


def source_of(line: str, sources: list[str]) -> list[str]:
    """Return the rows that a line names, or all that a table has."""
    named = [one for one in sources if f"`{one}`" in line or f"`docs/evidence/{one}.parquet`" in line]
    return named or sources


def test_each_table_of_the_pages_is_checked_or_has_no_such_number() -> None:
    assert {name for name, _ in blocks()} == ENTRIES_OF.keys() | OWN_WAY | WITHOUT


@pytest.mark.parametrize("name", ENTRIES_OF)
def test_an_entry_is_marked_if_and_only_if_it_is_told_alpha(name: str) -> None:
    checked = 0
    for _, lines in (block for block in blocks() if block[0] == name):
        for line in lines:
            told = {k: v for source in source_of(line, ENTRIES_OF[name]) for k, v in entries(source).items()}
            # a place, the name of an entry, or a head without marks
            for before, entry, after in re.findall(r"([`/ ])(\w+)(`?(?: \(told alpha\))?)(?=[ |,/])", line):
                if entry not in told or (before == " " and "`" in after):
                    continue
                checked += 1
                marked = MARK in after or (before == "/" and f"({MARK})" in line)
                assert marked == told[entry], f"{name}: {line}"
    assert checked


def test_the_names_that_a_table_gives_to_entries_of_a_gpu_are_marked() -> None:
    [lines] = [lines for name, lines in blocks() if name == "cifar10_methods"]
    marked = {re.split("`", line)[1] for line in lines if MARK in line}
    assert marked == {"pu_svm_true_alpha", "pu_cnn_true_alpha", "nnpu_true_alpha", "nnpu_sigmoid", "upu"}


def test_families_and_claims_name_what_is_told_alpha() -> None:
    by_name = dict(blocks())
    head, _, *lines = by_name["answer_families"]
    assert head.endswith(f"| {MARK} |")
    named = {tuple(line.split(" | ")[:2]): line.split(" | ")[-1] for line in lines}
    for (profile, table), names in named.items():
        source = PAPER if "`paper`" in profile else profile.strip("|` ")
        path = REPOSITORY / (f"{PAPER}/params.yaml" if source == PAPER else f"profiles/{source}.yaml")
        plan = make_plan(read_params(path, REPOSITORY)).tables[table.strip("`")]
        told = {name for name, entry in plan.entries_by_name.items() if entry.told_alpha}
        assert set(re.findall(r"`(\w+)`", names)) == told
    assert any("`" in names for names in named.values())
    claims = " ".join(by_name["answer_claims"])
    assert set(re.findall(rf"`(\w+)`, {MARK}", claims)) >= {"synth1_no_shift", "synth1_shift_pu", "synth2_pu"}
    assert f"`synth2_oc`, {MARK}" not in claims


@pytest.mark.parametrize(("name", "keys"), [("enlarged", ["pos", "entry"]), ("lstm_pendigits", ["entry"])])
def test_tables_by_method_have_a_mark_for_each_kind_of_fit_that_is_told_alpha(name: str, keys: list[str]) -> None:
    rows = pd.read_parquet(REPOSITORY / "docs" / "evidence" / f"{name}.parquet")
    told = rows[rows["prior"] == "true"].drop_duplicates(keys)
    lines = dict(blocks())[name]
    assert sum(MARK in line for line in lines) == len(told) > 0


def test_tables_of_benches_say_which_alpha_a_method_had() -> None:
    by_name = dict(blocks())
    assert f"`pu_svm` ({MARK}) AUC" in by_name["autoencoder"][0]
    assert "| alpha given |" in by_name["collapse"][0]
    assert "error, told" in by_name["probabilities"][0]
