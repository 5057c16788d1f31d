"""The results of the profile labelling that come with the repository, and the rows of docs/labelling.md."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from puoc.analysis.metrics import metrics
from puoc.store.published import read_published

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "published" / "labelling"
EVIDENCE = ROOT / "docs" / "evidence" / "labelling.parquet"


def test_they_are_those_of_the_profile_and_under_3_megabytes() -> None:
    assert (FOLDER / "params.yaml").read_bytes() == (ROOT / "profiles" / "labelling.yaml").read_bytes()
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 3e6


@pytest.mark.slow
def test_their_files_are_whole_and_the_docs_have_the_same_aucs() -> None:
    manifest, fits = read_published(FOLDER)
    assert len(fits) == manifest.fits
    assert {path.name for path in FOLDER.iterdir()} == {"manifest.json", *manifest.files}
    aucs = {trial.trial_id: trial.auc for fit in fits for trial in fit.trials}
    assert len(aucs) == manifest.trials
    assert {fit.result.status for fit in fits} == {"ok"}
    assert all(trial.roc and trial.scores is None for fit in fits for trial in fit.trials)
    assert all(fit.result.session is None for fit in fits)
    rows = pd.read_parquet(EVIDENCE)
    assert set(aucs) == set(rows["trial_id"])
    assert rows["auc"].to_list() == [aucs[trial] for trial in rows["trial_id"]]


def test_rows_have_eight_metrics_or_more() -> None:
    texts = pd.read_parquet(EVIDENCE, columns=["metrics"])["metrics"]
    values = [json.loads(text) for text in texts if isinstance(text, str)]
    assert len(values) == len(texts)
    assert all(set(one) <= set(metrics()) for one in values)
    assert all(len(one) >= 8 for one in values)
