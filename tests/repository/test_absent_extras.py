"""Every command without the libraries of the extras: it works, or it names what to install and exits with code 2."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import typer
from conftest import New
from light import HIDING, core, hidden
from own_files import customers
from packaging.utils import canonicalize_name
from project import REPOSITORY
from test_light_wheel import WORKS

from puoc.cli.app import app
from puoc.store.extras import EXTRAS

#: A process for each command, with all that the core brings loaded before.
CALLS = """
import json
import multiprocessing
from pathlib import Path
import pandas, pydantic, rich.console, scipy.stats, sklearn.ensemble, torch
from typer.testing import CliRunner
from puoc.cli.app import app

def call(words):
    done = CliRunner().invoke(app, words.split())
    connection.send([done.exit_code, done.output, repr(done.exception)])

receiver, connection = multiprocessing.Pipe(duplex=False)
context, answers = multiprocessing.get_context("fork"), {}
for words in WORDS:
    process = context.Process(target=call, args=(words,))
    process.start()
    answers[words] = receiver.recv()
    process.join()
Path("answers.json").write_text(json.dumps(answers))
"""
IMPORTS = re.compile(r"^ *(?:from (\w+)[\w.]* import|import (\w+))", re.MULTILINE)
OWN = "--positives p.csv --unlabelled u.csv"
SENTENCE = re.compile(r"this needs the library (\w+), which is not installed; .*pip install 'puoc\[(\w+)\]'")
OF_METHOD = re.compile(r"the package (\w+), which is not installed; .*pip install (\w+)")
#: One call of each command in a finished project, and the extra that it needs; None if it works without any. Those of
#: one's own data are in test_light_wheel.py.
NEEDS = {
    "plan --check": "platform",
    "fetch": None,
    "prepare": None,
    "pending": None,
    "tune pu_svm": None,
    "select": None,
    "run one_vs_all": None,
    "compare": None,
    "report --no-track": "platform",
    "report": "platform",
    "show": None,
    "status": None,
    "retry all": None,
    "track": "platform",
    "ui --port 5999": "platform",
    "published": "platform",
    "sweep --method pu_svm": None,  # all of it is there
    "sweep --method pu_svm --search tpe --budget 1": "platform",
    "sweep --method pu_svm --dry-run": None,
    "sweep --method pu_svm --submit http://127.0.0.1:1": "platform",
    "doctor": None,
    "study --method pu_svm": "platform",
    "methods": None,
    "methods pyod": None,  # its class names the package, and only a fit imports it
    "datasets": None,
    "metrics": None,
    "new-method my_new": None,
    "ledger count": None,
    "ledger verify": None,
    "ledger verify --recompute 1": None,
    "ledger export exported": None,
    "ledger import exported": None,
    "ledger compact": None,
    "ledger adopt --dry-run": None,
    f"fit --method hbos {OWN} --out other --no-ranking-check --mlflow folder": "platform",
    f"fit --method pyod {OWN} --out other --no-ranking-check": "pyod",
    f"fit --method pulearn {OWN} --out other --no-ranking-check": "pulearn",
}


def commands() -> Iterable[str]:
    """The names of all commands."""
    top = typer.main.get_command(app)
    for name, command in top.commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        yield from [name] if inner is None else [f"{name} {one}" for one in inner]


def test_every_command_has_a_case() -> None:
    calls = [*NEEDS, *WORKS]
    called = {command for command in commands() for words in calls if f"{words} ".startswith(f"{command} ")}
    assert set(commands()) == called


@pytest.mark.slow
def test_every_command_works_in_the_core_or_names_its_extra(finished_copy: New) -> None:
    root = finished_copy().root
    customers(30, 1, 1.5).to_csv(root / "p.csv", index=False)
    customers(40, 2).to_csv(root / "u.csv", index=False)
    code = f"HIDDEN, WORDS = {hidden()!r}, {[*NEEDS]!r}\n{HIDING}\n{CALLS}"
    environment = {
        "PYTHONPATH": str(REPOSITORY / "src"),
        "OMP_NUM_THREADS": "1",
        "PATH": str(Path(sys.executable).parent),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((root / "answers.json").read_text())
    wrong = {}
    for words, extra in NEEDS.items():
        code, output, exception = found[words]
        said = " ".join(output.split())
        named = SENTENCE.search(said) or OF_METHOD.search(said)
        expected = (0, None) if extra is None else (2, extra)
        if (code, named and named[2]) != expected or (named and named[1] not in EXTRAS[named[2]]):
            wrong[words] = (code, output[-500:], exception)
    assert not wrong


def imported(path: Path) -> set[str]:
    """The names of the libraries that a module imports anywhere."""
    return {name for pair in IMPORTS.findall(path.read_text()) for name in pair if name}


def test_each_library_that_the_core_does_not_bring_belongs_to_an_extra() -> None:
    """A library of no extra would end in a traceback where it is not installed."""
    named = {library for libraries in EXTRAS.values() for library in libraries}
    of_mlflow, of_older_typer, of_types = {"alembic", "sqlalchemy"}, {"click"}, {"_typeshed"}
    expected = named | of_mlflow | of_older_typer | of_types | {"puoc", *sys.stdlib_module_names}
    whole = core()
    brought = {name for name, of in packages_distributions().items() if {canonicalize_name(one) for one in of} & whole}
    strange = {
        f"{path.relative_to(REPOSITORY)}: {name}"
        for path in (REPOSITORY / "src").rglob("*.py")
        for name in imported(path) - expected - brought
    }
    of_tests = {"src/puoc/testing.py: pytest", "src/puoc/methods/contract/checks.py: pytest"}  # pytest imports these
    assert strange == of_tests
