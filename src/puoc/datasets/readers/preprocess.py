"""Preprocessing of a table, fitted by scikit-learn to the training rows alone and stored as plain JSON.

Numbers: a missing value becomes the median and is marked in a column of its own; then each column is scaled.
Categories: one column for each value, and one for missing values. A value that is not in the training rows sets none.
Constant columns: left out, or for a one-class method a column that says whether a row has the value of the training
rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from puoc.datasets.readers.columns import Column
from puoc.datasets.readers.csv_dialect import plain_name
from puoc.datasets.readers.fixed_column import FixedColumn
from puoc.datasets.readers.options import How
from puoc.datasets.readers.parquet import plain
from puoc.datasets.readers.prepared_columns import CategoryColumn, NumberColumn, Part
from puoc.datasets.readers.raw_table import AT_ONCE, RawTable
from puoc.datasets.readers.tables import stream_table
from puoc.datasets.readers.training_range import TrainingRange
from puoc.datasets.readers.unseen import Block, Found, Kind, Known, UnseenCounter
from puoc.datasets.readers.values import ANY_TEXT, NotNumbers
from puoc.records import Array, Record

if TYPE_CHECKING:
    import pandas as pd

_FITTED_AT_ONCE = 64  # columns of numbers


class TablePreparing(Record):
    """The fitted preprocessing of a table."""

    kind: Literal["table"] = "table"
    columns: tuple[Annotated[NumberColumn | CategoryColumn | FixedColumn, Field(discriminator="read_as")], ...]
    missing: tuple[str, ...] = ()  # further texts for a value that is not there
    left_out: dict[str, str] = Field(default_factory=dict)  # columns, with the reason
    watched: tuple[FixedColumn, ...] | None = None  # of those, with one value; absent in a model of an older version

    @property
    def inputs(self) -> Literal["vector"]:
        """Return the kind of a prepared row."""
        return "vector"

    @property
    def features(self) -> tuple[str, ...]:
        """Return the names of the features, by position."""
        return tuple(name for column in self.columns for name in column.features)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of a prepared row."""
        return (len(self.features),)

    dtype: Literal["float32"] = "float32"
    scale: float = 1.0

    @property
    def names(self) -> list[str]:
        """Return the columns of the file that are used."""
        return [column.name for column in self.columns]

    def apply(self, table: RawTable) -> Block:
        """Prepare rows: (n, d) float32.

        Raises
        ------
        ValueError : a column is missing, or a column of numbers holds another value.
        """
        lacking = [name for name in self.names if name not in table.places]
        if lacking:
            raise ValueError(
                f"{table.where}: no column {', '.join(map(repr, lacking))}; it has "
                f"{', '.join(map(repr, table.columns))}, expected those that the model was trained on"
            )
        X = np.empty((len(table), *self.shape), dtype=np.float32)
        missing: dict[str, int] = {}
        unseen: dict[tuple[str, Kind], Found] = {}
        differs = np.zeros(len(table), dtype=np.int32)
        at = 0
        for column in self.columns:  # one after the other, since a table of all in double precision is large
            part = column.of(table, self.missing)
            X[:, at : at + part.X.shape[1]] = part.X
            at += part.X.shape[1]
            if part.missing:
                missing[column.name] = part.missing
            _add(part, column.name, unseen, differs)
        for column in self.watched or ():
            if column.name in table.places and column.name not in table.unread:
                with suppress(ValueError):  # cells of a type that no text can be made of; the model does not use them
                    _add(column.of(table, self.missing), column.name, unseen, differs)
        return Block(X, missing, unseen, {}, table.notes, differs)

    def stream(self, path: Path, how: How, at_once: int = AT_ONCE) -> Iterator[Block]:
        """Prepare a file block by block. Raises ValueError as the reader and ``apply``."""
        watched = [column.name for column in self.watched or ()]
        for part in stream_table(path, how, self.names, at_once, if_there=watched):
            yield self.apply(part)

    def counter(self) -> UnseenCounter:
        """Return a counter of what rows hold that the training rows did not."""
        known: dict[tuple[str, Kind], Known] = {}
        at = 0
        for column in self.columns:
            known |= {(column.name, kind): fact for kind, fact in column.known(at).items()}
            at += len(column.features)
        for watched in self.watched or ():
            known |= {(watched.name, kind): fact._replace(used=False) for kind, fact in watched.known(0).items()}
        return UnseenCounter(known)

    def example(self) -> pd.DataFrame:
        """Return a DataFrame with one example row: medians and first categories."""
        import pandas as pd

        return pd.DataFrame({column.name: [column.example] for column in self.columns})

    def from_frame(self, frame: pd.DataFrame) -> Block:
        """Prepare a pandas DataFrame with the columns of the file, as MLflow passes it. Raises as ``apply``."""
        counts = Counter(map(plain_name, frame.columns)) if self.watched else Counter()
        watched = [column.name for column in self.watched or () if counts[column.name] == 1]
        return self.apply(raw_of(frame, [*self.names, *watched]))


