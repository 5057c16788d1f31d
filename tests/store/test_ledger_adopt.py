"""Records of earlier code answer for the present code where a sample is bit-equal, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from planned import Data, Planned
from project import File, Project
from typer.testing import CliRunner

from puoc.cli.app import app
from puoc.digests import code_digest, draw_digest
from puoc.methods.encoders.components import Components
from puoc.methods.nnpu import NNPU
from puoc.reporting.page.stale_rows import adopted_notes
from puoc.reporting.tracking.project_trials import read_results_of_project, rows_with_outcome, trials
from puoc.reporting.tracking.run_specs import trial_spec
from puoc.run.adopt import adopt
from puoc.run.stages import run_part
from puoc.run.status import pipeline_status
from puoc.store import ledger_archive as archive
from puoc.store import ledger_upkeep as upkeep
from puoc.store.checked_parquet import read_rows
from puoc.store.ledger import Ledger
from puoc.store.result_rows import ResultRow

PARAMS = """
compute: {workers: 1, lane_map: loop, models: all, device: cpu}
tables:
  first:
    scenario: one_vs_all
    dataset: digits
    pos: [0]
    n_pos_lab: 30
    n_pos_unl: 30
    n_neg_unl: 30
    seeds: 3
    configs: published
    methods: [oc_svm, pu_svm, nnpu]
tune: {}
encoders:
  code:
    encoder: components
    params: {dimension: 8, cut: 3.0}
priors:
  tice:
    encoder: code
    params: {scaling: minmax, k: 5, folds: 2, splits: 3, max_splits: 50, min_size: 10, iterations: 1}
methods:
  oc_svm: {params: {kernel: linear, nu: 0.5}}
  pu_svm: {encoder: code, prior: tice, params: {solver: exact, kernel: linear, risk: non_negative, lam: 0.01}}
  nnpu:
    prior: true
    params:
      {lr: 1.0e-2, lr_decay: 1.0, epochs: 1, batch_size: 64, batching: union, surrogate: sigmoid, correction: ascent}
"""
PLANNED = Planned(PARAMS, "digits")
plan = PLANNED.plan
VMAP = ("lane_map: loop", "lane_map: vmap")

Output = tuple[int, str]


def earlier(digest: Callable[..., str]) -> Callable[..., str]:
    """Digests as another version of the code would have them."""
    return lambda *roots: blake2b(f"earlier {digest(*roots)}".encode(), digest_size=8).hexdigest()


def computed_by_earlier_code(root: Path, *changes: tuple[str, str]) -> list[ResultRow]:
    """Compute the table under other digests, then plan it under the present ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("puoc.plan.make_plan.code_digest", earlier(code_digest))
        patch.setattr("puoc.plan.make_plan.draw_digest", earlier(draw_digest))
        plan(root, *changes)
        assert run_part(root, "tables", "first")["failed"] == 0
    before = rows(root)
    plan(root, *changes)
    return before


def rows(root: Path) -> list[ResultRow]:
    return read_rows(root / "results" / "tables" / "first.parquet", ResultRow)


def without_ids(found: list[ResultRow]) -> list[dict[str, object]]:
    return [
        {k: v for k, v in asdict(row).items() if not k.endswith(("_id", "_digest", "adopted_from"))} for row in found
    ]


def files(root: Path) -> dict[str, File]:
    """Every file of the ledger, with what shows whether it was written again."""
    return Project(root).tree("ledger")


