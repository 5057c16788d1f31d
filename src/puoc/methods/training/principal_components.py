"""Leading principal components of standardised columns: the representation of rows in an assessment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from puoc.records import Array

MOST_VALUES: Final = 20
CUT: Final = 6.0  # standard deviations, so that heavy tails do not decide the scale

_WIDE: Final = 1000  # columns; with fewer the matrix is small, and the signs stay those of the robustness map


@dataclass(frozen=True)
class Seen:
    """Standardised columns, cut at 6 deviations; their first 20 principal components, divided by the overall spread."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    components: NDArray[np.float64]  # (columns, d)
    spread: float
    cut: float = CUT

    @classmethod
    def by(cls, X_p: Array, X_u: Array, most: int = MOST_VALUES, cut: float = CUT) -> Self:
        """Fit to training rows, without labels.

        Parameters
        ----------
        most : maximum number of components; a row with fewer values has fewer.
        cut : standard deviations at which standardised values are clipped.
        """
        X = np.concatenate([X_p, X_u]).reshape(len(X_p) + len(X_u), -1).astype(np.float64)
        mean, scale = X.mean(axis=0), X.std(axis=0)
        scale[scale == 0] = 1
        Z = np.clip((X - mean) / scale, -cut, cut)
        values, vectors = _leading(Z, min(most, Z.shape[1]))
        return cls(mean, scale, vectors, float(np.sqrt(max(values.mean(), 1e-12))), cut)

    def __call__(self, X: Array) -> NDArray[np.float32]:
        """Return rows (n, *shape) as components (n, d)."""
        return (self._standardised(X) @ self.components / self.spread).astype(np.float32)

    def one_by_one(self, X: Array) -> NDArray[np.float32]:
        """Return the components with a separate product for each row, so that no bit depends on the other rows."""
        Z = self._standardised(X)
        return ((Z[:, None, :] @ self.components)[:, 0] / self.spread).astype(np.float32)

    def _standardised(self, X: Array) -> NDArray[np.float64]:
        flat = X.reshape(len(X), len(self.mean))
        found: NDArray[np.float64] = np.clip((flat - self.mean) / self.scale, -self.cut, self.cut)
        return found


def _leading(Z: NDArray[np.float64], d: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the d largest eigenvalues of Z'Z / n, descending, and their vectors (columns, d), each up to its sign.

    With many columns and fewer rows they are computed from the (n, n) matrix ZZ' / n, which has the same nonzero
    eigenvalues. Vectors of the other eigenvalues are 0, since no training row varies along them.
    """
    n, columns = Z.shape
    if columns <= max(n, _WIDE):
        values, vectors = np.linalg.eigh(Z.T @ Z / n)
        return values[::-1][:d], vectors[:, ::-1][:, :d]
    from scipy.linalg import eigh

    found, of_rows = eigh(Z @ Z.T / n, subset_by_index=(max(n - d, 0), n - 1))
    found, of_rows = found[::-1], of_rows[:, ::-1]
    k = np.count_nonzero(found > max(found[0], 0) * n * np.finfo(np.float64).eps)
    values, vectors = np.zeros(d), np.zeros((columns, d))
    values[:k], vectors[:, :k] = found[:k], Z.T @ of_rows[:, :k] / np.sqrt(n * found[:k])
    return values, vectors
