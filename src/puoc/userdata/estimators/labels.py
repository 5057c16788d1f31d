"""Labels y of positive and unlabelled rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_EXPECTED = "expected 1 for labelled positives, and 0 or -1 for unlabelled rows"


class Labels(NamedTuple):
    """Which rows are labelled positives."""

    labelled: NDArray[np.bool_]  # (n,)
    classes: NDArray[Any]  # (2,) the label of unlabelled rows, then that of positives


def labels_of(y: Any, pos_label: Any = None) -> Labels:
    """Read labels y (n,).

    Parameters
    ----------
    pos_label : the label of positives. None: 1, where all others are 0 or -1. ``"larger"``: the last one in sorted
        order, which scikit-learn's binary classifiers take as positive.

    Raises
    ------
    ValueError : y is not binary, has missing values, or does not have the label of positives.
    """
    from sklearn.utils import assert_all_finite, column_or_1d
    from sklearn.utils.multiclass import type_of_target

    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind.startswith("continuous"):
        raise ValueError(f"Unknown label type: {kind}. y holds numbers that are no labels; {_EXPECTED}")
    values = np.unique(y)
    if len(values) > 2:
        some = ", ".join(map(repr, values[:4].tolist()))
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}: y has {len(values)} "
            f"different labels ({some}, ...); {_EXPECTED}"
        )
    if isinstance(pos_label, str) and pos_label == "larger":
        positive = values[-1]
    elif pos_label is not None:
        positive = pos_label
        if positive not in values.tolist():
            raise ValueError(f"pos_label: got {pos_label!r}, and y has {values.tolist()}; expected one of them")
    else:
        positive = 1
        if values.dtype.kind not in "biuf" or not set(values.tolist()) <= {1, 0, -1} or 1 not in values:
            raise ValueError(f"y has the labels {values.tolist()}; {_EXPECTED}, or pos_label that names the positives")
    others = [value for value in values if value != positive]
    unlabelled = others[0] if others else values.dtype.type(0) if values.dtype.kind in "biuf" else values[0]
    return Labels(np.asarray(y == positive), np.array([unlabelled, positive], dtype=values.dtype))
