"""The results of the paper's tables that come with the repository: whole, small, and of the profile that is here."""

from __future__ import annotations

from pathlib import Path

from puoc.store.published import read_published

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "published" / "paper"


def test_the_published_results_are_whole_and_under_20_megabytes() -> None:
    manifest, fits = read_published(FOLDER)
    assert len(fits) == manifest.fits
    assert sum(len(fit.trials) for fit in fits) == manifest.trials
    assert {path.name for path in FOLDER.iterdir()} == {"manifest.json", *manifest.files}
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 20e6
    assert {fit.result.status for fit in fits} <= {"ok", "skipped"}
    # ROC curves instead of the scores of rows, and no names of machines
    assert all(trial.roc and trial.scores is None for fit in fits for trial in fit.trials)
    assert all(fit.result.session is None for fit in fits)


def test_they_are_those_of_the_papers_profile() -> None:
    assert (FOLDER / "params.yaml").read_bytes() == (ROOT / "profiles" / "paper.yaml").read_bytes()
