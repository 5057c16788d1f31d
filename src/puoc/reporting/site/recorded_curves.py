"""Training and ROC curves of the scored trials of a table, from the records of the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from puoc.analysis.statistics import roc
from puoc.reporting.page.section import Table
from puoc.reporting.site.standings import FAMILIES
from puoc.store.ledger import Ledger
from puoc.store.ledger_records import Entry

#: False-positive rates at which the recall is kept: in steps of .01 up to .1, where a curve is steep, then of .03.
FALSE_POSITIVE_RATES = np.concatenate([np.arange(0, 101, 10), np.arange(130, 1001, 30)]) / (roc.POINTS - 1)


@dataclass(frozen=True)
class TrialCurves:
    """What the ledger has of one scored trial."""

    cell: str
    fit_id: str
    training: Mapping[str, Sequence[float]]  # objective by epoch, or before and after an exact solution
    recalls: NDArray[np.float64] | None  # at FALSE_POSITIVE_RATES; None if no ROC curve was recorded


@dataclass(frozen=True)
class EntryCurves:
    """The curves of an entry in a table."""

    entry: str
    look: str  # CSS class of its family
    trials: Sequence[TrialCurves]
    n_scored: int  # trials with a score, of which the ledger may lack some


def read_curves(root: Path, tables: Sequence[Table]) -> dict[str, list[EntryCurves]]:
    """Return the curves of the entries of each table that was run, by the table's name.

    Raises
    ------
    ValueError : a record is damaged.
    """
    ledger = Ledger(root / "ledger")
    records: dict[str, tuple[Mapping[str, Sequence[float]], dict[tuple[str, str], NDArray[np.float64]]] | None] = {}
    found: dict[str, list[EntryCurves]] = {}
    for table in tables:
        if table.rows is None:
            continue
        scored = table.rows[table.rows["status"] == "ok"]
        by_entry = {str(name): rows for name, rows in scored.groupby("entry")}
        for entry in table.plan.entries:
            rows = by_entry.get(entry.entry)
            if rows is None:
                continue
            trials = []
            places = _places(rows)
            for cell, fit_id, trial_id, scoring in places:
                if fit_id not in records:
                    records[fit_id] = _kept(ledger.get(fit_id))
                record = records[fit_id]
                if record is not None:
                    training, recalls = record
                    trials.append(TrialCurves(cell, fit_id, training, recalls.get((trial_id, scoring))))
            look = "fam-reference" if entry.labels == "oracle" else FAMILIES[entry.kind][1]
            found.setdefault(table.plan.table, []).append(EntryCurves(entry.entry, look, trials, len(rows)))
    return found


def _places(rows: pd.DataFrame) -> Iterator[tuple[str, str, str, str]]:
    """Yield the cell of each trial, the ids of its fit and of itself in the ledger, and the digest of the scoring.

    Rows of earlier versions have no digest of the scoring, so no ROC curve of the ledger is theirs.
    """
    ids = rows.reindex(columns=["record_fit_id", "record_trial_id", "scoring_digest"]).astype(object)
    fit_ids, trial_ids = ids["record_fit_id"].fillna(rows["fit_id"]), ids["record_trial_id"].fillna(rows["trial_id"])
    for cell, fit_id, trial_id, scoring in zip(rows["cell"], fit_ids, trial_ids, ids["scoring_digest"], strict=True):
        yield str(cell), str(fit_id), str(trial_id), str(scoring)


def _kept(
    entry: Entry | None,
) -> tuple[Mapping[str, Sequence[float]], dict[tuple[str, str], NDArray[np.float64]]] | None:
    """Return the training curves of a record, and the recalls by trial and digest of the scoring code."""
    if entry is None or entry.result.status != "ok":
        return None
    at = np.rint(FALSE_POSITIVE_RATES * (roc.POINTS - 1)).astype(int)
    recalls = {
        (trial.trial_id, trial.scoring_digest): roc.decode(trial.roc)[at]
        for trial in [*entry.trials.values(), *entry.rescored.values()]
        if trial.roc is not None
    }
    return entry.result.curve, recalls
