"""What the pages of the results site say, through real files."""

from __future__ import annotations

import itertools
import json
import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from site_pages import page_text
from test_report import cell_plan, lay_out, plan_of, rows_of, whole_site

from puoc.analysis.compare import compare
from puoc.analysis.selection.surface import SurfaceRow
from puoc.records import Prior
from puoc.reporting.page.format import DASH, seconds
from puoc.reporting.page.importance import importances
from puoc.reporting.page.metrics import ChangesView
from puoc.reporting.page.places import file_name
from puoc.reporting.site import build, builder
from puoc.reporting.site.curves import Series, curve
from puoc.reporting.site.standings import best_names
from puoc.reporting.tracking.report_links import link_report


def texts(html: str) -> str:
    html = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    whole_site(folder)
    return folder


def test_the_map_has_the_best_entry_of_each_cell_and_whether_it_is_ahead(root: Path) -> None:
    text = page_text(root)
    section = texts(text[text.index('id="map"') : text.index('id="overview"')])
    assert "Over alpha" in section
    assert "Over classes and data" in section
    assert "class 0 nnpu 0.79 PU, not decided class 1 pu_svm 0.82 PU-OC, not decided" in section  # nnpu has holes
    assert "later digits 3 cells, not run" in section
    cell = re.search(r'<a class="map-cell ([^"]*)" href="(passports/[^"]*)"', text)
    assert cell is not None
    assert cell[2] == "passports/alpha.html#e4-c0"


def test_a_passport_has_trials_seeds_digests_versions_and_commands(root: Path) -> None:
    text = page_text(root, "passports/ova.html")
    of_table = text[text.index('<h2 id="shared">') : text.index('<h2 id="e0">')]
    shared = texts(of_table + text[text.index('<h2 id="e1">') : text.index('id="e1-c0"')])
    for words in ("digest of the data data", "code digest c", "digest of the draws d", "torch 2.6", "device cpu"):
        assert words in shared
    own = texts(text[text.index('id="e1-c0"') : text.index('id="e1-c1"')])
    assert "pu_svm, class 0: 0.78 ± 0.01" in own or "pu_svm, class 0: 0.78 ± 0.02" in own
    assert "seeds 0 to 9" in own
    assert "puoc show 'ova/class 0/pu_svm'" in own
    assert "tags.member_of LIKE '%|ova/class 0/pu_svm|%'" in own
    assert "trial-ova-pu_svm-0-9 fit-ova-pu_svm-0-9" in texts(
        text[text.index('id="e1-c0-trials"') :].partition("</tbody>")[0]
    )
    failed = texts(text[text.index('id="e4-c2"') : text.index('id="e4-c3"')])
    assert "7 scored, 3 failed" in failed
    assert "seeds 3 to 9" in failed


def test_the_leaderboard_has_every_number_with_its_uncertainty(root: Path) -> None:
    text = page_text(root, "leaderboard.html")
    lines = re.findall(r"<tr.*?</tr>", text[text.index("<tbody>") :], re.S)
    summary = pd.read_parquet(root / "results/compare/summary.parquet")
    assert len(lines) == (summary["n"] > 0).sum()
    assert f"{(summary['n'] == 0).sum()} planned numbers have no value yet. Each value" in texts(text)
    first = texts(lines[0])
    assert first == "nnpu 0.822 ± 0.009 1 (1 to 5 of 5) alpha average digits PU 0.33 / 0.67 pu_svm 3 0.100"
    references = [texts(line) for line in lines if "<td>reference</td>" in line]
    assert references
    assert not any(" of 5)" in line for line in references)  # no rank
    for line in lines:
        assert re.search(r'data-sort="0\.\d{4}"', line)


def test_what_numbers_share_is_said_once(root: Path) -> None:
    text = texts(page_text(root, "passports/ova.html"))
    for words in ("digest of the data data", "digest of the draws d", "torch 2.6"):
        assert text.count(words) == 1
    plan = plan_of("ova", seeds=list(range(10)))
    assert text.count("classes positive") == len(plan["cells"])


def test_passports_list_no_trial_that_was_not_run(tmp_path: Path) -> None:
    plan = plan_of("half", seeds=[0, 1])
    rows = rows_of(plan)
    away = (rows["entry"] == "nnpu") | ((rows["entry"] == "pu_svm") & (rows["cell"] == "class 1"))
    rows.loc[away, ["status", "auc", "fit_seconds", "torch_version"]] = ["missing", None, None, None]
    lay_out(tmp_path, plan, rows)
    compare(tmp_path)
    build(tmp_path)
    text = page_text(tmp_path, "passports/half.html")
    for trial, left_out in zip(rows["trial_id"], away, strict=True):
        assert (f"<td>{trial}</td>" in text) != left_out
    assert "missing" not in texts(text)
    assert texts(text).count("torch 2.6") == 1  # an entry without a fit does not keep it from the shared facts
    own = texts(text[text.index('id="e1-c1"') : text.index('id="e1-c2"')])
    assert "2 not run" in own
    assert "puoc" not in own  # nothing to show or recompute


