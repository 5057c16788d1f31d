"""The rows of a table as arrays over entries x cells x seeds: what a comparison of many rows computes with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from puoc.analysis.tables.plans import TablePlan

#: What a computation may differ in beside the method: column and words.
CIRCUMSTANCES = (("device", "device"), ("torch_version", "torch version"), ("numerics", "numerics"))
_SCORES = ("auc", "auc_train_pool", "auc_val_pu")
_TEXTS = ("status", "reason", "trial_id", *(column for column, _ in CIRCUMSTANCES))

Floats = NDArray[np.float64]
Texts = NDArray[np.object_]


@dataclass(frozen=True)
class Grid:
    """Arrays (E, C, S) in the plan's order; a planned row that is not there has NaN and None."""

    plan: TablePlan
    auc: Floats  # NaN where no score may enter a mean: not ok, or ok without one
    auc_train_pool: Floats
    auc_val_pu: Floats  # withheld labelled positives against withheld unlabelled rows, where a table withholds some
    texts: dict[str, Texts]  # by column

    @classmethod
    def of(cls, plan: TablePlan, rows: pd.DataFrame) -> Self:
        """From rows as ``planned_rows`` gives them."""
        names = {"entry": [entry.entry for entry in plan.entries], "cell": plan.cells, "seed": plan.seeds}
        shape = tuple(len(of) for of in names.values())
        at = tuple(rows[key].map({name: n for n, name in enumerate(of)}).to_numpy() for key, of in names.items())
        texts = {}
        for column in _TEXTS:
            texts[column] = np.full(shape, None, dtype=object)
            values = rows[column].astype(object)
            texts[column][at] = values.where(values.notna(), None).to_numpy()
        scores = {}
        for column in _SCORES:
            scores[column] = np.full(shape, np.nan)
            if column not in rows:
                continue
            scores[column][at] = np.where(rows["status"] == "ok", rows[column].astype(float), np.nan)
        return cls(plan, **scores, texts=texts)

    @cached_property
    def place(self) -> dict[str, int]:
        """Number of each entry."""
        return {entry.entry: at for at, entry in enumerate(self.plan.entries)}

    @property
    def told(self) -> Floats:
        """What each row is to have: an AUC, or without labelled test rows the label-free criterion."""
        return self.auc if self.plan.tested else self.auc_val_pu

    def averages(self, entry: int, column: str = "auc") -> Floats:
        """AUC (S,) averaged over the cells, by seed: NaN unless the seed has every cell, so all average the same."""
        scores: Floats = getattr(self, column)[entry]
        means: Floats = scores.mean(axis=0)
        return means

    def outcomes(self, entry: int, cell: int | None) -> dict[str, Any]:
        """Counts by status, planned trials without a row being missing, and the reasons in words."""
        where = (entry, slice(None) if cell is None else cell)
        status, reason, auc = self.texts["status"][where].ravel(), self.texts["reason"][where].ravel(), self.told[where]
        ok = int((status == "ok").sum())
        counts: dict[str, Any] = {"n_ok": ok}
        if ok == status.size == int((~np.isnan(auc)).sum()):
            return counts | {"n_failed": 0, "n_skipped": 0, "n_missing": 0, "reasons": ""}
        unscored = ok - int((~np.isnan(auc)).sum())
        said = [f"{unscored} ok without an AUC"] if unscored else []
        for name in ("failed", "skipped", "missing"):
            of_status = status == name
            counts[f"n_{name}"] = int(of_status.sum())
            reasons = [str(text) for text in reason[of_status] if text is not None]
            said += [f"{reasons.count(text)} {name}: {text}" for text in sorted(set(reasons))]
        counts["n_missing"] = status.size - ok - counts["n_failed"] - counts["n_skipped"]
        return counts | {"reasons": "; ".join(said)}

    def trials(self, entry: int, cell: int | None, scored: NDArray[np.bool_]) -> list[str]:
        """Ids behind a mean, cell by cell; ``scored`` (S,) or (C, S) says which."""
        ids = self.texts["trial_id"][entry] if cell is None else self.texts["trial_id"][entry, cell]
        return [str(trial) for trial in ids[np.broadcast_to(scored, ids.shape)]]
