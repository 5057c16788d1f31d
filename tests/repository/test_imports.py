"""What loads what: the core runs without the platform, and light commands load nothing heavy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from project import REPOSITORY

CORE = """
import json, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("mlflow", "ray", "dvc", "optuna"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())

from pathlib import Path
from puoc.plan.params import read_params
from puoc.run.stages import run_part
from puoc.plan.make_plan import make_plan
from puoc.datasets.prepare.arrays import prepare
from puoc.store.checked_parquet import read_rows
from puoc.store.result_rows import ResultRow

root = Path.cwd()
make_plan(read_params(root / "params.yaml")).write(root)
prepare("digits", root / "data", root / "work" / "prepared")
counts = run_part(root, "tables", "small")
rows = read_rows(root / "results" / "tables" / "small.parquet", ResultRow)
answer_of = {"counts": counts, "statuses": sorted({r.status for r in rows}), "rows": len(rows)}
Path("answer.json").write_text(json.dumps(answer_of))
"""

SMALL = """
compute: {workers: 2, lane_map: loop, device: cpu}
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
    methods: [pu_svm, naive]
tune: {}
methods:
  pu_svm: {encoder: flatten, prior: true, params: {solver: exact, kernel: linear, risk: non_negative, lam: 0.01}}
  naive: {params: {lr: 1e-2, lr_decay: 1.0, epochs: 1, batch_size: 64, batching: union}}
"""


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "DVC_", "COV_"))}
    env |= {"PYTHONPATH": str(REPOSITORY / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


def loaded_by(code: str, folder: Path) -> set[str]:
    """Top-level modules in a fresh interpreter after this code."""
    tail = (
        "\nimport sys, json\nsys.stderr.write('MODULES ' + json.dumps(sorted({n.split('.')[0] for n in sys.modules})))"
    )
    done = python(code + tail, folder)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.rpartition("MODULES ")[2]))


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose table is computed without MLflow, Ray and DVC."""
    folder = tmp_path_factory.mktemp("core")
    (folder / "params.yaml").write_text(SMALL)
    done = python(CORE, folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_core_answers_a_table_without_mlflow_ray_and_dvc(computed: Path) -> None:
    found = json.loads((computed / "answer.json").read_text())
    assert found == {"counts": {"ok": 4, "failed": 0, "known": 0}, "statuses": ["ok"], "rows": 4}


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    code = """
import sys
from puoc.cli.app import main
sys.argv = ["puoc", "--help"]
try:
    main()
except SystemExit:
    pass
"""
    heavy = {"torch", "numpy", "scipy", "sklearn", "pandas", "pyarrow", "mlflow", "ray", "dvc", "optuna", "pydantic"}
    assert not loaded_by(code, tmp_path) & heavy


def test_help_is_there_in_seven_tenths_of_a_second(tmp_path: Path) -> None:
    times = []
    for _ in range(3):
        started = os.times()
        done = python("import sys; sys.argv = ['puoc', '--help']; from puoc.cli.app import main; main()", tmp_path)
        ended = os.times()  # the processor's time: other work on the machine is not the command's
        times.append(ended.children_user + ended.children_system - started.children_user - started.children_system)
        assert done.returncode == 0, done.stderr
        assert "Usage: puoc" in done.stdout
    assert min(times) < 0.7, times


HEAVY = {"torch", "pandas", "scipy", "sklearn", "pyarrow", "mlflow", "ray", "dvc", "optuna", "plotly", "gensim"}
#: What each command may load of it, if there is nothing to compute.
ALLOWED = {
    "fetch": set(),
    "prepare": set(),
    "pending": {"pyarrow"},
    "select": {"pyarrow", "scipy", "pandas"},
    "run small": {"pyarrow", "pandas"},  # pyarrow loads pandas when it makes an array from Python's values
    "status": {"pyarrow", "pandas", "scipy"},
    "compare": {"pyarrow", "scipy", "pandas"},
    "doctor": {"ray", "pandas", "pyarrow", "scipy"},  # no store: MLflow is not asked
}
EACH = """
import json, os, sys
from puoc.cli.app import main  # once for all; each command then runs in a process of its own
found = {}
for command in COMMANDS:
    if command is None:
        import pandas, pyarrow
        continue
    reader, writer = os.pipe()
    if os.fork() == 0:
        sys.argv, code = ["puoc", *command.split()], 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        os.write(writer, json.dumps([code, sorted({name.split(".")[0] for name in sys.modules})]).encode())
        os._exit(0)
    os.close(writer)
    found[command] = json.loads(os.fdopen(reader).read())
    os.wait()
open("modules.json", "w").write(json.dumps(found))
"""


@pytest.mark.slow
def test_a_command_with_nothing_to_compute_loads_only_what_it_needs(computed: Path) -> None:
    both = {"pyarrow", "pandas"}  # for most of the commands, so that these are loaded once, after the others have run
    commands = sorted(ALLOWED, key=lambda command: both <= ALLOWED[command])
    n_bare = sum(not both <= allowed for allowed in ALLOWED.values())
    assert 3 <= n_bare < len(ALLOWED)
    done = python(f"COMMANDS = {[*commands[:n_bare], None, *commands[n_bare:]]}\n{EACH}", computed)
    assert done.returncode == 0, done.stderr
    found = json.loads((computed / "modules.json").read_text())
    assert {command: code for command, (code, _) in found.items()} == dict.fromkeys(ALLOWED, 0), done.stderr
    assert {command: HEAVY & set(modules) - ALLOWED[command] for command, (_, modules) in found.items()} == {
        command: set() for command in ALLOWED
    }


@pytest.mark.slow
def test_the_file_of_a_method_can_be_imported_before_the_others(tmp_path: Path) -> None:
    """Another file may build on it, and would find half of it, if the import of one file loaded all of them."""
    code = "import puoc.methods.nnpu; from puoc.registry import METHODS; print(sorted(METHODS._classes))"
    done = python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["['nnpu',", "'upu']"]


def test_the_analysis_loads_neither_torch_nor_mlflow(tmp_path: Path) -> None:
    code = """
import importlib, pkgutil, puoc.analysis
for module in pkgutil.walk_packages(puoc.analysis.__path__, "puoc.analysis."):
    importlib.import_module(module.name)
"""
    assert not loaded_by(code, tmp_path) & {"torch", "mlflow", "ray", "dvc"}


def test_the_commands_between_the_fits_load_no_torch(tmp_path: Path) -> None:
    code = "import puoc.run.stages, puoc.run.select, puoc.plan.make_plan, puoc.plan.bind, puoc.run.result_rows\n"
    code += "import puoc, puoc.store.ledger, puoc.reporting.page, puoc.reporting.tracking"
    assert not loaded_by(code, tmp_path) & {"torch", "mlflow", "ray", "dvc"}
