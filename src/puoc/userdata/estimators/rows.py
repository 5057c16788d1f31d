"""Rows of Python, such as arrays and DataFrames, as the labelled positives and unlabelled rows of a fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from puoc.datasets.readers import DoubtfulColumns, How, Pair, Rows
from puoc.datasets.readers.holdout import Repeats, withhold_contents, withhold_rows
from puoc.datasets.readers.preprocess import raw_of
from puoc.datasets.readers.pu_data import pair_of_tables
from puoc.datasets.readers.raw_table import RawTable
from puoc.records import Array
from puoc.userdata.row_digests import row_digests

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ArrayRows:
    """Rows of an array of pictures or sequences."""

    kind: ClassVar[Literal["array"]] = "array"
    where: str
    X: Array

    def __len__(self) -> int:
        return len(self.X)

    def rows(self, mask: NDArray[np.bool_]) -> ArrayRows:
        """Return the rows for which a mask (n,) is True."""
        return ArrayRows(self.where, self.X[mask])


@dataclass(frozen=True)
class ArrayPreparing:
    """In the place of a fitted preprocessing: pictures and sequences are learned from as they are.

    A model of them knows no way from a file to its rows, so ``puoc score`` does not take it.
    """

    inputs: Literal["sequence", "image"]
    shape: tuple[int, ...]
    dtype: str
    scale: float

    def model_dump(self, mode: str) -> None:
        """Return what the header of a model file has on the way from a file to rows: nothing."""


class Sides(NamedTuple):
    """Rows to learn from; ``U`` is None if there are none."""

    P: RawTable | ArrayRows
    U: RawTable | ArrayRows | None


def plain_rows(X: Any) -> Any:
    """Return a DataFrame of polars or a table of pyarrow as one of pandas, and everything else as it is."""
    return X.to_pandas() if hasattr(X, "to_pandas") and hasattr(X, "columns") else X


def is_frame(X: Any) -> bool:
    """Return True for a DataFrame of pandas."""
    return hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns")


def categories_of(X: Any) -> tuple[str, ...]:
    """Return the columns of a DataFrame that pandas holds as categories."""
    if not is_frame(X):
        return ()
    return tuple(str(name) for name, kind in X.dtypes.items() if str(kind) == "category")


def raw_rows(X: Array | pd.DataFrame, columns: Sequence[str], where: str) -> RawTable | ArrayRows:
    """Return the rows of a checked X as rows of a file.

    Parameters
    ----------
    columns : names of the columns, which take the place of those of ``X``; their order is that of the fit.
    """
    if is_frame(X):
        frame = cast("pd.DataFrame", X).set_axis(list(columns), axis=1)
        table = raw_of(frame, list(columns))
        return RawTable(where, table.cells)
    array = np.asarray(X)
    if array.ndim > 2:
        return ArrayRows(where, array)
    kind = array.dtype
    plain = array.astype(np.uint8 if kind.kind == "b" else np.float64 if kind.itemsize > 8 or kind == "f2" else kind)
    return RawTable(where, pa.table({name: pa.array(plain[:, at]) for at, name in enumerate(columns)}))


def pair_of(
    sides: Sides,
    *,
    scaling: str,
    categories: tuple[str, ...],
    from_positives: bool,
    withhold: float,
    seed: int,
    repeats: Repeats | None,
) -> Pair:
    """Prepare rows for ``puoc.userdata.fit``.

    Parameters
    ----------
    categories : columns that are categories whatever they look like.

    Raises
    ------
    ValueError : as ``read_pair``; a column whose type is in doubt is named.
    """
    P, U = sides
    if isinstance(P, RawTable):
        assert U is None or isinstance(U, RawTable), "the kinds are equal"
        how = How(scaling=cast("Any", scaling), category=categories)
        with _doubts_in_python():
            return pair_of_tables(
                P, U, how, from_positives=from_positives, withhold=withhold, seed=seed, repeats=repeats
            )
    assert U is None or isinstance(U, ArrayRows), "the kinds are equal"
    held = None
    if withhold and repeats == "apart":
        P, held, _ = withhold_rows(P, withhold, seed)
    elif withhold:
        keys = np.unique(row_digests(P.X), return_inverse=True)[1].ravel()
        P, held, _ = withhold_contents(P, keys, withhold, seed, repeats)
    dtype, scale = _stored(P.X)
    preparing: Any = ArrayPreparing("sequence" if P.X.ndim == 3 else "image", P.X.shape[1:], dtype, scale)
    unlabelled, withheld = (None if part is None else _prepared(part, dtype) for part in (U, held))
    return Pair(_prepared(P, dtype), unlabelled, None, withheld, preparing, How())


@contextmanager
def _doubts_in_python() -> Iterator[None]:
    """Raise a ValueError that says what to do in Python about columns whose type is in doubt."""
    try:
        yield
    except DoubtfulColumns as error:
        reasons = "; ".join(doubt.reason.partition(". Say ")[0].partition(" Say ")[0] for doubt in error.doubts)
        raise ValueError(
            f"{reasons}. Expected columns of numbers, or of few different texts: leave such a column out, make numbers "
            "of it, or give it pandas' type category, which is read as categories"
        ) from error


def _stored(X: Array) -> tuple[str, float]:
    """Return the type of stored rows, and the divisor that maps them to [0, 1]; whole numbers of a byte are pixels."""
    return ("uint8", 255.0) if X.dtype == np.uint8 else ("float32", 1.0)


def _prepared(rows: ArrayRows, dtype: str) -> Rows:
    X = rows.X.astype(dtype, copy=False)
    return Rows(rows.where, X, np.arange(1, len(X) + 1), cast("Any", rows))
