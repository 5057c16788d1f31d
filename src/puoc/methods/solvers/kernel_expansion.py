"""Scoring with a function that is linear in the rows or in what a kernel makes of them: what both SVMs leave behind."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np

from puoc.methods.training.estimator import LaneLoop
from puoc.records import Array

Kernel = Literal["linear", "rbf", "single_vector_rbf"]

_ARRAYS = {"linear": ("w", "b"), "rbf": ("support_vectors", "dual", "b"), "single_vector_rbf": ("w", "b")}
_AT_ONCE = 1024  # rows scored against all support vectors


class Expansion(LaneLoop):
    """Scoring with named arrays. A plain class: what a fit leaves behind is no hyperparameter."""

    kernel: Kernel
    gamma: float | None
    arrays_: dict[str, Array]

    @property
    def keeps_training_rows(self) -> bool:
        """Return True for a kernel, whose support vectors are training rows; a linear fit keeps only their sum."""
        return self.kernel == "rbf"

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """See ``RowChecks``: rows are vectors."""
        if len(shape) != 1:
            raise ValueError(f"{self.name} takes vectors, got rows of shape {shape}; an encoder may help")

    def decision_function(self, X: Array) -> Array:
        """Return scores (n,), float64."""
        if self.kernel == "linear":
            scores: Array = np.asarray(X, dtype=np.float64) @ self.arrays_["w"] + self.arrays_["b"]
            return scores
        rows, dual = self.arrays_.get("support_vectors"), self.arrays_.get("dual")
        if rows is None or dual is None:
            rows, dual = self.arrays_["w"][None], np.ones(1)
        scores = np.empty(len(X))
        for start in range(0, len(X), _AT_ONCE):
            x = X[start : start + _AT_ONCE]
            scores[start : start + len(x)] = self.matrix(x, rows) @ dual + self.arrays_["b"]
        return scores

    def matrix(self, X: Array, Z: Array) -> Array:
        """Return exp(-gamma ||x - z||^2) of rows (n, d) and (m, d): (n, m), in double precision."""
        assert self.gamma is not None, "a kernel other than linear has a gamma"
        X, Z = np.asarray(X, dtype=np.float64), np.asarray(Z, dtype=np.float64)
        squares = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2 * X @ Z.T
        matrix: Array = np.exp(-self.gamma * np.maximum(squares, 0))
        return matrix

    def state(self) -> dict[str, Array]:
        """Return the arrays of the fitted model by name."""
        return dict(self.arrays_)

    def restore(self, state: dict[str, Array], shape: tuple[int, ...]) -> Self:
        """Restore the fitted model.

        Raises
        ------
        ValueError : the arrays are not those of a model for rows of ``shape``.
        """
        first, *others = _ARRAYS[self.kernel]
        if state.keys() != {first, *others} or state[first].shape[-1:] != shape:
            got = {name: array.shape for name, array in state.items()}
            raise ValueError(f"{self.name}: arrays {_ARRAYS[self.kernel]} of rows {shape} expected, got {got}")
        self.arrays_ = dict(state)
        return self


def check_gamma(kernel: Kernel, gamma: float | None) -> None:
    """Raise ValueError for a gamma that the kernel does not use, and for a kernel without its gamma."""
    if kernel == "linear" and gamma is not None:
        raise ValueError("kernel linear takes no gamma; leave it out")
    if kernel != "linear" and gamma is None:
        raise ValueError(f"missing hyperparameter 'gamma'; kernel {kernel} needs it")
