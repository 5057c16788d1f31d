"""Holm's adjustment for multiple tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from puoc.analysis.statistics.signed_rank import finite_values


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust one family of p-values, shape (m,), by Holm's step-down method (Holm, 1979); the order is kept."""
    p = finite_values(p_values)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
