"""Published results: what was changed is refused by its name, halves merge to the same, and no data are needed."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from own_tables import TESTED, ask, computes, does, tables
from planned import Data
from project import REPOSITORY
from published_project import (
    FILES,
    N_FITS,
    PARAMS,
    PLANNED,
    bytes_of,
    computed,
    content,
    copied,
    export,
    forge,
    puoc,
    rows_of,
)
from test_ledger_adopt import earlier

from puoc.analysis.statistics.auc import auc
from puoc.analysis.statistics.roc import decode
from puoc.digests import code_digest
from puoc.records import TrialResult
from puoc.run.stages import run_part
from puoc.run.status import pipeline_status
from puoc.store.checked_parquet import read_rows
from puoc.store.ledger import Ledger
from puoc.store.published import import_folder, published_form, read_manifest, read_published
from puoc.store.published.form import PublishedRow
from puoc.store.result_rows import ResultRow

OTHER = "0123456789abcdef"  # digest of other scoring code


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, prepared_data: Data) -> Path:
    """A project in which both tables were run. To be read, not changed."""
    return computed(tmp_path_factory.mktemp("whole") / "project", prepared_data, "first", "second")


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory, prepared_data: Data) -> tuple[Path, Path]:
    """Two projects with a table each; both computed the encoder and the class prior. To be read, not changed."""
    folder = tmp_path_factory.mktemp("halves")
    return computed(folder / "a", prepared_data, "first"), computed(folder / "b", prepared_data, "second")


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """The published results of the whole project."""
    export(whole, tmp_path / "published")
    return tmp_path / "published"


@pytest.fixture
def empty(tmp_path: Path, prepared_data: Data, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A planned project with its data, in which nothing was run, as the working directory."""
    monkeypatch.chdir(computed(tmp_path / "empty", prepared_data))
    return tmp_path / "empty"


def rows(root: Path, name: str) -> list[ResultRow]:
    return read_rows(root / "results" / "tables" / f"{name}.parquet", ResultRow)


# export


def test_a_folder_says_what_it_has_and_comes_out_the_same_twice(whole: Path, folder: Path) -> None:
    manifest, before = read_manifest(folder), bytes_of(folder)
    assert set(before) == {*FILES} == {*manifest.files, "manifest.json"}
    assert (manifest.fits, manifest.trials, manifest.seeds) == (N_FITS, 6, {"digits": 2})
    assert manifest.fits_by_method == {"components": 2, "nnpu": 2, "oc_svm": 2, "pu_svm": 2, "tice": 2}
    assert manifest.content == content(Ledger(whole / "ledger"))
    for written in ("2026-01-02", "2026-05-06"):  # the date is that of the content
        assert export(whole, folder, written=written) == manifest
        assert bytes_of(folder) == before
    assert export(whole, folder, title="another").title == read_manifest(folder).title == "another"
    assert sorted(path.name for path in folder.parent.iterdir()) == ["published"]
    _, fits = read_published(folder)
    assert not [fit for fit in fits if fit.result.model or fit.result.session]


def test_a_roc_curve_travels_and_has_the_area_of_the_auc(folder: Path) -> None:
    _, fits = read_published(folder)
    trials = [trial for fit in fits for trial in fit.trials]
    assert len(trials) == 6
    for trial in trials:
        assert trial.scores is None
        assert trial.roc is not None
        assert trial.auc is not None
        area = sum((a + b) / 2 for a, b in pairwise(decode(trial.roc))) / 1000
        assert area == pytest.approx(trial.auc, abs=0.002)


def test_what_cannot_be_exported_leaves_the_folder_as_it_was(whole: Path, folder: Path, tmp_path: Path) -> None:
    project, before = copied(whole, tmp_path / "copy"), bytes_of(folder)
    record = next(path for path in sorted((project / "ledger").rglob("*.json")))
    sound = record.read_bytes()
    record.write_bytes(sound[:-9])
    with pytest.raises(ValueError, match=record.name):
        export(project, folder)
    assert bytes_of(folder) == before
    record.write_bytes(sound)
    (project / "params.yaml").unlink()
    with pytest.raises(FileNotFoundError):
        export(project, folder, title="another")
    assert bytes_of(folder) == before
    shutil.rmtree(project / "ledger")
    with pytest.raises(ValueError, match="no planned fit has a record; nothing was written"):
        export(project, folder)
    assert bytes_of(folder) == before
    assert not list(tmp_path.glob(".*"))


