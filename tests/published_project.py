"""A small plan in two tables that share an encoder and a class prior, computed whole and in halves."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

from planned import Data, Planned
from typer.testing import CliRunner

from puoc.cli.app import app
from puoc.run.adopt_sample import planned_fits
from puoc.run.published import with_equal_fits
from puoc.run.stages import run_part
from puoc.store.checked_parquet import read_rows, write_rows
from puoc.store.ledger import Ledger
from puoc.store.published import About, Manifest, content_digest, export_folder, published_form
from puoc.store.published.form import PublishedRow

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
    seeds: 2
    configs: published
    methods: [oc_svm, pu_svm]
  second:
    scenario: one_vs_all
    dataset: digits
    pos: [0]
    n_pos_lab: 30
    n_pos_unl: 30
    n_neg_unl: 30
    seeds: 2
    configs: published
    methods: [nnpu]
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
    encoder: code
    prior: tice
    params:
      {lr: 1.0e-2, lr_decay: 1.0, epochs: 1, batch_size: 64, batching: union, surrogate: sigmoid, correction: ascent}
"""
PLANNED = Planned(PARAMS, "digits")
FILES = ("manifest.json", "plan.json", "params.yaml", "digits.parquet")
N_FITS = 10  # 2 seeds: an encoder, a class prior and three methods

Output = tuple[int, str]


def computed(root: Path, data: Data, *tables: str) -> Path:
    """A project in which some tables were run."""
    root.mkdir(parents=True)
    PLANNED.at(root, data)
    for name in tables:
        assert run_part(root, "tables", name)["failed"] == 0
    return root


def copied(project: Path, root: Path) -> Path:
    """A copy of a project."""
    shutil.copytree(project, root)
    return root


def export(project: Path, folder: Path, title: str = "the paper", written: str = "2026-01-02") -> Manifest:
    """Export the plan of a project."""
    ledger = Ledger(project / "ledger")
    fits = with_equal_fits(ledger, planned_fits(project)[0])
    about = About(title, written, "0.1")
    return export_folder(ledger, folder, about, project=project, params=project / "params.yaml", fits=fits)


def content(ledger: Ledger) -> str:
    """The digest of everything in a ledger."""
    entries = [ledger.get(fit_id) for fit_id in ledger.ids() if ledger.is_final(fit_id)]
    return content_digest(published_form(entry) for entry in entries if entry)


def bytes_of(folder: Path) -> dict[str, bytes]:
    """The content of every file, hidden ones among them."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def puoc(*words: str | Path) -> Output:
    """Run a command; an error that is no answer fails the test. Wrapped lines are joined."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def rows_of(folder: Path) -> list[PublishedRow]:
    """The rows of the folder's dataset."""
    return read_rows(folder / "digits.parquet", PublishedRow)


def forge(folder: Path, rows: list[PublishedRow] | None = None, plan: Any = None, **changes: Any) -> None:
    """Write other rows, another plan or other values of the manifest, with checksums that are right."""
    if rows is not None:
        write_rows(folder / "digits.parquet", rows, PublishedRow)
    if plan is not None:
        (folder / "plan.json").write_text(json.dumps(plan))
    manifest = Manifest.model_validate_json((folder / "manifest.json").read_bytes())
    sums = {name: sha256((folder / name).read_bytes()).hexdigest() for name in manifest.files}
    forged = manifest.model_copy(update={"files": sums, **changes})
    (folder / "manifest.json").write_bytes(forged.to_bytes())
