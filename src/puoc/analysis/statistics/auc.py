"""The AUC of scores. All AUCs of puoc are computed here."""

from __future__ import annotations

import numpy as np

from puoc.records import Array


def auc(positive: Array, negative: Array, what: str) -> float:
    """Compute the area under the ROC curve: the chance that a positive scores higher than a negative; ties count half.

    Parameters
    ----------
    positive, negative : (n,) and (m,) scores; higher = more likely positive.
    what : name of the scores in error messages.

    Raises
    ------
    ValueError : a side is empty, or a score is not finite.
    """
    if not len(positive) or not len(negative):
        raise ValueError(
            f"{what}: an AUC needs both classes, got {len(positive)} positives and {len(negative)} negatives"
        )
    scores = np.concatenate([positive, negative])
    strange = int((~np.isfinite(scores)).sum())
    if strange:
        raise ValueError(f"{what}: {strange} of {len(scores)} scores are not finite")
    # Mann and Whitney's count; scikit-learn's roc_auc_score gives the same, but importing it takes a second
    below = np.sort(negative)
    beaten, not_above = (np.searchsorted(below, positive, side=side) for side in ("left", "right"))
    return float((beaten + not_above).sum() / (2 * len(positive) * len(negative)))