def test_a_passport_names_no_command_for_records_of_other_code(tmp_path: Path) -> None:
    """The command compares a fit only with a record of the present code."""
    plan = plan_of("old", seeds=[0, 1])
    rows = rows_of(plan)
    rows["record_fit_id"] = None
    of_nnpu, in_part = rows["entry"] == "nnpu", (rows["entry"] == "pu_svm") & (rows["seed"] == 0)
    rows.loc[of_nnpu | in_part, "record_fit_id"] = "old-" + rows["fit_id"]
    lay_out(tmp_path, plan, rows)
    compare(tmp_path)
    build(tmp_path)
    text = texts(page_text(tmp_path, "passports/old.html"))
    places = {f"{row.cell}/{row.entry}" for row in rows[rows["status"] == "ok"].itertuples()}
    assert any(place.endswith("/nnpu") for place in places)
    for place in places:
        assert (f"puoc ledger verify --place 'old/{place}'" in text) != place.endswith("/nnpu")
    numbers_of_nnpu = len({place for place in places if place.endswith("/nnpu")}) + 1  # and the average
    assert text.count("so puoc ledger verify compares none of these fits") == numbers_of_nnpu
    words = set(text.split())
    assert set(rows["record_fit_id"].fillna(rows["fit_id"])[rows["status"] == "ok"]) <= words
    assert not set(rows["fit_id"][rows["record_fit_id"].notna()]) & words


def test_the_leaderboard_offers_each_metric_once(root: Path) -> None:
    names = re.search(r'<select name="metric">(.*?)</select>', page_text(root, "leaderboard.html"))
    assert names is not None
    offered = re.findall(r'<option value="([^"]*)">([^<]*)<', names[1])
    assert offered[0] == ("auc", "AUC")
    assert len({label.lower() for _, label in offered}) == len(offered)


def test_every_number_of_the_leaderboard_is_that_of_the_results(root: Path) -> None:
    text = page_text(root, "leaderboard.html")
    lines = re.findall(r"<tr.*?</tr>", text[text.index("<tbody>") :], re.S)
    cells = [[texts(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", line, re.S)] for line in lines]
    shown = {(c[3], c[4], c[0].split()[0]): (c[1], c[8]) for c in cells}
    summary = pd.read_parquet(root / "results/compare/summary.parquet")
    for row in summary[(summary["n"] > 0) & (summary["cell"] != "average")].itertuples():
        trials = pd.read_parquet(root / f"results/tables/{row.table}.parquet")
        auc = trials.loc[(trials["entry"] == row.entry) & (trials["cell"] == row.cell), "auc"].dropna()
        assert shown[row.table, row.cell, row.entry] == (f"{auc.mean():.3f} ± {auc.std():.3f}", str(len(auc)))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, DASH),
        (0.0, "0"),
        (0.00303, "0.00303"),
        (0.00001234, "1e-05"),
        (0.1, "0.100"),
        (25.31, "25.3"),
        (1234.5, "1234"),
    ],
)
def test_no_time_is_shown_as_zero_seconds(value: float | None, text: str) -> None:
    assert seconds(value) == text


def test_long_lists_of_best_entries_are_counted() -> None:
    entries = [SimpleNamespace(entry=SimpleNamespace(label=name)) for name in "abcd"]
    assert best_names(entries[:3]) == "a, b, c"  # type: ignore[arg-type]
    assert best_names(entries) == "a, b and 2 others"  # type: ignore[arg-type]


def test_the_map_says_which_best_entries_are_below_chance(tmp_path: Path) -> None:
    plan = plan_of("low", seeds=[0, 1])
    rows = rows_of(plan)
    rows.loc[rows["cell"] == rows["cell"].iloc[0], "auc"] *= 0.1
    lay_out(tmp_path, plan, rows)
    compare(tmp_path)
    build(tmp_path)
    assert page_text(tmp_path).count("below chance</span>") == 1


