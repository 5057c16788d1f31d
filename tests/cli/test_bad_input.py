"""What is asked wrongly is told in one sentence with its place, and nothing is started."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from dvc.utils.serialize import load_yaml
from project import REPOSITORY, Project
from typer.testing import CliRunner

from puoc.cli.app import app

New = Callable[..., Project]
Asked = Callable[[str], tuple[int, str]]

TINY = (REPOSITORY / "profiles" / "tiny.yaml").read_text()
ALPHA_SWEEP = """\
  sweep:
    scenario: alpha_sweep
    dataset: digits
    pos: [0]
    neg: [1]
    n_pos_lab: 40
    n_unl: 50
    alphas: [0.5]
    seeds: 2
    configs: published
    methods: [oc_svm]

tune:
"""


def tiny(*changes: tuple[str, str]) -> str:
    """The tiny profile with the first place of each text changed."""
    text = TINY.replace("tune:\n", ALPHA_SWEEP, 1)
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Write params.yaml into a project that has a plan already; exit code and words of ``puoc plan``."""
    shutil.copytree(REPOSITORY / "tuning" / "spaces", tmp_path / "tuning" / "spaces")
    monkeypatch.chdir(tmp_path)

    def plan(text: str, *words: str) -> tuple[int, str]:
        Path("params.yaml").write_text(text)
        done = CliRunner().invoke(app, ["plan", *words])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    code, said = plan(tiny())
    assert code == 0
    assert said.startswith("params.yaml: 2 tables, 1 sweep, no errors\n")
    return plan


def contents() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file() and path.name != "params.yaml"}


