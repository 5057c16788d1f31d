"""Exports and imports of published results that are killed at any moment, or meet each other."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from project import REPOSITORY

from puoc.records import Fit, FitResult, Sample, TestSet, Trial, TrialResult
from puoc.store import ledger_upkeep as upkeep
from puoc.store.ledger import Ledger
from puoc.store.published import (
    About,
    content_digest,
    export_folder,
    import_folder,
    published_form,
    read_manifest,
    read_published,
)

pytestmark = pytest.mark.slow

N_FITS = 60
KILLS = 20
OTHER = "b" * 16

#: Kills its process before it opens, renames, links or removes a file for the n-th time, and counts how often it does.
COUNT = """
import os, signal, sys
steps, last = 0, int(sys.argv.pop(1))

def watch(event, arguments):
    global steps
    if event in ("open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir"):
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)
        steps += 1

"""
IMPORT = """
from pathlib import Path
from puoc.store.ledger import Ledger
from puoc.store.published import import_folder
ledger, folder = Ledger(sys.argv[1]), Path(sys.argv[2])
print("ready", flush=True)
sys.addaudithook(watch)
import_folder(ledger, folder)
print(steps)
"""
EXPORT = """
from pathlib import Path
from puoc.store.ledger import Ledger
from puoc.store.published import About, export_folder
ledger, folder, project = Ledger(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
print("ready", flush=True)
sys.addaudithook(watch)
export_folder(ledger, folder, About("a", "b", "c"), project=project, params=project / "params.yaml", fits=ledger.ids())
print(steps)
"""


def fill(ledger: Ledger, seeds: range, shift: float = 0.0) -> None:
    """Record fits on two datasets, each scored by two codes."""
    for seed in seeds:
        sample = Sample(dataset=f"set{seed % 2}", data_digest="d", pos=(0,), n_pos_lab=5)
        fit = Fit(method="oc_svm", params={"nu": 0.5}, sample=sample, seed=seed, code_digest="c", draw_digest="d")
        trial = Trial(fit=fit, test=TestSet(pos=(0,), neg=(1,)))
        scored = [
            TrialResult(
                trial_id=trial.id,
                fit_id=fit.id,
                test=trial.test,
                auc=round((seed % 97) / 100 + shift, 4),
                n_pos=5,
                n_neg=5,
                scoring_digest=code,
            )
            for code in ("a" * 16, OTHER)
        ]
        assert ledger.put_imported([(FitResult(fit=fit, status="ok", fit_seconds=0.1), scored)]) == [True]


def content(ledger: Ledger) -> str:
    return content_digest(published_form(entry) for fit_id in ledger.ids() if (entry := ledger.get(fit_id)))


def export(project: Path, folder: Path, name: str = "ledger") -> str:
    ledger = Ledger(project / name)
    about = About("a", "b", "c")
    params = project / "params.yaml"
    return export_folder(ledger, folder, about, project=project, params=params, fits=[*ledger.ids()]).content


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two ledgers: ``small`` has a third of the fits of ``ledger``."""
    root = tmp_path_factory.mktemp("project")
    fill(Ledger(root / "ledger"), range(N_FITS))
    fill(Ledger(root / "small"), range(0, N_FITS // 3 * 2, 2))
    (root / "params.yaml").write_text("seeds: 1\n" * 1000)
    (root / "work" / "plan").mkdir(parents=True)
    (root / "work" / "plan" / "compute.json").write_text("{}")
    return root


@contextmanager
def started(code: str, *words: Path, kill_at: int = -1) -> Iterator[subprocess.Popen[str]]:
    """A process that runs a program, from the moment that it begins its work; it may kill itself at a step of it."""
    env = {"PYTHONPATH": str(REPOSITORY / "src"), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", COUNT + code, str(kill_at), *map(str, words)], env=env, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def steps_of(code: str, *words: Path) -> list[int]:
    """Steps of an undisturbed program at which to kill it: KILLS of them, from the first to the last."""
    with started(code, *words) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        assert process.wait() == 0
    return [(int(said) - 1) * kill // (KILLS - 1) for kill in range(KILLS)]


def killed(code: str, *words: Path, step: int) -> None:
    """Run a program that is killed at a step."""
    with started(code, *words, kill_at=step) as process:
        assert process.wait() == -signal.SIGKILL


def test_a_killed_import_is_repeated_to_the_same_ledger(project: Path, tmp_path: Path) -> None:
    expected = export(project, tmp_path / "published")
    steps = steps_of(IMPORT, tmp_path / "first", tmp_path / "published")
    assert content(Ledger(tmp_path / "first")) == expected
    numbers = []
    for step in steps:
        root = tmp_path / f"ledger-{step}"
        killed(IMPORT, root, tmp_path / "published", step=step)
        ledger = Ledger(root)
        known = sum(1 for _ in ledger.ids())
        numbers.append(len(list(root.rglob("*.json"))))
        assert upkeep.verify(ledger) == []
        again = import_folder(ledger, tmp_path / "published")
        assert (again.fits, again.known) == (N_FITS - known, known)
        assert content(ledger) == expected
        assert import_folder(ledger, tmp_path / "published") == (0, 0, N_FITS)
    assert len({number for number in numbers if 0 < number < 2 * N_FITS}) >= 3, numbers  # some were killed in between


def test_imports_at_the_same_time_give_one_ledger(project: Path, tmp_path: Path) -> None:
    expected = export(project, tmp_path / "published")
    export(project, tmp_path / "small", "small")
    ledger = Ledger(tmp_path / "ledger")
    folders = [tmp_path / "published", tmp_path / "small", tmp_path / "published"]
    with started(IMPORT, ledger.root, folders[0]) as a, started(IMPORT, ledger.root, folders[1]) as b:
        import_folder(ledger, folders[2])
        assert (a.wait(), b.wait()) == (0, 0)
    assert content(ledger) == expected
    assert upkeep.verify(ledger) == []


def readable(folder: Path) -> str:
    """The content of a folder, or ``refused``."""
    try:
        return read_published(folder)[0].content
    except ValueError as error:
        assert str(folder) in str(error)  # noqa: PT017
        return "refused"


def test_a_killed_export_leaves_the_old_or_the_new_results_or_a_refusal(project: Path, tmp_path: Path) -> None:
    folder = tmp_path / "published"
    old, new = export(project, folder, "small"), export(project, tmp_path / "other")
    sound = {path.name: path.read_bytes() for path in (tmp_path / "other").iterdir()}
    shutil.copytree(folder, tmp_path / "before")
    steps = steps_of(EXPORT, project / "ledger", tmp_path / "counted", project)
    found: Counter[str] = Counter()
    for kill, step in enumerate(steps):
        shutil.rmtree(folder)
        if kill % 4:  # otherwise a first export
            shutil.copytree(tmp_path / "before", folder)
        killed(EXPORT, project / "ledger", folder, project, step=step)
        state = readable(folder)
        assert state in (old, new, "refused")
        found[state] += 1
        assert export(project, folder) == new
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == sound
        assert not list(tmp_path.glob(".published*"))
    assert found[old] > 0, found


def test_a_reader_beside_an_export_sees_old_or_new_results_or_is_refused(project: Path, tmp_path: Path) -> None:
    folder = tmp_path / "published"
    new, old = export(project, folder), export(project, folder, "small")
    found: Counter[str] = Counter()
    for turn in range(4):
        name = "small" if turn % 2 else "ledger"
        with started(EXPORT, project / name, folder, project) as process:
            is_over = False
            while not is_over:  # the last look is at what the export left
                is_over = process.poll() is not None
                found[readable(folder)] += 1
            assert process.returncode == 0
        assert read_manifest(folder).content == (old if turn % 2 else new)
    assert set(found) <= {old, new, "refused"}
    assert found[old] > 0, found
    assert found[new] > 0, found
