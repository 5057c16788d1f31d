"""What cannot be asked of own data is refused with its place, and nothing is started."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from own_files import puoc, refused
from own_tables import PLAIN, TESTED, ask, computes, does, pictures, tables, texts
from PIL import Image

from puoc.records import Fit, Prior, Sample
from puoc.userdata.settings import Part, settings

SWEEP = "tune:\n  pu_told: {scenario: own, dataset: mine, seeds: 1, holdout: 0.2, space: tiny, search: grid}"
SEES_ALL = """tune: {}
encoders:
  ae:
    encoder: autoencoder
    ae_data: all_positives
    params: {lr: 1.0e-3, lr_decay: 1.0, epochs: 1, batch_size: 8, batching: p, dimension: 8, dropout: 0.5}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(methods: str) -> tuple[str, str]:
    return "[oc_svm, pu_svm]", methods


PLACE = "params.yaml:6: tables.table"
REFUSED = {
    "a true prior": (
        TESTED, "", [told("[oc_svm, pu_told]")],
        ["tables.table.methods[1]: got pu_told, which has prior: true; expected {fixed: NUMBER} or a key of the "
         "section priors (methods.pu_told.prior): nobody knows the classes of the unlabelled rows of mine"],
    ),
    "an oracle": (
        TESTED, "", [told("[oc_svm, oracle]")],
        ["got oracle, which has labels: oracle; expected labels: pu (methods.oracle.labels)"],
    ),
    "a true prior in a sweep": (
        TESTED, "",
        [("tune: {}", SWEEP)],
        ["tune.pu_told: got pu_told, which has prior: true"],
    ),
    "an encoder that sees all positives": (
        TESTED, "",
        [("tune: {}", SEES_ALL), ("encoder: flatten, params: {kernel", "encoder: ae, params: {kernel")],
        ["got oc_svm, which has an encoder with ae_data: all_positives; expected ae_data: labelled_positives"],
    ),
    "no test and nothing withheld": (
        PLAIN, "", [],
        ["tables.table.holdout: mine has no labelled test rows, so there is no AUC; expected a share to withhold",
         "or test rows with labels (datasets.mine.test)"],
    ),
    "another scenario": (
        TESTED, "pos: [0], n_pos_lab: 5, n_pos_unl: 5, n_neg_unl: 5", [("scenario: own", "scenario: one_vs_all")],
        ["one_vs_all: it draws U by classes, which are unknown in mine; expected own"],
    ),
    "the scenario with other data": (
        TESTED, "", [("dataset: mine", "dataset: digits")],
        ["own: digits is not in the section datasets; expected user data"],
    ),
    "more rows than there are": (
        TESTED, "n_pos_lab: 41", [], ["41 labelled positives wanted, 40 available in mine/train"],
    ),
    "more unlabelled rows than there are": (
        TESTED, "n_unl: 61", [], ["61 unlabelled rows wanted, 60 available in mine/train"],
    ),
    "a table of the paper": (
        TESTED, "published: ova", [], ["tables.table.published: got ova; expected no such key"],
    ),
    "a known name": (
        TESTED, "", [("  mine: ", "  digits: ")], ["datasets.digits: digits is the name of a dataset that puoc has"],
    ),
    "a path elsewhere": (
        TESTED.replace("own/p.csv", "../p.csv"), "", [],
        ["datasets.mine: positives: got '../p.csv'; expected a path below own/, beside params.yaml"],
    ),
    "an absolute path": (
        TESTED.replace("own/p.csv", "/p.csv"), "", [], ["positives: got '/p.csv'; expected a path below own/"],
    ),
    "no such file": (
        TESTED.replace("p.csv", "q.csv"), "", [], ["positives: own/q.csv: there is no such file or folder"],
    ),
    "P alone": (
        "{kind: table, positives: own/p.csv}", "", [],
        ["datasets.mine: got positives; expected positives and unlabelled, or data with a label"],
    ),
    "an unknown key": (
        TESTED.replace("label", "lable"), "", [], ["datasets.mine.lable: unknown key (did you mean 'label'?)"],
    ),
    "options named as keys": (
        TESTED.replace(", label: y", ""), "", [], ["the column with the labels is not named; use label: NAME."],
    ),
}  # fmt: skip


