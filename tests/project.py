"""A project as a user has it after a clone and ``make install``: real files, real commands, nothing replaced."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, NamedTuple, Self

import psutil
import pyarrow.parquet as pq

from puoc.store.checked_parquet import read_rows
from puoc.store.result_rows import ResultRow

REPOSITORY = Path(__file__).resolve().parents[1]
PATIENCE = 600.0  # seconds after which a test takes a process for one that never ends: a busy machine is no fault
_NOT_NEEDED = ("tests", "docs", "dvc.lock", "params.yaml")
_MADE = ("work", "results", "reports", "ledger", "data", "build", "dist")  # by the pipeline or by an installation


class Repro(NamedTuple):
    """What a ``dvc repro`` did."""

    code: int
    output: str
    seconds: float

    @property
    def stages(self) -> list[str]:
        """Names of the stages that ran, in their order."""
        return re.findall(r"Running stage '([^']+)'", self.output)


class File(NamedTuple):
    """Enough to see whether a file was written again; unlike a whole ``os.stat``, no reader changes it."""

    inode: int
    mtime_ns: int
    size: int

    @classmethod
    def of(cls, path: Path) -> Self:
        """The state of a file."""
        state = path.stat()
        return cls(state.st_ino, state.st_mtime_ns, state.st_size)


#: Commands of puoc one after the other, each in a fork of a process that has loaded the libraries.
_EACH = """
import os, sys
import pandas, torch
from puoc.__main__ import main_and_leave
for command in sys.argv[1:]:
    if not (pid := os.fork()):
        sys.argv = ["puoc", *command.split()]
        main_and_leave()
    if code := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        sys.exit(code)
