"""Vectors as sequences of steps, the input of the paper's LSTMs for PenDigits."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import PositiveInt

from puoc.methods.encoders.frozen import Frozen
from puoc.methods.training.estimator import typed
from puoc.records import Array
from puoc.registry import encoder


@encoder("sequence")
@typed
class Sequence(Frozen):
    """Cuts a vector of d numbers into d / ``values`` steps of as many; all steps belong to the sequence.

    PenDigits is 16 x 1, or 8 x 2 with a position of the pen a step. The paper does not say which; its released code has
    1 as default.
    """

    inputs = frozenset({"vector"})
    gives: ClassVar[str] = "sequence"

    values: PositiveInt  # of a step

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """See ``Encoder``."""
        if len(shape) != 1 or shape[0] % self.values or not shape[0]:
            raise ValueError(
                f"{self.name}: vectors of a multiple of {self.values} numbers expected, got rows of shape {shape}; "
                f"change values under encoders in params.yaml"
            )

    def encode(self, X: Array) -> Array:
        """Return sequences (n, d / values, 1 + values), the mask first, as ``puoc.methods.lstm`` has them.

        Raises
        ------
        ValueError : rows that are no vectors, or whose length is not a multiple of ``values``.
        """
        self.check_shape(X.shape[1:])
        steps = X.reshape(len(X), -1, self.values)
        return np.concatenate([np.ones_like(steps[..., :1]), steps], axis=2)
