"""Import of published results into a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from puoc.store.ledger import Ledger
from puoc.store.published.form import PublishedFit, in_words, outcome, published_form, trial_outcome
from puoc.store.published.reading import read_published

_SHOWN = 3  # contradictions in a message


class Imported(NamedTuple):
    """Numbers of fits and trials that an import added, and of fits that the ledger had."""

    fits: int
    trials: int
    known: int


def import_folder(ledger: Ledger, folder: Path, *, keep: bool = False) -> Imported:
    """Add the records of a folder to a ledger. Records that the ledger has stay as they are.

    An import that was killed can be repeated. Each added record names the results that it comes from.

    Parameters
    ----------
    keep : if a fit has another outcome in the ledger, keep that one instead of an error.

    Raises
    ------
    ValueError : the folder is damaged, or a fit has another outcome in the ledger. Nothing is added then.
    """
    manifest, published = read_published(folder)
    contradictions = {fit.result.fit.id: text for fit in published if (text := _contradiction(ledger, fit))}
    if contradictions and not keep:
        texts = list(contradictions.values())
        shown = "; ".join(texts[:_SHOWN]) + ("; ..." if len(texts) > _SHOWN else "")
        raise ValueError(
            f"{folder}: {len(texts)} of {len(published)} fits have another outcome in the ledger ({shown}); "
            "nothing was imported; give --keep to keep the outcomes of the ledger"
        )
    mark = {"imported": f"{manifest.title}, {manifest.written}"}
    fits = n_trials = known = 0
    for fit in published:
        result, trials = fit.result.model_copy(update=mark), [trial.model_copy(update=mark) for trial in fit.trials]
        if ledger.put_imported(result, trials):
            fits, n_trials = fits + 1, n_trials + len(trials)
            continue
        known += 1
        # also for a fit that another process has recorded since the comparison above
        if fit.result.fit.id not in contradictions and _contradiction(ledger, fit) is None:
            n_trials += sum(ledger.add_imported(trial) for trial in trials)
    return Imported(fits, n_trials, known)


def _contradiction(ledger: Ledger, fit: PublishedFit) -> str | None:
    """Return how the outcome of a fit differs from that in the ledger; None if it does not, or is not there."""
    fit_id = fit.result.fit.id
    entry = ledger.get(fit_id) if ledger.is_final(fit_id) else None
    if entry is None:
        return None
    mine = published_form(entry)
    scored = {(trial.trial_id, trial.scoring_digest): trial for trial in mine.trials}
    pairs = [(scored.get((trial.trial_id, trial.scoring_digest)), trial) for trial in fit.trials]
    both = [(here, there) for here, there in pairs if here is not None]
    other = next((pair for pair in both if trial_outcome(pair[0]) != trial_outcome(pair[1])), None)
    trained = outcome(mine.result) != outcome(fit.result)
    if other is None and not trained:
        return None
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
    return f"fit {fit_id} of {in_words(fit.result.fit)}: {', '.join(parts)}"
