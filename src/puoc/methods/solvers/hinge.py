"""The double hinge in plain numpy, and what its programs have in common."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Risk = Literal["non_negative", "unbiased"]
Vector = NDArray[np.float64]


def double_hinge(z: Vector) -> Vector:
    """Return l(z) = max(-2z, 0, 1 - z), twice the loss of du Plessis et al. (2015), as in PU-SVM of Bagirov et al."""
    return np.maximum(-2 * z, np.maximum(1 - z, 0))


def with_room_for_rounding(bound: float, n: int, size: float) -> float:
    """Return the bound less what the rounding of sums over n rows may have added to it.

    Parameters
    ----------
    bound : computed lower bound.
    n : number of terms of each sum.
    size : sum of the absolute values of all terms.
    """
    return bound - 2 * n * float(np.finfo(np.float64).eps) * size


def least_at_zero(alpha: float) -> float:
    """Return the PU risk of f = b with the best b: 2 alpha at b = -1, 2 (1 - alpha) at b = 1, affine in between."""
    return 2 * min(alpha, 1 - alpha)
