"""Own data go through the whole platform like any dataset, and nothing is said of them that nobody knows."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from own_files import refused
from own_tables import PLAIN, TESTED, ask, computes, does, people, pictures, rows, tables, texts
from site_pages import page_text, site_text

from puoc.analysis.statistics.auc import auc
from puoc.datasets import DATASETS
from puoc.datasets.prepare.arrays import Prepared
from puoc.methods.persistence import model_file as modelfile
from puoc.plan.bind import bind
from puoc.records import FitResult
from puoc.reporting.tracking import project_trials, run_specs
from puoc.reporting.tracking.run_specs import RunSpec
from puoc.run.stages import planned_trials
from puoc.run.sweep.request import HOLDOUT, SweepRequest, resolve_sweep
from puoc.scenarios.drawing.draws import draw, split_rows
from puoc.store.ledger import Ledger
from puoc.store.plan_files import planned_table, planned_tables, read_configs
from puoc.store.plans import SharedRows


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_own_tables_are_planned_run_compared_and_reported(here: Path) -> None:
    tables(here)
    code, said = ask(here, TESTED, "n_pos_lab: 30")
    assert code == 0, said
    assert "mine: 40 labelled positives, 60 unlabelled rows, 40 labelled test rows" in said
    assert "  preprocessing fitted to labelled and unlabelled rows, for every method" in said
    does("fetch", "prepare")
    computes("table")
    does("compare", "report --no-track", "status")
    found = rows(here)
    assert {row["status"] for row in found} == {"ok"}
    assert all(row["auc"] > 0.8 for row in found)
    assert {row["n_unl"] for row in found} == {60}
    for unknown in ("alpha", "n_pos_unl", "n_neg_unl", "neg", "auc_train_pool", "auc_val_pu"):
        assert all(pd.isna(row[unknown]) for row in found), unknown
    [plan] = planned_tables(here)
    assert plan.shared_rows == SharedRows(P=0.75, U=1.0, test=1.0)
    assert plan.redraws
    tests = pd.read_parquet("results/compare/significance.parquet")
    assert tests["p"].notna().all()
    assert "two seeds share 75% of P, 100% of U, 100% of test" in tests["unit_note"][0]
    page = site_text(Path())
    assert "unlabelled rows of unknown classes: 60" in page
    assert "share of positives in U (alpha)" not in page
    assert "label y" not in page
    assert "AUC on held-out test rows" in page
    assert not (here / "reports" / "paper.html").exists()
    links = [path for path in (here / "reports").rglob("*.*") if b"paper.html" in path.read_bytes()]
    assert links == [], "nothing leads to the page on the paper"
    assert "The paper" not in page


def test_without_test_rows_there_is_no_auc_anywhere_and_the_report_says_so(here: Path) -> None:
    tables(here)
    code, said = ask(here, PLAIN, "holdout: 0.25, n_pos_lab: 30")
    assert code == 0, said
    assert "no labelled test rows: only the label-free criterion, and no test of significance" in said
    does("prepare")
    computes("table")
    does("compare", "report --no-track", "status")
    found = rows(here)
    assert all(pd.isna(row["auc"]) and pd.isna(row["auc_train_pool"]) and row["status"] == "ok" for row in found)
    assert all(0.5 < row["auc_val_pu"] < 1 for row in found)
    summary = pd.read_parquet("results/compare/summary.parquet")
    assert set(summary["state"]) == {"untested"}
    assert summary["mean"].isna().all()
    assert summary["rank"].isna().all()
    of_svm = [row["auc_val_pu"] for row in found if row["entry"] == "pu_svm"]
    assert summary.set_index(["entry", "cell"]).loc[("pu_svm", "own"), "mean_val_pu"] == np.mean(of_svm)
    for name, column, note in (
        ("significance", "p", "no labelled test rows"),
        ("protocol", "gain", "no labelled test rows"),
        ("ranks", "average_rank", "no labelled test rows"),
    ):
        table = pd.read_parquet(f"results/compare/{name}.parquet")
        assert table[column].isna().all()
        assert table["note"].str.contains(note).all()
    assert pd.read_parquet("results/compare/evidence.parquet").empty
    page = site_text(Path())
    assert "No labelled test rows, so there is no AUC of positives against negatives." in page
    assert f"{np.mean(of_svm):.2f} ± {np.std(of_svm, ddof=1):.2f}" in page
    assert not list(Path("ledger").rglob("*.npy"))  # no scores, either
    for run in tracked(here):
        assert {"auc_val_pu", "fit_seconds"} <= set(run.metrics)
        assert not {"auc", "auc_train_pool"} & set(run.metrics)
        assert not {"alpha", "n_pos_unl", "n_neg_unl", "neg", "marks"} & set(run.params)


def tracked(root: Path) -> list[RunSpec]:
    """The runs of trials that MLflow ought to have."""
    found = project_trials.trials(project_trials.rows_with_outcome(project_trials.read_results_of_project(root)[0]))
    return [run_specs.trial_spec(trial, None) for trial in found.values()]


@pytest.mark.slow
def test_mlflow_has_the_criterion_and_no_auc(here: Path) -> None:
    tables(here)
    ask(here, PLAIN, "holdout: 0.25", ("seeds: 2", "seeds: 1"), ("[oc_svm, pu_svm]", "[pu_svm]"))
    does("prepare")
    computes("table")
    does("track")
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{here}/mlruns/mlflow.db")
    [own] = [one for one in client.search_experiments() if one.name == "own"]
    runs = {run.data.tags["kind"]: run.data for run in client.search_runs([own.experiment_id])}
    value = rows(here)[0]["auc_val_pu"]
    assert runs["trial"].metrics["auc_val_pu"] == runs["cell"].metrics["auc_val_pu"] == value
    assert not {"auc", "auc_train_pool"} & (set(runs["trial"].metrics) | set(runs["cell"].metrics))
    assert runs["cell"].tags["n"] == "1"
    assert runs["trial"].params["n_unl"] == "60"
    assert not {"alpha", "n_pos_unl", "n_neg_unl", "neg"} & set(runs["trial"].params)


def test_a_sweep_on_own_data_chooses_by_withheld_rows_and_compares_without_a_test(here: Path) -> None:
    tables(here)
    shutil.copytree(Path(__file__).parents[2] / "tuning", here / "tuning")
    sweep = "tune:\n  pu_svm: {scenario: own, dataset: mine, seeds: 2, holdout: 0.25, space: tiny, search: grid}"
    code, said = ask(here, PLAIN, "holdout: 0.25", ("tune: {}", sweep), ("published", "selected"))
    assert code == 0, said
    does("prepare")
    computes("pu_svm")
    does("select")
    computes("table")
    does("compare", "report --no-track")
    tuned = pd.read_parquet("results/tune/val/pu_svm.parquet")
    assert tuned["auc_val_pu"].notna().all()
    [choice] = pd.read_parquet("results/compare/choice.parquet").to_dict("records")
    best = tuned.groupby("config_id")["auc_val_pu"].mean().max()
    assert choice["selected_val_mean"] <= best
    assert choice["selected_config_id"] in set(tuned["config_id"])
    assert np.isnan(choice["regret"])
    assert np.isnan(choice["oracle_test_mean"])
    assert choice["note"] == "no configuration has a test AUC"


def test_seeds_that_learn_from_the_same_rows_are_not_tested(here: Path) -> None:
    tables(here)
    said = ask(here, TESTED)[1]
    assert "every seed learns from the same rows: no test of significance" in said
    does("prepare")
    computes("table")
    does("compare")
    assert len({row["auc"] for row in rows(here) if row["entry"] == "pu_svm"}) == 1
    tests = pd.read_parquet("results/compare/significance.parquet")
    assert tests["p"].isna().all()
    assert tests["note"].str.startswith("every seed learns from the same rows").all()


@pytest.mark.parametrize("kind", ["texts", "images"])
def test_texts_and_pictures_are_rows_like_others(kind: str, here: Path) -> None:
    suffix = ".txt" if kind == "texts" else ""
    (texts if kind == "texts" else pictures)(here)
    data = f"{{kind: {kind}, positives: own/p{suffix}, unlabelled: own/u{suffix}, test: own/test}}"
    changes = ("[oc_svm, pu_svm]", "[oc_svm, pu_svm, oc_lstm]")
    code, said = ask(here, data, "n_pos_lab: 20", ("seeds: 2", "seeds: 1"), changes)
    assert code == 0, said
    does("prepare")
    computes("table")
    does("compare", "report --no-track")
    found = {row["entry"]: row for row in rows(here)}
    assert found["pu_svm"]["auc"] > 0.8
    takes = f"oc_lstm takes sequence rows; mine gives {'vector' if kind == 'texts' else 'image'} rows"
    assert found["oc_lstm"]["status"] == "skipped"
    assert takes in found["oc_lstm"]["reason"]


def test_a_model_of_a_table_scores_its_owners_files(here: Path) -> None:
    tables(here, shared=2)
    ask(here, TESTED.replace("label: y", "label: y, allow_overlap: true"), "", ("[oc_svm, pu_svm]", "[pu_svm]"))
    does("prepare")
    computes("table")
    ledger, row = Ledger(here / "ledger"), rows(here)[0]
    entry = ledger.get(row["fit_id"])
    assert entry is not None
    model = ledger.model_path(entry.result)
    does(f"score --model {model} own/t.csv --out scores.csv")
    scored, y = pd.read_csv("scores.csv"), pd.read_csv("own/t.csv")["y"].to_numpy()
    scores = scored["score"].to_numpy()
    assert auc(scores[y == 1], scores[y == 0], "test rows") == row["auc"]
    assert "marks" not in scored  # new rows are no test rows; the number has the warning
    assert modelfile.read_meta(model).marks == (row["marks"],)


# what a draw is


def test_a_draw_is_all_rows_or_a_seeds_own_and_what_is_withheld_is_apart(here: Path) -> None:
    tables(here, repeated=5)
    for more, sizes in (
        ("", (40, 60, 0, 0)),
        ("n_pos_lab: 20, n_unl: 30, holdout: 0.2", (16, 24, 4, 6)),
        ("holdout: 0.25", (30, 45, 10, 15)),
    ):
        assert ask(here, TESTED, more)[0] == 0
        does("prepare")
        data = Prepared.open(here / "work" / "prepared" / "mine")
        seen = []
        for one in planned_trials(here, "tables", "table")[1]:
            if one.entry == "pu_svm":
                drawn = draw(data, one.trial.fit.sample, one.seed)
                seen.append(drawn)
                assert tuple(map(len, (drawn.p, drawn.u, drawn.p_held, drawn.u_held))) == sizes
                assert set(data.y[np.concatenate([drawn.p, drawn.p_held])]) == {0}
                assert set(data.y[np.concatenate([drawn.u, drawn.u_held])]) == {1}
        same = set(seen[0].p) == set(seen[1].p) and set(seen[0].u) == set(seen[1].u)
        assert same == (more == "") != planned_tables(here)[0].redraws
        assert set(data.y[split_rows(data, 0).test]) == {0, 2}


def test_unlabelled_rows_that_repeat_a_labelled_positive_are_left_out_and_told(here: Path) -> None:
    tables(here, repeated=5)
    assert ask(here, TESTED)[0] == 0
    assert DATASETS["mine"].counts == {"train": (40, 60, 0), "test": (20, 0, 20)}
    notes = json.loads(Path("work/plan/tables/table.json").read_text())["own"]["notes"]
    assert "5 unlabelled rows that equal a labelled positive left out" in notes


OTHER_WAY = {
    "names exchanged": lambda rows: rows.rename(columns={"size": "age", "age": "size"}),
    "renamed": lambda rows: rows.rename(columns={"size": "height"}),
    "another unit": lambda rows: rows.assign(size=rows["size"] * 1024),  # exact in floats, and so to the last bit
}


@pytest.mark.parametrize("change", OTHER_WAY.values(), ids=OTHER_WAY.keys())
def test_files_that_come_to_the_same_rows_in_another_way_get_models_that_read_them(here: Path, change) -> None:
    tables(here)
    by_number = ("[oc_svm, pu_svm]", "[pu_svm]"), ("seeds: 2", "seeds: 1")
    assert ask(here, TESTED, "", *by_number)[0] == 0
    does("prepare")
    computes("table")
    before = {path: path.read_bytes() for path in here.glob("ledger/*/*.safetensors")}
    for name in "put":
        change(pd.read_csv(f"own/{name}.csv")).to_csv(f"own/{name}.csv", index=False)
    assert ask(here, TESTED, "", *by_number)[0] == 0
    does("prepare")
    computes("table")
    [model] = set(here.glob("ledger/*/*.safetensors")) - set(before)
    assert all(path.read_bytes() == content for path, content in before.items())
    tested = pd.read_csv("own/t.csv")
    tested.drop(columns="y").to_csv("new.csv", index=False)
    does(f"score --model {model} new.csv --out scores.csv")
    scores = pd.read_csv("scores.csv")["score"].to_numpy()
    [row] = rows(here)
    assert auc(scores[tested["y"] == 1], scores[tested["y"] == 0], "them") == row["auc"]


def test_an_overlap_that_is_allowed_later_marks_the_models_too(here: Path) -> None:
    tables(here)
    allowed = TESTED.replace("}", ", allow_overlap: true}")
    assert ask(here, allowed, "", ("[oc_svm, pu_svm]", "[pu_svm]"))[0] == 0
    does("prepare")
    computes("table")
    before = set(here.glob("ledger/*/*.safetensors"))
    shared = pd.read_csv("own/t.csv").query("y == 1").drop(columns="y").iloc[:3]
    pd.concat([pd.read_csv("own/p.csv"), shared]).to_csv("own/p.csv", index=False)
    assert ask(here, allowed, "", ("[oc_svm, pu_svm]", "[pu_svm]"))[0] == 0
    does("prepare")
    computes("table")
    for model in set(here.glob("ledger/*/*.safetensors")) - before:
        assert modelfile.read_meta(model).marks[0].startswith("overlap allowed: 3 of 40")


def test_a_reader_is_told_what_leaving_out_equal_rows_does_to_discrete_data(here: Path) -> None:
    rng = np.random.default_rng(0)
    (here / "own").mkdir()
    for name, n in (("p", 60), ("u", 200)):
        pd.DataFrame(rng.integers(0, 2, (n, 6)), columns=list("abcdef")).to_csv(f"own/{name}.csv", index=False)
    code, said = ask(here, PLAIN, "holdout: 0.25")
    assert code == 0, said
    assert "unlabelled rows were left out since they equal a labelled positive, though rows repeat" in said
    tables(here, repeated=9)
    code, said = ask(here, PLAIN, "holdout: 0.25")
    assert code == 0, said
    assert "9 unlabelled rows that equal a labelled positive left out" in said
    assert "though rows repeat" not in said


def test_one_file_with_labels_gives_the_same_rows_as_two(here: Path) -> None:
    tables(here)
    ask(here, TESTED, "", ("own/p.csv", "own/p.csv"))
    two = DATASETS["mine"].digest
    p, u = (pd.read_csv(f"own/{name}.csv") for name in "pu")
    pd.concat([p.assign(y="P"), u.assign(y="U")]).sample(frac=1, random_state=0).to_csv("own/all.csv", index=False)
    pd.concat([p.assign(y="P"), u.assign(y="U")]).to_csv("own/all_in_order.csv", index=False)
    data = "{kind: table, data: own/FILE, label: y, test: own/t.csv}"
    assert ask(here, data.replace("FILE", "all_in_order.csv"))[0] == 0
    assert DATASETS["mine"].digest == two
    assert ask(here, data.replace("FILE", "all.csv"))[0] == 0
    assert DATASETS["mine"].counts == {"train": (40, 60, 0), "test": (20, 0, 20)}


def test_columns_are_scaled_by_the_positives_alone_where_asked(here: Path) -> None:
    tables(here)
    found = {}
    for prepared_from in ("positives", "all"):
        assert ask(here, TESTED.replace("label: y", f"label: y, prepared_from: {prepared_from}"))[0] == 0
        does("prepare")
        data = Prepared.open(here / "work" / "prepared" / "mine")
        found[prepared_from] = [data.X[data.y == number, 0] for number in (0, 1)]
    p, u = found["positives"]
    assert (p[:40].min(), p[:40].max()) == (0, 1)  # the test's positives follow
    assert u.min() < 0
    assert np.concatenate(found["all"])[:100].min() >= 0


# what changes, and what is forgotten


def test_a_changed_file_asks_anew_and_is_seen_before_anything_is_computed(here: Path) -> None:
    tables(here)
    ask(here, TESTED)
    does("prepare")
    computes("table")
    before = {row["fit_id"] for row in rows(here)}
    people(30, 9, 1.5).to_csv("own/p.csv", index=False)
    assert "own/p.csv: changed since the plan was made; run puoc plan" in does("fetch", expect=2)
    for command in ("prepare", "run table"):
        assert "own/p.csv changed since the plan in work/plan was made; run puoc plan" in does(command, expect=2)
    does("plan", "prepare")
    computes("table")
    assert not before & {row["fit_id"] for row in rows(here)}
    assert {row["n_pos_lab"] for row in rows(here)} == {30}


def test_own_data_that_become_of_another_kind_are_planned_beside_the_fits_of_before(here: Path) -> None:
    pictures(here)
    small = "encoder: autoencoder, params: {dimension: 8, dropout: 0.0, lr: 1.0e-3, lr_decay: 1.0, epochs: 1"
    section = f"encoders:\n  small: {{{small}, batch_size: 8, batching: p}}}}\nmethods:\n"
    changes = ("methods:\n", section), ("oc_svm: {encoder: flatten", "oc_svm: {encoder: small")
    code, said = ask(here, "{kind: images, positives: own/p, unlabelled: own/u}", "holdout: 0.2", *changes)
    assert code == 0, said
    table, configs = planned_table(here, "table"), read_configs(Path("work/configs/published/table.json"))
    fit = next(one.trial.fit for one in bind(table, configs) if one.entry == "oc_svm")
    Ledger(here / "ledger").put(FitResult(fit=fit, status="ok", fit_seconds=2.0, device="cpu"))
    tables(here)
    code, said = ask(here, PLAIN, "holdout: 0.2")
    assert code == 0, said
    assert "1 table" in said


def test_own_data_that_are_asked_no_more_are_forgotten(here: Path) -> None:
    tables(here)
    ask(here, TESTED)
    assert "mine" in DATASETS
    said = ask(here, TESTED, "", ("  mine: ", "  other: "))
    refused(said, "tables.table.dataset: got 'mine'; expected one of")
    assert "mine" not in DATASETS
    assert ask(here, TESTED, "", ("  mine: ", "  other: "), ("dataset: mine", "dataset: other"))[0] == 0
    assert [path.name for path in Path("work/plan/own").iterdir()] == ["other.json"]


# overlap


def test_test_rows_among_the_training_rows_are_refused_before_anything_starts(here: Path) -> None:
    tables(here, shared=3)
    said = ask(here, TESTED)
    refused(
        said,
        "params.yaml:4: datasets.mine: equal rows: 3 of 43 rows of own/t.csv are in own/p.csv too, such as row 41 = ",
        "or set allow_overlap: true, which then marks every table of these data",
    )
    assert len(said[1].strip().splitlines()) == 1  # the table that names it is no further fault
    assert not Path("work").exists()


def test_allowed_overlap_marks_every_table_row_run_and_page(here: Path) -> None:
    tables(here, shared=3)
    both = (
        "methods: [oc_svm, pu_svm]}",
        "methods: [pu_svm]}\n  again: {scenario: own, dataset: mine, n_pos_lab: 9, "
        "seeds: 1, configs: published, methods: [oc_svm]}",
    )
    code, said = ask(here, TESTED.replace("label: y", "label: y, allow_overlap: true"), "", both)
    assert code == 0, said
    does("prepare")
    computes("table", "again")
    does("compare", "report --no-track")
    mark = (
        "overlap allowed: 3 of 43 test rows are in the training files too; 3 training rows that equal one were left out"
    )
    assert {row["marks"] for name in ("table", "again") for row in rows(here, name)} == {mark}
    assert {row["n_pos_lab"] for row in rows(here)} == {37}  # no draw holds a row of the test
    page = site_text(Path())
    assert page.count(f'<p class="bad">{mark.capitalize()}.</p>') == 2
    assert page.count(f'<span class="bad">{mark.capitalize()}.</span></span></caption>') == 2
    assert page_text(Path()).count('<span class="bad">overlap</span>') == 2
    wanted = tracked(here)
    assert len(wanted) == 3
    assert {run.params["marks"] for run in wanted} == {mark}


def test_without_overlap_nothing_is_marked_though_it_would_be_allowed(here: Path) -> None:
    tables(here)
    ask(here, TESTED.replace("label: y", "label: y, allow_overlap: true"))
    does("prepare")
    computes("table")
    assert all(pd.isna(row["marks"]) for row in rows(here))
    assert planned_tables(here)[0].warnings == ()


def test_two_columns_are_no_picture_of_the_unit_square(here: Path) -> None:
    """Points of own data may lie anywhere in the plane."""
    tables(here)
    for name in "put":
        pd.read_csv(f"own/{name}.csv").drop(columns="city").to_csv(f"own/{name}.csv", index=False)
    ask(here, TESTED)
    does("prepare")
    computes("table")
    does("report --no-track")
    assert DATASETS["mine"].shape == (2,)
    assert "-plane" not in site_text(Path())


def test_the_example_of_the_docs_runs_from_end_to_end(here: Path) -> None:
    section = (Path(__file__).parents[2] / "docs" / "howto" / "own-table.md").read_text()
    [example] = re.findall(r"^```yaml\n(.*?)^```", section, re.DOTALL | re.MULTILINE)[:1]
    commands = re.findall(r"`puoc ([a-z ]+)`", section[section.index("step by step") :].split("\n\n")[0])
    assert commands == ["plan", "prepare", "run customers", "compare", "report"]
    tables(here)
    assert "seeds: 6" in example
    Path("params.yaml").write_text(example.replace("seeds: 6", "seeds: 2"))
    does(*commands)
    found = rows(here, "customers")
    assert {row["status"] for row in found} == {"ok"}
    assert all(row["auc"] > 0.8 and 0.5 < row["auc_val_pu"] < 1 for row in found)
    assert "Withheld P against U" in site_text(Path())


def test_a_sweep_on_a_tables_question_withholds_what_the_table_does(here: Path) -> None:
    tables(here)
    (here / "tuning" / "spaces").mkdir(parents=True)
    (here / "tuning" / "spaces" / "pu_svm.yaml").write_text("tiny: {lam: [0.01, 0.1]}\n")
    for more, holdout in (("holdout: 0.4", 0.4), ("", HOLDOUT)):
        assert ask(here, TESTED, more)[0] == 0
        sweep = resolve_sweep(here, SweepRequest(entry="pu_svm", scenario="table", space="tiny"))
        assert sweep.plan.holdout == holdout
