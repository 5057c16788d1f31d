"""Distance to the centroid of the labelled positives: a method of a package outside of puoc."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import PositiveFloat

from puoc.methods.training.array_model import ArrayModel, Sizes
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.registry import method


@method("centroid")
@typed
class Centroid(ArrayModel):
    """The score is minus the mean distance, to the power given, of the columns from those of the centroid."""

    kind = "oc"
    needs_alpha = False
    array_shapes: ClassVar[dict[str, Sizes]] = {"centroid": ("d",)}  # what a model file keeps
    default_params: ClassVar[dict[str, Any]] = {"power": 2.0}  # of puoc fit and of the estimator

    power: PositiveFloat

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Keep the centroid."""
        self.check_shape(sample.X_p.shape[1:])
        self.arrays_ = {"centroid": sample.X_p.mean(axis=0)}
        self.curve_ = {"objective": [1.0, 0.0]}

    def decision_function(self, X: Any) -> Any:
        """Return scores (n,), float64."""
        return -(np.abs(X - self.arrays_["centroid"]).astype(np.float64) ** self.power).mean(axis=1)
