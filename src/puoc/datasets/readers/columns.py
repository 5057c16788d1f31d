"""Types of a table's columns, found from the training rows. A doubtful column raises an error with the options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from puoc.datasets.readers.options import MISSING, How
from puoc.datasets.readers.tables import RawTable
from puoc.datasets.readers.values import NotNumbers, are_infinite, are_numbers, numbers_of, texts_of
from puoc.records import Record

_TELLS = "tells labelled from unlabelled rows by itself: does it say where a row comes from?"
_MIN_CATEGORIES = 10  # different texts that are taken for categories in a file of any length
_SIGNED = r"^[^\p{L}\p{N}_]*\p{Nd}[\p{Nd}\p{Zs}.,'\x{2019}]*[^\p{L}\p{N}_]*$"  # 10%, $2, (3), 1'000, a minus of Unicode
_PADDED = r"^0[0-9]+$"  # 01000 is a code, or a number that was written so
_MAX_CATEGORIES = 50  # different texts that are taken for categories without an option


class Column(Record):
    """One column in the profile of a table."""

    name: str
    read_as: Literal["number", "category", "left out"]
    missing: int
    distinct: int  # values, missing ones not counted
    first: tuple[str, ...]  # different values, in the order of the file
    note: str = ""


class _Facts(TypedDict):
    """Fields of a ``Column`` that do not depend on how it is read."""

    name: str
    missing: int
    distinct: int
    first: tuple[str, ...]


def profile_of(tables: Sequence[RawTable], how: How) -> list[Column]:
    """Return the profile of every column of tables with the same columns.

    Raises
    ------
    ValueError : the columns differ between the tables; a column named by ``drop`` or ``category`` is missing; a column
        holds an infinite value, both numbers and texts, or too many different texts; or no column is left.
    """
    names = _same_columns(tables, how)
    unknown = [name for name in (*how.drop, *how.category) if not any(name in t.places for t in tables)]
    if unknown:
        raise ValueError(f"{tables[0].where}: no column {unknown[0]!r}; it has {', '.join(map(repr, names))}")
    profile = [_column(tables, name, how) for name in names]
    if all(column.read_as == "left out" for column in profile):
        reasons = "; ".join(f"{column.name!r} {column.note}" for column in profile)
        n = sum(map(len, tables))
        raise ValueError(f"{tables[0].where}: no column is left to learn from {n} rows: {reasons}.{tables[0].hint}")
    return profile


def unmet(tables: Sequence[RawTable], how: How) -> list[str]:
    """Return a warning for every text of ``how.missing`` that equals no cell of the columns in use."""
    waiting = [text for text in how.missing if text.strip().lower() not in MISSING]  # those are always missing values
    for table in tables:
        for name in table.columns:
            if not waiting:
                return []
            if name not in how.drop:
                cells = pc.unique(table.texts(name))
                present = len(cells) - cells.null_count
                waiting = [text for text in waiting if pc.count(texts_of(cells, [text])).as_py() == present]
    return [
        f"{text!r} was said to mean a missing value, and no cell of the training rows equals it" for text in waiting
    ]


def _same_columns(tables: Sequence[RawTable], how: How) -> list[str]:
    drop = set(how.drop)
    first = [name for name in tables[0].columns if name not in drop]
    for other in tables[1:]:
        names = [name for name in other.columns if name not in drop]
        lacking = [
            f"{lacks.where}: no column {', '.join(map(repr, beyond))}, which {has.where} has"
            for one, has, lacks in ((first, tables[0], other), (names, other, tables[0]))
            if (beyond := [name for name in one if name not in lacks.places])
        ]
        if lacking:
            hints = f"{tables[0].hint}{other.hint}"
            raise ValueError(f"{'; '.join(lacking)}; expected the same columns in both, or --drop.{hints}")
    return first + [name for name in how.drop if name in tables[0].places]


def _column(tables: Sequence[RawTable], name: str, how: How) -> Column:
    with_it = [table for table in tables if name in table.places]
    try:
        parts = [table.texts(name, how.missing) for table in with_it]
    except ValueError:
        if name not in how.drop:
            raise
        return Column(name=name, read_as="left out", missing=0, distinct=0, first=(), note="as asked; cannot be read")
    cells = pa.chunked_array(parts, pa.string())
    values = pc.unique(pc.drop_null(cells))
    distinct, missing = len(values), int(cells.null_count)
    facts: _Facts = {
        "name": name,
        "missing": missing,
        "distinct": distinct,
        "first": tuple(str(value) for value in values[:3]),
    }
    if name in how.drop:
        return Column(read_as="left out", note="as asked", **facts)
    if distinct == 0:
        return Column(read_as="left out", note="all values are missing", **facts)
    if distinct == 1 and not missing:
        return Column(read_as="left out", note="the same value in all rows", **facts)
    _check_origin(with_it, parts, name, how)
    kind = "category" if name in how.category else _kind(with_it, parts, name, distinct)
    return Column(read_as=kind, note=_remark(with_it, parts, kind), **facts)


def _kind(
    tables: Sequence[RawTable], parts: Sequence[pa.Array], name: str, distinct: int
) -> Literal["number", "category"]:
    numbers = [are_numbers(cells, table.decimal) for table, cells in zip(tables, parts, strict=True)]
    if all(mask.all() for mask in numbers):
        _check_size(tables, parts, name)
        return "number"
    present = sum(len(cells) - cells.null_count for cells in parts)
    others = sum(int((~mask).sum()) for mask in numbers)
    table, cells, mask = next(part for part in zip(tables, parts, numbers, strict=True) if not part[2].all())
    at = int(np.flatnonzero(~mask)[0])
    place = f"{table.where}, row {table.row(at)}: column {name!r} holds {str(cells[at])!r}"
    infinite = sum(int(are_infinite(part).sum()) for part in parts)
    if infinite == others:
        raise ValueError(
            f"{place}, an infinite value ({infinite} in all); expected finite numbers. Mend it, say "
            f"--missing {cells[at]} if it means that there is no value, or --drop {name!r}"
        )
    if others < present:
        raise ValueError(
            f"{place}, no number, but {present - others} of its {present} values are numbers. Say --missing "
            f"{str(cells[at])!r} if that means that there is no value, --category {name!r} to read the column as "
            f"categories, or --drop {name!r}.{table.hint}"
        )
    signed = sum(int(pc.sum(pc.fill_null(pc.match_substring_regex(part, _SIGNED), False)).as_py()) for part in parts)
    if signed == present:
        raise ValueError(
            f"{place}, a number with other signs around or in it, as have all {present} values. Write numbers alone "
            f"(1234.5), or say --category {name!r} to read the column as categories, or --drop {name!r}.{table.hint}"
        )
    if distinct > _MAX_CATEGORIES or (distinct > _MIN_CATEGORIES and distinct > present / 2):
        raise ValueError(
            f"{table.where}: column {name!r} has {distinct} different texts in {present} rows, such as "
            f"{str(cells[at])!r}; more than {_MAX_CATEGORIES}, or than {_MIN_CATEGORIES} that hardly repeat, are taken "
            f"for categories only if you say --category {name!r}. If they are names or numbers of rows, say "
            f"--drop {name!r}; if texts, --text {name!r}.{table.hint}"
        )
    return "category"


def _check_origin(tables: Sequence[RawTable], parts: Sequence[pa.Array], name: str, how: How) -> None:
    """Reject a column with one value in the one file and another value in the other, such as a label."""
    values = [pc.unique(cells).to_pylist() for cells in parts]
    if name in how.category or len(tables) < 2 or any(len(found) > 1 for found in values) or len(tables[1]) < 2:
        return
    (first,), (other,) = values
    raise ValueError(
        f"{tables[0].where}: column {name!r} is {first!r} in all rows, and {other!r} in all of {tables[1].where}: it "
        f"says which file a row is from, and nothing else would be learned. Say --drop {name!r}, also if it is the "
        f"label, or --category {name!r} to keep it"
    )


def _counts(cells: pa.Array, decimal: str) -> bool:
    x = numbers_of(cells, decimal)
    return len(x) >= 5 and bool((np.diff(x) == 1).all())


def _check_size(tables: Sequence[RawTable], parts: Sequence[pa.Array], name: str) -> None:
    for table, cells in zip(tables, parts, strict=True):
        try:
            numbers_of(cells, table.decimal)
        except NotNumbers as error:
            raise ValueError(
                f"{table.where}, row {table.row(error.row)}: column {name!r} holds {error.value!r}, too large for a "
                "number of 64 bits; mend it, or --drop the column"
            ) from error


def _remark(tables: Sequence[RawTable], parts: Sequence[pa.Array], kind: str) -> str:
    """Return a warning about a column that seems to count the rows, to hold codes or to name the file of a row."""
    if kind == "number" and all(_counts(cells, table.decimal) for table, cells in zip(tables, parts, strict=True)):
        return "counts the rows of its file: better left out"
    padded = any(pc.any(pc.match_substring_regex(cells, _PADDED)).as_py() for cells in parts)
    doubts = ("written with leading zeros: codes, better read as categories?" if kind == "number" and padded else "",)
    return "; ".join(filter(None, (*doubts, _origin(tables, parts, kind))))


def _origin(tables: Sequence[RawTable], parts: Sequence[pa.Array], kind: str) -> str:
    if len(tables) != 2 or min(map(len, tables)) < 5:
        return ""
    if {cells.null_count / len(cells) for cells in parts} == {0.0, 1.0}:
        return _TELLS
    if kind == "category":
        shared = pc.is_in(pc.unique(pc.drop_null(parts[0])), pc.unique(pc.drop_null(parts[1])))
        apart = len(shared) > 0 and not pc.any(shared).as_py()
    else:
        p, u = (numbers_of(cells, table.decimal) for table, cells in zip(tables, parts, strict=True))
        p, u = p[~np.isnan(p)], u[~np.isnan(u)]
        apart = bool(len(p) and len(u)) and bool(p.max() < u.min() or u.max() < p.min())
    return _TELLS if apart else ""