def puoc(*words: str) -> Output:
    done = CliRunner().invoke(app, ["ledger", "adopt", *words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.fixture
def root(tmp_path: Path, prepared_data: Data, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A planned project with its data, in which nothing was run."""
    monkeypatch.chdir(PLANNED.at(tmp_path, prepared_data))
    return tmp_path


@pytest.mark.parametrize(
    "changes", [(), (VMAP,), (("models: all", "models: none"),)], ids=["loop", "vmap", "no models"]
)
def test_after_adoption_a_run_computes_nothing_and_gives_equal_rows(root: Path, changes: Any) -> None:
    before = computed_by_earlier_code(root, *changes)
    kept = files(root)
    assert pipeline_status(root).unwritten == 0
    code, output = puoc()
    assert code == 0, output
    assert "15 fits adopted" in output  # 3 seeds: three methods, an encoder and estimates of the prior
    assert {path: files(root)[path] for path in kept} == kept
    assert run_part(root, "tables", "first").total() == 0
    after = rows(root)
    assert without_ids(after) == without_ids(before)
    assert [row.fit_id for row in after] != [row.fit_id for row in before]
    ledger = Ledger(root / "ledger")
    for old, new in zip(before, after, strict=True):
        entry = ledger.get(new.fit_id)
        assert entry is not None
        mark = entry.result.adopted
        assert mark is not None
        assert mark["from"] == old.fit_id
        assert mark["n_compared"] >= 2
        log = json.loads((root / "ledger" / mark["log"]).read_text())
        assert set(mark["compared"]) <= {fit for group in log["groups"] for fit in group["compared"]}
        assert new.adopted_from == old.fit_id
    assert upkeep.verify(ledger) == []
    assert pipeline_status(root).adopted == 9
    assert "9 rows of the plan adopted" in CliRunner().invoke(app, ["status"]).output
    [(_, note)] = adopted_notes(pd.DataFrame(after))
    assert note.startswith("9 trials were computed by earlier code")
    runs = [trial_spec(trial, None) for trial in trials(rows_with_outcome(read_results_of_project(root)[0])).values()]
    assert {run.tags["adopted_from"] for run in runs} == {row.fit_id for row in before}
    code, output = puoc()
    assert (code, "0 fits adopted" in output) == (0, True)


def test_a_changed_constant_is_refused_and_shown_while_other_methods_are_adopted(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed_by_earlier_code(root)
    loss = NNPU.loss
    monkeypatch.setattr(NNPU, "loss", lambda *args: loss(*args) * 1.001)
    code, output = puoc()
    assert code == 3
    assert "its numbers changed" in output
    assert "weights" in output
    assert "largest absolute difference" in output
    assert "12 fits adopted" in output
    assert run_part(root, "tables", "first") == {"ok": 3, "failed": 0, "known": 0}
    assert {bool(Ledger(root / "ledger").get(r.fit_id).result.adopted) for r in rows(root)} == {True, False}  # type: ignore[union-attr]


def test_what_needs_a_refused_encoder_is_not_adopted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed_by_earlier_code(root)
    state = Components.state
    changed = {"scale": 1.0625}
    monkeypatch.setattr(Components, "state", lambda self: {k: v * changed.get(k, 1) for k, v in state(self).items()})
    code, output = puoc()
    assert code == 3
    assert "6 fits adopted" in output, output  # of oc_svm and nnpu


def test_all_compares_every_fit_and_a_dry_run_writes_nothing(root: Path) -> None:
    computed_by_earlier_code(root)
    kept = sorted(root.rglob("*"))
    code, output = puoc("--dry-run")
    assert code == 0
    assert "nothing was written" in output
    assert "3 fits to adopt, 2 to compare" in output
    assert sorted(root.rglob("*")) == kept
    found = adopt(root, every=True)
    assert sum(len(group.comparisons) for group in found.groups) == 15
    assert sum(group.adopted for group in found.groups) == 15


def test_adopted_records_are_exported_and_imported_whole(root: Path) -> None:
    computed_by_earlier_code(root)
    adopt(root)
    ledger, other = Ledger(root / "ledger"), Ledger(root / "other")
    assert upkeep.compact(ledger) == 0
    archive.export(ledger, root / "all.parquet")
    assert archive.import_(other, root / "all.parquet") == (30, 0)
    assert all(other.get(fit_id) == ledger.get(fit_id) for fit_id in ledger.ids())


def test_no_plan_and_an_older_plan_are_told_with_exit_code_2(root: Path) -> None:
    (root / "work" / "plan" / "compute.json").unlink()
    assert puoc()[0] == 2
    assert CliRunner().invoke(app, ["plan"]).exit_code == 0
    (root / "params.yaml").write_text(PARAMS.replace("seeds: 3", "seeds: 2"))
    code, output = puoc()
    assert code == 2
    assert "run puoc plan" in output


@pytest.mark.slow
def test_a_method_in_another_file_needs_no_adoption(new_project: Callable[..., Project]) -> None:
    project = new_project()
    assert project.puoc("plan").code == 0
    planned = {path: path.read_bytes() for path in (project.root / "work" / "plan" / "tables").glob("*.json")}
    methods = project.root / "src" / "puoc" / "methods"
    (methods / "nnpu.py").rename(methods / "moved.py")
    for path in methods.glob("*.py"):  # those that build on it
        path.write_text(path.read_text().replace("from puoc.methods.nnpu import", "from puoc.methods.moved import"))
    assert project.puoc("plan").code == 0
    assert planned
    assert {path: path.read_bytes() for path in planned} == planned
