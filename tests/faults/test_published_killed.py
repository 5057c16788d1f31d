"""Exports and imports of published results that are killed at any moment, or meet each other."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
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

IMPORT = """
import sys
from pathlib import Path
from puoc.store.ledger import Ledger
from puoc.store.published import import_folder
ledger, folder = Ledger(sys.argv[1]), Path(sys.argv[2])
print("ready", flush=True)
import_folder(ledger, folder)
"""
EXPORT = """
import sys
from pathlib import Path
from puoc.store.ledger import Ledger
from puoc.store.published import About, export_folder
ledger, folder, project = Ledger(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
print("ready", flush=True)
export_folder(ledger, folder, About("a", "b", "c"), project=project, params=project / "params.yaml", fits=ledger.ids())
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
def started(code: str, *words: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that runs a program, from the moment that it begins its work."""
    env = {"PYTHONPATH": str(REPOSITORY / "src"), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)], env=env, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def seconds(code: str, *words: Path) -> float:
    """How long a program works undisturbed."""
    with started(code, *words) as process:
        begun = time.monotonic()
        assert process.wait() == 0
        return time.monotonic() - begun


def test_a_killed_import_is_repeated_to_the_same_ledger(project: Path, tmp_path: Path) -> None:
    expected, draws = export(project, tmp_path / "published"), random.Random(0)
    whole = seconds(IMPORT, tmp_path / "first", tmp_path / "published")
    assert content(Ledger(tmp_path / "first")) == expected
    numbers = []
    for kill in range(KILLS):
        root = tmp_path / f"ledger-{kill}"
        with started(IMPORT, root, tmp_path / "published") as process:
            time.sleep(whole * draws.random())
            process.send_signal(signal.SIGKILL)
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
    folder, draws = tmp_path / "published", random.Random(1)
    old, new = export(project, folder, "small"), export(project, tmp_path / "other")
    sound = {path.name: path.read_bytes() for path in (tmp_path / "other").iterdir()}
    shutil.copytree(folder, tmp_path / "before")
    whole = seconds(EXPORT, project / "ledger", tmp_path / "timed", project)
    found: Counter[str] = Counter()
    for kill in range(KILLS):
        shutil.rmtree(folder)
        if kill % 4:  # otherwise a first export
            shutil.copytree(tmp_path / "before", folder)
        with started(EXPORT, project / "ledger", folder, project) as process:
            time.sleep(whole * draws.random())
            process.send_signal(signal.SIGKILL)
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
    for turn in range(6):
        name = "small" if turn % 2 else "ledger"
        with started(EXPORT, project / name, folder, project) as process:
            while process.poll() is None:
                found[readable(folder)] += 1
            assert process.returncode == 0
        assert read_manifest(folder).content == (old if turn % 2 else new)
    assert set(found) <= {old, new, "refused"}
    assert found[old] > 0, found
    assert found[new] > 0, found
