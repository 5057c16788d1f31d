"""The answer on the paper at the start of the page: its counts by an independent script, and pages without results."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from beside_paper import as_printed, plan_beside, rows_beside
from site_pages import page_text, site_text

from puoc.analysis.compare import COMPARED, compare, read_comparison
from puoc.analysis.paper.verdicts import STATES
from puoc.analysis.tables.frames import write_rows
from puoc.reporting.site import build
from puoc.reporting.tracking.places import Place
from puoc.reporting.tracking.project_trials import Trial
from puoc.reporting.tracking.run_specs import trial_spec
from puoc.store.plans import TablePlan
from puoc.store.result_rows import ResultRow

SCRIPT = Path(__file__).parents[1] / "count_verdicts.py"
EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence"


def lay_out(root: Path, plan: TablePlan, rows: pd.DataFrame | None, **columns: object) -> None:
    plan_path = root / "work/plan/tables" / f"{plan.table}.json"
    plan_path.parent.mkdir(parents=True, exist_ok=True)
    plan_path.write_text(json.dumps(plan.to_json()))
    if rows is not None:
        path = root / "results/tables" / f"{plan.table}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows.assign(table=plan.table, prior=None, prior_alpha=None, alpha=0.5, **columns).to_parquet(path)


def as_shift(plan: TablePlan) -> TablePlan:
    return plan.model_copy(update={"scenario": "named_shift"})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One number by several tables and sizes, noisy numbers, void ones, and a table that was not run."""
    root = tmp_path_factory.mktemp("site")
    printed, rng = as_printed("shift"), np.random.default_rng(0)
    exact = as_shift(plan_beside("shift", 4, table="exact", only=["n=1", "n=2"]))
    lay_out(root, exact, rows_beside(exact, printed), imported_from="Results A, 2026-01-02", computed_by="puoc 1.2")
    smaller = as_shift(plan_beside("shift", 9, table="smaller", only=["n=1", "n=3"]))
    lay_out(root, smaller, rows_beside(smaller, lambda *at: printed(*at) - 0.2, n_pos_lab=250))
    noisy = plan_beside("ova", 5)
    ova = as_printed("ova")
    lay_out(root, noisy, rows_beside(noisy, lambda *at: ova(*at) + rng.normal(0, 0.02) - 0.1 * (at[0] == "csi")))
    stand_in = plan_beside("abnormal", 3, dataset="elpv")
    lay_out(root, stand_in, rows_beside(stand_in, as_printed("abnormal")))
    lay_out(root, as_shift(plan_beside("shift_mecha")), None)
    compare(root)
    build(root)
    return root


def page(root: Path) -> str:
    return page_text(root, "paper.html")


def answer(root: Path) -> str:
    text = page(root)
    start = text.index('aria-labelledby="answer"')
    return text[start : text.index("</section>", start)]


def texts(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def lines(root: Path, table: str) -> dict[str, list[str]]:
    """Cells of a table of the section by its first cell; titles within a drawing are not text."""
    html = answer(root)
    html = html[html.index(f'id="{table}"') :]
    html = re.sub(r"<svg.*?</svg>", "", html[: html.index("</table>")], flags=re.S)
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in re.findall(r"<tr>(.*?)</tr>", html, re.S)]
    own = re.findall(r'<tr class="average-row">(.*?)</tr>', html, re.S)
    rows += [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in own]
    return {texts(row[0]): [texts(cell) for cell in row[1:]] for row in rows}


def counted(root: Path) -> dict[str, dict[str, dict[str, int]]]:
    done = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=True)
    result: dict[str, dict[str, dict[str, int]]] = json.loads(done.stdout)
    return result


