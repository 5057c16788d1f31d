"""What people try first: -h and --version, lists, examples, and commands before there is a plan."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from own_files import puoc, refused
from project import REPOSITORY
from ruamel.yaml import YAML
from typer.main import get_command

from puoc import __version__
from puoc.cli.app import app
from puoc.cli.console import hint
from puoc.cli.help import VERBS
from puoc.methods import make
from puoc.methods.training.estimator import typed
from puoc.registry import DATASETS, METHODS
from puoc.userdata.estimators.classes import class_of
from puoc.userdata.settings import settings

ROOT = get_command(app)


def commands() -> dict[str, Any]:
    """Every command by its words; those of a group too."""
    found: dict[str, Any] = dict(ROOT.commands)
    found |= {f"ledger {name}": one for name, one in found["ledger"].commands.items()}
    return found


def test_every_command_has_a_group_and_examples() -> None:
    assert commands().keys() == VERBS.keys()


@pytest.mark.parametrize("name", sorted(VERBS))
def test_h_shows_the_help_with_examples_of_words_that_the_command_takes(name: str) -> None:
    code, said = puoc(*name.split(), "-h")
    assert code == 0
    for example in VERBS[name].examples:
        assert " ".join(example.split()) in " ".join(said.replace("│", " ").split())
        words = shlex.split(example.rpartition("| ")[2])
        assert words[: 1 + len(name.split())] == ["puoc", *name.split()]
        command = commands()[name]
        if not hasattr(command, "commands"):
            command.make_context(name, words[1 + len(name.split()) :])  # raises an error for other words


def test_the_help_of_puoc_ends_with_commands_to_start_with() -> None:
    code, said = puoc("-h")
    assert code == 0
    found = [line.strip().split()[1] for line in said.partition("Start here:")[2].splitlines() if "puoc " in line]
    assert found == ["assess", "plan", "show", "--install-completion"]
    assert set(found[:3]) <= ROOT.commands.keys()


@pytest.mark.parametrize(("terminal", "stage", "shown"), [(True, "", True), (True, "plan", False), (False, "", False)])
def test_a_person_at_a_terminal_is_told_the_next_command(
    terminal: bool, stage: str, shown: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "DVC_STAGE"):
        monkeypatch.delenv(name, raising=False)
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    if stage:
        monkeypatch.setenv("DVC_STAGE", stage)
    hint("puoc show")
    assert ("next: puoc show" in capsys.readouterr().out) == shown


def test_version() -> None:
    assert puoc("--version") == (0, f"puoc {__version__}\n")


@pytest.mark.parametrize(("command", "names"), [("methods", METHODS), ("datasets", DATASETS)])
def test_what_is_registered_is_listed_a_line_each(command: str, names: Any) -> None:
    code, said = puoc(command)
    assert code == 0
    assert [line.split()[0] for line in said.splitlines()] == sorted(names)
    assert all(len(line.split()) > 5 for line in said.splitlines())


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_method_is_shown_with_its_hyperparameters(method: str) -> None:
    code, said = puoc("methods", method)
    assert code == 0, said
    head, _, table = said.partition("\n\n")
    assert head.startswith(f"{method}: ")
    assert f"puoc.{class_of(method).__name__}" in head
    names = [line.split()[0] for line in table.splitlines()[1:]]
    assert names == [field.name for field in fields(METHODS[method])]
    code, said = puoc("methods", method, "--json")
    [facts] = json.loads(said)["methods"]
    assert facts["name"] == method
    assert list(facts["hyperparameters"]) == names
    try:
        taken = settings(method)
    except ValueError:  # of a package that is not installed
        return
    for_columns = facts["hyperparameters_for_columns"] or facts["hyperparameters"]
    for shown, params in ((facts["hyperparameters"], taken.params), (for_columns, taken.for_inputs("vector").params)):
        assert {name: value for name, value in shown.items() if value is not None} == params
        assert all(str(value) in table for value in params.values())


@pytest.mark.parametrize(
    ("own", "values"),
    [({"variance": 0.5, "power": 3}, ["0.5", "3.0", "absent"]), (None, ["none; give it by --params"] * 3)],
)
def test_a_method_of_another_package_is_shown_with_what_puoc_fit_takes(
    own: dict[str, Any] | None, values: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @typed
    class Elsewhere(METHODS["pca"]):  # type: ignore[misc]
        """Made for this test."""

        default_params = own
        power: float
        rounds: int | None = None

    monkeypatch.setitem(METHODS, "elsewhere", Elsewhere)
    code, said = puoc("methods", "elsewhere")
    assert code == 0, said
    table = said.partition("\n\n")[2].splitlines()[1:]
    assert [tuple(line.split(maxsplit=1)) for line in table] == list(
        zip(("variance", "power", "rounds"), values, strict=True)
    )


def test_an_unknown_method_is_refused_with_the_nearest_one() -> None:
    code, said = puoc("methods", "knnn")
    assert code == 2
    assert "got 'knnn' (did you mean 'knn'?); expected a method: copod, " in " ".join(said.split())


@pytest.fixture
def unplanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(REPOSITORY / "params.yaml", tmp_path)
    shutil.copytree(REPOSITORY / "tuning", tmp_path / "tuning")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("doctor",), "MLflow: no store at"),
        (("doctor", "--method", "pu_svm"), "forecast: 72 fits on 2 workers"),
        (("sweep", "--method", "pu_svm", "--dry-run"), "12 configurations in total: 0 known, 0 failed, 12 missing"),
    ],
)
def test_a_look_ahead_works_before_there_is_a_plan_and_leaves_nothing(
    words: tuple[str, ...], expected: str, unplanned: Path
) -> None:
    before = sorted(unplanned.rglob("*"))
    code, said = puoc(*words, "--workers", 2)
    assert code == 0, said
    assert "there is no plan yet" in said
    assert expected in said
    assert sorted(unplanned.rglob("*")) == before


def test_an_entry_that_does_not_apply_is_named_with_its_trials(unplanned: Path) -> None:
    params = (unplanned / "params.yaml").read_text().replace("dataset: mnist5k", "dataset: pendigits")
    (unplanned / "params.yaml").write_text(params.replace("[oc_svm, pu_svm, nnpu, nnpu_conv,", "[oc_svm, oc_lstm,"))
    with (unplanned / "params.yaml").open("a") as file:
        file.write(OC_LSTM)
    code, said = puoc("plan", "--check")
    assert code == 0, said
    assert "oc_lstm does not apply: 15 trials of" in said


OC_LSTM = """
  oc_lstm:
    source: ours
    params:
      {lr: 1.0e-3, lr_decay: 1.0, epochs: 1, batch_size: 64, batching: p, nu: 0.5, hidden: 8, pooling: last,
       training: joint}
