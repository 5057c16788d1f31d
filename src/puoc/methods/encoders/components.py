"""Leading principal components of standardised columns, the representation of ``puoc assess``."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import PositiveFloat, PositiveInt

from puoc.methods.training.estimator import Compute, Encoder, LaneLoop, PUSample, typed
from puoc.methods.training.principal_components import Seen
from puoc.records import Array
from puoc.registry import encoder


class FittedComponents(LaneLoop, Encoder):
    """A plain class, since the fitted components are no hyperparameter."""

    seen_: Seen


@encoder("components")
@typed
class Components(FittedComponents):
    """Fitted to labelled and unlabelled rows without a label, so a one-class method that sees it needs U as well.

    Each value is divided by the components' overall spread, so the variance is 1 on average.
    """

    inputs = frozenset({"image", "vector"})
    learns_from: ClassVar[Literal["training_rows"]] = "training_rows"

    dimension: PositiveInt  # components; fewer where a row has fewer values
    cut: PositiveFloat  # standard deviations at which a standardised value is cut

    @property
    def one_class(self) -> bool:
        """Return False: it also learns from U."""
        return False

    def encoded_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the components: ``dimension`` of them, or as many as a row has values."""
        return (min(self.dimension, int(np.prod(shape))),)

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """See ``LaneLoop``."""
        self.seen_ = Seen.by(sample.X_p, np.asarray(sample.X_u), self.dimension, self.cut)

    def encode(self, X: Array) -> Array:
        """Return components (n, d), d = ``dimension`` or the number of a row's values."""
        return self.seen_.one_by_one(X)

    def decision_function(self, X: Array) -> Array:
        """Return minus the squared norm of the encoded rows, (n,): higher = nearer to the mean of the training rows."""
        scores: Array = -np.square(self.encode(X), dtype=np.float64).sum(axis=1)
        return scores

    def state(self) -> dict[str, Array]:
        """Return means, deviations, components and their spread."""
        seen = self.seen_
        return {
            "mean": seen.mean,
            "scale": seen.scale,
            "components": seen.components,
            "spread": np.array([seen.spread]),
        }

    def restore(self, state: dict[str, Array], shape: tuple[int, ...]) -> Self:
        """See ``Estimator``.

        Raises
        ------
        ValueError : arrays of other names or shapes.
        """
        columns = int(np.prod(shape))
        d = min(self.dimension, columns)
        expected = {"mean": (columns,), "scale": (columns,), "components": (columns, d), "spread": (1,)}
        got = {name: array.shape for name, array in state.items()}
        if got != expected:
            raise ValueError(f"{self.name}: arrays of shapes {expected} expected for rows of shape {shape}, got {got}")
        spread = float(state["spread"][0])
        self.seen_ = Seen(state["mean"], state["scale"], state["components"], spread, self.cut)
        return self
