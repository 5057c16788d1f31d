"""The results of the profiles tabular and tabular_more in the repository, and the rows of docs/tables.md."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from puoc.analysis.metrics import curve_metrics
from puoc.analysis.metrics.curve import StoredCurve
from puoc.analysis.statistics import roc
from puoc.store.published import read_published

ROOT = Path(__file__).parents[2]
MEGABYTES = {"tabular": 20, "tabular_more": 7}
#: Methods whose fits may be refused: the estimated class prior leaves their risk undefined.
REFUSED = {"tabular": set[str](), "tabular_more": {"nnpu_noisy"}}


@pytest.mark.parametrize("profile", MEGABYTES)
def test_they_are_those_of_the_profile_and_small(profile: str) -> None:
    folder = ROOT / "published" / profile
    assert (folder / "params.yaml").read_bytes() == (ROOT / "profiles" / f"{profile}.yaml").read_bytes()
    assert sum(path.stat().st_size for path in folder.iterdir()) < MEGABYTES[profile] * 1e6


@pytest.mark.slow
@pytest.mark.parametrize("profile", MEGABYTES)
def test_they_are_whole_and_the_docs_have_the_same_aucs(profile: str) -> None:
    folder = ROOT / "published" / profile
    manifest, fits = read_published(folder)
    assert len(fits) == manifest.fits
    assert {path.name for path in folder.iterdir()} == {"manifest.json", *manifest.files}
    trials = [(fit, trial) for fit in fits for trial in fit.trials]
    assert len(trials) == manifest.trials
    assert {fit.result.status for fit in fits} == {"ok"}
    assert all(trial.roc and trial.scores is None for _, trial in trials)
    assert all(fit.result.session is None for fit in fits)
    rows = pd.read_parquet(ROOT / "docs" / "evidence" / f"{profile}.parquet")
    assert rows["status"].eq("ok").sum() == manifest.trials
    assert set(rows.loc[rows["status"] != "ok", "entry"]) == REFUSED[profile]
    assert sorted(rows["auc"].dropna()) == sorted(trial.auc for _, trial in trials)


@pytest.mark.parametrize("table", ["bupa", "letter"])  # letter has too many rows for other metrics than the AUC
def test_the_docs_have_the_metrics_that_the_curves_determine(table: str) -> None:
    rows = pd.read_parquet(ROOT / "docs" / "evidence" / "tabular.parquet")
    rows = rows[rows["table"].isin([table, f"{table}_shift"])]
    texts = pd.read_parquet(ROOT / "published" / "tabular" / f"keel_{table}.parquet", columns=["trials"])["trials"]
    trials = [trial for text in texts for trial in json.loads(text)]
    determined: dict[float, list[dict[str, float]]] = {}
    for one in trials:
        curve = StoredCurve(one["auc"], roc.decode(one["roc"]), one["n_pos"], one["n_neg"])
        determined.setdefault(one["auc"], []).append(curve_metrics(curve))
    assert len(rows) == len(trials)
    for auc, text in zip(rows["auc"], rows["metrics"], strict=True):
        stored = json.loads(text)
        of_curves = [one for one in determined[auc] if one.keys() <= stored.keys()]
        assert any(one == pytest.approx({name: stored[name] for name in one}, abs=1e-12) for one in of_curves)
