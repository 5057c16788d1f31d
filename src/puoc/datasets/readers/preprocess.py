"""Preprocessing of a table, fitted by scikit-learn to the training rows alone and stored as plain JSON.

Numbers: a missing value becomes the median and is marked in a column of its own; then each column is scaled.
Categories: one column for each value, and one for missing values. A value that is not in the training rows sets none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from puoc.datasets.readers.columns import Column
from puoc.datasets.readers.csv_dialect import plain_name
from puoc.datasets.readers.options import How, Scaling
from puoc.datasets.readers.parquet import plain
from puoc.datasets.readers.raw_table import AT_ONCE, RawTable
from puoc.datasets.readers.tables import stream_table
from puoc.datasets.readers.values import ANY_TEXT, NotNumbers, number_in
from puoc.records import Array, Record

if TYPE_CHECKING:
    import pandas as pd

_FAR = 10  # standard deviations; a column scaled to [0, 1] is far out where it is its whole range away
_FITTED_AT_ONCE = 64  # columns of numbers


class NumberColumn(Record):
    """A column of numbers: ``(x - minus) / times``, or ``x * times - minus`` if it is scaled to [0, 1]."""

    read_as: Literal["number"] = "number"
    name: str
    fill: float  # for a missing value: the median
    indicator: bool  # True if values were missing in training; a column then marks them
    scaling: Scaling
    minus: float
    times: float

    @property
    def features(self) -> list[str]:
        """Return the names of the features."""
        return [self.name, f"{self.name} is missing"] if self.indicator else [self.name]

    def of(self, table: RawTable, missing: Sequence[str]) -> Block:
        """Return the features of the column, (n, 1 or 2) float64."""
        try:
            x = table.numbers(self.name, missing)
        except NotNumbers as error:
            fault = "an infinite value" if error.infinite else "no number"
            raise ValueError(
                f"{table.where}, row {table.row(error.row)}: column {self.name!r} holds {error.value!r}, {fault}; the "
                "model was trained with numbers there. Mend it, or leave it empty if there is no value"
            ) from error
        absent = np.isnan(x)
        x = np.where(absent, self.fill, x)
        # equal to scikit-learn's values in every bit
        with np.errstate(over="ignore"):
            x = x * self.times - self.minus if self.scaling == "minmax" else (x - self.minus) / self.times
        large = np.flatnonzero(~(np.abs(x) <= np.finfo(np.float32).max))
        if len(large):
            raise ValueError(
                f"{table.where}, row {table.row(int(large[0]))}: column {self.name!r} holds a number too large for "
                "single precision; expected numbers of the size of those that the model was trained on"
            )
        low, high = (-1, 2) if self.scaling == "minmax" else (-_FAR, _FAR)
        far = int(((x < low) | (x > high)).sum())
        parts = [x, absent.astype(np.float64)] if self.indicator else [x]
        met = {f"values of {self.name!r} far outside those of training: another unit?": far} if far else {}
        return Block(np.stack(parts, axis=1), {self.name: int(absent.sum())}, {}, met)


class CategoryColumn(Record):
    """A column of categories."""

    read_as: Literal["category"] = "category"
    name: str
    values: tuple[str, ...]  # of the training rows, sorted
    indicator: bool  # True if values were missing in training

    @property
    def features(self) -> list[str]:
        """Return the names of the features."""
        return [f"{self.name}={value}" for value in self.values] + (
            [f"{self.name} is missing"] if self.indicator else []
        )

    @property
    def texts_as_values(self) -> tuple[str, ...]:
        """Return the texts for a missing value that are categories here, as ``texts_of`` takes them."""
        return tuple(text for text in ANY_TEXT if any(value.lower() == text for value in self.values))

    def of(self, table: RawTable, missing: Sequence[str]) -> Block:
        """Return the features of the column, (n, number of values) float64, each 0 or 1."""
        marks = self.texts_as_values
        cells = table.texts(self.name, missing, marks)
        if len(marks) == 1 and not self.indicator:  # pandas takes NA for missing; an empty cell of a file is no null
            was_null = pc.is_null(table.head(self.name, len(table)), nan_is_null=True)
        else:
            was_null = None
        absent = np.asarray(pc.is_null(cells), dtype=np.bool_)
        known = pa.array(self.values, pa.string())
        if table.holds_numbers(self.name):  # another program may have read 01 or 1.0 of a text file as a number
            cells, known = pc.cast(cells, pa.float64()), self._as_numbers(table.where)
        places = pc.index_in(cells, known, skip_nulls=True)
        codes = np.array(pc.fill_null(places, len(self.values)), dtype=np.int64)
        if was_null is not None:
            read_as_missing = absent & np.asarray(was_null, dtype=np.bool_)
            codes[read_as_missing] = [value.lower() for value in self.values].index(marks[0])
            absent = absent & ~read_as_missing
        hot = np.zeros((len(codes), len(self.values) + 1))
        hot[np.arange(len(codes)), codes] = 1
        hot[:, -1] = absent
        unknown = int((codes == len(self.values)).sum() - absent.sum())
        return Block(hot if self.indicator else hot[:, :-1], {self.name: int(absent.sum())}, {self.name: unknown})

    def _as_numbers(self, where: str) -> pa.Array:
        """Return the categories as numbers, null where a category is no number."""
        categories: dict[float, str] = {}
        for value in self.values:
            number = number_in(value.replace(",", "."))
            if number is None:
                continue
            if number in categories:
                raise ValueError(
                    f"{where}: column {self.name!r} holds numbers, and the categories {categories[number]!r} and "
                    f"{value!r} of the training rows are one number; expected texts, as by "
                    "pandas.read_csv(..., dtype=str)"
                )
            categories[number] = value
        numbers = {value: number for number, value in categories.items()}
        return pa.array([numbers.get(value) for value in self.values], pa.float64())


class Block(NamedTuple):
    """Prepared rows, with counts of missing and unknown values."""

    X: Array  # (n, d)
    missing: dict[str, int]  # values that were missing, by column
    unknown: dict[str, int]  # categories that are not in the training rows, by column
    met: Mapping[str, int] = MappingProxyType({})  # other findings, described in words, with their counts
    notes: tuple[str, ...] = ()  # warnings about the file

    def findings(self) -> dict[str, int]:
        """Return all findings in words, with their counts."""
        counts = {f"missing values in {name!r}": n for name, n in self.missing.items()}
        counts |= {f"values of {name!r} that training did not have": n for name, n in self.unknown.items()}
        return {words: n for words, n in (counts | dict(self.met)).items() if n}


class TablePreparing(Record):
    """The fitted preprocessing of a table."""

    kind: Literal["table"] = "table"
    columns: tuple[Annotated[NumberColumn | CategoryColumn, Field(discriminator="read_as")], ...]
    missing: tuple[str, ...] = ()  # further texts for a value that is not there
    left_out: dict[str, str] = Field(default_factory=dict)  # columns, with the reason

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
        unknown: dict[str, int] = {}
        met: dict[str, int] = {}
        at = 0
        for column in self.columns:  # one after the other, since a table of all in double precision is large
            block = column.of(table, self.missing)
            X[:, at : at + block.X.shape[1]] = block.X
            at += block.X.shape[1]
            missing |= {name: n for name, n in block.missing.items() if n}
            unknown |= {name: n for name, n in block.unknown.items() if n}
            met |= block.met
        return Block(X, missing, unknown, met, table.notes)

    def stream(self, path: Path, how: How, at_once: int = AT_ONCE) -> Iterator[Block]:
        """Prepare a file block by block. Raises ValueError as the reader and ``apply``."""
        for part in stream_table(path, how, self.names, at_once):
            yield self.apply(part)

    def example(self) -> pd.DataFrame:
        """Return a DataFrame with one example row: medians and first categories."""
        import pandas as pd

        return pd.DataFrame({c.name: [c.fill if isinstance(c, NumberColumn) else c.values[0]] for c in self.columns})

    def from_frame(self, frame: pd.DataFrame) -> Block:
        """Prepare a pandas DataFrame with the columns of the file, as MLflow passes it. Raises as ``apply``."""
        return self.apply(raw_of(frame, self.names))


def fit_table(tables: Sequence[RawTable], profile: Sequence[Column], how: How) -> TablePreparing:
    """Fit the preprocessing to the rows of tables with the same columns."""
    used = [column for column in profile if column.read_as != "left out"]
    numbers = [column for column in used if column.read_as == "number"]
    fitted: dict[str, NumberColumn | CategoryColumn] = {}
    for first in range(0, len(numbers), _FITTED_AT_ONCE):
        for made in _fit_numbers(tables, numbers[first : first + _FITTED_AT_ONCE], how):
            fitted[made.name] = made
    columns = [fitted[c.name] if c.read_as == "number" else _fit_category(tables, c, how) for c in used]
    left_out = {column.name: column.note for column in profile if column.read_as == "left out"}
    return TablePreparing(columns=tuple(columns), missing=how.missing, left_out=left_out)


def _fit_category(tables: Sequence[RawTable], column: Column, how: How) -> CategoryColumn:
    from sklearn.preprocessing import OneHotEncoder

    literal = ANY_TEXT if column.name in how.category else ()
    cells = [value for table in tables for value in table.texts(column.name, how.missing, literal).to_pylist()]
    known: Array = np.array([value for value in cells if value is not None], dtype=object)
    values = OneHotEncoder().fit(known[:, None]).categories_[0]
    return CategoryColumn(name=column.name, values=tuple(map(str, values)), indicator=column.missing > 0)


def _fit_numbers(tables: Sequence[RawTable], columns: Sequence[Column], how: How) -> Iterator[NumberColumn]:
    """Fit some columns of numbers together; each is fitted as it would be alone."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    x = np.stack([np.concatenate([t.numbers(c.name, how.missing) for t in tables]) for c in columns], axis=1)
    imputer = SimpleImputer(strategy="median").fit(x)
    filled = imputer.transform(x)
    if how.scaling == "minmax":
        scaler = MinMaxScaler().fit(filled)
        minus, times = -scaler.min_, scaler.scale_
    else:
        scaler = StandardScaler().fit(filled)
        minus, times = scaler.mean_, scaler.scale_
    for at, column in enumerate(columns):
        yield NumberColumn(
            name=column.name,
            fill=float(imputer.statistics_[at]),
            indicator=column.missing > 0,
            scaling=how.scaling,
            minus=float(minus[at]),
            times=float(times[at]),
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
