"""From planned tables and recorded rows to results/compare and the page, through real files."""

from __future__ import annotations

import json
import posixpath
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from plans import cell_plan, sweep_plan
from site_pages import page_text, site_text

from puoc.analysis.compare import compare
from puoc.reporting.page.format import p_value, signed
from puoc.reporting.page.tables import constant_notes
from puoc.reporting.site import build

METHODS = {
    "oc_svm": ("oc", None, 0.70),
    "pu_svm": ("pu_oc", "oc_svm", 0.78),
    "drocc": ("oc", None, 0.66),
    "pu_drocc": ("pu_oc", "drocc", 0.67),
    "nnpu": ("pu", None, 0.80),
    "pn_oracle": ("pu", None, 0.93),
}


def plan_of(table: str, **changes: Any) -> dict[str, Any]:
    entries = {
        name: {"method": "naive" if name == "pn_oracle" else name, "kind": kind, "twin": twin}
        | {"labels": "oracle" if name == "pn_oracle" else "pu", "numerics": "fp32", "encoder": None}
        | {"prior": None, "code_digest": "c", "skip": None}
        for name, (kind, twin, _) in METHODS.items()
    }
    plan: dict[str, Any] = {"table": table, "scenario": "one_vs_all", "dataset": "digits", "title": f"Title of {table}"}
    plan |= {"data_digest": "data", "draw_digest": "d", "scoring_digest": "s"}
    plan |= {"configs": "published", "cells": [cell_plan(f"class {at}").canonical() for at in range(3)]}
    return plan | {"entries": entries, "seeds": list(range(10))} | changes


def rows_of(plan: dict[str, Any], seed: int = 0) -> pd.DataFrame:
    gen = np.random.default_rng(seed)
    rows = []
    for entry, asked in plan["entries"].items():
        for at, cell in enumerate(plan["cells"]):
            for repeat in plan["seeds"]:
                auc = float(np.clip(METHODS[entry][2] + 0.03 * at + gen.normal(0, 0.015), 0, 1))
                alpha = (at + 1) / 5 if plan["scenario"] == "alpha_sweep" else 0.5
                key = f"{plan['table']}-{entry}-{at}-{repeat}"
                rows.append(
                    {key: plan[key] for key in ("table", "scenario", "dataset", "configs")}
                    | {"entry": entry, **{key: asked[key] for key in ("method", "kind", "twin", "labels")}}
                    | {"config_source": "paper, table 12", "params": '{"nu": 0.5}', "numerics": "fp32"}
                    | {"encoder": None, "cell": cell["name"], "cell_index": at, "seed": repeat}
                    | {"pos": "[0]", "neg": "[1]", "neg_test": "[1]", "n_pos_lab": 100, "n_pos_unl": int(200 * alpha)}
                    | {"n_neg_unl": int(200 - 200 * alpha), "alpha": alpha, "prior_alpha": alpha, "alpha_hat": None}
                    | {
                        "status": "ok",
                        "reason": None,
                        "attempts": 1,
                        "auc": auc,
                        "auc_train_pool": min(auc + 0.01, 1.0),
                    }
                    | {"auc_val_pu": 0.6, "fit_seconds": 0.1, "peak_memory": 1000, "n_lanes": 10, "lane_map": "loop"}
                    | {"device": "cpu", "torch_version": "2.6", "fit_id": f"fit-{key}", "trial_id": f"trial-{key}"}
                    | {"code_digest": "c", "draw_digest": "d", "scoring_digest": "s"}
                )
    return pd.DataFrame(rows)


def lay_out(root: Path, plan: dict[str, Any], rows: pd.DataFrame | None) -> None:
    paths = [root / "work/plan/tables" / f"{plan['table']}.json", root / "results/tables" / f"{plan['table']}.parquet"]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
    paths[0].write_text(json.dumps(plan))
    if rows is not None:
        rows.to_parquet(paths[1])


def set_where(rows: pd.DataFrame, entry: str, values: dict[str, Any], **where: Any) -> None:
    chosen = rows["entry"] == entry
    for column, wanted in where.items():
        chosen &= rows[column].isin(wanted)
    for column, value in values.items():
        rows.loc[chosen, column] = value