def test_a_method_has_its_row_over_all_tables(root: Path) -> None:
    text = texts(page_text(root, "methods/nnpu.html"))
    assert "PU" in text
    assert "loss is <nan>" in text  # its failures
    assert "Planned and not run: later" in text
    assert "Curves over cells" in text
    assert "class 0: 0.79" in text
    assert "extends oc_svm" in texts(page_text(root, "methods/pu_svm.html"))
    assert "extended by pu_svm" in texts(page_text(root, "methods/oc_svm.html"))


def test_the_page_of_methods_has_elo_ratings_of_all_entries_but_references(root: Path, tmp_path: Path) -> None:
    assert 'id="elo"' not in page_text(root, "methods.html")  # too few tables
    for name in "abcde":
        plan = plan_of(name, seeds=[0, 1])
        lay_out(tmp_path, plan, rows_of(plan))
    compare(tmp_path)
    build(tmp_path)
    text = page_text(tmp_path, "methods.html").partition('id="elo"')[2]
    rows = [
        texts(row).replace("\N{MINUS SIGN}", "-").split()
        for row in re.findall(r'<tr><th scope="row">.*?</tr>', text, re.S)
    ]
    rated = {row[0]: int(row[2]) for row in rows}
    summary = pd.read_parquet(tmp_path / "results/compare/summary.parquet")
    assert set(rated) == set(summary.loc[summary["rank"].notna(), "entry"])
    assert sum(rated.values()) / len(rated) == pytest.approx(1000, abs=1)
    assert list(rated.values()) == sorted(rated.values(), reverse=True)
    assert all(int(row[3]) <= int(row[2]) <= int(row[5]) for row in rows)  # ELO, LOW to HIGH


def test_a_dataset_has_a_card(root: Path) -> None:
    text = texts(page_text(root, "datasets/digits.html"))
    assert "rows 1,797" in text
    assert "rows are vectors of 64 numbers" in text
    assert "digest data" in text
    assert "not known before the data are prepared" in text
    assert "Tables on this dataset" in text


def test_a_sweep_has_its_surface_regret_and_importance(root: Path) -> None:
    text = texts(page_text(root, "sweeps/pu_svm.html"))
    for words in ("Surface", "Regret", "Importance of the hyperparameters", "best on test (reference)"):
        assert words in text


def test_the_importance_of_a_hyperparameter_is_its_share_of_the_variance() -> None:
    rows = [
        SurfaceRow(tune="t", config_id=f"{a}{b}", params=json.dumps({"a": a, "b": b, "same": 1}), is_published=False,
                   n_val=1, val=a + 0.1 * b, val_se=None, n_test=0, test=None, test_se=None)
        for a in (0, 1) for b in (0, 1)
    ]  # fmt: skip
    first, second = importances(rows)
    assert (first.name, second.name) == ("a", "b")
    assert first.share == pytest.approx(0.25 / (0.25 + 0.0025))
    assert first.share + second.share == pytest.approx(1)
    assert first.values == [("0", pytest.approx(0.05), 2), ("1", pytest.approx(1.05), 2)]
    assert importances(rows[:2]) == []


def test_pages_of_what_is_no_longer_planned_are_removed_and_other_files_are_kept(tmp_path: Path) -> None:
    for name in ("first", "second"):
        lay_out(tmp_path, plan_of(name, seeds=[0, 1]), rows_of(plan_of(name, seeds=[0, 1])))
    compare(tmp_path)
    build(tmp_path)
    assert "Every planned number has a value. Each value leads" in texts(page_text(tmp_path, "leaderboard.html"))
    configs = page_text(tmp_path, "methods/pu_svm.html").partition('id="configurations"')[2]
    assert texts(configs).count("first, second") == 1  # the same configuration in two tables
    (tmp_path / "reports/tables/notes.txt").write_text("mine")
    (tmp_path / "work/plan/tables/second.json").unlink()
    compare(tmp_path)
    build(tmp_path)
    left = sorted(path.name for path in (tmp_path / "reports/tables").iterdir())
    assert left == ["first.html", "notes.txt"]
    assert "second" not in page_text(tmp_path, "assets/search.js")


def test_a_curve_leaves_gaps_where_there_is_no_value() -> None:
    drawn = curve("t", ["a", "b", "c", "d"], [Series("x", "fam-oc", [0.5, None, 0.7, 0.8], [None, None, 0.1, 0.1])])
    assert drawn is not None
    (line,) = drawn.lines
    assert line.path.count("M") == 2
    assert len(line.marks) == 3
    assert all(drawn.top <= mark.low >= mark.y >= mark.high for mark in line.marks)
    assert curve("t", ["a"], [Series("x", "fam-oc", [0.5], [None])]) is None


