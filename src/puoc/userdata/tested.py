"""AUC on labelled test rows, with its interval and what is to be doubted of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.analysis.statistics.auc import auc
from puoc.analysis.statistics.auc_interval import auc_interval
from puoc.records import Array
from puoc.store.counting import noun
from puoc.userdata.ranking_check import AucInterval


class Tested(NamedTuple):
    """The AUC and remarks on it."""

    interval: AucInterval
    notes: tuple[str, ...]


def auc_of_test(
    scores: Array, positive: NDArray[np.bool_], where: str, overlapping: NDArray[np.bool_] | None
) -> Tested:
    """Return the AUC of test rows.

    Parameters
    ----------
    scores, positive, overlapping : (n,) scores; masks of the positives and of rows that are also training rows.

    Raises
    ------
    ValueError : as ``auc``.
    """
    value = auc(scores[positive], scores[~positive], where)
    interval = AucInterval(value, *auc_interval(value, int(positive.sum()), int((~positive).sum())))
    notes = [f"95 % interval of the AUC: {interval.low:.3f} to {interval.high:.3f}"]
    if np.ptp(scores) == 0:
        notes.append(
            f"warning: all {len(scores)} test rows have the same score, so the model does not rank them; "
            "other --params, other columns or another --method may help"
        )
    if overlapping is not None and overlapping.any():
        P, N = positive & ~overlapping, ~positive & ~overlapping
        n = int(overlapping.sum())
        left_out = f"the {n} test {noun(n, 'row that overlaps', 'rows that overlap')}"
        if P.any() and N.any():
            notes.append(f"AUC without {left_out}: {auc(scores[P], scores[N], where):.4f}")
        else:
            notes.append(f"no AUC without {left_out}, since no row of one class is left")
    return Tested(interval, tuple(notes))
