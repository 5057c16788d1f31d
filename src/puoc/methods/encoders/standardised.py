"""Columns of mean 0 and variance 1 over the training rows, for learners that compare columns with each other."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import PositiveFloat

from puoc.methods.training.estimator import Compute, Encoder, LaneLoop, PUSample, typed
from puoc.records import Array
from puoc.registry import encoder


class FittedScales(LaneLoop, Encoder):
    """A plain class, since means and deviations are no hyperparameter."""

    arrays_: dict[str, Array]


@encoder("standardised")
@typed
class Standardised(FittedScales):
    """Fitted to labelled and unlabelled rows without a label, so a one-class method that sees it needs U as well.

    A column without variation is only centred, so that a new row which differs there is seen to differ.
    """

    inputs = frozenset({"vector"})
    learns_from: ClassVar[Literal["training_rows"]] = "training_rows"

    cut: PositiveFloat  # standard deviations at which a standardised value is cut

    @property
    def one_class(self) -> bool:
        """Return False: it also learns from U."""
        return False

    def encoded_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of an encoded row, which is that of the row."""
        return shape

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Compute mean and standard deviation of each column."""
        X = np.concatenate([sample.X_p, np.asarray(sample.X_u)]).astype(np.float64)
        scale = X.std(axis=0)
        self.arrays_ = {"mean": X.mean(axis=0), "scale": np.where(scale > 0, scale, 1.0)}

    def encode(self, X: Array) -> Array:
        """Return standardised rows (n, d), float32."""
        standardised = (np.asarray(X, dtype=np.float64) - self.arrays_["mean"]) / self.arrays_["scale"]
        encoded: Array = np.clip(standardised, -self.cut, self.cut).astype(np.float32)
        return encoded

    def decision_function(self, X: Array) -> Array:
        """Return minus the squared norm of the encoded rows, (n,): higher = nearer to the mean of the training rows."""
        scores: Array = -np.square(self.encode(X), dtype=np.float64).sum(axis=1)
        return scores

    def state(self) -> dict[str, Array]:
        """Return means and standard deviations."""
        return dict(self.arrays_)

    def restore(self, state: dict[str, Array], shape: tuple[int, ...]) -> Self:
        """See ``Estimator``.

        Raises
        ------
        ValueError : arrays of other names or shapes.
        """
        got = {name: array.shape for name, array in state.items()}
        if got != {"mean": shape, "scale": shape}:
            raise ValueError(f"{self.name}: mean and scale of shape {shape} expected, got {got}")
        self.arrays_ = dict(state)
        return self
