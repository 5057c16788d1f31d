"""Which runs of trials get artifacts and training curves: all, those of the best entry of each cell, or none.

Files and steps of a training curve are half of the disk that a store takes. Params, metrics and tags are logged for
every trial, and the ledger keeps the records and scores of all fits in any case.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Literal

from puoc.reporting.tracking.project_trials import Key, Trial, is_sweep
from puoc.store.result_rows import ResultRow

#: What to log: ``auto`` is ``all`` up to ``MOST`` trials in the store, and ``best`` above.
Artifacts = Literal["auto", "all", "best", "none"]
MOST = 10_000
#: Tag of a run whose artifacts and training curves are left out; empty or absent if it has them.
TAG = "artifacts"
LEFT_OUT = "left out"


def with_artifacts(asked: Artifacts, trials: Mapping[Key, Trial], n_stored: int, complete: bool) -> frozenset[Key]:
    """Return the trials whose runs get artifacts.

    Parameters
    ----------
    n_stored : trials that the store has then, including these.
    complete : the trials are all of their tables. While a table is computed, its best entry is not known yet, so
        that ``best`` gives none; ``track`` logs them afterwards.
    """
    if asked == "auto":
        asked = "all" if n_stored <= MOST else "best"
    if asked == "all":
        return frozenset(trials)
    return best_trials(trials) if asked == "best" and complete else frozenset()


def best_trials(trials: Mapping[Key, Trial]) -> frozenset[Key]:
    """Return the trials of the entry with the highest mean in each cell of a table, and of a sweep's configuration.

    References are left out. Entries with fewer scored trials than others of the cell come after them.
    """
    cells: dict[tuple[str, str, str], dict[str, list[tuple[Key, float]]]] = {}
    for key, trial in trials.items():
        value = _value(trial.row)
        if value is None or trial.row.labels == "oracle":
            continue
        for cell_id, place in trial.places.items():
            entries = cells.setdefault((key[0], place.source, place.cell), {})
            entries.setdefault(cell_id, []).append((key, value))
    best = set[Key]()
    for entries in cells.values():
        scored = max(entries.values(), key=lambda of_entry: (len(of_entry), fmean(value for _, value in of_entry)))
        best |= {key for key, _ in scored}
    return frozenset(best)


def _value(row: ResultRow) -> float | None:
    """Return the score by which entries are compared: the label-free criterion in a sweep or without test labels."""
    if row.status != "ok":
        return None
    return row.auc_val_pu if is_sweep(row) or row.auc is None else row.auc