SCRIPTS = ("unpack", "search", "site", "sortable.min", "leaderboard", "figures", "mlflow", "passports")
LOST = {"auc": None, "auc_train_pool": None}


def lay_out_site(root: Path) -> None:
    """A run table with every kind of hole, a sweep and a table that was not run."""
    plan = plan_of("ova", title="One <b>vs</b> all & friends")
    rows = rows_of(plan)
    set_where(rows, "nnpu", LOST | {"status": "failed", "reason": "loss is <nan>"}, cell=["class 1"])
    set_where(rows, "nnpu", LOST | {"status": "failed", "reason": "out of memory"}, cell=["class 2"], seed=[0, 1, 2])
    set_where(rows, "drocc", LOST | {"status": "skipped", "reason": "drocc needs images"})
    lay_out(root, plan, rows)
    sweep = plan_of("alpha", scenario="alpha_sweep", seeds=[0, 1, 2])
    lay_out(root, sweep, rows_of(sweep, 1))
    lay_out(root, plan_of("later"), None)


def sweep_site(root: Path) -> None:
    """A sweep of three configurations, of which the best one has a hole."""
    val, test = [], []
    for config, shift in {"a": 0.0, "b": 0.02, "c": 0.05}.items():
        for repeat in range(3):
            key = {"entry": "pu_svm", "config_id": config, "cell": "class 0", "seed": repeat}
            key |= {"fit_id": f"{config}{repeat}", "trial_id": f"{config}{repeat}"}
            failed = config == "c" and repeat == 0
            val.append(
                key
                | {"method": "pu_svm", "params": json.dumps({"lam": config}), "is_published": config == "a"}
                | {"status": "failed" if failed else "ok", "reason": "diverged" if failed else None, "auc_val_pu": 0.6}
            )
            test.append(key | {"auc": None if failed else 0.7 + shift + repeat / 100})
    for part, rows in {"val": val, "test": test}.items():
        (root / "results/tune" / part).mkdir(parents=True)
        pd.DataFrame(rows).to_parquet(root / "results/tune" / part / "pu_svm.parquet")
    (root / "work/plan/tune").mkdir(parents=True)
    planned = sweep_plan("pu_svm", "one_vs_all", "digits", "tiny")
    (root / "work/plan/tune/pu_svm.json").write_text(json.dumps(planned.to_json()))
    (root / "work/configs/selected").mkdir(parents=True)
    chosen = {"pu_svm": {"params": {"lam": "a"}, "source": "published: none beat it", "config_id": "a"}}
    (root / "work/configs/selected/ova.json").write_text(json.dumps(chosen))


