"""Holm's adjustment for multiple tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from puoc.analysis.statistics.signed_rank import finite_values


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust one family of p-values by Holm's step-down method; the order is kept.

    Parameters
    ----------
    p_values : (m,) raw p-values in [0, 1].

    Returns
    -------
    (m,) adjusted p-values, at most 1: those up to a level are significant at this level for the whole family.

    Raises
    ------
    ValueError : no value, more than one axis, text, or a value that is not finite or not in [0, 1].

    Source: Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure.

    Examples
    --------
    >>> from puoc import holm
    >>> holm([0.01, 0.04, 0.5]).tolist()
    [0.03, 0.08, 0.5]
    """
    p = finite_values(p_values)
    outside = p[(p < 0) | (p > 1)]
    if len(outside):
        raise ValueError(f"got {outside[0]:g}; expected p-values in [0, 1]")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
