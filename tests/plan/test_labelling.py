"""Labelling in params.yaml: faults are told with their place, ids of other trials stay, settings are compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from project import REPOSITORY

from puoc.plan.bind import bind
from puoc.plan.make_plan import Plan, make_plan
from puoc.plan.params import read_params
from puoc.plan.settings_check import assumed_setting, mismatches
from puoc.registry import METHODS
from puoc.store.yaml_file import InvalidInput

SCALARS = {"n_pos_lab": 50, "n_pos_unl": 100, "n_neg_unl": 100, "seeds": 2}
HEAD = """
tables:
  t:
    scenario: fixed_classes
    dataset: keel_segment
    pos: [0, 1]
    neg: [2, 3]
    configs: published
    methods: [knn, upu, en]
"""
TAIL = """
tune: {}
methods:
  knn: {params: {k: 5, max_rows: 20000}}
  upu: {prior: true, params: {surrogate: sigmoid, %s}}
  en: {params: {classifier: network, held_out: 0.2, %s}}
"""
NET = "lr: 1.0e-3, lr_decay: 0.99, epochs: 5, batch_size: 64, batching: union"
TAIL %= (NET, NET)


def plan_with(folder: Path, **keys: object) -> Plan:
    lines = "".join(f"    {key}: {value}\n" for key, value in (SCALARS | keys).items())
    (folder / "params.yaml").write_text(HEAD + lines + TAIL)
    return make_plan(read_params(folder / "params.yaml", REPOSITORY))


MODEL = "{sar: clear_first, strength: 10}"
NEVER = "{sar: by_class, classes: 0, strength: 1}"
WRONG = {
    "labelling.no_name": ({"labelling": "sar"}, "labelling: got 'sar'; expected scar or {sar: MECHANISM, strength"),
    "labelling.unknown": ({"labelling": "{sar: clear, strength: 1}"}, "labelling.sar: got 'clear'; expected 'clear_f"),
    "labelling.no_strength": ({"labelling": "{sar: clear_first}"}, "labelling.strength: the key is missing"),
    "labelling.zero": ({"labelling": "{sar: clear_first, strength: 0}"}, "strength: got 0; expected greater than 0"),
    "labelling.key": (
        {"labelling": "{sar: clear_first, strength: 1, feture: 1}"},
        "labelling.feture: unknown key (did you mean 'feature'?); expected sar, strength, feature, classes",
    ),
    "labelling.no_feature": (
        {"labelling": "{sar: linear, strength: 0.5}"},
        "expected the key feature with sar: linear",
    ),
    "labelling.feature": (
        {"labelling": "{sar: linear, feature: 19, strength: 0.5}"},
        "feature 19 of keel_segment does not exist; expected 0 to 18",
    ),
    "labelling.range": ({"labelling": "{sar: linear, feature: 1, strength: 1}"}, "expected a strength below 1"),
    "labelling.other_class": (
        {"labelling": "{sar: by_class, classes: 3, strength: 1}"},
        "class 3 is not positive; expected some of [0, 1]",
    ),
    "labelling.all_classes": (
        {"labelling": "{sar: by_class, classes: [0, 1], strength: 1}"},
        "names all positive classes, [0, 1], so it leaves none to be labelled first",
    ),
    "labelling.too_few_left": (
        {"labelling": NEVER, "n_pos_lab": 200},
        "leaves 264 positives in keel_segment/train that can be labelled, about 214 of them beside U, and 200",
    ),
    "labelling.too_few_to_fit": (
        {"labelling": MODEL, "n_neg_unl": 520},
        "neither in P nor in U, and 8 of each class are left; expected at least 20",
    ),
    "p_noise.one": ({"p_noise": 1}, "p_noise: got 1; expected less than 1"),
    "p_noise.negative": ({"p_noise": -0.1}, "p_noise: got -0.1; expected greater than or equal to 0"),
    "p_noise.no_row": (
        {"p_noise": 0.001},
        "p_noise 0.001 of 50 labelled rows gives 0 negatives; expected 0, or 1 to 49",
    ),
    "p_noise.all_rows": ({"p_noise": 0.995}, "gives 50 negatives; expected 0, or 1 to 49"),
    "p_noise.no_negatives": (
        {"p_noise": 0.2, "n_neg_unl": 520},
        "530 negatives in P and U wanted, 528 available in keel_segment/train",
    ),
    "setting.unknown": ({"setting": "one"}, "setting: got 'one'; expected 'case_control' or 'single_training_set'"),
    "setting.no_positives": (
        {"setting": "single_training_set", "n_pos_lab": 100},
        "P takes 100 of the 100 positives of the sample, and at least 1 must stay in U",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_labelling_that_cannot_be_meant_is_refused_with_its_place(tmp_path: Path, name: str) -> None:
    keys, expected = WRONG[name]
    with pytest.raises(InvalidInput) as told:
        plan_with(tmp_path, **keys)
    assert len(told.value.faults) == 1
    assert expected in str(told.value)
    assert re.search(r"params\.yaml:\d+: tables\.t", str(told.value))


@pytest.mark.parametrize(
    ("scenario", "both"),
    [
        ("labelling_sweep", f"labellings: [scar]\n    labelling: {MODEL}"),
        ("noise_sweep", "p_noises: [0, 0.2]\n    p_noise: 0.1"),
        ("noise_sweep", "p_noises: [0.05, 0.055]"),
    ],
)
def test_a_sweep_has_its_labelling_once(tmp_path: Path, scenario: str, both: str) -> None:
    text = HEAD.replace("fixed_classes", scenario) + f"    {both}\n    alpha: 0.5\n    n_unl: 100\n    n_pos_lab: 50\n"
    (tmp_path / "params.yaml").write_text(f"{text}    seeds: 2\n{TAIL}")
    with pytest.raises(InvalidInput, match=r"got (labelling|p_noise) beside|2 shares give the same 3 negatives"):
        read_params(tmp_path / "params.yaml", REPOSITORY)


def ids(plan: Plan) -> dict[str, list[str]]:
    table = plan.tables["t"]
    found: dict[str, list[str]] = {}
    for planned in bind(table, plan.configs["t"]):
        found.setdefault(planned.entry, []).append(planned.trial.id)
    return found


def test_the_default_labelling_has_the_ids_of_a_table_without_these_keys(tmp_path: Path) -> None:
    plain = plan_with(tmp_path)
    stated = plan_with(tmp_path, labelling="scar", setting="case_control", p_noise=0)
    assert ids(plain) == ids(stated)
    assert plain.tables["t"].to_json() == stated.tables["t"].to_json()
    assert "labelled_draw_digest" not in plain.tables["t"].to_json()
    assert not {"labelling", "setting", "n_noise"} & set(str(plain.tables["t"].to_json()["cells"]).split("'"))


@pytest.mark.parametrize(
    "keys", [{"labelling": MODEL}, {"labelling": NEVER}, {"p_noise": 0.2}, {"setting": "single_training_set"}]
)
def test_another_labelling_has_other_ids_for_every_method(tmp_path: Path, keys: dict[str, object]) -> None:
    plain, other = ids(plan_with(tmp_path)), ids(plan_with(tmp_path, **keys))
    for entry, trials in plain.items():
        assert len(trials) == len(other[entry])
        assert not set(trials) & set(other[entry])


def test_a_changed_draw_of_p_by_a_propensity_renames_its_fits_alone(tmp_path: Path) -> None:
    def fits(digest: str, **keys: object) -> list[str]:
        plan = plan_with(tmp_path, **keys)
        table = plan.tables["t"]
        changed = table.model_copy(update={"labelled_draw_digest": digest if table.labelled_draw_digest else None})
        return [planned.trial.id for planned in bind(changed, plan.configs["t"])]

    assert fits("one") == fits("other")
    assert not set(fits("one", p_noise=0.2)) & set(fits("other", p_noise=0.2))


def test_known_ids() -> None:
    """Ids of trials must not move with the keys of labelling: published results hang on them."""
    plan = make_plan(read_params(REPOSITORY / "profiles" / "tiny.yaml", REPOSITORY))
    table = plan.tables["one_vs_all"]
    samples = [planned.trial.fit.sample.id for planned in bind(table, plan.configs["one_vs_all"])]
    assert samples[:2] == ["f5a2f38a1a249a1f149cdd7b", "f5a2f38a1a249a1f149cdd7b"]
    assert table.draw_digest == "f8ae3c8770f90f09"


@pytest.mark.parametrize("p_noise", [0, 0.2])
def test_alpha_of_u_in_a_single_training_set_is_that_of_the_literature(tmp_path: Path, p_noise: float) -> None:
    [cell] = plan_with(tmp_path, setting="single_training_set", p_noise=p_noise).tables["t"].cells
    n_noise = round(50 * p_noise)
    assert (cell.n_pos_unl, cell.n_neg_unl) == (100 - 50 + n_noise, 100 - n_noise)
    if not p_noise:
        pi, c = 100 / 200, 50 / 100
        assert cell.alpha == pytest.approx(pi * (1 - c) / (1 - pi * c))


def test_a_plan_names_methods_whose_risk_assumes_another_setting(tmp_path: Path) -> None:
    [control] = mismatches(plan_with(tmp_path).tables["t"])
    assert control.startswith("setting case_control, and en assumes single_training_set: ")
    [single] = mismatches(plan_with(tmp_path, setting="single_training_set").tables["t"])
    assert single.startswith("setting single_training_set, and upu assumes case_control: alpha is that of U without P")


def test_settings_of_methods_are_known_ones() -> None:
    assumed = {name: assumed_setting(name) for name, cls in METHODS.items() if cls.__module__.startswith("puoc.")}
    assert set(assumed.values()) <= {None, "case_control", "single_training_set"}
    assert all(assumed[name] == "case_control" for name in ("nnpu", "pu_svm", "drpu", "pu_csi", "vpu"))
    assert assumed["oc_svm"] is None
    # a row of the one sample is labelled with the chance e(x) f(x)
    assert assumed["sar_em"] == assumed["lbe"] == "single_training_set"


def test_each_method_that_sees_u_states_its_setting_or_needs_none() -> None:
    """A method without SETTING never warns, so a new one has to state it or be listed here."""
    of_neither = {  # P against U, without alpha
        *("naive", "naive_forest", "naive_boosting", "pu_bagging", "pan", "p3mix", "holistic_pu"),
        "pulearn",  # several classifiers, which differ
    }
    ours = {name for name, cls in METHODS.items() if cls.__module__.startswith("puoc.") and cls.kind != "oc"}
    silent = {name for name in ours if assumed_setting(name) is None}
    assert silent == of_neither, "write SETTING into the file of the method (docs/adding-a-method.md)"