@pytest.mark.slow
def test_the_counts_are_those_of_an_independent_script(site: Path) -> None:
    by_script, shown = counted(site), lines(site, "answer-numbers")
    assert [head.lower() for head in shown.pop("Table")[2:-1]] == list(STATES)
    own = shown.pop("all, by each cell's own spread")
    assert {name: [int(text) for text in row[2:]] for name, row in shown.items()} == {
        name: list(counts.values()) for name, counts in by_script["tables"].items()
    }
    assert [int(text) for text in own[2:7]] == list(by_script["own"].values())
    assert sum(by_script["tables"]["all"][state] for state in STATES) == 571 == int(shown["all"][1])
    assert all(by_script["tables"]["all"][state] > 0 for state in STATES), "every verdict occurs in this project"
    words = [
        f"{n} {'differ' if state == 'differs' else state}" for state, n in zip(STATES, shown["all"][2:7], strict=True)
    ]
    assert ", ".join(words) in texts(answer(site))


def test_a_bar_has_the_shares_of_the_counts(site: Path) -> None:
    bars = re.findall(r'<svg class="bar".*?aria-label="(\w+): ([^"]*)">(.*?)</svg>', answer(site), re.S)
    assert len(bars) == 13
    by_script = counted(site)["tables"]
    for name, words, drawing in bars:
        drawn = re.findall(r'class="state-([\w-]+)" x="([\d.]+)" y="0" width="([\d.]+)"', drawing)
        total = sum(by_script[name][state] for state in STATES)
        shares = {state.replace("-", " "): float(width) / 240 for state, _, width in drawn}
        expected = {state: by_script[name][state] / total for state in STATES if by_script[name][state]}
        assert shares == pytest.approx(expected, abs=1e-4)
        assert all(f"{by_script[name][state]} {state[:6]}" in words for state in STATES)


def test_the_paper_s_sizes_come_before_more_seeds(site: Path) -> None:
    rows = lines(site, "answer-numbers")["shift"]
    # n=1 by the four exact seeds, not by nine smaller runs that differ; n=3 has only the smaller runs
    assert rows[1:] == ["40", "20", "10", "0", "0", "10", "10"]


def test_claims_are_listed_by_outcome(site: Path) -> None:
    by_script, html = counted(site)["claims"], answer(site)
    listed = {
        texts(summary): body.count("<li>")
        for summary, body in re.findall(r'class="claims">\s*<summary>(.*?)</summary>(.*?)</details>', html, re.S)
    }
    words = {"holds": "hold", "fails": "fail"}
    counts = {state: by_script.get(state, 0) for state in ("holds", "fails", "not decided", "not run")}
    assert listed == {f"{n} {words.get(state, state)}": n or 1 for state, n in counts.items()}  # "none" is one line
    assert ", ".join(listed) in texts(html)


def test_families_are_shown_by_cell(site: Path) -> None:
    rows = read_comparison(site).family_wins
    shown = lines(site, "answer-families")
    assert set(shown) - {"Table"} == {"exact", "smaller", "our_shift_mecha"} == {row.table for row in rows}
    for row in rows:
        assert f"{row.cell}: {row.outcome}" in shown[row.table][-1]
    assert shown["our_shift_mecha"][2:7] == ["0", "0", "0", "0", "7"]
    assert "interval" in answer(site)


def test_a_cell_names_its_spread_and_where_rows_come_from(site: Path) -> None:
    assert re.search(r'title="n = 4, [^"]*; spread 0\.\d{3} with \d+\.\d degrees of freedom', page(site))
    text = texts(page_text(site, "tables/exact.html"))
    assert "80 trials come from the published results Results A, 2026-01-02 and were computed by puoc 1.2" in text
    assert texts(site_text(site)).count("were computed by") == 1
    passport = texts(page_text(site, "passports/exact.html"))
    assert "published results Results A, 2026-01-02 computed by puoc 1.2" in passport


