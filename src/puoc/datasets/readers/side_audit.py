"""Audit of the columns of a user's files while they are checked: which of them say from which file a row is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from puoc.datasets.audit.auditor import Auditor
from puoc.datasets.audit.facts import Facts, of_categories, of_numbers
from puoc.datasets.audit.result import Audited, Sides
from puoc.datasets.readers.cells import Cells
from puoc.datasets.readers.doubts import Doubt
from puoc.datasets.readers.options import How
from puoc.datasets.readers.raw_table import RawTable
from puoc.datasets.readers.side_kin import SideKin

Mask = NDArray[np.bool_]
Kind = Literal["number", "category"]


class Labelled(NamedTuple):
    """A table with two classes of rows: positives and unlabelled rows, or the positives and negatives of a test."""

    table: RawTable
    positive: Mask  # (n,)


class SideAudit:
    """Compares each column between P and U, and between the classes of the test file.

    Parameters
    ----------
    positive : (n,) mask of the labelled positives in one file; absent: the first file holds P, and a second one U.
    test : the labelled test rows; absent: there are none.
    incoming : rows to be scored, which are compared with U.
    """

    def __init__(
        self,
        files: Sequence[RawTable],
        positive: Mask | None = None,
        test: Labelled | None = None,
        incoming: RawTable | None = None,
    ):
        self._positive, self._test, self._incoming = positive, test, incoming
        self._auditor = Auditor()
        self._kin = SideKin(files, positive, None if test is None else test.table, incoming)
        counts = [int(mask.sum()) for mask in (positive, ~positive)] if positive is not None else list(map(len, files))
        self._rows = (counts[0], sum(counts[1:]))

    def look(self, cells: Cells, kind: Kind) -> None:
        """Compare a column that is used."""
        if self._positive is not None or len(cells.tables) == 2:
            self._add(cells, kind, "P and U", self._positive)
        of_test = None
        if self._test is not None and cells.name in self._test.table.places:
            of_test = Cells([self._test.table], cells.name, cells.how)
            if kind == "category" or of_test.numbers() is not None:
                self._add(of_test, kind, "test labels", self._test.positive)
        self._kin.look(cells, kind, of_test)
        both = self._positive is not None or len(cells.tables) == 2
        if self._incoming is not None and both and cells.name in self._incoming.places:
            U = cells.tables[-1]
            if self._positive is not None:  # this column alone is split
                U = U.without([name for name in U.columns if name != cells.name]).rows(~self._positive)
            of_incoming = Cells([U, self._incoming], cells.name, cells.how)
            if kind == "category" or of_incoming.numbers() is not None:
                self._add(of_incoming, kind, "U and incoming", None)

    def look_at_dropped(self, cells: Cells, is_id: bool) -> None:
        """Look for groups and times in a column that is left out as asked, such as an id or a date."""
        if is_id:
            self._kin.look_at_id(cells)
        else:
            self._kin.look_at_group(cells, "category" if cells.numbers() is None else "number")

    def look_at_id(self, cells: Cells) -> None:
        """Compare a column that seems to identify or date the rows, and count its values that stand on both sides."""
        kind: Kind = "category" if cells.numbers() is None else "number"
        if self._positive is not None or len(cells.tables) == 2:
            self._add(cells, kind, "P and U", self._positive, "seems to identify or date the rows")
        self._kin.look_at_id(cells)

    def _add(self, cells: Cells, kind: Kind, sides: Sides, positive: Mask | None, doubt: str = "") -> None:
        self._auditor.add((_of_numbers if kind == "number" else _of_categories)(cells, sides, positive), doubt)

    def done(self, how: How) -> Audited:
        """Return the audit of the columns that were looked at."""
        test = None
        if self._test is not None:
            positives = int(self._test.positive.sum())
            test = (positives, len(self._test.positive) - positives)
        notes = tuple(self._kin.notes())
        audited = self._auditor.done(self._rows, test, kept={*how.category, *how.number}, notes=notes)
        asked = {column.name for column in audited.of("asked")}
        return audited.model_copy(update={"kin": self._kin.done(how, asked)})


def doubts_of(audited: Audited, where: str, doubted: Collection[str]) -> list[Doubt]:
    """Return a doubt on each column that is asked about, with the options that settle it.

    Parameters
    ----------
    doubted : columns on which there is a doubt already.
    """
    found = []
    for column in audited.of("asked"):
        if column.name in doubted:
            continue
        reasons = "; it ".join(column.reasons)
        settles = f"Use --drop {column.name!r}, or --{column.read_as} {column.name!r} if the classes differ in it"
        found.append(Doubt(column.name, f"{where}: column {column.name!r} {reasons}. {settles}"))
    return found


def _of_numbers(cells: Cells, sides: Sides, positive: Mask | None) -> Facts:
    parts = cells.numbers()
    assert parts is not None, "a column of numbers"
    p, u = parts if positive is None else (parts[0][positive], parts[0][~positive])
    return of_numbers(cells.name, p, u, sides)


def _of_categories(cells: Cells, sides: Sides, positive: Mask | None) -> Facts:
    encoded = pc.dictionary_encode(pa.concat_arrays([part.cast(pa.string()) for part in cells.texts]))
    codes = np.array(pc.fill_null(encoded.indices, -1), dtype=np.int64)
    if positive is None:
        p, u = np.split(codes, [len(cells.texts[0])])
    else:
        p, u = codes[positive], codes[~positive]
    return of_categories(cells.name, p, u, list(map(str, encoded.dictionary.to_pylist())), sides)