def whole_site(root: Path) -> None:
    """The pages of both."""
    lay_out_site(root)
    sweep_site(root)
    compare(root)
    build(root)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site with its comparison and its page, made once. To be read, not changed."""
    root = tmp_path_factory.mktemp("built")
    lay_out_site(root)
    compare(root)
    assert build(root) == index(root)
    return root


@pytest.fixture
def site(built: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return shutil.copytree(built, tmp_path, dirs_exist_ok=True)


def index(root: Path) -> Path:
    return root / "reports" / "index.html"


def all_bytes(root: Path) -> dict[str, bytes]:
    reports = root / "reports"
    return {str(path.relative_to(reports)): path.read_bytes() for path in reports.rglob("*") if path.is_file()}


class Page(HTMLParser):
    """The page as a browser would build it, as far as the tests ask."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.cells: list[dict[str, str]] = []  # of results tables
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids += [given["id"]] if "id" in given else []
        if tag == "a":
            self.links.append(given["href"])
        if "src" in given:
            self.loaded.append(given["src"])
        if tag == "td":
            self._titled = "title" in given
        if tag == "td" and self._titled:
            self.cells.append({"title": given["title"], "text": "", "class": ""})
        if self._open and self._open[-1] == "td" and tag in ("a", "span") and self._titled:
            self.cells[-1]["class"] += " " + given.get("class", "")
        if tag in ("td", "script", "style"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "td" and self._titled:
            self.cells[-1]["text"] += data


def test_the_page_shows_means_failures_gaps_and_what_was_not_run(built: Path) -> None:
    page = Page(site_text(built))
    texts = [cell["text"].strip() for cell in page.cells]
    rows = pd.read_parquet(built / "results/tables/ova.parquet")
    one = rows[(rows["entry"] == "pu_svm") & (rows["cell"] == "class 0")]["auc"]
    assert f"{one.mean():.2f} ± {one.std(ddof=1):.2f}" in texts
    assert "failed (10)" in texts
    assert any(text.endswith("n = 7 of 10") for text in texts)
    assert texts.count("n/a") == 4  # drocc: three cells and the average
    assert texts.count("not run") == len(METHODS) * 4
    assert any("loss is <nan>" in cell["title"] for cell in page.cells)


def test_every_link_of_every_page_has_a_target_and_ids_are_unique(built: Path) -> None:
    reports = index(built).parent
    pages = {path.relative_to(reports).as_posix(): Page(path.read_text("utf-8")) for path in reports.rglob("*.html")}
    assert {"index.html", "leaderboard.html", "paper.html", "tables/ova.html", "passports/ova.html"} <= set(pages)
    assert {"methods/pu_svm.html", "datasets/digits.html", "sweeps.html"} <= set(pages)
    for name, page in pages.items():
        assert len(set(page.ids)) == len(page.ids), name
        for link in page.links:
            path, _, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            assert (reports / target).is_file(), f"{name} links to {link}"
            if anchor:
                assert anchor in pages[target].ids, f"{name} links to {link}"


def test_every_scored_trial_is_in_the_passports_of_its_table(built: Path) -> None:
    for table in ("ova", "alpha"):
        text = page_text(built, f"passports/{table}.html")
        rows = pd.read_parquet(built / f"results/tables/{table}.parquet")
        assert all(f"<td>{trial}</td>" in text for trial in rows["trial_id"])


def test_an_oracle_is_neither_best_nor_marked(built: Path) -> None:
    summary = pd.read_parquet(built / "results/compare/summary.parquet")
    assert summary.loc[summary["labels"] == "oracle", "rank"].isna().all()
    assert summary[(summary["entry"] == "pn_oracle") & (summary["table"] == "ova")]["mean"].min() > 0.9
    text = site_text(built)
    oracle_rows = re.findall(r'<tr class="oracle">\s*<th scope="row"><a[^>]*>pn_oracle.*?</tr>', text, re.S)
    assert len(oracle_rows) >= 3
    assert not any('class="cell best' in row or " holm" in row for row in oracle_rows)


def test_a_mean_over_fewer_seeds_is_not_ranked_above_full_ones(built: Path) -> None:
    summary = pd.read_parquet(built / "results/compare/summary.parquet")
    holed = summary[(summary["table"] == "ova") & (summary["entry"] == "nnpu") & (summary["cell"] == "class 2")].iloc[0]
    assert (holed["n"], holed["n_failed"]) == (7, 3)
    assert np.isnan(holed["rank"])


def test_significant_twins_are_underlined_and_thin_evidence_is_said(built: Path) -> None:
    text = site_text(built)
    section = text[text.index("One &lt;b&gt;vs&lt;/b&gt; all &amp; friends. AUC on held-out") :]
    marked = {
        entry: re.search(rf'<th scope="row"><a[^>]*>{entry}</a> <span.*?</tr>', section, re.S).group().count(' holm"')  # type: ignore[union-attr]
        for entry in METHODS
    }
    assert marked == dict.fromkeys(METHODS, 0) | {"pu_svm": 4}  # three cells and the average
    tests = pd.read_parquet(built / "results/compare/significance.parquet")
    assert (tests[(tests["table"] == "ova") & (tests["entry"] == "pu_svm")]["p_adjusted"] < 0.05).all()
    assert "With 3 seeds no difference in this table can be significant after Holm" in text
    assert "With 10 seeds no difference" not in text


def test_the_pages_load_nothing_from_elsewhere_and_escape_text(built: Path) -> None:
    reports = index(built).parent
    for path in reports.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        loaded = [name.removeprefix("../") for name in Page(text).loaded]
        assert set(loaded) <= {"plotly.min.js", *(f"assets/{one}.js" for one in SCRIPTS)}
        assert all((path.parent / name).is_file() for name in Page(text).loaded)
        assert ("plotly.min.js" in loaded) == ('class="plot"' in text)  # the first page is light
        assert "http://" not in text
        assert "https://" not in re.sub(r"<(dd|ul)>.*?</\1>", "", text, flags=re.S)  # citations may name an address
        assert "<b>vs</b>" not in text
        assert "nan" not in re.sub(r"&lt;nan&gt;", "", text).split()
    assert (reports / "plotly.min.js").stat().st_size > 1_000_000
    assert "One &lt;b&gt;vs&lt;/b&gt; all &amp; friends" in page_text(built)
    assert sum(path.stat().st_size for path in reports.rglob("*") if path.is_file()) < 10_000_000


def test_equal_results_give_equal_bytes_whatever_the_row_order(site: Path) -> None:
    names = ("summary", "significance", "choice", "failures", "verdicts", "claims")
    first = all_bytes(site)
    tables = [(site / f"results/compare/{name}.parquet").read_bytes() for name in names]
    for path in (site / "results/tables").glob("*.parquet"):
        pd.read_parquet(path).sample(frac=1, random_state=3).to_parquet(path)
    compare(site)
    build(site)
    assert all_bytes(site) == first
    assert [(site / f"results/compare/{name}.parquet").read_bytes() for name in names] == tables
    assert not list((site / "results/compare").glob(".*"))


def test_only_planned_tables_and_rows_are_read(site: Path) -> None:
    first = all_bytes(site)
    (site / "results/tables/old.parquet").write_bytes(b"no parquet at all")
    path = site / "results/tables/alpha.parquet"
    rows = pd.read_parquet(path)
    pd.concat([rows, rows.assign(seed=99), rows.assign(entry="gone")]).to_parquet(path)
    compare(site)
    build(site)
    assert all_bytes(site) == first


def test_figures_are_valid_and_follow_the_scenario(built: Path) -> None:
    import plotly.graph_objects as go

    text = site_text(built)
    figures = [json.loads(one) for one in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text)]
    assert len(figures) == 4  # each table, and its ranks
    sweep = go.Figure(figures[0])
    assert sweep.layout.xaxis.title.text == "share of positives in U, alpha"
    assert list(sweep.data[0].x) == pytest.approx([0.2, 0.4, 0.6])
    cells = go.Figure(figures[2])
    assert list(cells.layout.xaxis.ticktext) == ["class 0", "class 1", "class 2"]
    nnpu = next(trace for trace in cells.data if trace.name == "nnpu")
    assert len(nnpu.y) == 2  # class 1 failed throughout
    ranks = go.Figure(figures[3])
    assert list(ranks.data[-1].y) == ["pu_svm", "oc_svm", "pu_drocc"]  # drocc was skipped, nnpu has one whole cell


