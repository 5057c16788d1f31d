"""Whether a column holds numbers or categories. A column that could be either raises an error with the options."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from puoc.datasets.readers.cells import Cells
from puoc.datasets.readers.doubts import doubt
from puoc.datasets.readers.values import NotNumbers, are_infinite, are_numbers, numbers_of, sentences
from puoc.store.counting import LONGEST, noun, quoted

_MIN_CATEGORIES = 10  # different texts that are taken for categories in a file of any length
_SIGNED = r"^[^\p{L}\p{N}_]*\p{Nd}[\p{Nd}\p{Zs}.,'\x{2019}]*[^\p{L}\p{N}_]*$"  # 10%, $2, (3), 1'000, a minus of Unicode
_REPEATED = 5  # times that texts occur on average, from which categories are suggested
_MAX_CATEGORIES = 50  # different texts that are taken for categories without an option


def kind_of(cells: Cells, distinct: int) -> Literal["number", "category"]:
    """Return whether a column holds numbers or categories.

    Parameters
    ----------
    distinct : the number of different values, missing ones not counted.

    Raises
    ------
    DoubtfulColumn : it holds infinite values, both numbers and texts, or too many different texts.
    """
    if cells.numbers() is not None:
        return "number"
    name, parts = cells.name, cells.texts
    numbers = [are_numbers(part, table.decimal) for table, part in zip(cells.tables, parts, strict=True)]
    if all(mask.all() for mask in numbers):
        _check_size(cells)
        return "number"
    present = sum(len(part) - part.null_count for part in parts)
    others = sum(int((~mask).sum()) for mask in numbers)
    table, part, mask = next(found for found in zip(cells.tables, parts, numbers, strict=True) if not found[2].all())
    at = int(np.flatnonzero(~mask)[0])
    odd = str(part[at])
    place = f"{table.where}, row {table.row(at)}: column {name!r} holds {quoted(odd)}"
    infinite = sum(int(are_infinite(part).sum()) for part in parts)
    if infinite == others:
        doubt(
            name,
            f"{place}, an infinite value ({infinite} in all); expected finite numbers. Mend it, use "
            f"--missing {odd} if it means that there is no value, or --drop {name!r}",
        )
    many = distinct > _MAX_CATEGORIES or (distinct > _MIN_CATEGORIES and distinct > present / 2)
    if others < present and not (many and others > present / 2):
        different = pc.unique(pa.chunked_array([p.filter(pa.array(~m)) for p, m in zip(parts, numbers, strict=True)]))
        doubt(
            name,
            f"{place}, no number, but {present - others} of its {present} values "
            f"{noun(present - others, 'is a number', 'are numbers')}. Use --missing "
            f"{quoted(odd)} if that means that there is no value, --category {name!r} to read the column as "
            f"categories, or --drop {name!r}.",
            *(("missing", odd) if len(different) == 1 and len(odd) <= LONGEST else ("drop", None)),
        )
    signed = sum(int(pc.sum(pc.fill_null(pc.match_substring_regex(part, _SIGNED), False)).as_py()) for part in parts)
    if signed == present:
        doubt(
            name,
            f"{place}, a number with other signs around or in it, as have all {present} values. Write numbers alone "
            f"(1234.5), or use --category {name!r} to read the column as categories, or --drop {name!r}.",
        )
    if many:
        has = f"{table.where}: column {name!r} has {distinct} different texts in {present} rows, such as {quoted(odd)}"
        if sentences(pa.chunked_array(list(parts), pa.string())):
            doubt(
                name,
                f"{has}. To learn from these texts alone, use --text {name!r}; to leave them out, use --drop {name!r}",
                "text",
            )
        doubt(
            name,
            f"{has}, which are many for categories. Use --category {name!r} if they are categories, --drop {name!r} "
            f"if they name the rows, or --text {name!r} to learn from the words of this column alone",
            "category" if distinct <= present / _REPEATED else "text",
        )
    return "category"


def _check_size(cells: Cells) -> None:
    for table, part in zip(cells.tables, cells.texts, strict=True):
        try:
            numbers_of(part, table.decimal)
        except NotNumbers as error:
            doubt(
                cells.name,
                f"{table.where}, row {table.row(error.row)}: column {cells.name!r} holds {quoted(error.value)}, too "
                f"large for a number of 64 bits; mend it, or --drop {cells.name!r}",
            )
