"""Near-equal rows of a user's tables in which several cells differ, collected while the columns are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final, Literal, NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from puoc.datasets.audit.kin import NearPairs, by_groups
from puoc.datasets.audit.near_rows import (
    CHANGED,
    LEAST_COLUMNS,
    MOST_COLUMNS,
    MOST_ROWS,
    Column,
    agreement,
    candidates,
    code_numbers,
    crowded,
)
from puoc.datasets.audit.row_groups import Group
from puoc.datasets.readers.cells import Cells
from puoc.datasets.readers.options import How
from puoc.datasets.readers.raw_table import RawTable

Kind = Literal["number", "category"]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

_FEWEST: Final = 2  # cells that may differ in any case


class Part(NamedTuple):
    """Rows of a group in one of the tables."""

    table: RawTable
    rows: Rows  # positions in the table


class SideNear:
    """Collects the codes of columns, and finds near-equal rows at the end.

    Parameters
    ----------
    parts : of P, U and the test; of each, the rows that are compared.
    columns : number of columns of a file.
    """

    def __init__(self, parts: Mapping[Group, Part], columns: int):
        self._places = {group: _some(len(part.rows)) for group, part in parts.items()}
        self._parts = {group: Part(part.table, part.rows[self._places[group]]) for group, part in parts.items()}
        self._training = sum(len(part.rows) for group, part in self._parts.items() if group != "test")
        self._each = 1 + max(columns - 1, 0) // MOST_COLUMNS
        self._columns: dict[str, Column] = {}
        self._met = 0

    def look(self, name: str, kind: Kind, cells: Mapping[Group, tuple[Cells, int]]) -> None:
        """Take a column that is used.

        Parameters
        ----------
        cells : of each group, with the place of its table among them. A column that a group lacks is not compared.
        """
        self._met += 1
        if (self._met - 1) % self._each or set(self._parts) - set(cells):
            return
        parts = [(*cells[group], part.rows) for group, part in self._parts.items()]
        if kind == "number":
            found = [(of.numbers(), table, rows) for of, table, rows in parts]
            values = [numbers[table][rows] for numbers, table, rows in found if numbers is not None]
            if len(values) == len(parts):
                self._columns[name] = code_numbers(name, np.concatenate(values), self._training)
        else:
            texts = pa.concat_arrays([_texts(of.texts[table].take(pa.array(rows))) for of, table, rows in parts])
            encoded = pc.dictionary_encode(texts)
            known = [crc32(str(value).encode()) % 255 for value in encoded.dictionary.to_pylist()]
            codes = np.array([*known, 255], dtype=np.uint8)
            places = np.array(pc.fill_null(encoded.indices, len(known)), dtype=np.int64)
            self._columns[name] = Column(name, codes[places], False)

    def pairs(self, exact: Mapping[Group, NDArray[np.uint64]], how: How, asked: Collection[str]) -> NearPairs:
        """Return near-equal rows that are not equal.

        Parameters
        ----------
        exact : by group, hashes of all its rows, of equal content if they are equal.
        asked : columns that are not compared.
        """
        columns = [column for name, column in self._columns.items() if name not in asked]
        hashes = [exact[group][places] for group, places in self._places.items()]
        if len(columns) < LEAST_COLUMNS:
            return {}
        starts = np.cumsum([0, *map(len, hashes)])
        once = [
            start + np.sort(np.unique(one, return_index=True)[1]) for one, start in zip(hashes, starts, strict=False)
        ]
        kept = np.concatenate(once)
        sets = candidates([one._replace(codes=one.codes[kept]) for one in columns], np.concatenate(hashes)[kept])
        if sets is None:
            return {}
        first, second = kept[sets.first], kept[sets.second]
        rows, places = np.unique(np.concatenate([first, second]), return_inverse=True)
        a, b = np.split(places.ravel(), 2)
        tables = self._tables(rows, starts, [column.name for column in columns])
        same, bits = np.zeros(len(a), dtype=np.int64), np.zeros(len(a))
        for column, chance in zip(columns, sets.bits, strict=True):
            agree, equal = _agree(column, tables, a, b, how)
            same += agree
            bits += np.where(equal, np.maximum(chance, column.equal), chance) * agree
        most = max(_FEWEST, len(columns) // CHANGED)
        near = np.flatnonzero((same >= len(columns) - most) & (bits >= sets.needed))
        near = near[~crowded(columns, np.concatenate(hashes), first[near])]
        return by_groups(list(self._places), list(self._places.values()), first[near], second[near])

    def _tables(self, rows: Rows, starts: Rows, names: list[str]) -> list[RawTable]:
        """Return the rows at positions among all groups, which rise, as small tables."""
        found = []
        for part, start, end in zip(self._parts.values(), starts, starts[1:], strict=False):
            inside = rows[(rows >= start) & (rows < end)] - start
            cells = part.table.cells.select(names).take(pa.array(part.rows[inside]))
            found.append(replace(part.table, cells=cells, start=0, numbers_in_file=None, unread={}))
        return [table for table in found if len(table)]


def _agree(column: Column, tables: list[RawTable], a: Rows, b: Rows, how: How) -> tuple[Mask, Mask]:
    """Return for pairs of rows whether they agree in a column, also rounded, and whether they are equal numbers."""
    cells = [Cells([table], column.name, how) for table in tables]
    if column.numbers:
        numbers = [found[0] for one in cells if (found := one.numbers()) is not None]
        if len(numbers) == len(cells):
            x = np.concatenate(numbers)
            return agreement(x[a], x[b], column.spread), x[a] == x[b]
    encoded = pc.dictionary_encode(pa.concat_arrays([_texts(one.texts[0]) for one in cells]))
    codes = np.array(pc.fill_null(encoded.indices, -1), dtype=np.int64)
    same: Mask = codes[a] == codes[b]
    return same, np.zeros(len(same), dtype=np.bool_)


def _texts(cells: pa.Array) -> pa.Array:
    return pc.utf8_lower(pc.utf8_trim_whitespace(cells.cast(pa.string())))


def _some(n: int) -> Rows:
    """Return the positions of evenly spaced rows, as many as are compared."""
    return np.arange(n) if n <= MOST_ROWS else np.linspace(0, n - 1, MOST_ROWS).astype(np.int64)
