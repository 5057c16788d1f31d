"""The results of the profile tabular that come with the repository, and the rows from which docs/tables.md is made."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from puoc.store.published import read_published

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "published" / "tabular"


def test_they_are_those_of_the_profile_and_under_20_megabytes() -> None:
    assert (FOLDER / "params.yaml").read_bytes() == (ROOT / "profiles" / "tabular.yaml").read_bytes()
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 20e6


@pytest.mark.slow
def test_they_are_whole_and_the_docs_have_the_same_aucs() -> None:
    manifest, fits = read_published(FOLDER)
    assert len(fits) == manifest.fits
    assert {path.name for path in FOLDER.iterdir()} == {"manifest.json", *manifest.files}
    trials = [(fit, trial) for fit in fits for trial in fit.trials]
    assert len(trials) == manifest.trials
    assert {fit.result.status for fit in fits} == {"ok"}
    assert all(trial.roc and trial.scores is None for _, trial in trials)
    assert all(fit.result.session is None for fit in fits)
    rows = pd.read_parquet(ROOT / "docs" / "evidence" / "tabular.parquet")
    assert len(rows) == manifest.trials
    assert sorted(rows["auc"]) == sorted(trial.auc for _, trial in trials)