"""


@dataclass
class Project:
    root: Path
    settings: dict[str, str] = field(default_factory=dict)  # of the environment, beside those below

    @property
    def env(self) -> dict[str, str]:
        """The environment of a user, with this copy's code and nothing of the machine's own settings."""
        own = {k: v for k, v in os.environ.items() if not k.startswith(("PUOC_", "MLFLOW_", "DVC_", "PYTHON", "COV_"))}
        return own | {
            "PYTHONPATH": str(self.root / "src"),
            "OMP_NUM_THREADS": "1",
            "DVC_NO_ANALYTICS": "1",
            "DVC_SITE_CACHE_DIR": str(self.root / ".dvc" / "tmp" / "site"),
            "MLFLOW_DISABLE_TELEMETRY": "true",
            **self.settings,
        }

    # commands

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a command of .venv in a session of its own."""
        return subprocess.Popen(
            [self.root / ".venv" / "bin" / words[0], *words[1:]],
            cwd=self.root,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def call(self, *words: str) -> Repro:
        """Run a command of .venv to its end."""
        started = time.monotonic()
        process = self.start(*words)
        output, _ = process.communicate(timeout=PATIENCE)
        return Repro(process.returncode, output, time.monotonic() - started)

    def puoc(self, *words: str) -> Repro:
        """Run puoc to its end."""
        return self.call("puoc", *words)

    def each(self, *commands: str) -> str:
        """What commands of puoc print, one after the other, which load the libraries once; each must end with 0."""
        done = self.call("python", "-c", _EACH, *commands)
        assert done.code == 0, done.output
        return done.output

    def repro(self, *targets: str) -> Repro:
        """Run ``dvc repro`` to its end."""
        return self.call("dvc", "repro", *targets)

    def repro_passes(self, *targets: str) -> Repro:
        """``repro`` that must end with 0."""
        done = self.repro(*targets)
        assert done.code == 0, done.output
        return done

    # files

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace the one place in a file where ``old`` stands."""
        path = self.root / name
        text = path.read_text()
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
        path.write_text(text.replace(old, new))

    def write(self, name: str, text: str) -> None:
        """Write a file, with the folders above it."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def records(self) -> dict[str, File]:
        """Every record in the ledger, failed attempts among them, by its name."""
        return _files(self.root / "ledger", "*.json")

    def tree(self, *folders: str) -> dict[str, File]:
        """Every file below folders."""
        return {
            f"{folder}/{name}": file for folder in folders for name, file in _files(self.root / folder, "*").items()
        }

    def rows(self, name: str, part: str = "tables") -> list[ResultRow]:
        """Rows of a results file."""
        return read_rows(self.root / "results" / part / f"{name}.parquet", ResultRow)

    def answers(self) -> dict[tuple[str, ...], Any]:
        """What every asked trial came to: its status and AUCs, by file, entry, configuration, cell, seed, fit."""
        found: dict[tuple[str, ...], Any] = {}
        for path in sorted((self.root / "results").rglob("*.parquet")):
            part = path.relative_to(self.root / "results")
            if part.parts[0] == "compare":
                continue
            for row in pq.read_table(path).to_pylist():
                key = tuple(str(row.get(name)) for name in ("entry", "config_id", "cell", "seed", "trial_id"))
                values = tuple(row.get(name) for name in ("status", "auc", "auc_train_pool", "auc_val_pu"))
                assert (str(part), *key) not in found
                found[str(part), *key] = values
        return found

    # processes

    def processes(self) -> list[psutil.Process]:
        """Living processes that work in this project. A zombie is dead: nobody has asked for its exit code yet."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                inside = Path(process.cwd()) == self.root
                if inside and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def survivors(self) -> list[str]:
        """Command lines of processes that do not end by themselves; returns as soon as there are none."""
        until = time.monotonic() + PATIENCE
        while (alive := self.processes()) and time.monotonic() < until:
            time.sleep(0.02)
        found = []
        for process in alive:
            with suppress(psutil.Error):
                found.append(f"{process.pid} {process.status()} {' '.join(process.cmdline())}")
        return found

    def end_all(self) -> None:
        """Leave no process behind, whatever became of the test."""
        for process in self.processes():
            with suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)


def fresh(root: Path, profile: str = "tiny") -> Project:
    """A project nothing was run in, with a git history of one commit."""
    _copy_repository(root)
    shutil.copy(root / "profiles" / f"{profile}.yaml", root / "params.yaml")
    (root / ".venv").symlink_to(sys.prefix)
    git = ["git", "-c", "user.name=A User", "-c", "user.email=user@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "the project"]):
        subprocess.run([*git, *words], cwd=root, check=True, capture_output=True)
    return Project(root)


def clone(project: Project, root: Path) -> Project:
    """A copy of a project. MLflow's files do not come along: paths in them are those of their first place."""
    shutil.copytree(
        project.root, root, symlinks=True, ignore=shutil.ignore_patterns("mlflow.db*", "artifacts", ".last-writer")
    )
    return Project(root)


def _copy_repository(root: Path) -> None:
    """Copy the files of the repository, and the bytecode of its modules, which each project would compile again."""
    for name in _versioned():
        source, target = REPOSITORY / name, root / name
        if name.split("/")[0] in _NOT_NEEDED or not source.is_file():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
        compiled = Path(cache_from_source(str(source)))
        if source.suffix == ".py" and compiled.is_file():  # it has the time of its source, which stays the same
            place = Path(cache_from_source(str(target)))
            place.parent.mkdir(exist_ok=True)
            shutil.copy2(compiled, place)


def _versioned() -> Iterator[str]:
    """Files of the repository, those not committed yet among them; without git, all but what is made here."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0 and listed.stdout:
        yield from listed.stdout.rstrip("\0").split("\0")
        return
    for top in sorted(REPOSITORY.iterdir()):
        inside = [top] if top.is_file() else [] if top.name in (*_MADE, ".venv", ".git") else sorted(top.rglob("*"))
        for path in inside:
            name = path.relative_to(REPOSITORY)
            made = "__pycache__" in name.parts or name.parts[:2] in ((".dvc", "cache"), (".dvc", "tmp"))
            if path.is_file() and not made and (name.parts[0] != "mlruns" or name.name == "README.md"):
                yield str(name)


def _files(folder: Path, pattern: str) -> dict[str, File]:
    found = {}
    for path in folder.rglob(pattern):
        with suppress(FileNotFoundError):  # a claim or a temporary file that was just removed
            state = File.of(path)
            if path.is_file():
                found[str(path.relative_to(folder))] = state
    return found