def test_an_export_never_removes_files_of_others(whole: Path, tmp_path: Path) -> None:
    results = copied(whole / "results" / "tables", tmp_path / "results")
    before = bytes_of(results)
    with pytest.raises(ValueError, match="other files; expected a new or empty folder"):
        export(whole, results)
    (results / "manifest.json").write_text('{"name": "a web page"}')
    with pytest.raises(ValueError, match="other files"):
        export(whole, results)
    (results / "manifest.json").unlink()
    assert bytes_of(results) == before
    (tmp_path / "file").write_text("text")
    with pytest.raises(ValueError, match="got a file; expected a folder"):
        export(whole, tmp_path / "file")


def test_a_dataset_that_is_gone_leaves_no_file(whole: Path, folder: Path) -> None:
    shutil.copy(folder / "digits.parquet", folder / "older.parquet")  # of an export that was killed
    export(whole, folder)
    assert sorted(bytes_of(folder)) == sorted(FILES)


def test_the_command_exports_the_params_of_the_plan_and_no_older_plan(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copied(whole, tmp_path / "copy")
    monkeypatch.chdir(root)
    (root / "params.yaml").rename(root / "mine.yaml")
    assert puoc("plan", "--params", "mine.yaml")[0] == 0
    (root / "params.yaml").write_text("nothing: {}\n")
    code, output = puoc("ledger", "export", "out", "--title", "mine")
    assert code == 0, output
    assert f"{N_FITS} fits, 6 trials" in output
    assert (root / "out" / "params.yaml").read_bytes() == (root / "mine.yaml").read_bytes()
    assert read_manifest(root / "out").title == "mine"
    (root / "mine.yaml").write_text(PARAMS.replace("seeds: 2", "seeds: 1"))
    code, output = puoc("ledger", "export", "out")
    assert (code, "run puoc plan" in output) == (2, True)
    code, output = puoc("ledger", "export", "all.parquet", "--title", "mine")
    assert (code, "--title" in output) == (2, True)
    assert puoc("ledger", "export", "all.parquet")[0] == 0
    code, output = puoc("ledger", "import", "all.parquet", "--keep")
    assert (code, "--keep" in output) == (2, True)
    assert puoc("ledger", "import", "all.parquet") == (0, f"0 records added, {N_FITS} known already\n")


# damage


def refused(folder: Path, ledger: Path, name: str = "", words: str | None = None) -> str:
    """The message of an import that is refused by the name of a file and adds nothing."""
    with pytest.raises(ValueError, match=words) as error:
        import_folder(Ledger(ledger), folder)
    assert str(folder / name) in str(error.value)
    assert not bytes_of(ledger)
    return str(error.value)


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_is_refused_with_the_name_of_the_file(folder: Path, tmp_path: Path, name: str) -> None:
    sound, draws = (folder / name).read_bytes(), random.Random(name)
    for bit in [0, 8 * len(sound) - 1, *draws.sample(range(8 * len(sound)), 150)]:
        damaged = bytearray(sound)
        damaged[bit // 8] ^= 1 << bit % 8
        (folder / name).write_bytes(damaged)
        with pytest.raises(ValueError, match=name):
            read_manifest(folder)
    refused(folder, tmp_path / "ledger", name)
    (folder / name).write_bytes(sound[: len(sound) // 2])
    refused(folder, tmp_path / "ledger", name)
    (folder / name).write_bytes(sound)
    read_published(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_refused_with_its_name(folder: Path, tmp_path: Path, name: str) -> None:
    (folder / name).unlink()
    refused(folder, tmp_path / "ledger", "" if name == "manifest.json" else name, name)
    (folder / name).mkdir()
    refused(folder, tmp_path / "ledger", "" if name == "manifest.json" else name, name)


def test_a_manifest_of_another_version_or_with_other_names_is_refused(folder: Path, tmp_path: Path) -> None:
    sound = (folder / "manifest.json").read_bytes()
    value = json.loads(sound)
    for changed, words in (
        ({"version": 2, "new": "key"}, "version: got 2; expected 1"),
        ({"format": "other"}, "format"),
        ({"fits": "many"}, "fits"),
        ({"extra": 1}, "extra"),
    ):
        (folder / "manifest.json").write_text(json.dumps(value | changed))
        refused(folder, tmp_path / "ledger", "manifest.json", words)
    (folder / "manifest.json").write_bytes(sound)
    files = value["files"]
    for wrong in ({"../params.yaml": "0"}, {"a/b.parquet": "0"}, {"notes.txt": "0"}, {"": "0"}):
        forged = read_manifest(folder).model_copy(update={"files": files | wrong})
        (folder / "manifest.json").write_bytes(forged.to_bytes())
        refused(folder, tmp_path / "ledger", "manifest.json", "files: got")
        (folder / "manifest.json").write_bytes(sound)
    without = {name: value for name, value in files.items() if name != "plan.json"}
    forged = read_manifest(folder).model_copy(update={"files": without})
    (folder / "manifest.json").write_bytes(forged.to_bytes())
    refused(folder, tmp_path / "ledger", "manifest.json", "got no plan.json")
    (folder / "manifest.json").write_bytes(b"[" * 5000)
    refused(folder, tmp_path / "ledger", "manifest.json", "not JSON")


def changed_row(row: PublishedRow, **changes: Any) -> PublishedRow:
    """A row with changes in its result, or in its first trial: ``trial={...}``."""
    trial = changes.pop("trial", None)
    result, trials = json.loads(row.result) | changes, json.loads(row.trials)
    if trial:
        trials[0] |= trial
    return replace(row, result=json.dumps(result), trials=json.dumps(trials))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a, b: [replace(a, fit_id=b.fit_id)], "got the record of fit"),
        (lambda a, b: [replace(a, result=b.result)], "got the record of fit"),
        (lambda a, b: [replace(a, trials=b.trials)], "got trial .* expected trial"),
        (lambda a, b: [changed_row(a, trial={"trial_id": "0" * 24})], "got trial 000"),
        (lambda a, b: [changed_row(a, trial={"test": {"pos": [1], "neg": [2]}})], "got trial"),
        (lambda a, b: [a, a], "second row"),
        (lambda a, b: [replace(a, method="other")], "other than its record says"),
        (lambda a, b: [replace(a, seed=9)], "other than its record says"),
        (lambda a, b: [replace(changed_row(a, status="failed"), status="failed")], "got the status failed"),
        (lambda a, b: [changed_row(a, model="../../secret")], "got the name of a file"),
        (lambda a, b: [changed_row(a, trial={"scores": "../x.npy"})], "got the name of a file"),
        (lambda a, b: [changed_row(a, trial={"auc": 1.5})], "auc"),
        (lambda a, b: [changed_row(a, fit_seconds=float("nan"))], "not JSON compliant"),
        (lambda a, b: [changed_row(a, alpha=float("inf"))], "not JSON compliant"),
        (lambda a, b: [replace(a, result="{}")], "fit"),
        (lambda a, b: [replace(a, trials="[" * 4000)], "fit"),
        (lambda a, b: [replace(a, trials=json.dumps(2 * json.loads(a.trials)))], "scored twice by the same code"),
    ],
)
def test_a_row_that_is_not_what_its_ids_say_is_refused(folder: Path, tmp_path: Path, change: Any, words: str) -> None:
    scored = [row for row in rows_of(folder) if json.loads(row.trials)]
    rest = [row for row in rows_of(folder) if row not in scored[:1]]
    forge(folder, [*change(*scored[:2]), *rest])
    refused(folder, tmp_path / "ledger", "digits.parquet", words)


def test_outcomes_other_than_those_of_the_manifest_are_refused(folder: Path, tmp_path: Path) -> None:
    _, *rest = rows_of(folder)
    forge(folder, rest)
    refused(folder, tmp_path / "ledger", "manifest.json", "content: got")


@pytest.mark.parametrize(
    "path",
    [
        "../outside.json",
        "/tmp/outside.json",
        "work/plan/../../outside.json",
        "work/plan/tables/../../../ledger/x.json",
        "ledger/ab/x.json",
        "params.yaml",
        "work",
        "",
        "work/plan",
        "work/plan/a\0.json",
        "work/prepared/x.json",
        "work/plan//x.json",
        "work/plan/compute.json/x.json",
    ],
)
def test_a_plan_whose_path_leads_out_is_refused_and_nothing_is_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = json.loads((folder / "plan.json").read_text())
    forge(folder, plan=plan | {path: {}})
    before = bytes_of(folder)
    code, output = puoc("published", folder, "--out", "out")
    assert code == 2, output
    assert "plan.json: got the path" in " ".join(output.split())
    assert set(bytes_of(tmp_path / "out")) <= {".published"}
    assert bytes_of(folder) == before
    assert {path.name for path in tmp_path.iterdir()} <= {"published", "out"}


# import and merge


def test_halves_merge_to_the_same_in_either_order_and_a_third_import_adds_nothing(
    whole: Path, halves: tuple[Path, Path], tmp_path: Path
) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for project, folder in zip(halves, folders, strict=True):
        export(project, folder, title=folder.name)
    assert [read_manifest(folder).fits for folder in folders] == [8, 6]
    merged = []
    for order in (folders, folders[::-1]):
        ledger = Ledger(tmp_path / f"merged-{order[0].name}")
        added = [import_folder(ledger, folder) for folder in order]
        assert sum(one.fits for one in added) == N_FITS
        assert added[1].known == 4  # encoders and class priors
        before = bytes_of(ledger.root)
        for folder in folders:
            again = import_folder(ledger, folder)
            assert (again.fits, again.trials) == (0, 0)
        assert bytes_of(ledger.root) == before
        merged.append(content(ledger))
    into = Ledger(copied(halves[0], tmp_path / "project") / "ledger")
    import_folder(into, folders[1])
    assert {*merged, content(into)} == {content(Ledger(whole / "ledger"))}
    assert export(tmp_path / "project", tmp_path / "both").content == export(whole, tmp_path / "one").content


def with_other_auc(project: Path, method: str, by: float = 1e-12) -> tuple[str, float, float]:
    """Change the AUC of a fit's record; its fit id, and the AUC before and after."""
    for path in sorted((project / "ledger").rglob("*.json")):
        value = json.loads(path.read_text())
        if value["result"]["fit"]["method"] == method:
            [trial] = value["trials"].values()
            before = trial["auc"]
            trial["auc"] = before - by
            path.write_text(json.dumps(value, sort_keys=True))
            return path.stem, before, trial["auc"]
    raise AssertionError(method)


def test_another_outcome_is_refused_with_both_aucs_and_keep_keeps_it(
    halves: tuple[Path, Path], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = copied(halves[0], tmp_path / "copy")
    fit_id, there, here = with_other_auc(project, "pu_svm")
    before = bytes_of(project / "ledger")
    monkeypatch.chdir(project)
    code, output = puoc("ledger", "import", folder)
    assert code == 2
    for part in (f"fit {fit_id} of pu_svm on digits, seed ", f"AUC {here} in the ledger, {there} in the folder"):
        assert part in " ".join(output.split())
    assert "1 of 10 fits" in output
    assert "--keep" in output
    assert bytes_of(project / "ledger") == before
    code, output = puoc("ledger", "import", folder, "--keep")
    assert (code, output) == (0, "2 fits and 2 trials added; the ledger had 8 fits already\n")
    now = bytes_of(project / "ledger")
    assert {name: now[name] for name in before} == before
    assert run_part(project, "tables", "second").total() == 0


def test_other_training_is_refused_with_the_auc_and_another_status_too(
    halves: tuple[Path, Path], folder: Path, tmp_path: Path
) -> None:
    project = copied(halves[1], tmp_path / "copy")
    path, value = next(
        (path, value)
        for path in sorted((project / "ledger").rglob("*.json"))
        if (value := json.loads(path.read_text()))["result"]["fit"]["method"] == "nnpu"
    )
    sound = path.read_text()
    value["result"]["curve"]["objective" if "objective" in value["result"]["curve"] else "x"] = [0.5]
    path.write_text(json.dumps(value))
    with pytest.raises(ValueError, match=r"nnpu on digits, seed \d: another class prior or training curve, AUC 0"):
        import_folder(Ledger(project / "ledger"), folder)
    value = json.loads(sound)
    value["result"]["status"], value["trials"] = "skipped", {}
    path.write_text(json.dumps(value))
    with pytest.raises(ValueError, match="status skipped in the ledger, ok in the folder"):
        import_folder(Ledger(project / "ledger"), folder)


def test_imported_records_are_found_by_a_run_and_named_in_its_rows(folder: Path, empty: Path, whole: Path) -> None:
    code, output = puoc("ledger", "import", folder)
    assert (code, output) == (0, f"{N_FITS} fits and 6 trials added; the ledger had 0 fits already\n")
    for name in ("first", "second"):
        assert run_part(empty, "tables", name).total() == 0
        before = [replace(row, imported_from="the paper, 2026-01-02") for row in rows(whole, name)]
        after = rows(empty, name)
        assert [replace(row, metrics=None) for row in after] == [replace(row, metrics=None) for row in before]
        for mine, other in zip(after, before, strict=True):  # only curves were published, which say less
            curve, scores = (json.loads(row.metrics or "{}") for row in (mine, other))
            assert curve["auc"] == mine.auc
            assert all(scores[metric] == pytest.approx(value, abs=1e-12) for metric, value in curve.items())
    assert pipeline_status(empty).missing == []
    assert puoc("ledger", "verify") == (0, "0 faults\n")


def test_what_a_killed_import_left_out_is_computed_here_and_not_called_imported(folder: Path, empty: Path) -> None:
    """Also: an imported encoder has no model, and fits that need it can still be computed."""
    import_folder(Ledger(empty / "ledger"), folder)
    removed = {row.fit_id for row in rows_of(folder) if row.method == "nnpu"}
    for fit_id in removed:
        (empty / "ledger" / fit_id[:2] / f"{fit_id}.json").unlink()
    assert run_part(empty, "tables", "second")["ok"] == 2
    assert run_part(empty, "tables", "first").total() == 0
    assert {row.imported_from for row in rows(empty, "second")} == {None}
    assert {row.imported_from for row in rows(empty, "first")} == {"the paper, 2026-01-02"}
    assert content(Ledger(empty / "ledger")) == read_manifest(folder).content  # the same bits


def scored_by_other_code(project: Path) -> None:
    """Score every trial of a project again, by other code, the wrong way round."""
    with pytest.MonkeyPatch.context() as patch:
        reverse = lambda positive, negative, what: auc(negative, positive, what)  # noqa: E731
        patch.setattr("puoc.run.executors.trial.auc", reverse)
        patch.setattr("puoc.plan.make_plan.scoring_digest", lambda: OTHER)
        PLANNED.plan(project)
        for name in ("first", "second"):
            assert run_part(project, "tables", name)["ok"]


def test_scores_by_other_code_travel_and_merge_in_either_order(
    whole: Path, folder: Path, prepared_data: Data, tmp_path: Path
) -> None:
    again, only_other = copied(whole, tmp_path / "again"), computed(tmp_path / "other", prepared_data)
    scored_by_other_code(again)
    scored_by_other_code(only_other)
    manifest = export(again, tmp_path / "of-again")
    assert (manifest.fits, manifest.trials) == (N_FITS, 12)
    export(only_other, tmp_path / "of-other")
    ledgers = [Ledger(tmp_path / "one"), Ledger(tmp_path / "two"), Ledger(tmp_path / "three")]
    assert import_folder(ledgers[0], tmp_path / "of-again") == (N_FITS, 12, 0)
    assert import_folder(ledgers[1], folder) == (N_FITS, 6, 0)
    assert import_folder(ledgers[1], tmp_path / "of-other") == (0, 6, N_FITS)
    assert import_folder(ledgers[2], tmp_path / "of-other") == (N_FITS, 6, 0)
    assert import_folder(ledgers[2], folder) == (0, 6, N_FITS)
    assert {content(ledger) for ledger in ledgers} == {manifest.content}


def test_withheld_rows_keep_the_auc_of_the_code_that_scored_them(whole: Path) -> None:
    """Two ledgers may have scored first by different code; the AUC of withheld rows belongs to the code."""
    ledger = Ledger(whole / "ledger")
    entry = next(entry for fit_id in ledger.ids() if (entry := ledger.get(fit_id)) and entry.trials)
    [first] = entry.trials.values()
    later = first.model_copy(update={"scoring_digest": OTHER, "auc_val_pu": 0.25})
    result = entry.result.model_copy(update={"auc_val_pu": 0.75})
    one = entry._replace(result=result, rescored={(first.trial_id, OTHER): later})
    two = entry._replace(
        result=result.model_copy(update={"auc_val_pu": 0.25}),
        trials={first.trial_id: later.model_copy(update={"auc_val_pu": None})},
        rescored={(first.trial_id, first.scoring_digest): first.model_copy(update={"auc_val_pu": 0.75})},
    )

    def by_code(trials: tuple[TrialResult, ...]) -> dict[str, float | None]:
        return {trial.scoring_digest: trial.auc_val_pu for trial in trials}

    assert by_code(published_form(one).trials) == {first.scoring_digest: 0.75, OTHER: 0.25}
    assert by_code(published_form(two).trials) == {first.scoring_digest: 0.75, OTHER: 0.25}


# puoc published


def opened(folder: Path, here: Path, *words: str) -> Path:
    """What ``puoc published`` writes in a folder of its own, without a home, a mirror or a network."""
    here.mkdir(exist_ok=True)
    env = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
    env |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY / "src")}
    env |= dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    command = [sys.executable, "-m", "puoc", "published", str(folder), *words]
    done = subprocess.run(command, cwd=here, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the paper, written 2026-01-02 by puoc 0.1: 10 fits" in done.stdout
    assert "6 of 6 trials of the profile have a result" in done.stdout
    out = here / "build" / "published"
    assert (out / "reports" / "index.html").exists()
    assert not (out / "work" / "prepared").exists()
    found = [row for name in ("first", "second") for row in rows(out, name)]
    assert {row.status for row in found} == {"ok"}
    assert {row.imported_from for row in found} == {"the paper, 2026-01-02"}
    assert all(row.computed_by and row.computed_by.startswith("puoc ") for row in found)
    return out


@pytest.mark.slow
def test_results_open_in_an_empty_folder_without_a_home_or_data(folder: Path, tmp_path: Path) -> None:
    opened(folder, tmp_path / "here", "--no-track")


@pytest.mark.slow
def test_results_are_opened_again_in_the_place_of_the_earlier_ones(folder: Path, tmp_path: Path) -> None:
    out = opened(folder, tmp_path / "here")
    assert (out / "mlruns" / "mlflow.db").exists()
    (out / "left").mkdir()
    opened(folder, tmp_path / "here")
    assert not (out / "left").exists()
    opened(folder, tmp_path / "here", "--no-track")
    assert not (out / "mlruns").exists()


def test_only_a_folder_of_its_own_is_emptied(folder: Path, whole: Path, tmp_path: Path, monkeypatch) -> None:
    project = copied(whole, tmp_path / "project")
    monkeypatch.chdir(tmp_path)
    before = bytes_of(project)
    code, output = puoc("published", folder, "--out", project)
    assert (code, "which has other files; expected a new or empty folder" in " ".join(output.split())) == (2, True)
    assert bytes_of(project) == before
    for out in (folder, folder / "inner", tmp_path, Path()):
        code, output = puoc("published", folder, "--out", out)
        assert (code, "overlaps with the results" in " ".join(output.split())) == (2, True), output
    (tmp_path / "file").touch()
    assert puoc("published", folder, "--out", "file")[0] == 2
    code, output = puoc("published")
    assert (code, "published/paper: got no such folder" in " ".join(output.split())) == (2, True)
    assert puoc("published", folder, "--out", "out", "--no-track")[0] == 0
    shutil.copytree(project / "work" / "prepared", tmp_path / "out" / "work" / "prepared")
    (tmp_path / "out" / "ledger").rename(tmp_path / "moved")
    assert run_part(tmp_path / "out", "tables", "first")["ok"] == 8  # with encoders and class priors
    before = bytes_of(tmp_path / "out")
    code, output = puoc("published", folder, "--out", "out", "--no-track")
    assert (code, "in which fits were computed since then" in " ".join(output.split())) == (2, True)
    assert bytes_of(tmp_path / "out") == before


def test_records_of_another_plan_are_shown_with_the_code_that_computed_them(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan was made anew by other code; its fits have other ids, and nothing is computed."""
    project = copied(whole, tmp_path / "project")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("puoc.plan.make_plan.code_digest", earlier(code_digest))
        PLANNED.plan(project)
    assert export(project, tmp_path / "published").fits == N_FITS
    monkeypatch.chdir(tmp_path)
    code, output = puoc("published", "published", "--out", "out", "--no-track")
    assert code == 0, output
    assert "6 of 6 trials of the profile have a result" in output
    shown, computed_here = rows(tmp_path / "out", "first"), rows(whole, "first")
    assert [row.auc for row in shown] == [row.auc for row in computed_here]
    assert not {row.fit_id for row in shown} & {row.fit_id for row in computed_here}
    assert all(row.computed_by and row.computed_by.startswith("puoc ") for row in shown)
    ledger = Ledger(tmp_path / "out" / "ledger")
    monkeypatch.chdir(tmp_path / "out")
    for row in shown:  # what the ledger has of them is found
        fit_id, trial_id = row.ids_in_ledger
        entry = ledger.get(fit_id)
        assert fit_id != row.fit_id
        assert entry is not None
        assert entry.trials[trial_id].auc == row.auc
        needed = {fit.id for fit in entry.result.fit.needs()}
        assert {row.encoder_fit_id, row.prior_fit_id} - {None} == needed
        assert all(ledger.is_final(need) for need in needed)
        assert (row.code_digest, row.draw_digest) == (entry.result.fit.code_digest, entry.result.fit.draw_digest)
        code, output = puoc("show", f"first/{row.cell}/{row.entry}")
        assert (code, fit_id in output, row.code_digest in output) == (0, True, True), output
        assert "puoc ledger verify compares none of these fits" in output
        code, output = puoc("ledger", "verify", "--place", f"first/{row.cell}/{row.entry}")
        assert "computed by other code, and therefore not compared: 2 of 2 fits" in " ".join(output.split())
    page = (tmp_path / "out" / "reports" / "methods" / "pu_svm.html").read_text(encoding="utf-8")
    assert "ROC curve on test rows" in page
    assert "no record of" not in page
    # but a run of that plan would not use them
    assert pipeline_status(tmp_path / "out").unrecorded == 6


def test_a_half_shows_its_other_trials_as_missing(halves: tuple[Path, Path], tmp_path: Path, monkeypatch) -> None:
    export(halves[0], tmp_path / "published")
    monkeypatch.chdir(tmp_path)
    code, output = puoc("published", "published", "--out", "out", "--no-track")
    assert code == 0, output
    assert "4 of 6 trials of the profile have a result" in output
    assert {row.status for row in rows(tmp_path / "out", "second")} == {"missing"}
    assert {row.computed_by for row in rows(tmp_path / "out", "second")} == {None}


def test_results_of_user_data_open_without_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    tables(Path())
    assert ask(Path(), TESTED, "n_pos_lab: 30")[0] == 0
    does("fetch", "prepare")
    computes("table")
    code, output = puoc("ledger", "export", "../published", "--title", "mine")
    assert code == 0, output
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    code, output = puoc("published", "../published", "--out", "out", "--no-track")
    assert code == 0, output
    assert "4 of 4 trials of the profile have a result" in output
    assert "changed since" not in output
    assert not (tmp_path / "here" / "out" / "own").exists()
    assert [row.auc for row in rows(Path("out"), "table")] == [row.auc for row in rows(tmp_path / "project", "table")]