def test_the_page_needs_no_network_and_no_script_for_the_answer(site: Path) -> None:
    for text in (page(site), page_text(site)):
        assert re.findall(r'(?:src|href)="(?:https?:)?//[^"]*"', text) == []
        assert set(re.findall(r"url\(#(\w+)\)", text)) <= set(re.findall(r'<pattern id="(\w+)"', text))
    style = page_text(site, "assets/site.css")
    assert re.findall(r"url\((?!#)[^)]*\)|@import", style) == []
    assert set(re.findall(r"url\(#(\w+)\)", style)) <= set(re.findall(r'<pattern id="(\w+)"', page(site)))
    assert "<script" not in answer(site)
    first = page_text(site)
    assert first.index('id="answer"') < first.index('id="overview"')
    short = (
        texts(answer(site)).partition("Numbers. ")[2].partition(" Table Share")[0].partition(" Published numbers")[0]
    )
    assert len(short) > 200
    assert short.partition(" Claims. ")[0] in texts(first)
    assert short.partition(" Claims. ")[2] in texts(first)  # the same numbers, claims and families, in short


def test_a_plan_without_any_result(tmp_path: Path) -> None:
    lay_out(tmp_path, as_shift(plan_beside("shift")), None)
    compare(tmp_path)
    build(tmp_path)
    assert lines(tmp_path, "answer-numbers")["all"][1:] == ["571", "0", "0", "0", "0", "571", "0"]
    assert lines(tmp_path, "answer-families")["our_shift"][2:7] == ["0", "0", "0", "0", "4"]
    assert counted(tmp_path)["tables"]["all"]["not run"] == 571


def test_a_comparison_without_rows(tmp_path: Path) -> None:
    lay_out(tmp_path, plan_beside("ova").model_copy(update={"published": None}), None)
    compare(tmp_path)
    for name in ("verdicts", "claims", "family_wins"):
        write_rows([], COMPARED[name], tmp_path / "results/compare" / f"{name}.parquet")
    build(tmp_path)
    assert lines(tmp_path, "answer-numbers")["all"][1:] == ["0"] * 7
    assert "No table of this plan compares two families" in answer(tmp_path)
    text = page_text(tmp_path)
    assert text.index('id="overview"') < text.index('id="answer"') < text.index('id="paper"')


@pytest.mark.parametrize("name", ["verdicts", "claims", "family_wins"])
@pytest.mark.parametrize("damage", ["cut", "no column", "absent", "empty file"])
def test_a_damaged_comparison_is_named(site: Path, tmp_path: Path, name: str, damage: str) -> None:
    shutil.copytree(site / "work", tmp_path / "work")
    shutil.copytree(site / "results", tmp_path / "results")
    path = tmp_path / "results/compare" / f"{name}.parquet"
    content = path.read_bytes()
    if damage == "absent":
        path.unlink()
    elif damage == "no column":
        pd.read_parquet(path).iloc[:, 1:].to_parquet(path)
    else:
        path.write_bytes(content[: len(content) // 2] if damage == "cut" else b"")
    with pytest.raises((ValueError, FileNotFoundError), match=f"{name}.parquet"):
        build(tmp_path)


def test_runs_have_tags_for_published_results() -> None:
    recorded = pd.read_parquet(EVIDENCE / "quick.parquet").iloc[0].to_dict()
    known = {field.name for field in fields(ResultRow)}
    values = {name: None if value != value else value for name, value in recorded.items() if name in known}
    plain = ResultRow(**values)  # type: ignore[arg-type]
    published = ResultRow(**values | {"imported_from": "A, 2026-01-02", "computed_by": "puoc 1.2, commit 0a"})  # type: ignore[arg-type]
    place = {"cell": Place("tables/one_vs_all", "oc_svm", "pos=0")}
    tags = trial_spec(Trial(published, place), None).tags
    assert tags["imported_from"] == "A, 2026-01-02"
    assert tags["computed_by"] == "puoc 1.2, commit 0a"
    assert not {"imported_from", "computed_by"} & set(trial_spec(Trial(plain, place), None).tags)
