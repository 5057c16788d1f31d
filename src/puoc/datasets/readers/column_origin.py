"""Columns that seem to say which file a row is from, or to hold codes: rejected, or remarked on in the profile."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from puoc.datasets.readers.cells import Cells
from puoc.datasets.readers.doubts import doubt
from puoc.store.counting import quoted

_SEPARATES = "separates labelled from unlabelled rows by itself: does it say where a row comes from?"
_PADDED = r"^0[0-9]+$"  # 01000 is a code, or a number that was written so


def check_origin(cells: Cells) -> None:
    """Reject a column with one value in the one file and another value in the other, such as a label."""
    tables, name = cells.tables, cells.name
    if name in cells.how.category or len(tables) < 2 or len(tables[1]) < 2 or cells.varies():
        return
    values = [pc.unique(part).to_pylist() for part in cells.texts]
    if any(len(found) > 1 for found in values):
        return
    (first,), (other,) = values
    doubt(
        name,
        f"{tables[0].where}: column {name!r} is {quoted(first)} in all rows, and {quoted(other)} in all of "
        f"{tables[1].where}: it says which file a row is from, and nothing else would be learned. Use "
        f"--drop {name!r}, also if it is the label, or --category {name!r} to keep it",
    )


def remark_on(cells: Cells, kind: str) -> str:
    """Return a warning about a column that seems to hold codes, to name the file of a row, or to say NA for a value."""
    padded = (
        kind == "number"
        and cells.may_be_padded
        and any(pc.any(pc.match_substring_regex(part, _PADDED)).as_py() for part in cells.texts)
    )
    doubts = ("written with leading zeros: codes, better read as categories?" if padded else "",)
    said = () if kind == "number" else (cells.said_missing(),)
    return "; ".join(filter(None, (*doubts, *said, _origin(cells, kind))))


def _origin(cells: Cells, kind: str) -> str:
    tables = cells.tables
    if len(tables) != 2 or min(map(len, tables)) < 5:
        return ""
    if {n / len(table) for n, table in zip(cells.missing, tables, strict=True)} == {0.0, 1.0}:
        return _SEPARATES
    if kind == "category":
        p_texts, u_texts = cells.texts
        shared = pc.is_in(pc.unique(pc.drop_null(p_texts)), pc.unique(pc.drop_null(u_texts)))
        apart = len(shared) > 0 and not pc.any(shared).as_py()
    else:
        numbers = cells.numbers()
        assert numbers is not None, "a column of numbers"
        p, u = (x[~np.isnan(x)] for x in numbers)
        apart = bool(len(p) and len(u)) and bool(p.max() < u.min() or u.max() < p.min())
    return _SEPARATES if apart else ""