"""


def test_score_reads_the_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, mean in (("p", 1.0), ("u", 0.0)):
        pd.DataFrame(rng.normal(mean, 1, (60, 3)), columns=list("abc")).to_csv(f"{name}.csv", index=False)
    pd.read_csv("u.csv").to_parquet("u.parquet")
    words = ("--method", "oc_svm", "--positives", "p.csv", "--unlabelled", "u.csv", "--out", "model")
    assert puoc("fit", *words)[0] == 0
    assert puoc("score", "--model", "model", "u.csv", "--out", "by-file.csv")[0] == 0
    for file in ("u.csv", "u.parquet"):
        content = Path(file).read_bytes()
        code, said = _score_with(content, f"by-{file}-stream.csv")
        assert code == 0, said
        assert Path(f"by-{file}-stream.csv").read_bytes() == Path("by-file.csv").read_bytes()
    code, said = _score_with(b"", "none.csv")
    assert (code, said) == (2, "-: got an empty standard input; expected the rows to score\n")
    Path("model").unlink()
    for model, expected in (("model", "--model: model: there is no such file"), ("/proc/x", "--model: /proc/x: there")):
        refused(_score_with(b"a,b,c\n1,2,3\n", "none.csv", model), expected, "a model file that puoc fit made")
    refused(_score_with(b"a,b,c\n1,2,3\n", "none.csv", "."), "--model: .: a folder")


def _score_with(content: bytes, out: str, model: str = "model") -> tuple[int, str]:
    from typer.testing import CliRunner

    done = CliRunner().invoke(app, ["score", "--model", model, "-", "--out", out], input=content)
    return done.exit_code, done.output


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src" / "puoc" / "methods").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "src" / "puoc" / "methods"


@pytest.mark.parametrize("more", [(), ("--kind", "oc"), ("--kind", "pu_oc", "--twin", "drocc")])
def test_a_new_method_is_written_but_for_its_loss_which_says_what_is_expected(
    more: tuple[str, ...], repository: Path
) -> None:
    code, said = puoc("new-method", "my_first", *more)
    assert code == 0, said
    entry = YAML(typ="safe").load(said[said.index("methods:") : said.index("then test it")])["methods"]["my_first"]
    text = (repository / "my_first.py").read_text()
    scope: dict[str, Any] = {"__name__": "my_first"}
    try:
        exec(text, scope)
        assert METHODS["my_first"].kind == (more[1] if more else "pu")
        assert ("SETTING" in scope) == ("oc" not in more)  # what puoc plan compares with the setting of a table
        rows = np.zeros((4, 3), np.float32)
        with pytest.raises(NotImplementedError, match=r"my_first.loss: got no loss yet; expected .*my_first.py"):
            make("my_first", entry["params"]).fit(rows, rows, alpha=0.5)
    finally:
        METHODS.pop("my_first")
    words = ["check", "--ignore", "I001", "--config", REPOSITORY / "pyproject.toml", repository / "my_first.py"]
    found = subprocess.run([sys.executable, "-m", "ruff", *words], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("My Method",), "NAME: got 'My Method'; expected lower-case letters"),
        (("lambda",), "NAME: got 'lambda', a keyword of Python; expected another name, for example my_lambda"),
        (("class",), "NAME: got 'class', a keyword of Python"),
        (("match",), "NAME: got 'match', a keyword of Python"),
        (("nnpu",), "NAME: got 'nnpu', which exists; expected a new name"),
        (("mine", "--kind", "pu_oc"), "--twin: got None; expected an OC method: copod, csi"),
        (("mine", "--twin", "drocc"), "--twin: got 'drocc' with --kind pu; only a method of kind pu_oc has a twin"),
    ],
)
def test_a_new_method_that_cannot_be_is_refused_and_nothing_is_written(
    words: tuple[str, ...], expected: str, repository: Path
) -> None:
    code, said = puoc("new-method", *words)
    assert (code, said.startswith(expected)) == (2, True), said
    assert list(repository.iterdir()) == []


def test_a_new_method_is_not_named_as_a_package_or_a_file_of_puoc(repository: Path) -> None:
    (repository / "priors").mkdir()
    (repository / "cnn.py").touch()
    for name, what in (("priors", "a package, which would hide the new file"), ("cnn", "a file of puoc already")):
        code, said = puoc("new-method", name)
        assert code == 2
        assert f"NAME: got '{name}', and src/puoc/methods/{name}" in said
        assert f"is {what}; expected another name, for example my_{name}" in said
    assert sorted(path.name for path in repository.iterdir()) == ["cnn.py", "priors"]