def section_of(text: str, table: str) -> str:
    return next(part for part in text.split('<section class="table"')[1:] if f"<code>{table}</code>" in part)


def results_rows(section: str) -> dict[str, str]:
    """The rows of the results table of a section, by entry."""
    found = re.findall(r'<tr[^>]*>\s*<th scope="row"><a[^>]*>(\w+)</a> <span class="kind">.*?</tr>', section, re.S)
    return {
        entry: re.search(rf'<th scope="row"><a[^>]*>{entry}</a> <span.*?</tr>', section, re.S).group()
        for entry in found
    }  # type: ignore[union-attr]


def test_no_two_entries_of_a_figure_look_alike_and_twins_share_their_colour(tmp_path: Path) -> None:
    plan = plan_of("ova")
    extra = {"nnpu_conv": "nnpu", "nnpu_long": "nnpu", "pu_svm_wide": "pu_svm", "oc_svm_rbf": "oc_svm"}
    extra |= {f"naive_{at}": "nnpu" for at in range(12)}  # more entries than colours
    plan["entries"] |= {name: plan["entries"][of] for name, of in extra.items()}
    rows = rows_of(plan_of("ova"))
    copies = [rows[rows["entry"] == of].assign(entry=name) for name, of in extra.items()]
    lay_out(tmp_path, plan, pd.concat([rows, *copies]))
    compare(tmp_path)
    build(tmp_path)
    text = site_text(tmp_path)
    figure = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', text).group(1))  # type: ignore[union-attr]
    looks = {trace["name"]: (trace["marker"]["color"], trace["marker"]["symbol"]) for trace in figure["data"]}
    assert len(looks) == len(plan["entries"])
    assert len(set(looks.values())) == len(looks)
    assert looks["nnpu"][0] != looks["nnpu_conv"][0]
    assert looks["oc_svm"] == (looks["pu_svm"][0], f"{looks['pu_svm'][1]}-open")


