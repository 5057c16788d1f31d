"""``puoc ledger verify --recompute``: fits are computed again, and any changed bit of a record is found."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from planned import Data
from published_project import N_FITS, PLANNED, bytes_of, computed, copied, export, puoc

from puoc.run.recompute import recompute
from puoc.run.stages import run_part
from puoc.store.ledger import Ledger
from puoc.store.plan_files import planned_tables
from puoc.store.published import import_folder

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, prepared_data: Data) -> Path:
    """A project in which both tables were run. To be read, not changed."""
    return computed(tmp_path_factory.mktemp("whole") / "project", prepared_data, "first", "second")


@pytest.fixture
def root(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project, as the working directory."""
    monkeypatch.chdir(copied(whole, tmp_path / "project"))
    return tmp_path / "project"


@pytest.fixture
def imported(whole: Path, tmp_path: Path, prepared_data: Data, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that has imported everything, as the working directory."""
    export(whole, tmp_path / "published")
    monkeypatch.chdir(computed(tmp_path / "project", prepared_data))
    import_folder(Ledger("ledger"), tmp_path / "published")
    return tmp_path / "project"


def change(root: Path, method: str, edit: Change) -> str:
    """Change the first record of a method for which ``edit`` does not return False; the id of its fit."""
    for path in sorted((root / "ledger").rglob("*.json")):
        value = json.loads(path.read_text())
        if value["result"]["fit"]["method"] == method:
            if edit(value) is False:
                continue
            path.write_text(json.dumps(value))
            return path.stem
    raise AssertionError(method)


def trial_of(value: dict[str, Any]) -> dict[str, Any]:
    [trial] = value["trials"].values()
    assert isinstance(trial, dict)
    return trial


def last_line(output: str) -> str:
    return output.strip().splitlines()[-1]


def parts(output: str) -> list[str]:
    """Lines, each with the indented ones below it."""
    return re.split(r"\n(?!  )", output)


def test_equal_records_are_reported_equal_and_nothing_is_written(root: Path) -> None:
    before = bytes_of(root)
    code, output = puoc("ledger", "verify", "--recompute", str(N_FITS + 5))
    assert code == 0, output
    assert last_line(output) == "10 fits of 10 computed again: 10 equal, 0 not; 0 beyond the tolerance 0"
    assert output.startswith("0 faults\n")
    assert output.count(": equal (") == N_FITS
    assert "equal (weights, alpha, curve, scores, AUCs, ROC curves)" in output
    assert bytes_of(root) == before


def test_each_method_has_a_fit_before_one_has_two_and_cheap_ones_come_first(root: Path) -> None:
    def seconds(method: str, of_seed_1: float) -> None:
        for path in (root / "ledger").rglob("*.json"):
            value = json.loads(path.read_text())
            if value["result"]["fit"]["method"] == method:
                value["result"]["fit_seconds"] = of_seed_1 if value["result"]["fit"]["seed"] == 1 else 1.0
                path.write_text(json.dumps(value))

    for method, of_seed_1 in (("oc_svm", 0.5), ("pu_svm", 2.0), ("nnpu", 0.1), ("tice", 3.0), ("components", 4.0)):
        seconds(method, of_seed_1)
    done, n_recorded = recompute(root, 7)
    found = [(one.fit.method, one.fit.seed) for one in done]
    assert found[:2] == [("nnpu", 1), ("oc_svm", 1)]
    assert set(found[2:5]) == {("pu_svm", 0), ("tice", 0), ("components", 0)}
    assert found[5:] == [("nnpu", 0), ("oc_svm", 0)]
    assert n_recorded == N_FITS
    # an imported record comes before a cheaper one of its method
    for path in (root / "ledger").rglob("*.json"):
        value = json.loads(path.read_text())
        if value["result"]["fit"]["method"] == "oc_svm" and value["result"]["fit"]["seed"] == 0:
            value["result"]["imported"] = "the paper, 2026-01-02"
            path.write_text(json.dumps(value))
    done, _ = recompute(root, 1)
    assert [(one.fit.method, one.fit.seed, one.imported) for one in done] == [("oc_svm", 0, "the paper, 2026-01-02")]


def test_the_fits_of_one_number_are_computed_again(root: Path) -> None:
    [plan] = [one for one in planned_tables(root) if one.table == "first"]
    place = f"first/{plan.cell_names[0]}/oc_svm"
    code, output = puoc("ledger", "verify", "--place", place)
    assert code == 0, output
    assert output.count(": equal (") == output.count("oc_svm on ") == len(plan.seeds)
    for asked, words in (("first", "expected TABLE/CELL/ENTRY"), (place + "x", "got the entry")):
        code, output = puoc("ledger", "verify", "--place", asked)
        assert code == 2
        assert words in " ".join(output.split())


def test_an_imported_ledger_is_verified_without_its_models(imported: Path) -> None:
    code, output = puoc("ledger", "verify", "--recompute", "99")
    assert code == 0, output
    # the records of encoders have neither a model nor a number
    assert last_line(output).startswith("8 fits of 8 computed again: 8 equal, 0 not")
    assert output.count("imported from the paper, 2026-01-02): equal (") == 8
    assert "ROC curves" in output


#: Changes of one record of each method: in what its line says, and whether the AUCs show it.
CHANGES: list[tuple[str, Change, str, bool]] = [
    ("oc_svm", lambda v: trial_of(v).update(auc=trial_of(v)["auc"] - 2e-6), "of an AUC 2e-06, auc of classes 0", True),
    ("tice", lambda v: v["result"].update(alpha_hat=v["result"]["alpha_hat"] + 2**-50), "alpha_hat: largest", False),
    ("pu_svm", lambda v: v["result"].update(alpha=0.123), "alpha: largest", False),
    ("nnpu", lambda v: v["result"]["curve"].update(other=[1.0]), "curve other: shapes or types differ", False),
]


@pytest.mark.parametrize("project", ["root", "imported"])
def test_one_changed_number_of_a_record_is_found(request: pytest.FixtureRequest, project: str) -> None:
    root = request.getfixturevalue(project)
    changed = {change(root, method, edit): (words, by_auc) for method, edit, words, by_auc in CHANGES}
    code, output = puoc("ledger", "verify", "--recompute", "99")
    assert code == 3, output
    told = {fit_id: part for part in parts(output) for fit_id in changed if f"(fit {fit_id}" in part}
    assert output.count("differs") == len(told) == len(changed), output
    for fit_id, (words, by_auc) in changed.items():
        assert words in told[fit_id]
        assert told[fit_id].count("recorded on: ") == told[fit_id].count("computed on: ") == 1
        assert ("the AUCs are equal" in told[fit_id]) is not by_auc
    assert "4 not; 4 beyond the tolerance 0" in last_line(output)
    code, output = puoc("ledger", "verify", "--recompute", "99", "--tolerance", "1e-5")
    assert code == 0, output
    assert output.count("differs") == len(changed)  # shown, whatever is accepted
    large = change(root, "oc_svm", lambda v: trial_of(v).update(auc_train_pool=trial_of(v)["auc_train_pool"] - 0.25))
    code, output = puoc("ledger", "verify", "--recompute", "99", "--tolerance", "1e-5")
    assert code == 3, output
    [told_large] = [part for part in parts(output) if f"(fit {large}" in part]
    assert "of an AUC 0.25, auc_train_pool of classes 0" in told_large
    assert "1 beyond the tolerance 1e-05" in last_line(output)


def test_a_changed_roc_curve_is_found(imported: Path) -> None:
    value: dict[str, str] = {}
    change(imported, "pu_svm", lambda v: value.update(roc=trial_of(v)["roc"]))
    change(imported, "nnpu", lambda v: trial_of(v).update(roc=value["roc"]))
    code, output = puoc("ledger", "verify", "--recompute", "99")
    assert (code, "ROC curve of trial" in output) == (3, True), output


def test_a_fit_that_cannot_be_computed_any_more_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise MemoryError("no memory just now")

    monkeypatch.setattr("puoc.methods.nnpu.NNPU.loss", fails)
    code, output = puoc("ledger", "verify", "--recompute", "5", "--tolerance", "1")
    assert code == 3
    assert "nnpu on digits" in output
    assert "cannot be computed any more: MemoryError: no memory just now" in output
    assert "4 equal, 1 not; 1 beyond" in last_line(output)


def test_lanes_of_a_batch_are_computed_together(tmp_path: Path, prepared_data: Data, monkeypatch: Any) -> None:
    root = computed(tmp_path / "project", prepared_data)
    PLANNED.plan(root, ("lane_map: loop", "lane_map: vmap"))
    monkeypatch.chdir(root)
    assert run_part(root, "tables", "second")["failed"] == 0
    code, output = puoc("ledger", "verify", "--recompute", "99")
    assert code == 0, output
    assert "6 equal, 0 not" in last_line(output)
    # a plan with one of two seeds lacks a lane of each batch, so that a difference proves nothing
    PLANNED.plan(root, ("lane_map: loop", "lane_map: vmap"), ("seeds: 2", "seeds: 1"))
    change(root, "nnpu", lambda v: v["result"]["fit"]["seed"] == 0 and v["result"].update(alpha=0.1))
    code, output = puoc("ledger", "verify", "--recompute", "99")
    assert (code, "the plan lacks 1 lane of its batch under vmap" in output) == (3, True), output


def test_what_cannot_begin_ends_with_2_and_faults_with_3(root: Path, tmp_path: Path) -> None:
    (root / "work" / "prepared").rename(tmp_path / "prepared")
    code, output = puoc("ledger", "verify", "--recompute", "2")
    assert code == 2
    assert "puoc prepare" in output
    (tmp_path / "prepared").rename(root / "work" / "prepared")
    assert puoc("ledger", "verify", "--recompute", "0")[0] == 2
    assert puoc("ledger", "verify", "--recompute", "1", "--tolerance", "-1")[0] == 2
    code, output = puoc("ledger", "verify", "--tolerance", "0.1")
    assert (code, "without --recompute" in " ".join(output.split())) == (2, True)
    scores = next((root / "ledger").rglob("*.npy"))
    scores.write_bytes(scores.read_bytes()[:-1])
    code, output = puoc("ledger", "verify", "--recompute", "2")
    assert (code, "nothing was computed again" in output) == (3, True)
    (root / "ledger").rename(tmp_path / "ledger")
    code, output = puoc("ledger", "verify", "--recompute", "2")
    assert (code, "no fit of the plan has a record" in " ".join(output.split())) == (2, True)
    (root / "work" / "plan" / "compute.json").unlink()
    code, output = puoc("ledger", "verify", "--recompute", "2")
    assert (code, "run puoc plan" in output) == (2, True)
    assert not list((root / "work").glob("recompute-*"))
