"""Methods whose fitted model is a few named arrays, without a network."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from puoc.methods.training.estimator import LaneLoop
from puoc.records import Array

Sizes = tuple[str | int, ...]


class ArrayModel(LaneLoop):
    """Saving, restoring and the check of the shape of rows. A plain class: what a fit leaves is no hyperparameter.

    ``array_shapes`` names the arrays of a fitted model and their shapes. The size ``d`` is the length of a row. Other
    names are sizes that the fit decides, equal wherever the same name stands.
    """

    array_shapes: ClassVar[dict[str, Sizes]]
    keeps_rows: ClassVar[bool] = False  # whether values of training rows are among the arrays
    arrays_: dict[str, Array]

    @property
    def keeps_training_rows(self) -> bool:
        """Return ``keeps_rows``."""
        return self.keeps_rows

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """See ``RowChecks``: rows are vectors."""
        if len(shape) != 1:
            raise ValueError(f"{self.name} takes vectors, got rows of shape {shape}; an encoder may help")

    def check_arrays(self, d: int) -> None:
        """Check the values of restored arrays, for rows of length ``d``. The default accepts all values.

        Raises
        ------
        ValueError : the values cannot be those of a fitted model.
        """

    def state(self) -> dict[str, Array]:
        """Return the arrays of the fitted model by name."""
        return dict(self.arrays_)

    def restore(self, state: dict[str, Array], shape: tuple[int, ...]) -> Self:
        """Restore the fitted model.

        Raises
        ------
        ValueError : the arrays are not those of a model for rows of ``shape``.
        """
        self.check_shape(shape)
        sizes: dict[str | int, int] = {"d": shape[0]}
        fits = state.keys() == self.array_shapes.keys() and all(
            _matches(state[name].shape, expected, sizes) and np.isfinite(state[name]).all()
            for name, expected in self.array_shapes.items()
        )
        if not fits:
            got = {name: array.shape for name, array in state.items()}
            raise ValueError(f"{self.name}: finite arrays {self.array_shapes} with d = {shape[0]} expected, got {got}")
        self.arrays_ = dict(state)
        self.check_arrays(shape[0])
        return self


def _matches(got: tuple[int, ...], expected: Sizes, sizes: dict[str | int, int]) -> bool:
    """Return True if a shape is the expected one; sizes that are met for the first time are noted."""
    if len(got) != len(expected):
        return False
    return all(
        n == (size if isinstance(size, int) else sizes.setdefault(size, n))
        for n, size in zip(got, expected, strict=True)
    )