def _add(part: Part, name: str, unseen: dict[tuple[str, Kind], Found], differs: NDArray[np.int32]) -> None:
    for kind, found in part.unseen.items():
        unseen[name, kind] = found
    if part.unlike is not None:
        differs += part.unlike


def fit_table(tables: Sequence[RawTable], profile: Sequence[Column], how: How) -> TablePreparing:
    """Fit the preprocessing to the rows of tables with the same columns."""
    used = [column for column in profile if column.read_as != "left out"]
    numbers = [column for column in used if column.read_as == "number"]
    fitted: dict[str, NumberColumn | CategoryColumn | FixedColumn] = {}
    for first in range(0, len(numbers), _FITTED_AT_ONCE):
        for made in _fit_numbers(tables, numbers[first : first + _FITTED_AT_ONCE], how):
            fitted[made.name] = made
    for column in used:
        if column.read_as != "number":
            fit = _fit_category if column.read_as == "category" else _fit_fixed
            fitted[column.name] = fit(tables, column, how)
    left_out = {column.name: column.note for column in profile if column.read_as == "left out"}
    watched = [column for column in profile if column.name in left_out and column.name not in how.drop]
    return TablePreparing(
        columns=tuple(fitted[column.name] for column in used),
        missing=how.missing,
        left_out=left_out,
        watched=tuple(_fit_fixed(tables, column, how) for column in watched),
    )


def _fit_fixed(tables: Sequence[RawTable], column: Column, how: How) -> FixedColumn:
    """Return the only value of a column, as a number if it is one."""
    value, number = (column.first[0] if column.first else None), None
    if value is not None and column.name not in how.category:
        with suppress(NotNumbers):
            x = np.concatenate([table.numbers(column.name, how.missing) for table in tables])
            number = float(x[~np.isnan(x)][0])
    return FixedColumn(name=column.name, value=value, number=number, indicator=bool(value and column.missing))


def _fit_category(tables: Sequence[RawTable], column: Column, how: How) -> CategoryColumn:
    from sklearn.preprocessing import OneHotEncoder

    literal = ANY_TEXT if column.name in how.category else ()
    cells = [value for table in tables for value in table.texts(column.name, how.missing, literal).to_pylist()]
    known: Array = np.array([value for value in cells if value is not None], dtype=object)
    values = OneHotEncoder().fit(known[:, None]).categories_[0]
    return CategoryColumn(name=column.name, values=tuple(map(str, values)), indicator=column.missing > 0)


def _fit_numbers(tables: Sequence[RawTable], columns: Sequence[Column], how: How) -> Iterator[NumberColumn]:
    """Fit some columns of numbers together; each is fitted as it would be alone."""
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    read = [np.concatenate([t.numbers(c.name, how.missing) for t in tables]) for c in columns]
    ranges, medians = zip(*map(TrainingRange.with_median, read), strict=True)
    x, fill = np.stack(read, axis=1), np.array(medians)  # the fill of SimpleImputer, which takes much longer
    filled = np.where(np.isnan(x), fill, x)
    with np.errstate(over="ignore", invalid="ignore"):  # of a range that is refused below
        if how.scaling == "minmax":
            scaler = MinMaxScaler().fit(filled)
            minus, times = -scaler.min_, scaler.scale_
        else:
            scaler = StandardScaler().fit(filled)
            minus, times = scaler.mean_, scaler.scale_
    for at in np.flatnonzero(~(np.isfinite(minus) & np.isfinite(times) & (times > 0))).tolist():
        low, *_, high = ranges[at].quantiles
        raise ValueError(
            f"{tables[0].where}: column {columns[at].name!r} holds numbers from {low:g} to {high:g}, and double "
            f"precision cannot scale them ({how.scaling}). Write them in another unit or as logarithms, or leave the "
            "column out (--drop)"
        )
    for at, column in enumerate(columns):
        yield NumberColumn(
            name=column.name,
            fill=float(fill[at]),
            indicator=column.missing > 0,
            scaling=how.scaling,
            minus=float(minus[at]),
            times=float(times[at]),
            range=ranges[at],
        )


def raw_of(frame: pd.DataFrame, columns: Sequence[str]) -> RawTable:
    """Return columns of a DataFrame as rows of a file. Raises ValueError if a column is missing or occurs twice."""
    names = list(map(plain_name, frame.columns))
    counts, places = Counter(names), {name: place for place, name in enumerate(names)}
    lacking = [name for name in columns if counts[name] != 1]
    if lacking:
        times = f"stands {counts[lacking[0]]} times" if lacking[0] in places else "is not there"
        raise ValueError(
            f"the frame: column {lacking[0]!r} {times}, expected once; it has {', '.join(map(repr, names))}"
        )
    return RawTable("the frame", plain(pa.table({name: _cells(frame.iloc[:, places[name]]) for name in columns})))


def _cells(series: pd.Series) -> pa.Array:
    if series.dtype == object:
        cells = zip(series, series.isna(), strict=True)
        return pa.array([None if absent else str(value) for value, absent in cells], pa.string())
    return pa.Array.from_pandas(series)