def test_a_link_to_a_folder_is_refused_since_dvc_looks_into_none(here: Path) -> None:
    tables(here)
    (here / "elsewhere").mkdir()
    (here / "own" / "p.csv").rename(here / "elsewhere" / "p.csv")
    (here / "own" / "files").symlink_to(here / "elsewhere")
    code, said = ask(here, TESTED.replace("own/p.csv", "own/files/p.csv"))
    assert code == 2
    assert (
        "positives: got 'own/files/p.csv'; own/files is a link to a folder, into which dvc repro does not look" in said
    )
    (here / "own" / "p.csv").symlink_to(here / "elsewhere" / "p.csv")
    assert ask(here, TESTED)[0] == 0


def test_own_data_are_not_named_as_a_folder_that_stands_where_their_arrays_would(here: Path) -> None:
    tables(here)
    assert ask(here, TESTED)[0] == 0
    does("prepare")
    beside = {path.name for path in (here / "work" / "prepared").iterdir() if path.is_dir()} - {"mine"}
    assert "tables" in beside
    planned = sorted((here / "work" / "plan").rglob("*.json"))
    for name in sorted(beside | {"tables", "tune", "features", "checkpoints"}):
        code, said = ask(here, TESTED, "", ("  mine: ", f"  {name}: "), ("dataset: mine", f"dataset: {name}"))
        assert code == 2
        expected = f"datasets.{name}: got {name}, the name of a folder that puoc keeps in work/; expected another name"
        assert said.count("params.yaml:") == 1
        assert expected in said
    assert sorted((here / "work" / "plan").rglob("*.json")) == planned


def test_an_encoder_that_is_told_what_it_learns_from_is_one_fault(here: Path) -> None:
    tables(here)
    sees_all = "tune: {}\nencoders:\n  components: {ae_data: all_positives, params: {dimension: 2, cut: 6.0}}"
    swept = sees_all.replace("tune: {}", SWEEP.replace("pu_told", "pu_svm"))
    (here / "tuning" / "spaces").mkdir(parents=True)
    (here / "tuning" / "spaces" / "pu_svm.yaml").write_text("tiny: {lam: [0.01, 0.1]}\n")
    for sections in (sees_all, swept):
        code, said = ask(
            here, TESTED, "", ("tune: {}", sections), ("encoder: flatten\n    prior", "encoder: components\n    prior")
        )
        assert code == 2
        [fault] = [line for line in said.splitlines() if "params.yaml:" in line]
        assert "encoders.components.ae_data: got all_positives for components; expected no such key" in fault


@pytest.mark.parametrize("place", ["p/more", "test/positive/more"])
def test_a_link_to_a_folder_in_a_folder_is_refused_wherever_it_lies(here: Path, place: str) -> None:
    pictures(here)
    data = "{kind: images, positives: own/p, unlabelled: own/u/, test: own/test}"
    (here / "elsewhere").mkdir()
    shutil.copy(here / "own" / "u" / "00.png", here / "elsewhere" / "new.png")
    (here / "own" / place).symlink_to(here / "elsewhere")
    code, said = ask(here, data)
    assert code == 2
    assert f"own/{place} is a link to a folder, into which dvc repro does not look" in said
    assert not Path("work").exists()
    (here / "own" / place).unlink()
    (here / "own" / place).mkdir()
    (here / "own" / place / "linked.png").symlink_to(here / "elsewhere" / "new.png")
    (here / "own" / "p" / ".hidden").symlink_to(here / "elsewhere")
    code, said = ask(here, data)
    assert "is a link" not in said
    assert code == (2 if place.startswith("test") else 0), said  # the picture is one of U, which a test may not have


@pytest.mark.parametrize("letters", [100, 101, 260])
def test_names_are_as_long_as_files_made_of_them_may_be(here: Path, letters: int) -> None:
    tables(here)
    long = "a" * letters
    for old, new in (("  table:", f"  {long}:"), ("  mine:", f"  {long}:")):
        changes = [(old, new), *([("dataset: mine", f"dataset: {long}")] if "mine" in old else [])]
        code, said = ask(here, TESTED, "", *changes)
        assert code == (0 if letters == 100 else 2), said
        if code:
            section = "datasets" if "mine" in old else "tables"
            assert f"{section}.{long}: expected a name of small letters, digits and _, beginning with a letter" in said
        else:
            does("prepare")
            computes(long if "table" in old else "table")