def test_selected_is_what_a_sweep_chose_and_published_what_the_paper_prints(tmp_path: Path) -> None:
    plan = plan_of("ova", configs="selected")
    plan["entries"]["drocc"]["printed"] = plan["entries"]["pu_svm"]["printed"] = True
    rows = rows_of(plan)
    set_where(rows, "pu_svm", {"config_source": "selected among 3 of 3 configurations"})
    set_where(rows, "oc_svm", {"config_source": "selected_with_unlabelled among 3 of 3 configurations"})
    set_where(rows, "nnpu", {"config_source": "default: the best of 3 of 3 configurations"})
    lay_out(tmp_path, plan, rows)
    lay_out(tmp_path, plan_of("later", configs="selected"), None)
    compare(tmp_path)
    build(tmp_path)
    text = site_text(tmp_path)
    shown = results_rows(section_of(text, "ova"))
    assert list(shown) == list(METHODS)
    for entry, row in shown.items():
        badge = {"pu_svm": "selected", "oc_svm": "selected", "drocc": "published"}.get(entry, "default")
        assert re.findall(r'<span class="kind">(selected|published|default)</span>', row) == [badge]
    assert not re.search(r"selected|published|default", "".join(results_rows(section_of(text, "later")).values()))


def test_all_entries_printed_as_the_best_one_are_bold(tmp_path: Path) -> None:
    plan = plan_of("ova", cells=[cell_plan("class 0").canonical()])
    rows = rows_of(plan)
    for entry, auc in {"oc_svm": 0.8341, "pu_svm": 0.8262, "nnpu": 0.8249, "pn_oracle": 0.8301}.items():
        set_where(rows, entry, {"auc": auc})
    lay_out(tmp_path, plan, rows)
    compare(tmp_path)
    build(tmp_path)
    text = site_text(tmp_path)
    bold = {entry for entry, row in results_rows(section_of(text, "ova")).items() if 'class="cell best' in row}
    assert bold == {"oc_svm", "pu_svm"}  # 0.83 both; nnpu is printed 0.82, and the reference is not ranked
    assert "<td>oc_svm, pu_svm</td>" in text


def test_an_entry_whose_interval_lies_below_chance_is_named_under_its_table(tmp_path: Path) -> None:
    plan = plan_of("ova", seeds=[0, 1, 2, 3])
    rows = rows_of(plan)
    for seed, step in enumerate([-0.03, -0.01, 0.01, 0.03]):  # standard error .0129, reach of the interval .041
        set_where(rows, "nnpu", {"auc": 0.41 + step}, cell=["class 0"], seed=[seed])
        set_where(rows, "drocc", {"auc": 0.47 + step}, cell=["class 0"], seed=[seed])
        set_where(rows, "oc_svm", {"auc": 0.45 + step}, cell=["class 0", "class 2"], seed=[seed])
    lay_out(tmp_path, plan, rows)
    compare(tmp_path)
    build(tmp_path)
    text = site_text(tmp_path)
    assert "<li>nnpu at class 0 ranks worse than chance (0.41 ± 0.01, n = 4)." in text
    both = "class 0 (0.45 ± 0.01, n = 4), class 2 (0.45 ± 0.01, n = 4)"
    assert f"<li>oc_svm ranks worse than chance at {both}." in text
    assert text.count("worse than chance") == 2


def test_a_training_that_came_to_nothing_is_named_with_its_seeds(tmp_path: Path) -> None:
    plan = plan_of("ova")
    rows = rows_of(plan)
    level = {"auc": 0.5, "auc_train_pool": 0.5}
    set_where(rows, "pu_drocc", level, cell=["class 1"], seed=[7, 3])
    set_where(rows, "nnpu", {"auc": 0.5}, cell=["class 0"], seed=[1])  # by chance, by one protocol
    lay_out(tmp_path, plan, rows)
    compare(tmp_path)
    build(tmp_path)
    text = section_of(site_text(tmp_path), "ova")
    assert "<li>pu_drocc at class 1, seed 3, 7: an AUC of exactly .5 on held-out rows and on the training pool" in text
    assert text.count("exactly .5") == 1