def test_a_curve_has_round_ticks_within_its_axis() -> None:
    for values in ([0.9123, 0.9871], [0.5, 1.0], [0.16, 0.31], [0.9991, 0.9993]):
        drawn = curve("t", ["a", "b"], [Series("x", "fam-oc", values, [None, None])])
        assert drawn is not None
        marks = [float(text) for _, text in drawn.y_ticks]
        assert 2 <= len(marks) <= 6
        steps = {round(high - low, 6) for low, high in itertools.pairwise(marks)}
        assert len(steps) == 1  # not rounded to unequal steps
        assert all(drawn.top <= at <= drawn.bottom for at, _ in drawn.y_ticks)


def test_the_page_of_a_method_lists_a_table_without_its_trials_as_planned(tmp_path: Path) -> None:
    plan = plan_of("half", seeds=[0, 1])
    rows = rows_of(plan)
    rows.loc[rows["entry"] == "nnpu", ["status", "auc", "fit_seconds"]] = ["missing", None, None]
    rows.loc[(rows["entry"] == "pu_svm") & (rows["cell"] != "class 0"), ["status", "auc"]] = ["missing", None]
    lay_out(tmp_path, plan, rows)
    compare(tmp_path)
    build(tmp_path)
    assert "No table with this method was run. Planned and not run: half." in texts(
        page_text(tmp_path, "methods/nnpu.html")
    )
    line = texts(page_text(tmp_path, "methods/pu_svm.html"))
    assert re.search(r"class 0: 0\.\d\d ; \d+ not run", line)


def test_entries_of_a_table_lead_to_their_methods(root: Path) -> None:
    text = page_text(root, "tables/ova.html")
    assert '<th scope="row"><a href="../methods/pu_svm.html">pu_svm</a>' in text


def test_sentences_do_not_run_together(root: Path) -> None:
    inline = re.compile(r"</?(?:a|b|em|i|span|strong)\b[^>]*>")
    pages = {path.name: path.read_text(encoding="utf-8") for path in sorted((root / "reports").rglob("*.html"))}
    changes = ChangesView([("f1", "F1")], [], 6, [("f1", 2, 6)])
    environment = builder._environment()
    metrics: Any = environment.get_template("metrics.html.j2").module
    assert "f1 in 2 of 6. Best means" in " ".join(metrics.changes_section(changes).split())
    for name, page in pages.items():
        text = re.sub(r"<(script|style|code)\b.*?</\1>", " ", page, flags=re.S)
        assert re.findall(r"\w+\.[A-Z][a-z]+ ", unescape(re.sub(r"<[^>]+>", " ", inline.sub("", text)))) == [], name


def test_names_of_pages_are_plain_and_differ() -> None:
    assert file_name("one_vs_all") == "one_vs_all"
    assert file_name("a/b") != file_name("a b")
    assert re.fullmatch(r"[\w.-]+", file_name("../é"))
    assert not file_name("../é").startswith(".")


def test_the_report_learns_the_experiments_of_the_store_and_keeps_them(tmp_path: Path) -> None:
    link_report(tmp_path, {"7": "alpha_sweep"})
    assert not (tmp_path / "reports").exists()  # there is no report
    lay_out(tmp_path, plan_of("alpha", seeds=[0, 1]), rows_of(plan_of("alpha", seeds=[0, 1])))
    compare(tmp_path)
    build(tmp_path)
    assert page_text(tmp_path, "assets/mlflow.js") == "window.PUOC_MLFLOW={};\n"
    for ids in ({"7": "alpha_sweep"}, {"8": "alpha_sweep", "2": "tune/one_vs_all"}):
        link_report(tmp_path, ids)
        build(tmp_path)
        text = page_text(tmp_path, "assets/mlflow.js")
        assert json.loads(text.partition("=")[2].rstrip(";\n")) == {name: number for number, name in ids.items()}


def test_cells_that_several_tables_share_have_their_winners_counted(tmp_path: Path) -> None:
    shares: dict[str, list[str]] = {}
    for at in range(4):
        plan = plan_of(f"t{at}", scenario="alpha_sweep", seeds=[0, 1, 2])
        lay_out(tmp_path, plan, rows_of(plan, at) if at < 3 else None)
    compare(tmp_path)
    build(tmp_path)
    summary = pd.read_parquet(tmp_path / "results/compare/summary.parquet")
    best = summary[(summary["rank"] == 1) & ~summary["is_average"]]
    for cell, entry in zip(best["cell"], best["entry"], strict=True):
        shares.setdefault(str(cell), []).append(str(entry))
    said = texts(page_text(tmp_path))
    for cell, entries in shares.items():
        assert len(entries) == 3  # the fourth table was not run
        most = max(sorted(set(entries)), key=entries.count)
        line = re.search(rf"{cell} : highest mean ([^;]*); most often (\S+) (\d)", said)
        assert line is not None
        assert line[1].endswith(" of 3 tables")
        assert sum(int(n) for n in re.findall(r"(?:OC|PU|PU-OC) (\d)", line[1])) == 3
        assert (line[2], int(line[3])) == (most, entries.count(most))
    assert len(shares) == 3