def test_unlabelled_rows_are_no_test_rows(here: Path) -> None:
    tables(here)
    test = pd.read_csv("own/t.csv")
    test.assign(y=test["y"].map({1: "labelled", 0: "unlabelled"})).to_csv("own/t.csv", index=False)
    code, said = ask(here, TESTED)
    assert code == 2
    assert (
        "datasets.mine: own/t.csv: the label 'y' is 'unlabelled' in 20 rows; unlabelled rows are no test rows" in said
    )
    assert "use positive: labelled" in said
    assert ask(here, TESTED.replace("label: y", "label: y, positive: labelled"))[0] == 0


FILES = {"table": (tables, "p.csv", "u.csv"), "texts": (texts, "p.txt", "u.txt"), "images": (pictures, "p", "u")}


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    ("kind", "key", "value", "kinds"),
    [
        ("table", "text", "city", "texts"),
        ("table", "pixels", 16, "images"),
        ("table", "words", 40, "texts"),
        ("texts", "pixels", 16, "images"),
        ("texts", "scaling", "standard", "table"),
        ("images", "text", "city", "texts"),
        ("images", "separator", ";", "table or texts"),
    ],
)
def test_what_says_nothing_of_rows_of_the_kind_is_refused(
    here: Path, kind: str, key: str, value: object, kinds: str, named: bool
) -> None:
    make, p, u = FILES[kind]
    make(here)
    code, said = ask(here, f"{{kind: {kind}, positives: own/{p}, unlabelled: own/{u}, {key}: {value!r}}}")
    assert code == 2
    assert f"datasets.mine: {key}: got {value!r}, which does not apply to rows of the kind {kind}; " in said
    assert f"expected kind: {kinds}, or no {key}:" in said
    if named or kind != "table" or key != "text":  # which without a kind reads texts
        words = ("--positives", f"own/{p}", "--unlabelled", f"own/{u}", *(("--kind", kind) if named else ()))
        done = puoc("fit", "--method", "pu_svm", *words, f"--{key}", value, "--check")
        refused(done, f"--{key}: got {value!r}", f"expected --kind {kinds}, or no --{key}")


def test_a_label_beside_a_folder_of_test_pictures_is_refused(here: Path) -> None:
    pictures(here)
    data = "{kind: images, positives: own/p, unlabelled: own/u, test: own/test, label: y}"
    code, said = ask(here, data)
    assert code == 2
    assert "datasets.mine: label: got 'y', and the test rows of images are read from the parts positive" in said


def test_pictures_that_were_saved_in_two_ways_are_asked_about(here: Path) -> None:
    pictures(here)
    for path in (here / "own" / "u").iterdir():
        Image.open(path).save(path.with_suffix(".jpg"))
        path.unlink()
    data = "{kind: images, positives: own/p, unlabelled: own/u, test: own/test}"
    code, said = ask(here, data)
    assert code == 2
    assert "compression: without loss in 30 of 30 rows; and JPEG in 40 of 40 rows" in said
    assert "continue with allow_file_differences: true, which adds a warning to the result" in said
    code, said = ask(here, data.replace("}", ", allow_file_differences: true}"))
    assert code == 0, said
    (declared,) = (here / "work" / "plan" / "own").glob("*.json")
    assert json.loads(declared.read_text())["marks"] == ["file differences allowed: compression of own/p and own/u"]


def test_keys_take_what_options_take(here: Path) -> None:
    tables(here)
    for name in "pu":
        rows = pd.read_csv(here / "own" / f"{name}.csv").assign(city="a;b")
        rows.assign(size=rows["size"] + 0.5).to_csv(here / "own" / f"{name}.csv", sep="\t", index=False)
    files = ("--positives", "own/p.csv", "--unlabelled", "own/u.csv")
    digests = set()
    for written in (r"'\t'", r'"\t"', r"\t"):
        code, said = ask(here, PLAIN.replace("}", f", separator: {written}}}"), "holdout: 0.25")
        assert code == 0, said
        digests.add(json.loads((here / "work" / "plan" / "own" / "mine.json").read_bytes())["digest"])
    assert len(digests) == 1
    assert puoc("fit", "--method", "pu_svm", "--prior", "0.3", *files, "--separator", r"\t", "--check")[0] == 0
    for got in ("''", ";;", "1", "true"):
        code, said = ask(here, PLAIN.replace("}", f", separator: {got}}}"))
        assert code == 2
        assert r"expected one character, such as ';', or '\t' for a tab" in said


