"""The profiles: every table of the paper by its name, with its columns, rows, sizes and hyperparameters."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from project import REPOSITORY

from puoc.analysis.paper.matching import published_cells
from puoc.analysis.paper.published import CAPTIONS, RESULT_TABLES, UNPRINTED, columns, methods, protocol, read
from puoc.datasets import DATASETS
from puoc.plan.bind import PlannedTrial, bind
from puoc.plan.make_plan import Plan, make_plan
from puoc.plan.params import Params, read_params
from puoc.plan.schema import PublishedRow, PublishedTable
from puoc.scenarios import sample_and_test
from puoc.store.cells import Cell
from puoc.store.plan_files import planned_tables
from puoc.store.plans import TablePlan

PROFILES = REPOSITORY / "profiles"
PAPER, SMALL = PROFILES / "paper.yaml", PROFILES / "paper_small.yaml"

#: Where the paper's dataset table cannot be had: a split of 4:1, or the hotels' folds, leave fewer rows.
OTHER_SIZES = {
    ("abnormal", "abnormal"): (479, 573, 86),
    ("elpv", "abnormal"): (479, 573, 86),
    ("sequences_op_spam", "lstm"): (166, 154, 316),
    ("sequences_sms_spam", "lstm"): (1910, 1937, 597),
    ("twitter", "twitter"): (423, 424, 792),
    ("twitter_accounts", "twitter"): (423, 424, 792),
}


@cache
def params(path: Path) -> Params:
    return read_params(path, REPOSITORY)


@cache
def plan_of(path: Path) -> Plan:
    return make_plan(params(path))


@cache
def asked(path: Path, table: str) -> list[PlannedTrial]:
    return list(bind(plan_of(path).tables[table], plan_of(path).configs[table]))


def trainings(path: Path, *tables: str) -> dict[str, float]:
    """Fits a seed by entry, each once whatever number of columns or tables asks for it."""
    ids = defaultdict(set)
    seeds = len(params(path).tables[tables[0]].spec.seeds)
    for table in tables:
        for one in asked(path, table):
            ids[one.entry].add(one.trial.fit.id)
    return {entry: len(found) / seeds for entry, found in ids.items()}


def all_cells() -> Iterator[tuple[str, Cell]]:
    for name, table in params(PAPER).tables.items():
        yield from ((name, cell) for cell in table.cells)


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> list[TablePlan]:
    root = tmp_path_factory.mktemp("paper")
    make_plan(params(PAPER)).write(root)
    return planned_tables(root)


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_profile_is_in_order_and_asks_nothing_that_does_not_apply(path: Path) -> None:
    for plan in (*plan_of(path).tables.values(), *plan_of(path).sweeps.values()):
        assert {entry.entry: entry.skip for entry in plan.entries if entry.skip} == {}


def test_names_of_the_paper_are_those_of_its_published_numbers() -> None:
    assert set(PublishedTable.__args__) == {*RESULT_TABLES, *CAPTIONS, *UNPRINTED}
    printed = {method for name in (*RESULT_TABLES, *CAPTIONS) for method in methods(name)}
    assert set(PublishedRow.__args__) - {"none"} == printed - {"hrn_star"}


def test_every_printed_number_has_a_cell_of_ours_but_one_row_that_is_copied_from_elsewhere(
    plans: list[TablePlan],
) -> None:
    found = {(one.published, one.method, one.column) for one in published_cells(plans)}
    for name in (*RESULT_TABLES, *CAPTIONS):
        wanted = {(name, method, column) for method in methods(name) for column in columns(name)}
        copied = {(name, "hrn_star", column) for column in columns(name)}
        averages = {(name, method, "avg") for method in methods(name)}
        assert wanted - found <= copied | averages, name


@pytest.mark.parametrize("path", [PAPER, SMALL], ids=lambda path: path.stem)
def test_both_profiles_have_the_same_map(path: Path) -> None:
    """All but Abnormal1001, which few can have."""

    def of(path: Path) -> dict[str, tuple[str | None, list[str]]]:
        tables = params(path).tables.items()
        return {name: (t.spec.published, [cell.name for cell in t.cells]) for name, t in tables if name != "abnormal"}

    mapped, here = of(PAPER), of(path)
    assert here.keys() == mapped.keys()
    for name, (published, cells) in here.items():
        assert published == mapped[name][0]
        assert set(cells) <= set(mapped[name][1])


def test_sizes_are_those_of_the_papers_dataset_table_where_the_data_allow_them() -> None:
    for name, table in params(PAPER).tables.items():
        if table.spec.published in (None, *UNPRINTED):
            continue
        for cell in table.cells:
            column = cell.name if table.spec.published in ("pu_sotas", "lstm") else "*"
            of_paper = protocol(str(table.spec.published), column)
            sizes = tuple(int(printed or 0) for printed in of_paper.sizes.values())
            sizes = OTHER_SIZES.get((name, str(table.spec.published)), sizes)
            if any(sizes):
                assert (cell.n_pos_lab, cell.n_pos_unl, cell.n_neg_unl) == sizes, (name, cell.name)


def test_hyperparameters_are_the_printed_ones() -> None:
    """By class where the appendix has a column for each; gamma is printed for linear kernels, which ignore it."""
    classes = {str(number): ("cifar10", number) for number in range(10)} | {"abnormal": ("elpv", 0)}
    for row in read("settings").itertuples():
        spec = params(PAPER).methods[row.method]
        own = spec.by_pos.get(classes[row.setting][0], {}) if row.setting in classes else {}
        found = own.get(classes[row.setting][1], spec.params) if own else spec.params
        if row.parameter == "gamma" and row.method in ("oc_svm", "pu_svm"):
            assert "gamma" not in found
        else:
            got = found[row.parameter]
            printed = row.printed if isinstance(got, str) else float(row.printed)
            assert got == printed, (row.method, row.setting, row.parameter)


def test_named_shifts_train_a_pu_method_eight_times_for_fifteen_columns() -> None:
    tables = ("named_shift_plane", "named_shift_bird")
    assert sum(len(params(PAPER).tables[name].cells) for name in tables) == 15
    for entry, n in trainings(PAPER, *tables).items():
        kind = plan_of(PAPER).tables["named_shift_bird"].entries_by_name[entry].kind
        assert n == (2 if kind == "oc" else 8), entry


def test_twitter_trains_once_for_five_columns() -> None:
    assert len(params(PAPER).tables["twitter"].cells) == 5
    assert set(trainings(PAPER, "twitter").values()) == {1}


def test_an_oc_method_is_trained_once_for_all_tables_with_the_same_labelled_positives() -> None:
    alone = trainings(PAPER, "one_vs_all")
    both = trainings(PAPER, "one_vs_all", "oc_baselines", "neg_shift_plane", "neg_shift_bird", "named_shift_plane")
    for entry in ("oc_svm", "csi", "drocc", "oc_cnn"):
        assert alone[entry] == both[entry] == 10
    swept = trainings(PAPER, "alpha_sweep", "size_sweep", "reliability_alpha")
    assert {swept[entry] for entry in ("oc_svm", "drocc")} == {1}


def test_tables_share_what_they_both_ask() -> None:
    """Vehicles at alpha .5 stand in four tables; the PU baselines repeat the sweep over alpha."""
    ids = {
        name: {one.trial.fit.id for one in asked(PAPER, name) if one.entry == "drpu"} for name in params(PAPER).tables
    }
    assert ids["pu_baselines"] == ids["alpha_sweep"]
    common = ids["alpha_sweep"] & ids["size_sweep"] & ids["pos_modes_vehicles"]
    assert len(common) == len(params(PAPER).tables["alpha_sweep"].spec.seeds)


seeds = st.integers(0, 2**40)


@given(st.sampled_from(sorted({name for name, _ in all_cells()})), seeds, st.data())
def test_whatever_a_seed_chooses_classes_are_apart_and_counts_exact(name: str, seed: int, data: st.DataObject) -> None:
    table = params(PAPER).tables[name]
    cell = data.draw(st.sampled_from(table.cells))
    sample, test = sample_and_test(cell, seed, table.spec.dataset, "digest")
    assert (sample.n_pos_lab, sample.n_pos_unl, sample.n_neg_unl) == (cell.n_pos_lab, cell.n_pos_unl, cell.n_neg_unl)
    n_classes = len(DATASETS[table.spec.dataset].classes)
    assert sample.neg is not None
    assert sample.pos == test.pos
    for negatives in (sample.neg, test.neg):
        assert not set(sample.pos) & set(negatives)
        assert set(negatives) <= set(range(n_classes))
        assert negatives == tuple(sorted(set(negatives)))
    shifted = table.spec.scenario in ("neg_shift", "named_shift") and cell.name not in ("all", "social1", "no_shift")
    if shifted or name == "reliability_shift":
        assert not set(sample.neg) & set(test.neg)
    elif cell.name != "all":
        assert sample.neg == test.neg


@given(seeds)
def test_classes_of_the_papers_settings(seed: int) -> None:
    vehicles, animals = {0, 1, 8, 9}, {2, 3, 4, 5, 6, 7}

    def at(table: str, cell: str) -> tuple[set[int], set[int], set[int]]:
        [found] = [cell_ for cell_ in params(PAPER).tables[table].cells if cell_.name == cell]
        sample, test = sample_and_test(found, seed, "cifar10", "digest")
        return set(sample.pos), set(sample.neg or ()), set(test.neg)

    for number in range(10):
        assert at("one_vs_all", f"pos={number}") == ({number}, set(range(10)) - {number}, set(range(10)) - {number})
    for n in range(1, 5):
        for table, pos in (("neg_shift_plane", 0), ("neg_shift_bird", 2)):
            positive, in_u, at_test = at(table, f"n={n}")
            assert (positive, len(in_u), len(at_test)) == ({pos}, n, n)
    for table, of, against, most in (("vehicles", vehicles, animals, 4), ("animals", animals, vehicles, 6)):
        for k in range(1, most + 1):
            positive, in_u, at_test = at(f"pos_modes_{table}", f"k={k}")
            assert positive <= of
            assert (len(positive), in_u, at_test) == (k, against, against)
    assert at("named_shift_plane", "V1->A1") == ({0}, {1, 8, 9}, {2, 3, 4})
    assert at("named_shift_plane", "A1->A2") == ({0}, {2, 3, 4}, {5, 6, 7})
    assert at("named_shift_bird", "A3->V2") == ({2}, {3, 4, 5}, {0, 1})
    assert at("named_shift_bird", "V2->V3") == ({2}, {0, 1}, {8, 9})
    assert at("named_shift_bird", "A3->A4") == ({2}, {3, 4, 5}, {6, 7})
    assert at("alpha_sweep", "alpha=0.05") == (vehicles, animals, animals)


def test_the_documentation_names_every_table_of_the_paper() -> None:
    page = (REPOSITORY / "docs" / "getting-started.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == params(PAPER).tables.keys()
    assert set(re.findall(r"run@(\w+)", page)) <= params(PAPER).tables.keys() | {"sequences_", "TABLE"}


def test_the_example_of_the_documentation_is_an_entry(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "getting-started.md").read_text()
    [example] = [block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "by_pos" in block]
    tables = (
        "tables: {t: {scenario: one_vs_all, dataset: cifar10, pos: [4, 5], n_pos_lab: 9, n_pos_unl: 9, n_neg_unl: 9, "
    )
    tables += "seeds: 1, configs: published, methods: [drocc]}}\ntune: {}\n"
    (tmp_path / "params.yaml").write_text(tables + example)
    asked_here = read_params(tmp_path / "params.yaml").methods["drocc"].by_pos["cifar10"]
    assert {number: own["ascent_steps"] for number, own in asked_here.items()} == {4: 20, 5: 40}


def test_only_entries_with_every_printed_value_are_called_published() -> None:
    printed = {path.stem: params(path).printed for path in PROFILES.glob("*.yaml")}
    assert printed["quick"] == {"oc_svm"}  # pu_svm has the paper's lam, but another solver
    assert {"drocc", "csi", "pu_svm", "oc_lstm"} <= printed["paper"]
    assert printed["paper"].isdisjoint({"nnpu", "vpu", "en", "dedpul", "hrn"})  # nothing is printed
    assert printed["grids"].isdisjoint({"drpu", "pan", "oc_lstm", "pu_lstm"})  # a part of the printed epochs
    assert printed["lstm_pendigits"] == {"oc", "pu"}  # the others change a value