def test_the_overview_says_how_long_all_fits_took_and_which_version_computed_them(tmp_path: Path) -> None:
    plan = plan_of("one", seeds=[0, 1])
    rows = rows_of(plan).assign(fit_seconds=250.0, computed_by="puoc 1.2, commit 0a")
    rows["fit_id"] = rows["entry"] + rows["seed"].astype(str)  # cells share fits
    lay_out(tmp_path, plan, rows)
    compare(tmp_path)
    build(tmp_path)
    said = texts(page_text(tmp_path))
    assert f"all fits together: {250.0 * rows['fit_id'].nunique() / 60:,.1f} minutes of one worker" in said
    assert f"by puoc 1.2, commit 0a: {len(rows)} trials" in said


def test_a_number_says_told_alpha_on_every_page(tmp_path: Path) -> None:
    for table, scenario in (("ova", "one_vs_all"), ("alpha", "alpha_sweep")):
        plan = plan_of(table, scenario=scenario, published="ova" if table == "ova" else None)
        for entry in ("pu_svm", "nnpu"):
            plan["entries"][entry]["prior"] = Prior(kind="true").canonical()
        plan["cells"] = [cell_plan(f"pos={at}").canonical() for at in range(3)]
        lay_out(tmp_path, plan, rows_of(plan).assign(metrics='{"average_precision": 0.5}'))
    compare(tmp_path)
    build(tmp_path)
    seen, titles = set[str](), set[str]()
    for page in sorted((tmp_path / "reports").rglob("*.html")):
        if page.name == "methods.html":  # times, and ratings over several tables
            continue
        html = re.sub(r"<caption>.*?</caption>", "", page.read_text(), flags=re.S)
        html = re.sub(r"<details class=\"trials\">.*?</details>", "", html, flags=re.S)
        for shown in re.findall(r"<tr\b.*?</tr>|<h3>.*?</h3>|<span class=\"who.*?</a>|\"name\":\"[^\"]*\"", html, re.S):
            said = texts(shown)
            if re.search(r"\b(pu_svm|nnpu)\b", said) and (re.search(r"\b\d\.\d\d", said) or '"name"' in shown):
                configuration = "<code>" in shown  # a line of hyperparameters, not of results
                rival = page.name == "leaderboard.html" and not said.startswith(("pu_svm", "nnpu"))
                assert configuration or rival or "told alpha" in said, f"{page.name}: {said}"
                if page.parent.name == "methods" and not configuration:  # its entries beside the best ones
                    assert not re.search(r"\b(pu_svm|nnpu)\b(?! \(told alpha\))", said), f"{page.name}: {said}"
                seen.add(page.relative_to(tmp_path / "reports").parts[0])
        for title in re.findall(r'\btitle="([^"]*)"', html):
            for before, mark in re.findall(r"\b(pu_svm|nnpu)\b( \(told alpha\))?[^;]*\b0\.\d\d", title):
                assert mark, f"{page.name}: {before} in {title}"
                titles.add(page.name)
    assert {"index.html", "leaderboard.html", "methods", "passports", "tables"} <= seen
    assert {"index.html", "paper.html"} <= titles  # of the map, and of the wins of families
    lines = [line for line in re.findall(r"<tr.*?</tr>", page_text(tmp_path, "paper.html"), re.S) if "PU-SVM" in line]
    compared = [title for line in lines for title in re.findall(r'title="(n = [^"]*)"', line)]
    assert compared
    assert all("; told alpha" in title for title in compared)
    paper = texts(page_text(tmp_path, "paper.html"))
    assert "PU-SVM: our fits are told alpha" in paper.replace(" :", ":")


def test_a_comparison_of_an_earlier_plan_does_not_stop_the_report(tmp_path: Path) -> None:
    """Entries and tables may be taken out of params.yaml after the comparison was written."""
    whole_site(tmp_path)
    plans = tmp_path / "work" / "plan" / "tables"
    plan = json.loads((plans / "ova.json").read_text())
    for entry in ("pu_svm", "nnpu"):
        del plan["entries"][entry]
    (plans / "ova.json").write_text(json.dumps(plan))
    build(tmp_path)
    (plans / "alpha.json").unlink()
    assert build(tmp_path).exists()