@pytest.mark.parametrize("yes", ["true", "True", "TRUE", "False"])
def test_a_truth_value_is_taken_as_a_value_and_refused_as_a_name(here: Path, yes: str) -> None:
    tables(here)
    t = pd.read_csv(here / "own" / "t.csv")
    t.assign(y=t["y"].map({1: yes, 0: "other"})).to_csv(here / "own" / "t.csv", index=False)
    read = yes.lower()
    for positive in {read, yes, f"'{read}'", f"'{yes}'"}:
        code, said = ask(here, TESTED.replace("}", f", positive: {positive}}}"))
        assert code == 0, said
        assert json.loads((here / "work" / "plan" / "own" / "mine.json").read_bytes())["counts"]["test"] == [20, 0, 20]
    code, said = ask(here, TESTED.replace("}", f", positive: {yes}, missing: [{yes}, 7]}}"))
    assert "20 rows have no label in 'y'" in said
    for key in ("label", "text", "drop", "category"):
        code, said = ask(here, PLAIN.replace("}", f", {key}: {yes}}}"))
        assert code == 2
        expected = f"datasets.mine.{key}: got {read}; expected a column's name: put it in quotes"
        assert expected in said.replace("[", "").replace("]", "")
    for key in ("drop", "category", "missing"):
        assert "got [null]; expected a text: put it in quotes" in ask(here, PLAIN.replace("}", f", {key}: [null]}}"))[1]


@pytest.mark.parametrize("option", ["--drop", "--no-header", "--allow-overlap", "--x"])
def test_names_of_ones_own_stand_in_a_refusal_as_they_are_and_options_as_keys(here: Path, option: str) -> None:
    (here / "own" / f"q {option}").mkdir(parents=True)
    lines = "\n".join(f"{i},{'Ulm' if i % 2 else i}" for i in range(30))
    for name in (f"p{option}.csv", f"p {option}.csv", f"q {option}/{option} p.csv"):
        for column in (option, f"a {option} b", f"it's {option}"):
            (here / "own" / name).write_text(f"size,{column}\n{lines}\n")
            code, said = ask(here, f"{{kind: table, positives: 'own/{name}', unlabelled: 'own/{name}'}}")
            assert code == 2
            assert f"own/{name}, row " in said
            assert f"column {column!r} holds 'Ulm'" in said
            assert f"category: {column!r} to read the column as categories, or drop: {column!r}." in said
            assert repr(f"size,{column}") in said


