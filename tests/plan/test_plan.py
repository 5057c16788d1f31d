"""From params.yaml to questions: equal ones have one id, different ones two, and a fault is told with its place."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from project import REPOSITORY
from ruamel.yaml import YAML

from puoc.datasets.declare.dataset import Arrays
from puoc.datasets.prepare.arrays import Prepared
from puoc.digests import PRIOR, code_digest
from puoc.methods import normalise
from puoc.methods.priors import class_prior
from puoc.plan.bind import bind
from puoc.plan.make_plan import Plan, make_plan
from puoc.plan.params import read_params
from puoc.plan.search_spaces import enumerate_grid, read_space
from puoc.records import Prior, Sample
from puoc.registry import METHODS
from puoc.scenarios.drawing.draws import draw
from puoc.store.plan_files import CONFIGS, PLAN
from puoc.store.yaml_file import InvalidInput

TINY = (REPOSITORY / "profiles" / "tiny.yaml").read_text()
NAIVE = "naive: {%s params: {lr: 1.0e-3, lr_decay: 0.99, epochs: 5, batch_size: 64, batching: union}}"

Ask = Callable[..., dict[Path, Any]]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """The plan of the tiny profile with texts replaced, and with a space of pu_svm where one is given."""
    shutil.copytree(REPOSITORY / "tuning", tmp_path / "tuning")

    def plan(*changes: tuple[str, str], space: str | None = None) -> Plan:
        text = TINY
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new, 1)
        (tmp_path / "params.yaml").write_text(text)
        if space is not None:
            (tmp_path / "tuning" / "spaces" / "pu_svm.yaml").write_text(f"tiny: {space}\n")
        return make_plan(read_params(tmp_path / "params.yaml"))

    return plan


def trials(plan: Plan, entry: str) -> list[str]:
    """Ids of what the table asks of an entry, with the published configurations."""
    planned = bind(plan.tables["one_vs_all"], plan.configs["one_vs_all"])
    return [asked.trial.id for asked in planned if asked.entry == entry]


SAME = {
    "an encoder that leaves vectors as they are": ("oc_svm:\n    encoder: flatten\n", "oc_svm:\n"),
    "a number written otherwise": ("nu: 0.5", "nu: 5.0e-1"),
    "a whole number where a float is meant": ("nu: 0.5", "nu: 1.0"),
    "the order of keys": ("{kernel: linear, nu: 0.5}", "{nu: 0.5, kernel: linear}"),
    "how to compute": ("max_lanes: 8", "max_lanes: 1"),
}


@pytest.mark.parametrize("name", SAME)
def test_one_question_written_in_two_ways_has_one_id(ask: Ask, name: str) -> None:
    old, new = SAME[name]
    if name.startswith("a whole"):
        assert trials(ask((old, "nu: 1")), "oc_svm") == trials(ask((old, new)), "oc_svm")
    else:
        assert trials(ask(), "oc_svm") == trials(ask((old, new)), "oc_svm")


OTHER = {
    "another hyperparameter": ("lam: 0.01", "lam: 0.02"),
    "another prior": ("encoder: flatten\n    prior: true", "encoder: flatten\n    prior: {fixed: 0.5}"),
    "other rows of U": ("n_neg_unl: 30", "n_neg_unl: 31"),
}


@pytest.mark.parametrize("name", OTHER)
def test_another_question_has_another_id(ask: Ask, name: str) -> None:
    assert not set(trials(ask(), "pu_svm")) & set(trials(ask(OTHER[name]), "pu_svm"))


def test_an_oc_fit_does_not_depend_on_the_rows_of_u(ask: Ask) -> None:
    assert trials(ask(), "oc_svm") == trials(ask(OTHER["other rows of U"]), "oc_svm")


def test_the_oracle_is_another_question_than_the_method_it_uses(ask: Ask) -> None:
    def asked(given: str) -> list[str]:
        entry = ("methods:\n  oc_svm", f"methods:\n  {NAIVE % given}\n  oc_svm")
        return trials(ask(entry, ("[oc_svm,", "[naive, oc_svm,")), "naive")

    assert len(asked("")) == 4
    assert not set(asked("")) & set(asked("labels: oracle,"))


def test_the_code_of_a_prior_belongs_to_the_question_where_one_is_given(ask: Ask) -> None:
    entries = ask().tables["one_vs_all"].entries_by_name
    assert entries["nnpu"].code_digest == code_digest(METHODS["nnpu"], PRIOR)
    assert entries["oc_svm"].code_digest == code_digest(METHODS["oc_svm"])


BY_POS = ("{kernel: linear, nu: 0.5}", "{kernel: linear, nu: 0.5}\n    by_pos: {digits: {%s: {nu: 0.1}}}")


def nus(plan: Plan) -> dict[str, float]:
    planned = bind(plan.tables["one_vs_all"], plan.configs["one_vs_all"])
    asked = [one for one in planned if one.entry == "oc_svm"]
    return {one.cell.name: one.trial.fit.params["nu"] for one in asked}


def test_a_class_may_have_hyperparameters_of_its_own_and_leaves_the_others_alone(ask: Ask) -> None:
    assert nus(ask((BY_POS[0], BY_POS[1] % 1))) == {"pos=0": 0.5, "pos=1": 0.1}
    assert trials(ask(), "oc_svm")[:2] == trials(ask((BY_POS[0], BY_POS[1] % 1)), "oc_svm")[:2]


def test_a_class_that_the_table_does_not_ask_leaves_its_configurations_as_they_were(ask: Ask) -> None:
    path = CONFIGS / "published" / "one_vs_all.json"
    assert ask((BY_POS[0], BY_POS[1] % 7)).files[path] == ask().files[path]


def test_several_positives_have_the_hyperparameters_of_none_of_their_classes(ask: Ask) -> None:
    scenario = (
        "scenario: one_vs_all\n    dataset: digits\n    pos: [0, 1]",
        "scenario: pos_modes\n    dataset: digits\n    of: [0, 1]\n    neg: [5]\n    k: [1, 2]",
    )
    by_pos = (BY_POS[0], BY_POS[1].replace("{%s: {nu: 0.1}}", "{0: {nu: 0.1}, 1: {nu: 0.2}}"))
    plan = ask(scenario, by_pos)
    planned = bind(plan.tables["one_vs_all"], plan.configs["one_vs_all"])
    found = [(one.trial.fit.sample.pos, one.trial.fit.params["nu"]) for one in planned if one.entry == "oc_svm"]
    assert {pos: nu for pos, nu in found if len(pos) == 1}.items() <= {(0,): 0.1, (1,): 0.2}.items()
    assert {nu for pos, nu in found if len(pos) == 2} == {0.5}


def test_the_place_beside_the_paper_is_in_the_plan_and_in_no_question(ask: Ask) -> None:
    plan = ask(
        ("    title:", "    published: ova\n    title:"), ("  nnpu:\n", "  nnpu:\n    published_as: nnpu_star\n")
    )
    table = plan.tables["one_vs_all"]
    assert (table.published, table.entries_by_name["nnpu"].published_as) == ("ova", "nnpu_star")
    assert trials(plan, "nnpu") == trials(ask(), "nnpu")


def test_a_range_with_a_step_has_the_values_that_one_would_write(ask: Ask) -> None:
    plan = ask(space="{lam: {low: 0.1, high: 0.7, step: 0.1}}").sweeps["pu_svm"]
    values = [config.params["lam"] for config in plan.configs]
    assert values == [0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]


def test_a_configuration_that_the_space_repeats_is_asked_once_and_the_published_one_first(ask: Ask) -> None:
    plan = ask(space="{lam: [1, 1.0, 1.0e-2, 0.01]}").sweeps["pu_svm"]
    assert [(c.params["lam"], c.is_published) for c in plan.configs] == [(0.01, True), (1.0, False)]


def test_parts_of_a_space_stand_beside_each_other_and_null_leaves_a_hyperparameter_out(ask: Ask) -> None:
    linear = "{kernel: [linear], gamma: [null], lam: [0.01, 0.1]}"
    rbf = "{kernel: [rbf], gamma: [0.1, 1], lam: [0.1, 0.01]}"
    asked = ask(space=f"[{linear}, {rbf}]").sweeps["pu_svm"].configs
    configs = [config.params for config in asked]
    assert [(c["kernel"], c.get("gamma"), c["lam"]) for c in configs] == [
        *[("linear", None, 0.01), ("linear", None, 0.1)],
        *[("rbf", 0.1, 0.1), ("rbf", 0.1, 0.01), ("rbf", 1.0, 0.1), ("rbf", 1.0, 0.01)],
    ]
    assert all("gamma" not in c for c in configs if c["kernel"] == "linear")


def test_a_hyperparameter_that_a_kernel_would_not_look_at_is_refused(ask: Ask) -> None:
    with pytest.raises(InvalidInput, match="pu_svm: kernel linear takes no gamma; leave it out"):
        ask(space="{kernel: [linear, rbf], gamma: [0.1, 1]}")


@pytest.mark.parametrize(("method", "space", "n"), [("oc_svm", "grid", 12), ("pu_svm", "grid", 72)])
def test_the_printed_svm_grids_hold_each_fit_once(method: str, space: str, n: int) -> None:
    grid = enumerate_grid(read_space(REPOSITORY / "tuning" / "spaces", method, space))
    entry = {"risk": "non_negative"} if method == "pu_svm" else {}
    found = [normalise(method, entry | config) for config in grid]
    assert len(found) == n == len({str(sorted(config.items())) for config in found})
    assert {config["gamma"] for config in found if "gamma" in config} == {0.01, 0.1, 1.0}


@pytest.mark.parametrize("holdout", [0.0, 0.2, 0.5])
def test_the_true_prior_is_the_share_in_the_rows_that_the_method_sees(holdout: float) -> None:
    gen = np.random.default_rng(0)
    arrays = Arrays(gen.normal(size=(400, 3)).astype(np.float32), np.arange(400) % 2)
    prepared = Prepared.of(arrays, name="two", inputs="vector", classes=("0", "1"))
    counts = {"n_pos_lab": 20, "n_pos_unl": 3, "n_neg_unl": 47}
    sample = Sample(dataset="two", data_digest=prepared.digest, pos=(1,), neg=(0,), holdout=holdout, **counts)
    seen = draw(prepared, sample, seed=0)
    assert class_prior(Prior(kind="true"), sample) == seen.y_u.mean()
    assert class_prior(Prior(kind="fixed", value=0.3), sample) == 0.3


WRONG = {
    "an unknown encoder": (
        ("encoder: flatten", "encoder: flaten"),
        "params.yaml:33: methods.oc_svm.encoder: got 'flaten' (did you mean 'flatten'?); expected flatten, a key",
    ),
    "a seed twice": (
        ("seeds: 2", "seeds: [1, 1]"),
        "tables.one_vs_all.seeds: got [1, 1]; expected each seed once",
    ),
    "a truth value for a seed": (("seeds: 2", "seeds: [true]"), "seeds[0]: got true; expected a whole number"),
    "a negative seed": (("seeds: 2", "seeds: [-1]"), "seeds[0]: got -1; expected greater than or equal to 0"),
    "a device there is not": (
        ("device: cpu", "device: gpu"),
        "compute.device: got 'gpu'; expected cpu, cuda or cuda:NUMBER",
    ),
    "compute that is no mapping": (
        ("compute: {workers: auto, lane_map: loop, max_lanes: 8, models: all, device: cpu}", "compute: []"),
        "compute: got [] (a list); expected the keys workers, lane_map",
    ),
    "no methods": ((TINY[TINY.index("methods:\n  oc") :], "methods:\n"), "methods: got nothing; expected at least one"),
    "a number for a method's name": (
        ("methods:\n  oc", "methods:\n  1: {params: {}}\n  oc"),
        "methods[1]: expected a name of small letters",
    ),
    "a method's name of more letters than a file's may have": (
        ("methods:\n  oc", f"methods:\n  {'a' * 101}: {{params: {{}}}}\n  oc"),
        f"methods.{'a' * 101}: expected a name of small letters, digits and _, beginning with a letter, of 100 letters",
    ),
    "a number for a sweep's name": (("tune:\n  pu_svm:", "tune:\n  1:"), "tune[1]: expected a name of small letters"),
    "a prior for a method that does not look at it": (
        ("methods:\n  oc", f"methods:\n  {NAIVE % 'prior: true,'}\n  oc"),
        "methods.naive.prior: naive takes no prior; expected no such key",
    ),
    "true classes for a method that needs a prior": (
        ("  nnpu:\n", "  nnpu:\n    labels: oracle\n"),
        "methods.nnpu.labels: got oracle for nnpu; expected a PU method that takes no prior",
    ),
    "a hyperparameter of a class that the method has not": (
        (BY_POS[0], BY_POS[1].replace("nu: 0.1", "nue: 0.1") % 1),
        "methods.oc_svm.by_pos.digits.1: unknown hyperparameter 'nue' (did you mean 'nu'?)",
    ),
    "a wrong value of a class": (
        (BY_POS[0], BY_POS[1].replace("nu: 0.1", "nu: 2") % 1),
        "params.yaml:35: methods.oc_svm.by_pos.digits.1: hyperparameter 'nu': got 2, expected less than or equal to 1",
    ),
    "a class that the dataset has not": (
        (BY_POS[0], BY_POS[1] % 10),
        "methods.oc_svm.by_pos.digits.10: digits has no class 10; expected 0 to 9",
    ),
    "hyperparameters by the class of a dataset there is not": (
        (BY_POS[0], BY_POS[1].replace("digits", "digit") % 1),
        "methods.oc_svm.by_pos.digit: unknown dataset 'digit' (did you mean 'digits'?)",
    ),
    "a text for a class": (
        (BY_POS[0], BY_POS[1] % "zero"),
        "methods.oc_svm.by_pos.digits.zero: got 'zero'; expected a whole number",
    ),
    "a sweep of an entry whose classes differ": (
        ("lam: 0.01}", "lam: 0.01}\n    by_pos: {digits: {2: {lam: 0.1}}}"),
        "tune.pu_svm: got an entry with by_pos; expected one with the same hyperparameters for every class",
    ),
    "a table that the paper has not": (
        ("    title:", "    published: ovo\n    title:"),
        "tables.one_vs_all.published: got 'ovo'; expected 'ova', 'shift'",
    ),
    "a method told the share of positives in a U without negatives": (
        (
            TINY[TINY.index("    scenario:") : TINY.index("    seeds: 2")],
            "    scenario: alpha_sweep\n    dataset: digits\n    pos: 0\n    neg: 1\n    alphas: [0.5, 1]\n"
            "    n_pos_lab: 40\n    n_unl: 60\n",
        ),
        "tables.one_vs_all: cell alpha=1 has no negatives in U, and pu_svm has prior: true; expected {fixed: NUMBER}",
    ),
    "a sweep of the oracle": (
        ("  pu_svm:\n    encoder", "  pu_svm:\n    labels: oracle\n    encoder"),
        "tune.pu_svm: got an entry with labels: oracle; expected none",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_meant_is_refused_with_its_place(ask: Ask, name: str) -> None:
    change, expected = WRONG[name]
    with pytest.raises(InvalidInput) as told:
        ask(change)
    assert expected in str(told.value)


@pytest.mark.parametrize("space", ["[1, 2]", "[{lam: [1]}, 2]", "[]", "", "text", "{lam: }", "[{lam: }]"])
def test_a_space_that_is_none_is_refused_with_its_place(ask: Ask, space: str) -> None:
    with pytest.raises(InvalidInput, match=r"params\.yaml:\d+: tune\.pu_svm\.space: .*; expected "):
        ask(space=space)


def test_an_empty_section_tune_asks_for_no_sweep(ask: Ask) -> None:
    sweep = TINY[TINY.index("tune:\n") : TINY.index("methods:\n  oc")]
    plan = ask((sweep, "tune: {}\n\n"), ("configs: selected", "configs: published"))
    assert not plan.sweeps


def test_spaces_are_those_of_the_project_wherever_the_params_file_lies(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "tuning", tmp_path / "tuning")
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "mine.yaml").write_text(TINY)
    assert len(read_params(tmp_path / "profiles" / "mine.yaml", tmp_path).tune["pu_svm"].configs) == 3


def test_a_plan_removes_what_is_asked_no_more_and_leaves_alone_what_is_equal(ask: Ask, tmp_path: Path) -> None:
    ask()
    make_plan(read_params(tmp_path / "params.yaml")).write(tmp_path)
    kept = tmp_path / PLAN / "tune" / "pu_svm.json"
    state = kept.stat().st_mtime_ns, kept.stat().st_ino
    ask(("  one_vs_all:\n", "  renamed:\n"))
    touched = make_plan(read_params(tmp_path / "params.yaml")).write(tmp_path)
    names = {"work/plan/tables": "one_vs_all renamed", "work/configs/published": "one_vs_all renamed"}
    assert {str(path) for path in touched} == {f"{f}/{n}.json" for f, both in names.items() for n in both.split()}
    assert not (tmp_path / PLAN / "tables" / "one_vs_all.json").exists()
    assert (kept.stat().st_mtime_ns, kept.stat().st_ino) == state


@pytest.mark.parametrize(
    ("table", "methods", "needed"),
    [
        ("size_sweep", "oc_svm, pu_svm", set()),  # an autoencoder is trained here, not downloaded
        ("size_sweep", "oc_svm, pu_cnn", {"imagenet"}),
        ("twitter", "oc_svm_rows", set()),
        ("sequences_op_spam", "oc_lstm", {"words"}),
        ("sequences_op_spam", "pu_lstm", {"words", "mean_word"}),  # its prior has rows of its own
    ],
)
def test_only_the_weights_that_a_planned_entry_uses_are_downloaded(
    tmp_path: Path, table: str, methods: str, needed: set[str]
) -> None:
    profile = YAML(typ="safe").load(REPOSITORY / "profiles" / "paper.yaml")
    profile["tables"] = {table: profile["tables"][table] | {"methods": methods.split(", ")}}
    YAML(typ="safe").dump(profile, tmp_path / "params.yaml")
    assert set(make_plan(read_params(tmp_path / "params.yaml", REPOSITORY)).weights) == needed


@pytest.mark.parametrize("has_folder", [True, False])
def test_a_missing_search_space_says_what_to_copy(ask: Ask, tmp_path: Path, has_folder: bool) -> None:
    spaces = tmp_path / "tuning" / "spaces"
    (spaces / "pu_svm.yaml").unlink()
    if not has_folder:
        shutil.rmtree(tmp_path / "tuning")
    with pytest.raises(InvalidInput, match="no search space for pu_svm") as refused:
        ask()
    assert ("copy that of puoc's repository" in str(refused.value)) != has_folder