WRONG = {
    "an unknown section": (("methods:\n", "metods:\n"), ["metods: unknown section", "did you mean 'methods'"]),
    "a misspelt key of a table": (
        ("n_pos_lab: 40", "n_pos_labb: 40"),
        ["tables.one_vs_all.n_pos_labb: unknown key (did you mean 'n_pos_lab'?)"],
    ),
    "a misspelt key of compute": (
        ("workers: auto", "worker: auto"),
        ["compute.worker: unknown key (did you mean 'workers'?)"],
    ),
    "a list of datasets": (
        ("    dataset: digits\n", "    dataset: [digits]\n"),
        ["tables.one_vs_all.dataset: got ['digits']", "expected one of"],
    ),
    "a leading zero": (("seeds: 2", "seeds: 012"), ["tables.one_vs_all.seeds: got 012", "leading zero", "write 12"]),
    "no as a method": (
        ("  nnpu:\n    prior", "  nnpu:\n    method: no\n    prior"),
        ["methods.nnpu.method: unknown method 'no'", "expected one of ", "oc_svm"],
    ),
    "an alpha above 1": (
        ("alphas: [0.5]", "alphas: [1.2]"),
        ["tables.sweep.alphas[0]: got 1.2; expected less than or equal to 1"],
    ),
    "no such table of the paper": (
        ("    scenario: one_vs_all\n", "    scenario: one_vs_all\n    published: ovaa\n"),
        ["tables.one_vs_all.published: got 'ovaa'", "expected", "'ova'"],
    ),
    "a table of the paper with other columns": (
        ("    scenario: one_vs_all\n", "    scenario: one_vs_all\n    published: shift\n"),
        [
            "tables.one_vs_all.published: got shift, and the cells are pos=0",
            "expected at least one of its columns, n=1",
        ],
    ),
    "a date": (
        ("title: One class against all others", "title: 2024-01-31"),
        ["tables.one_vs_all.title: got the date 2024-01-31; expected no date"],
    ),
    "a key that stands twice": (
        ("    n_pos_lab: 40\n", "    n_pos_lab: 40\n    n_pos_lab: 50\n"),
        ["params.yaml:12: tables.one_vs_all.n_pos_lab: the key stands twice", "expected each key once"],
    ),
    "more labelled rows than a class has": (
        ("n_pos_lab: 40", "n_pos_lab: 4000"),
        ["tables.one_vs_all: one_vs_all, cell pos=0: ", "40", "available in digits/train"],
    ),
    "an unknown dataset": (
        ("dataset: digits", "dataset: digit"),
        ["tables.one_vs_all.dataset: got 'digit' (did you mean 'digits'?); expected one of "],
    ),
    "an unknown scenario": (
        ("scenario: one_vs_all", "scenario: one_versus_all"),
        ["tables.one_vs_all.scenario: got 'one_versus_all' (did you mean 'one_vs_all'?); expected one of"],
    ),
    "an unknown method": (
        ("  nnpu:\n    prior", "  nnpuu:\n    prior"),
        ["methods.nnpuu: unknown method 'nnpuu' (did you mean 'nnpu'?); expected one of "],
    ),
    "an unknown hyperparameter": (
        ("lr_decay: 0.99", "lr_decai: 0.99"),
        ["methods.nnpu.params: unknown hyperparameter 'lr_decai' (did you mean 'lr_decay'?)"],
    ),
    "a missing hyperparameter": (
        ("surrogate: sigmoid, ", ""),
        ["methods.nnpu.params: missing hyperparameter 'surrogate'"],
    ),
    "a method in a table that is no entry of methods": (
        ("[oc_svm, pu_svm, nnpu]", "[oc_svm, pu_swm, nnpu]"),
        ["tables.one_vs_all.methods[1]: got 'pu_swm' (did you mean 'pu_svm'?); expected a key of methods: "],
    ),
    "a method twice in a table": (
        ("[oc_svm, pu_svm, nnpu]", "[oc_svm, oc_svm]"),
        ["tables.one_vs_all.methods: got a method twice in oc_svm, oc_svm"],
    ),
    "an unknown kind of configs": (
        ("configs: selected", "configs: chosen"),
        ["tables.one_vs_all.configs: got 'chosen'; expected 'published' or 'selected'"],
    ),
    "no seeds": (("seeds: 2", "seeds: 0"), ["tables.one_vs_all.seeds: got 0; expected at least 1"]),
    "seeds in words": (
        ("seeds: 2", "seeds: two"),
        ["tables.one_vs_all.seeds: got 'two'; expected a number of seeds or a list"],
    ),
    "an unknown space": (("space: tiny", "space: tini"), ["tune.pu_svm.space: ", "no space 'tini'", "tiny"]),
    "a sweep of no entry": (
        ("tune:\n  pu_svm:", "tune:\n  pu_swm:"),
        ["tune.pu_swm: got 'pu_swm' (did you mean 'pu_svm'?); expected a key of methods"],
    ),
    "a class that there is not": (("pos: [0, 1]", "pos: [0, 10]"), ["tables.one_vs_all", "10", "0 to 9"]),
    "a missing key": (
        ("    dataset: digits\n", ""),
        ["tables.one_vs_all.dataset: the key is missing; expected one of"],
    ),
    "a prior for a one-class method": (
        ("oc_svm:\n", "oc_svm:\n    prior: true\n"),
        ["methods.oc_svm.prior: oc_svm is a one-class method and takes no prior"],
    ),
    "no prior for a method that needs one": (
        ("  nnpu:\n    prior: true\n", "  nnpu:\n"),
        ["methods.nnpu.prior: nnpu needs a class prior; expected true, {fixed: NUMBER} or a key of the section priors"],
    ),
    "what is no YAML": (("workers: auto", "workers: [auto"), ["params.yaml:3: ", "expected ',' or ']'"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_question_is_refused_with_its_place_and_the_plan_stays(ask: Asked, name: str) -> None:
    change, expected = WRONG[name]
    before = contents()
    for words in ((), ("--check",)):
        code, said = ask(tiny(change), *words)
        assert code == 2, said
        for part in expected:
            assert part in said, said
        assert "Traceback" not in said
    assert contents() == before


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("", "nothing"),
        ("# nothing yet\n", "nothing"),
        ("[1, 2]\n", "[1, 2] (a list)"),
        ("--- text\n", "'text' (a text)"),
    ],
    ids=["empty", "a comment", "a list", "a text"],
)
def test_a_file_that_is_no_mapping_is_refused(ask: Asked, text: str, got: str) -> None:
    before = contents()
    code, said = ask(text)
    assert code == 2
    assert said.startswith(f"params.yaml: got {got}; expected the sections ")
    assert all(section in said for section in ("compute", "tables", "tune", "methods"))
    assert contents() == before


def test_a_missing_file_is_refused(ask: Asked) -> None:
    Path("params.yaml").unlink()
    done = CliRunner().invoke(app, ["plan", "--check"])
    assert done.exit_code == 2
    assert "params.yaml: cannot be read (No such file or directory)" in done.output


def test_every_fault_of_a_file_is_told_at_once(ask: Asked) -> None:
    code, said = ask(tiny(("dataset: digits", "dataset: digit"), ("lr_decay", "lr_decai"), ("workers", "worker")))
    assert code == 2
    assert [line.split(": ")[1] for line in said.splitlines()] == [
        "compute.worker",
        "methods.nnpu.params",
        "tables.one_vs_all.dataset",
    ]


@pytest.mark.parametrize("written", ["5e-4", "5E-4", "5e-04", "5.0e-4", "0.0005", ".5e-3"])
def test_a_small_number_is_a_number_however_it_is_written(ask: Asked, written: str) -> None:
    text = tiny(("lr: 1.0e-2", f"lr: {written}"))
    code, said = ask(text)
    assert code == 0
    assert said.startswith("params.yaml: 2 tables, 1 sweep, no errors\n")
    asked = json.loads(Path("work/configs/published/one_vs_all.json").read_text())
    assert asked["nnpu"]["params"]["lr"] == 0.0005
    assert load_yaml("params.yaml")["methods"]["nnpu"]["params"]["lr"] == 0.0005  # as DVC's templating reads it


def test_check_writes_nothing(ask: Asked) -> None:
    before = contents()
    assert ask(tiny(("seeds: 2", "seeds: 3")), "--check")[0] == 0
    assert contents() == before
    assert ask(tiny(("seeds: 2", "seeds: 3")))[0] == 0
    assert contents() != before


def test_commands_of_an_unknown_table_or_fit_say_what_there_is(ask: Asked) -> None:
    for words, expected in (
        (["run", "one_vs_al"], "no plan of 'one_vs_al' in tables; planned: one_vs_all, sweep"),
        (["tune", "oc_svm"], "no plan of 'oc_svm' in tune; planned: pu_svm"),
        (["run", "one_vs_all"], "work/configs/selected/one_vs_all.json does not exist"),
        (["retry", "0" * 24], f"no failed fit {'0' * 24}; failed: none"),
    ):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2, done.output
        assert expected in done.output


#: What a command reads or writes, and what comes before it. A file lies there for a folder, and a folder for a file.
IN_THE_WAY = {
    "plan": ("work", []),
    "fetch": ("work/data", []),
    "prepare": ("work/prepared", []),
    "pending": ("work/pending", []),
    "select": ("results/tune/val/pu_svm.parquet", []),
    "compare": ("results/compare", []),
    "report": ("reports", ["compare"]),
    "retry": ("results/tables/sweep.parquet", []),
    "study": ("work/study", ["prepare"]),
}


@pytest.mark.usefixtures("ask")
@pytest.mark.parametrize("command", IN_THE_WAY)
def test_a_place_that_cannot_be_used_is_named_in_a_line(command: str) -> None:
    place, before = IN_THE_WAY[command]
    for word in before:
        assert CliRunner().invoke(app, [word]).exit_code == 0
    path = Path(place)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix:
        path.mkdir()
    else:
        path.write_text("mine")
    words = {"report": ["--no-track"], "retry": ["all"], "study": ["--method", "pu_svm"]}.get(command, [])
    done = CliRunner().invoke(app, [command, *words])
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 1, done.output
    assert place in done.output
    assert path.is_dir() if path.suffix else path.read_text() == "mine"


@pytest.mark.usefixtures("ask")
def test_mlflow_without_rows_is_told_in_words() -> None:
    done = CliRunner().invoke(app, ["track"])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[0] == "MLflow: no rows"