@pytest.mark.parametrize(("data", "more", "changes", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_asked_is_refused_with_its_place(
    data: str, more: str, changes: list[tuple[str, str]], expected: list[str], here: Path
) -> None:
    tables(here)
    code, said = ask(here, data, more, *changes)
    assert code == 2, said
    for words in expected:
        assert words in said
    assert "Traceback" not in said
    assert not Path("work").exists()


TICE = "tune: {}\npriors:\n  tice: {params: {scaling: minmax, k: 1, folds: 5, splits: 1, max_splits: 9, min_size: 2, "
TICE += "iterations: 1}}\n  dedpul_alpha: {params: DEDPUL}"


@pytest.mark.parametrize(
    ("prior", "more", "expected"),
    [
        ("tice", "n_pos_lab: 1, n_unl: 3", "prior: tice cuts 1 labelled and 3 unlabelled rows into 5 folds"),
        ("tice", "n_pos_lab: 2, n_unl: 3", None),
        ("tice", "n_pos_lab: 4, n_unl: 4, holdout: 0.5", "prior: tice cuts 2 labelled and 2 unlabelled rows"),
        ("dedpul_alpha", "n_pos_lab: 1", "prior: dedpul_alpha cuts 1 labelled and 60 unlabelled rows into 3 folds"),
        ("dedpul_alpha", "n_pos_lab: 3", None),
        ("dedpul_alpha", "n_pos_lab: 4, holdout: 0.5", "prior: dedpul_alpha cuts 2 labelled and 30 unlabelled rows"),
    ],
)
def test_a_table_with_too_few_rows_is_refused_before_anything_is_planned(
    here: Path, prior: str, more: str, expected: str | None
) -> None:
    tables(here)
    packaged = settings("pu_svm", prior="dedpul_alpha").prior
    assert isinstance(packaged, Part)
    sections = TICE.replace("DEDPUL", json.dumps(packaged.params | {"folds": 3}))
    code, said = ask(here, TESTED, more, ("tune: {}", sections), ("prior: {fixed: 0.4}", f"prior: {prior}"))
    assert code == (0 if expected is None else 2), said
    if expected is not None:
        assert f"tables.table.methods: pu_svm: {expected}" in said
        assert "a number by prior:, or an entry with fewer folds by the section priors (params.yaml)" in said
        assert "--" not in said
        assert not Path("work").exists()


@pytest.mark.parametrize(
    ("n_u", "expected"), [(4, "pu_svm: prior: tice cuts 2 labelled and 2 unlabelled rows into 5 folds"), (8, None)]
)
def test_a_sweep_with_too_few_rows_is_refused_before_anything_is_planned(
    here: Path, n_u: int, expected: str | None
) -> None:
    tables(here)
    (here / "tuning" / "spaces").mkdir(parents=True)
    (here / "tuning" / "spaces" / "pu_svm.yaml").write_text("tiny: {lam: [0.01, 0.1]}\n")
    packaged = settings("pu_svm", prior="dedpul_alpha").prior
    assert isinstance(packaged, Part)
    sweep = SWEEP.replace("pu_told", "pu_svm").replace("holdout: 0.2", f"holdout: 0.5, n_pos_lab: 4, n_unl: {n_u}")
    sections = TICE.replace("tune: {}", sweep).replace("DEDPUL", json.dumps(packaged.params))
    code, said = ask(here, TESTED, "", ("tune: {}", sections), ("prior: {fixed: 0.4}", "prior: tice"))
    assert code == (0 if expected is None else 2), said
    if expected is not None:
        assert f"tune.{expected}" in said
        assert "--" not in said
        assert not Path("work").exists()


@pytest.mark.parametrize(("folds", "code"), [([8, 9], 2), ([2, 9], 0)])
def test_a_sweep_is_refused_where_no_configuration_is_possible(here: Path, folds: list[int], code: int) -> None:
    tables(here)
    (here / "tuning" / "spaces").mkdir(parents=True)
    (here / "tuning" / "spaces" / "dedpul.yaml").write_text(f"tiny: {{folds: {folds}}}\n")
    sweep = SWEEP.replace("pu_told", "dedpul").replace("holdout: 0.2", "holdout: 0.5, n_pos_lab: 10, n_unl: 10")
    entry = f"  dedpul: {{params: {json.dumps(settings('dedpul').params | {'folds': folds[0]})}}}\n"
    got, said = ask(here, TESTED, "", ("tune: {}", sweep), ("methods:\n", f"methods:\n{entry}"))
    assert got == code, said
    assert (code == 0) == ("tune.dedpul: method: dedpul cuts 5 labelled and 5 unlabelled" not in said)


def test_no_fit_can_be_told_the_classes_of_own_unlabelled_rows() -> None:
    sample = Sample(
        dataset="mine", data_digest="d", pos=(0,), n_pos_lab=1, neg=(1,), n_pos_unl=0, n_neg_unl=5, unknown_u=True
    )
    assert sample.alpha is None
    asked = {"method": "pu_svm", "params": {}, "sample": sample, "seed": 0, "code_digest": "c", "draw_digest": "d"}
    assert Fit(**asked, prior=Prior(kind="fixed", value=0.3)).id
    for given in ({"prior": Prior(kind="true")}, {"labels": "oracle"}):
        with pytest.raises(ValueError, match="the classes of U are unknown"):
            Fit(**asked, **given)
