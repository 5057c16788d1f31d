"""Import of published results into a ledger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from puoc.records import TrialResult
from puoc.store.ledger import Ledger
from puoc.store.published.form import Manifest, PublishedFit, in_words, outcome, published_form, trial_outcome
from puoc.store.published.reading import read_published

_SHOWN = 3  # contradictions in a message
_BATCH = 500  # fits that are written together


class Imported(NamedTuple):
    """Numbers of fits and trials that an import added, and of fits that the ledger had."""

    fits: int
    trials: int
    known: int


def import_folder(ledger: Ledger, folder: Path, *, keep: bool = False) -> Imported:
    """Read a folder and add its records to a ledger, as ``add_published``. Raises ValueError for a damaged folder."""
    return add_published(ledger, *read_published(folder), keep=keep, source=folder)


def add_published(
    ledger: Ledger, manifest: Manifest, published: Sequence[PublishedFit], *, source: Path, keep: bool = False
) -> Imported:
    """Add records that were read to a ledger. Records that the ledger has stay as they are.

    An import that was killed can be repeated. Each added record names the results that it comes from.

    Parameters
    ----------
    source : the folder, for messages.
    keep : if a fit has another outcome in the ledger, keep that one instead of an error.

    Raises
    ------
    ValueError : a fit has another outcome in the ledger. Nothing is added then.
    """
    known = {fit.result.fit.id: found for fit in published if (found := _compare(ledger, fit))}
    contradictions = [found.contradiction for found in known.values() if found.contradiction]
    if contradictions and not keep:
        shown = "; ".join(contradictions[:_SHOWN]) + ("; ..." if len(contradictions) > _SHOWN else "")
        raise ValueError(
            f"{source}: {len(contradictions)} of {len(published)} fits have another outcome in the ledger ({shown}); "
            "nothing was imported; give --keep to keep the outcomes of the ledger"
        )
    mark = {"imported": f"{manifest.title}, {manifest.written}"}
    new = [fit for fit in published if fit.result.fit.id not in known]
    n_fits = n_trials = 0
    for start in range(0, len(new), _BATCH):
        batch = new[start : start + _BATCH]
        marked = [
            (fit.result.model_copy(update=mark), [trial.model_copy(update=mark) for trial in fit.trials])
            for fit in batch
        ]
        for fit, created in zip(batch, ledger.put_imported(marked), strict=True):
            if created:
                n_fits, n_trials = n_fits + 1, n_trials + len(fit.trials)
            elif found := _compare(ledger, fit):  # another process has recorded the fit since
                known[fit.result.fit.id] = found
    for found in known.values():
        if found.contradiction is None:
            n_trials += sum(ledger.add_imported(trial.model_copy(update=mark)) for trial in found.unknown)
    return Imported(n_fits, n_trials, len(published) - n_fits)


class _Known(NamedTuple):
    """A fit that the ledger has, compared with that of a folder."""

    contradiction: str | None  # how the outcome in the ledger differs
    unknown: tuple[TrialResult, ...]  # trials of the folder that the ledger lacks


def _compare(ledger: Ledger, fit: PublishedFit) -> _Known | None:
    """Compare a fit with its record in the ledger; None if there is none."""
    fit_id = fit.result.fit.id
    entry = ledger.get(fit_id) if ledger.is_final(fit_id) else None
    if entry is None:
        return None
    mine = published_form(entry)
    scored = {(trial.trial_id, trial.scoring_digest): trial for trial in mine.trials}
    pairs = [(scored.get((trial.trial_id, trial.scoring_digest)), trial) for trial in fit.trials]
    unknown = tuple(there for here, there in pairs if here is None)
    both = [(here, there) for here, there in pairs if here is not None]
    other = next((pair for pair in both if trial_outcome(pair[0]) != trial_outcome(pair[1])), None)
    trained = outcome(mine.result) != outcome(fit.result)
    if other is None and not trained:
        return _Known(None, unknown)
    parts = []
    if mine.result.status != fit.result.status:
        parts.append(f"status {mine.result.status} in the ledger, {fit.result.status} in the folder")
    elif trained:
        parts.append("another class prior or training curve")
    here, there = other or (both[0] if both else (None, None))
    if here is not None and there is not None:
        parts.append(f"AUC {here.auc} in the ledger, {there.auc} in the folder")
        if here.auc == there.auc and other:
            parts.append("another AUC of training or withheld rows, or number of test rows")
    return _Known(f"fit {fit_id} of {in_words(fit.result.fit)}: {', '.join(parts)}", unknown)