def test_the_tests_of_a_table_stand_on_its_page_as_they_were_computed(built: Path) -> None:
    computed = pd.read_parquet(built / "results/compare/significance.parquet").query("table == 'ova' and p == p")
    lines = re.findall(r"<tr[^>]*>.*?</tr>", section_of(site_text(built), "ova"), re.DOTALL)
    assert len(computed) > 1
    assert (computed["p_adjusted_all"] > computed["p_adjusted"]).any()  # more tables than this one have tests
    for test in computed.to_dict("records"):
        head = f'<th scope="row">{test["entry"]} / {test["twin_entry"]}</th><td>{test["cell"]}</td>'
        [line] = [line for line in lines if head in line]
        cells = re.findall(r"<td[^>]*>(.*?)</td>", line, re.DOTALL)
        assert cells[6:8] == [p_value(test["p_adjusted"]), p_value(test["p_adjusted_all"])]
        interval = f"({signed(test['effect_low'], 2)}, {signed(test['effect_high'], 2)})"
        assert cells[12] == f'{signed(test["effect"], 2)} <span class="quiet">{interval}</span>'
        family = f"family of {test['family_size']}, of {test['family_size_all']} in all tables"
        assert cells[14].startswith(f"{test['method']}, {family}")


def test_a_shift_without_an_interval_says_how_many_pairs_it_needs(built: Path) -> None:
    text = site_text(built)
    needs = "(interval needs 6 pairs)"
    assert section_of(text, "ova").count(needs) == 0  # ten pairs
    assert section_of(text, "alpha").count(needs) == 8  # three pairs: two twins, three cells and the average
    assert section_of(text, "later").count(needs) == 0


def test_a_page_without_a_comparison_says_which_stage_is_missing(tmp_path: Path) -> None:
    lay_out_site(tmp_path)
    with pytest.raises(FileNotFoundError, match="compare"):
        build(tmp_path)


def test_nothing_run_yet_still_gives_a_page(tmp_path: Path) -> None:
    lay_out(tmp_path, plan_of("later"), None)
    compare(tmp_path)
    build(tmp_path)
    text = site_text(tmp_path)
    assert "This table was not run." in text
    assert pd.read_parquet(tmp_path / "results/compare/failures.parquet").empty


def test_the_price_of_choosing_without_labels_is_on_the_page(tmp_path: Path) -> None:
    plan = plan_of("ova", configs="selected")
    lay_out(tmp_path, plan, rows_of(plan))
    sweep_site(tmp_path)
    compare(tmp_path)
    choice = pd.read_parquet(tmp_path / "results/compare/choice.parquet").iloc[0]
    assert (choice["selected_config_id"], choice["oracle_config_id"]) == ("a", "b")  # c has a hole: not comparable
    assert choice["regret"] == pytest.approx(0.02)
    assert choice["regret_se"] == pytest.approx(0.0, abs=1e-12)  # b is better by the same on every seed
    failures = pd.read_parquet(tmp_path / "results/compare/failures.parquet")
    assert list(failures["origin"]) == ["tune/pu_svm"]
    build(tmp_path)
    text = site_text(tmp_path)
    assert "published: none beat it" in text
    assert "best on test (reference)" in text


def test_comparing_and_reporting_load_neither_torch_nor_mlflow() -> None:
    heavy = "sys.modules.keys() & {'torch', 'mlflow', 'ray'}"
    code = f"import sys, puoc.analysis, puoc.reporting.site.builder; raise SystemExit(str({heavy} or ''))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


def test_equal_scores_of_user_data_are_reported_though_there_is_no_pool_with_classes() -> None:
    values = {"status": "ok", "entry": "pan", "cell": "mine", "auc_train_pool": np.nan}
    rows = pd.DataFrame([{**values, "auc": auc, "seed": seed} for seed, auc in enumerate((0.5, 0.7, 0.5))])
    (note,) = constant_notes(rows)
    assert note.startswith("pan at mine, seed 0, 2: an AUC of exactly .5 on held-out rows; it probably gives")
