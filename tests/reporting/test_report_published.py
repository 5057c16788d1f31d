"""The page's section on the paper: its numbers beside ours, through real files."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pandas as pd
import pytest
from beside_paper import as_printed, plan_beside, rows_beside
from site_pages import page_text

from puoc.analysis.compare import compare
from puoc.analysis.paper.verdicts import STATES
from puoc.reporting.site import build
from puoc.store.plans import TablePlan


def lay_out(root: Path, plan: TablePlan, rows: pd.DataFrame | None) -> None:
    paths = [root / "work/plan/tables" / f"{plan.table}.json", root / "results/tables" / f"{plan.table}.parquet"]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
    paths[0].write_text(json.dumps(plan.to_json()))
    if rows is not None:
        rows.assign(table=plan.table, config_source="paper", prior=None, prior_alpha=None, alpha=0.5).to_parquet(
            paths[1]
        )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two printed tables run, one of them on other data and with a failure; one planned and not run."""
    root = tmp_path_factory.mktemp("site")
    shift = plan_beside("shift", 6, only=["n=1", "n=2"])
    score = as_printed("shift")
    rows = rows_beside(shift, lambda *at: "failed" if at[:2] == ("pan", "n=2") else score(*at), n_pos_lab=250)
    lay_out(root, shift, rows)
    stand_in = plan_beside("abnormal", 3, dataset="elpv")
    lay_out(root, stand_in, rows_beside(stand_in, as_printed("abnormal")))
    lay_out(root, plan_beside("cntrs"), None)
    compare(root)
    build(root)
    return root


def section(root: Path) -> str:
    text = page_text(root, "paper.html")
    start = text.index('aria-labelledby="paper"')
    return text[start : text.index("</section>", start)]


def cells_of(table: str) -> list[list[str]]:
    """Texts of the cells of an HTML table by row, a line break as a blank."""
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.S)
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]
    return [[unescape(" ".join(re.sub(r"<[^>]+>", " ", cell).split())) for cell in row] for row in found]


def grid(root: Path, title: str) -> list[list[str]]:
    text = section(root)
    start = text.index(f"<summary>{title}")
    return cells_of(text[start : text.index("</table>", start)])


def test_printed_numbers_stand_beside_ours_with_a_verdict(site: Path) -> None:
    rows = {row[0]: row[1:] for row in grid(site, "shift beside our_shift")}
    assert rows["Row"] == ["n=1", "n=2", "n=3", "n=4"]
    assert rows["PU-CSI"] == [
        "0.73 0.73 ± 0.00 reproduced",
        "0.76 0.76 ± 0.00 reproduced",
        "0.70 not run",
        "0.70 not run",
    ]
    assert rows["PAN"][1] == "0.79 not run"
    assert "<strong>PAN n=2</strong>: 6 failed: why failed" in section(site)
    assert "<strong>all cells</strong>: not as published: 250 labelled positives (2500)" in section(site)


def test_what_the_paper_marks_is_marked(site: Path) -> None:
    text = section(site)
    assert '<span class="best holm">0.76</span>' in text  # OC-SVM at n=1 is bold and underlined
    assert "underlined by the paper: confirmed, after Holm" in text or "underlined by the paper: not confirmed" in text


def test_counts_of_verdicts_add_up(site: Path) -> None:
    rows = cells_of(section(site)[: section(site).index("</table>")])
    assert rows[0] == ["Table", "Numbers", *(state.capitalize() for state in STATES), "Not as published"]
    by_name = {row[0]: [int(text or 0) for text in row[1:]] for row in rows[1:]}
    assert len(by_name) == 12
    assert by_name["shift beside our_shift"] == [40, 19, 0, 0, 0, 21, 19]
    assert by_name["abnormal beside our_abnormal"] == [10, 0, 0, 0, 10, 0, 0]
    assert by_name["cntrs beside our_cntrs"] == [40, 0, 0, 0, 0, 40, 0]
    assert sum(row[0] for row in by_name.values()) == 571
    assert all(row[0] == sum(row[1:6]) for row in by_name.values())


def test_void_and_not_run_say_why(site: Path) -> None:
    assert "elpv stands in for abnormal1001" in section(site)
    assert "Table cntrs of the paper; our_cntrs was not run." in section(site)
    assert "Table ova of the paper; no table of this plan is compared with it." in section(site)
    assert not re.search(r"\bnan\b|\bNone\b", re.sub(r"<[^>]+>", " ", section(site)))


def test_claims_are_shown_by_both_sides(site: Path) -> None:
    text = section(site)
    assert "By the paper's own numbers: 27 hold, 11 fail, 1 not decided, 10 not printed" in unescape(text)
    rows = {row[0].rsplit("; ", 1)[1]: row for row in cells_of(text[text.index("Claims (") :])[1:]}
    assert rows["named_drocc_sota"][5].startswith("fails (10 hold, 5 fail)")
    assert rows["named_drocc_sota"][6] == "not run"
    # on held-out rows OC-SVM is behind PAN, and a claim of two tables that fails in one fails
    assert rows["shift_svm_n1"][6].startswith("fails (0 hold, 1 fail, 1 not run) our_shift; against: oc_svm")
    assert rows["shift_pu_oc"][6].startswith("not decided (")


def test_a_table_taken_out_of_the_plan_is_not_run_again(site: Path, tmp_path: Path) -> None:
    for part in ("work", "results"):
        for path in (site / part).rglob("*.*"):
            if path.stem != "our_shift":
                target = tmp_path / path.relative_to(site)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
    compare(tmp_path)
    build(tmp_path)
    assert "our_shift" not in section(tmp_path)
    assert "<summary>shift: not run</summary>" in section(tmp_path)


def test_each_number_of_ours_leads_to_its_passport(site: Path) -> None:
    cells = re.findall(
        r'<td class="num" title="[^"]*"><span[^>]*>[^<]*</span><br>(.*?)<span class="verdict', section(site)
    )
    ours = [cell for cell in cells if cell]
    linked = [re.match(r'<a href="(passports/[^"#]+)#(e\d+-c\d+)">', cell) for cell in ours]
    assert len(ours) > 10
    assert all(linked)
    for page, anchor in {(link[1], link[2]) for link in linked if link}:
        assert f'id="{anchor}"' in (site / "reports" / page).read_text(), (page, anchor)
