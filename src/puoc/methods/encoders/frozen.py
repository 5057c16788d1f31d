"""Encoders that no sample changes: the features of a dataset are computed once, whoever asks for them."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from puoc.methods.training.estimator import Compute, Encoder, PUSample
from puoc.records import Array


class Frozen(Encoder):
    """Base of encoders that are complete with their hyperparameters."""

    frozen: ClassVar[bool] = True
    gives: ClassVar[str] = "vector"  # what a row is once encoded: vector or sequence

    def fit_lanes(self, samples: list[PUSample], compute: Compute = Compute()) -> list[Self]:  # type: ignore[override]  # noqa: B008
        """Return unchanged copies, since no sample changes the encoder."""
        self.alpha_hat_, self.curve_, self.lane_map_ = None, {}, "loop"
        return [self for _ in samples]

    def encoded_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of an encoded row, found by encoding zeros."""
        return tuple(self.encode(np.zeros((1, *shape), dtype=np.float32)).shape[1:])

    def counts(self, X: Array) -> dict[str, int]:
        """Return counts that describe the encoding of these rows and add up over rows; none by default."""
        return {}

    def decision_function(self, X: Array) -> Array:
        """Return minus the squared norm of the encoded rows, (n,), since every estimator has scores."""
        encoded = self.encode(X)
        scores: Array = -np.square(encoded).sum(axis=tuple(range(1, encoded.ndim)))
        return scores

    def state(self) -> dict[str, Array]:
        """Return no arrays, since the pretrained weights are identified by their digest."""
        return {}

    def restore(self, state: dict[str, Array], shape: tuple[int, ...]) -> Self:
        """See ``Estimator``.

        Raises
        ------
        ValueError : arrays, of which there are none.
        """
        if state:
            raise ValueError(f"{self.name}: no arrays expected, got {sorted(state)}")
        return self
