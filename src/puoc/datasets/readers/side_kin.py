"""Copies of rows, groups and times in a user's files, collected while the columns are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from puoc.datasets.audit.grouping import SharedValues, groups_rows, may_group, shared_values
from puoc.datasets.audit.kin import MOST, Contents, Keys, Kin, copies_of
from puoc.datasets.audit.row_groups import Group
from puoc.datasets.audit.times import Times, times_of
from puoc.datasets.readers.cells import Cells
from puoc.datasets.readers.no_measurements import named_as_id, unit_of_dates
from puoc.datasets.readers.options import How
from puoc.datasets.readers.raw_table import RawTable
from puoc.datasets.readers.side_near import Part as NearPart
from puoc.datasets.readers.side_near import SideNear

if TYPE_CHECKING:
    import pandas as pd

NEAR_ROWS: Final = (
    "the same in four fifths of the columns or more, where numbers agree to 3 digits or one is the other one rounded, "
    "and texts without case and blanks at their ends"
)
_COLUMNS_FOR_NEAR: Final = 8  # below, rows agree in most columns by chance
_NOTED: Final = 5  # columns
_TIMES: Final = 10_000  # dates of a group that are read, evenly spaced
_NO_DATES: Final = 0.1  # share of the cells of a column of dates that may be none

Kind = Literal["number", "category"]
Rows = NDArray[np.int64]


class _Part(NamedTuple):
    """Rows of a group in one of the tables."""

    table: int  # place among the training files; -1: the test file, -2: the incoming rows
    rows: Rows  # positions, evenly spaced if there are many


class SideKin:
    """Collects what rows of P, U, the test and the incoming rows have to do with each other.

    Parameters
    ----------
    files, positive, test, incoming : as of ``SideAudit``; ``test`` without its labels.
    """

    def __init__(
        self,
        files: Sequence[RawTable],
        positive: NDArray[np.bool_] | None,
        test: RawTable | None,
        incoming: RawTable | None,
    ):
        self._files, self._test, self._incoming = tuple(files), test, incoming
        self._parts: dict[Group, _Part] = {}
        if positive is not None:
            self._parts |= {"P": _Part(0, _some(positive)), "U": _Part(0, _some(~positive))}
        else:
            sides: tuple[Group, Group] = ("P", "U")
            for at, (group, table) in enumerate(zip(sides, files, strict=False)):
                self._parts[group] = _Part(at, _some(np.ones(len(table), dtype=np.bool_)))
        if test is not None:
            self._parts["test"] = _Part(-1, _some(np.ones(len(test), dtype=np.bool_)))
        self._contents = {
            group: Contents(len(part.rows), self._table(part).row_numbers()[part.rows])
            for group, part in self._parts.items()
        }
        compared = {group: NearPart(self._table(part), part.rows) for group, part in self._parts.items()}
        self._near = SideNear(compared, len(files[0].columns))
        if incoming is not None:
            self._parts["incoming"] = _Part(-2, _some(np.ones(len(incoming), dtype=np.bool_)))
        self._looked_at: dict[str, tuple[int, Kind]] = {}
        self._groups: list[SharedValues] = []
        self._times: list[Times] = []

    def look(self, cells: Cells, kind: Kind, of_test: Cells | None) -> None:
        """Take a column that is used."""
        if len(cells.tables) != len(self._files):
            return
        place = len(self._looked_at)
        self._looked_at[cells.name] = (place, kind)
        self._hash(cells, kind, of_test, place)
        sources = {group: of_test if part.table == -1 else cells for group, part in self._parts.items()}
        self._near.look(
            cells.name,
            kind,
            {g: (source, max(self._parts[g].table, 0)) for g, source in sources.items() if source is not None},
        )
        self.look_at_group(cells, kind)

    def look_at_group(self, cells: Cells, kind: Kind) -> None:
        """Count the values that stand on two sides if a column groups the rows, whether it is used or left out."""
        if len(cells.tables) != len(self._files) or not may_group(cells.name, kind):
            return
        if kind == "number":
            numbers = cells.numbers()
            assert numbers is not None, "a column of numbers"
            if not all((x[~np.isnan(x)] == np.floor(x[~np.isnan(x)])).all() for x in numbers):
                return
        texts = self._texts(cells)
        training = pc.drop_null(pa.chunked_array([texts[group] for group in ("P", "U") if group in texts], pa.string()))
        if groups_rows(cells.name, kind, len(pc.unique(training)), len(training)):
            self._share(cells.name, {group: _counts(column) for group, column in texts.items()})

    def look_at_id(self, cells: Cells) -> None:
        """Take a column that identifies or dates the rows, and that no method uses."""
        if len(cells.tables) != len(self._files):
            return
        texts = self._texts(cells)
        dates = {group: _dates(column) for group, column in texts.items()}
        if all(found is not None for found in dates.values()):
            times = times_of(cells.name, {group: found for group, found in dates.items() if found is not None})
            self._times += [] if times is None else [times]
        elif (named_as_id(cells.name) or cells.numbers() is not None) and not _counts_rows(cells):
            self._share(cells.name, {g: _counts(column) for g, column in texts.items() if g != "incoming"})

    def done(self, how: How, asked: Collection[str]) -> Kin:
        """Return what was found. Columns that are asked about are not compared: a flag would hide all copies."""
        left = {name: at for name, at in self._looked_at.items() if name not in asked}
        for name in self._looked_at.keys() - left.keys():
            place, kind = self._looked_at[name]
            of_test = None if self._test is None or name not in self._test.places else Cells([self._test], name, how)
            self._hash(Cells(self._files, name, how), kind, of_test, place, out=True)
        with_near = len(left) >= _COLUMNS_FOR_NEAR
        exact = {group: found.exact for group, found in self._contents.items()}
        copies = copies_of(
            {
                group: Keys(found.exact, tuple(found.near) if with_near else (), found.numbers)
                for group, found in self._contents.items()
                if left
            },
            self._near.pairs(exact, how, asked) if with_near else {},
        )
        return Kin(
            what="rows",
            near_means=NEAR_ROWS if with_near else "",
            columns=len(left),
            copies=copies,
            groups=tuple(one for one in self._groups if one.column not in asked),
            times=tuple(self._times),
        )

    def notes(self) -> list[str]:
        """Return a note on each of the first columns whose values stand on two sides, and on the number of others."""
        names = list(dict.fromkeys(one.column for one in self._groups))
        notes = [str(one) for one in self._groups if one.column in names[:_NOTED]]
        rest = len(names) - _NOTED
        return notes + ([f"{rest} further columns have values on two sides"] if rest > 0 else [])

    def _share(self, column: str, values: Mapping[Group, Mapping[str, int]]) -> None:
        self._groups += shared_values(column, {g: found for g, found in values.items() if g != "incoming"})

    def _table(self, part: _Part) -> RawTable:
        table = self._test if part.table == -1 else self._incoming if part.table == -2 else self._files[part.table]
        assert table is not None, "the part is of a table that was given"
        return table

    def _hash(self, cells: Cells, kind: Kind, of_test: Cells | None, place: int, out: bool = False) -> None:
        for at, source in ((0, cells), (-1, of_test)):
            groups = [g for g in self._contents if (self._parts[g].table == -1) == (at == -1)]
            if source is None or not groups:
                continue
            numbers = source.numbers() if kind == "number" else None
            for group in groups:
                part = self._parts[group]
                which = max(part.table, 0)
                if numbers is not None:
                    self._contents[group].add_numbers(place, numbers[which][part.rows], out)
                else:
                    self._contents[group].add_hashes(place, _hashed(source.texts[which], part.rows), out)

    def _texts(self, cells: Cells) -> dict[Group, pa.Array]:
        """Return the cells of each group that has the column, as texts."""
        others = {
            place: Cells([table], cells.name, cells.how).texts[0]
            for place, table in ((-1, self._test), (-2, self._incoming))
            if table is not None and cells.name in table.places
        }
        found: dict[Group, pa.Array] = {}
        for group, part in self._parts.items():
            column = cells.texts[part.table] if part.table >= 0 else others.get(part.table)
            if column is not None:
                found[group] = column if len(column) == len(part.rows) else column.take(pa.array(part.rows))
        return found


def times_in(column: str, tables: Mapping[Group, RawTable], how: How) -> Times | None:
    """Return the times of groups of rows by a column of dates; None without dates in two groups."""
    found = {}
    for group, table in tables.items():
        dates = _dates(Cells([table], column, how).texts[0]) if column in table.places else None
        if dates is not None:
            found[group] = dates
    return times_of(column, found)


def _some(mask: NDArray[np.bool_]) -> Rows:
    """Return the positions of the rows of a group, or as many evenly spaced ones as are compared."""
    rows = np.flatnonzero(mask)
    return rows if len(rows) <= MOST else rows[np.linspace(0, len(rows) - 1, MOST).astype(np.int64)]


def _hashed(texts: pa.Array, rows: Rows) -> NDArray[np.uint64]:
    from pandas.util import hash_array

    encoded = pc.dictionary_encode(texts.cast(pa.string()))
    values = np.array([*map(str, encoded.dictionary.to_pylist()), ""], dtype=object)
    codes = np.array(pc.fill_null(encoded.indices, len(values) - 1), dtype=np.int64)
    hashes: NDArray[np.uint64] = hash_array(values)
    hashes[-1] = 1  # missing
    return hashes[codes[rows]]


def _counts(column: pa.Array) -> dict[str, int]:
    counted = pc.value_counts(pc.drop_null(column))
    return {str(value): int(n) for value, n in zip(*map(pa.Array.to_pylist, counted.flatten()), strict=True)}


def _counts_rows(cells: Cells) -> bool:
    """Return True for whole numbers without gaps and repeats in each file, as a counter of the rows has."""
    numbers = cells.numbers()
    return numbers is not None and all(
        len(x) > 0 and not np.isnan(x).any() and len(np.unique(x)) == len(x) and x.max() - x.min() == len(x) - 1
        for x in numbers
    )


def _dates(column: pa.Array) -> NDArray[np.datetime64] | None:
    """Return the dates of a column (n,) as datetime64[s], NaT where missing; None if it holds no dates."""
    import pandas as pd

    if len(column) > _TIMES:
        column = column.take(pa.array(np.linspace(0, len(column) - 1, _TIMES).astype(np.int64)))
    present = pd.Series(pc.drop_null(column).to_pylist(), dtype=object)
    if not len(present):
        return np.zeros(0, dtype="datetime64[s]")
    numbers = pd.to_numeric(present, errors="coerce")
    plain = numbers.notna().all()
    found = _of_numbers(numbers.to_numpy(dtype=np.float64)) if plain else _of_texts(present)
    return None if found is None or np.isnat(found).mean() > _NO_DATES else found


def _of_numbers(x: NDArray[np.float64]) -> NDArray[np.datetime64] | None:
    """Read seconds or milliseconds since 1970, or whole numbers as 20250131 or 202501; None if they are neither."""
    import pandas as pd

    if unit := unit_of_dates(x):
        return (x / (1000 if unit == "milliseconds" else 1)).astype(np.int64).astype("datetime64[s]")
    if (x != np.floor(x)).any():
        return None
    form = "%Y%m%d" if x.min() >= 1900_01_01 and x.max() <= 2100_12_31 else "%Y%m"
    if form == "%Y%m" and not (x.min() >= 1900_01 and x.max() <= 2100_12):
        return None
    texts = pd.Series(x.astype(np.int64)).astype(str)
    dates: NDArray[np.datetime64] = pd.to_datetime(texts, format=form, errors="coerce").to_numpy()
    return dates.astype("datetime64[s]")


def _of_texts(present: pd.Series) -> NDArray[np.datetime64] | None:
    """Read dates in the form that fits most of them: of 01/02/2025, the day first if all are such days."""
    import warnings

    import pandas as pd

    if present.str.fullmatch(r"\d{1,2}:\d{2}.*").all():  # times of a day, without a date
        return None
    orders = (False,) if present.str.match(r"\d{4}").all() else (True, False)
    best = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on a form that pandas did not infer
        for form in (None, "mixed"):
            for day_first in orders:
                found = pd.to_datetime(present, errors="coerce", utc=True, dayfirst=day_first, format=form)
                if best is None or found.isna().sum() < best.isna().sum():
                    best = found
            if best is not None and best.isna().mean() <= _NO_DATES:
                break
    assert best is not None, "each order of days and months was tried"
    dates: NDArray[np.datetime64] = best.dt.tz_localize(None).to_numpy()
    return dates.astype("datetime64[s]")
