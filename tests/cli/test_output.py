"""``--json`` and ``--quiet``: one document with the keys of the help alone on the standard output, or nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from planned import Data, Planned
from project import REPOSITORY
from sweep_project import unrun
from typer.main import get_command
from typer.testing import CliRunner, Result

import puoc
from puoc.cli.app import app
from puoc.cli.console import show_own_warnings
from puoc.cli.help import VERBS
from puoc.run.stages import run_part

PLANNED = Planned(
    """
compute: {workers: 1, lane_map: loop, models: all, device: cpu}
tables:
  small:
    scenario: one_vs_all
    dataset: digits
    pos: [0]
    n_pos_lab: 20
    n_pos_unl: 20
    n_neg_unl: 20
    seeds: 2
    configs: published
    methods: [oc_svm]
tune: {}
methods:
  oc_svm: {encoder: flatten, params: {kernel: linear, nu: 0.5}}
""",
    "digits",
)
#: In an order in which each finds what it needs.
CALLS = ("plan --check", "pending", "select", "compare", "report --no-track", "status", "show small", "ledger count")
CALLS += ("ledger verify", "ledger compact", "ledger export out.parquet", "ledger import out.parquet", "run small")
CALLS += ("methods", "datasets", "metrics", "ledger adopt --dry-run", "fetch", "prepare", "doctor")
CALLS += ("new-method mine", "fit --positives p.csv --unlabelled u.csv --method knn --out knn.puoc")
CALLS += ("score u.csv --model knn.puoc --out scores.csv",)


#: The same for commands of sweeps, MLflow and published results, which take longer.
DEARER = ("tune pu_svm", "sweep --method pu_svm", "study --method pu_svm", "run one_vs_all", "track", "retry all")
DEARER += ("ledger export exported", "published exported --out opened")


def ran(*words: str) -> Result:
    return CliRunner().invoke(app, words)


@pytest.fixture(scope="module")
def computed(prepared_data: Data, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    PLANNED.at(root, prepared_data)
    run_part(root, "tables", "small")
    (root / "src" / "puoc" / "methods").mkdir(parents=True)  # of `puoc new-method`
    rows = np.random.default_rng(0).normal(size=(60, 2)).round(6)
    for name, part in (("p.csv", rows[:30]), ("u.csv", rows[30:])):
        np.savetxt(root / name, part, fmt="%.6f", delimiter=",", header="a,b", comments="")
    return root


def verb_of(call: str) -> str:
    """The name in VERBS."""
    return " ".join(call.split()[: 2 if call.startswith("ledger") else 1])


def print_the_keys_of_the_help(calls: Sequence[str]) -> None:
    """Each call prints one JSON document."""
    for call in calls:
        done = ran(*call.split(), "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout).keys() == set(VERBS[verb_of(call)].keys), call


def test_json_is_one_document_with_the_keys_of_the_help(computed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(computed)
    print_the_keys_of_the_help(CALLS)


@pytest.mark.slow
def test_json_of_sweeps_tracking_and_published_results_is_one_document(
    prepared_data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unrun(tmp_path, prepared_data)
    monkeypatch.chdir(tmp_path)
    print_the_keys_of_the_help(DEARER)
    assert {name for name, verb in VERBS.items() if verb.keys} <= {verb_of(call) for call in (*CALLS, *DEARER)}


def test_quiet_prints_nothing(computed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(computed)
    calls = [
        "plan --check",
        "status",
        "compare",
        "ledger count",
        "metrics",
        "audit --no-effect --positives p.csv --unlabelled u.csv",
    ]
    for call in [*calls, "fit --positives p.csv --unlabelled u.csv --method knn --out quiet.puoc"]:
        done = ran(*call.split(), "--quiet")
        assert (done.exit_code, done.output) == (0, ""), call


def test_an_error_prints_no_part_of_a_document_and_is_printed_with_quiet_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for option in ("--json", "--quiet"):
        done = ran("status", option)
        assert (done.exit_code, done.stdout) == (2, "")
        assert "no params.yaml here" in done.stderr


def test_every_command_that_prints_results_has_both_options() -> None:
    root = get_command(app)
    found = {name: one for name, one in root.commands.items() if name != "ledger"}
    found |= {f"ledger {name}": one for name, one in root.commands["ledger"].commands.items()}
    for name, command in found.items():
        options = {text for param in command.params for text in param.opts}
        assert "--quiet" in options
        assert "--json" in options or name == "ui"


def test_the_documentation_names_the_keys_of_each_command() -> None:
    text = (REPOSITORY / "docs" / "results.md").read_text()
    rows = re.findall(r"^\| `puoc ([a-z -]+)` \| (.+) \|$", text, flags=re.MULTILINE)
    documented = {name: tuple(re.findall(r"`(\w+)`", keys)) for name, keys in rows}
    assert documented == {name: verb.keys for name, verb in VERBS.items() if verb.keys}


def test_a_shell_completes_the_commands() -> None:
    words = {"_PUOC_COMPLETE": "complete_bash", "COMP_WORDS": "puoc led", "COMP_CWORD": "1"}
    call = "from puoc.cli.app import app; app(prog_name='puoc')"
    done = subprocess.run(
        [sys.executable, "-c", call], env={**os.environ, **words}, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["ledger"]


def test_a_warning_of_puoc_is_a_message_without_a_line_of_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    others: list[tuple[object, ...]] = []
    monkeypatch.setattr(warnings, "showwarning", lambda *given: others.append(given))
    show_own_warnings()
    own = str(Path(puoc.__file__).with_name("registry.py"))
    warnings.showwarning("the store was upgraded", UserWarning, own, 1)
    assert capsys.readouterr().err == "the store was upgraded\n"
    libraries = [("deprecated", FutureWarning, own, 1), ("not converged", UserWarning, "a_library.py", 1)]
    for given in libraries:
        warnings.showwarning(*given)
    assert [one[:4] for one in others] == libraries
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_one_line_names_the_scenarios_that_have_no_best_model_for_the_same_reason(
    prepared_data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PLANNED.params.replace("  small:\n", "  small: &small\n").replace("tune: {}", "  other: *small\ntune: {}")
    PLANNED._replace(params=text).at(tmp_path, prepared_data)
    monkeypatch.chdir(tmp_path)
    assert ran("run", "small", "other", "--budget", "0s").exit_code == 0
    done = ran("track")
    assert done.exit_code == 0, done.output
    names, reason = (
        "one_vs_all.digits.other, one_vs_all.digits.small",
        "no entry has come out well in all of its trials",
    )
    assert done.stdout.splitlines()[-1] == f"no model registered for {names}: {reason}"
    assert "UserWarning" not in done.output
