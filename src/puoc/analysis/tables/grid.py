"""The rows of a table as arrays over entries x cells x seeds, for comparisons of many rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from puoc.store.plans import TablePlan

#: Circumstances other than the method in which two computations may differ: column and words.
CIRCUMSTANCES = (("device", "device"), ("torch_version", "torch version"), ("numerics", "numerics"))
_SCORES = ("auc", "auc_train_pool", "auc_val_pu")
_TEXTS = ("status", "reason", "trial_id", *(column for column, _ in CIRCUMSTANCES))

#: What the reasons of a mean call rows that are ok and have no score.
UNSCORED = "ok without a value"
Floats = NDArray[np.float64]
Texts = NDArray[np.object_]


class Outcomes(NamedTuple):
    """How the trials of an entry ended, in a cell or in all cells."""

    n_ok: int
    n_failed: int
    n_skipped: int
    n_missing: int
    reasons: str  # in words

    def holes(self) -> dict[str, int]:
        """Return the counts of the trials that have no score, by status."""
        return {"failed": self.n_failed, "skipped": self.n_skipped, "missing": self.n_missing}


@dataclass(frozen=True)
class Grid:
    """Arrays (E, C, S) in the order of the plan. An absent planned row has NaN and None."""

    plan: TablePlan
    auc: Floats  # NaN if the row must not enter a mean: its status is not ok, or it has no AUC
    auc_train_pool: Floats
    auc_val_pu: Floats  # withheld labelled positives against withheld unlabelled rows, if the table withholds some
    texts: dict[str, Texts]  # by column

    @classmethod
    def from_rows(cls, plan: TablePlan, rows: pd.DataFrame) -> Self:
        """Build the arrays from rows as returned by ``planned_rows``."""
        order = {"entry": [entry.entry for entry in plan.entries], "cell": plan.cell_names, "seed": plan.seeds}
        shape = tuple(len(names) for names in order.values())
        place = tuple(
            rows[key].map({name: n for n, name in enumerate(names)}).to_numpy() for key, names in order.items()
        )
        texts = {}
        for column in _TEXTS:
            texts[column] = np.full(shape, None, dtype=object)
            values = rows[column].astype(object)
            texts[column][place] = values.where(values.notna(), None).to_numpy()
        scores = {}
        for column in _SCORES:
            scores[column] = np.full(shape, np.nan)
            if column not in rows:
                continue
            scores[column][place] = np.where(rows["status"] == "ok", rows[column].astype(float), np.nan)
        return cls(plan, **scores, texts=texts)

    @cached_property
    def place(self) -> dict[str, int]:
        """Return the position of each entry, by name."""
        return {entry.entry: position for position, entry in enumerate(self.plan.entries)}

    @property
    def main_score(self) -> Floats:
        """Return the score of each row: the AUC, or the label-free criterion if there are no labelled test rows."""
        return self.auc if self.plan.tested else self.auc_val_pu

    def averages(self, entry: int, column: str = "auc") -> Floats:
        """Return the AUC (S,) of each seed, averaged over the cells; NaN unless the seed has every cell."""
        scores: Floats = getattr(self, column)[entry]
        means: Floats = scores.mean(axis=0)
        return means

    def outcomes(self, entry: int, cell: int | None) -> Outcomes:
        """Return the counts by status and the reasons in words. A planned trial without a row is missing."""
        where = (entry, slice(None) if cell is None else cell)
        status, reason, auc = (
            self.texts["status"][where].ravel(),
            self.texts["reason"][where].ravel(),
            self.main_score[where],
        )
        ok = int((status == "ok").sum())
        unscored = ok - int((~np.isnan(auc)).sum())
        reasons_by_status = [f"{unscored} {UNSCORED}"] if unscored else []
        counts = dict.fromkeys(("failed", "skipped", "missing"), 0)
        if ok < status.size:
            for name in counts:
                of_status = status == name
                counts[name] = int(of_status.sum())
                reasons = [str(text) for text in reason[of_status] if text is not None]
                reasons_by_status += [f"{reasons.count(text)} {name}: {text}" for text in sorted(set(reasons))]
        n_missing = status.size - ok - counts["failed"] - counts["skipped"]
        return Outcomes(ok, counts["failed"], counts["skipped"], n_missing, "; ".join(reasons_by_status))

    def trials(self, entry: int, cell: int | None, scored: NDArray[np.bool_]) -> list[str]:
        """Return the ids of the trials behind a mean, cell by cell. ``scored``, (S,) or (C, S), selects them."""
        ids = self.texts["trial_id"][entry] if cell is None else self.texts["trial_id"][entry, cell]
        return [str(trial) for trial in ids[np.broadcast_to(scored, ids.shape)]]
