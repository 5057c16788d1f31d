"""Cells of a column as numbers or texts, read in the same way for training, scoring and serving."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from puoc.datasets.readers.options import MISSING

#: For ``texts_of``: every text is a value.
ANY_TEXT = tuple(text for text in MISSING if text)

#: The beginning of a text of four words or more, as messages and descriptions have.
SENTENCE = re.compile(r"\s*\S+(\s+\S+){3}")

_TRUTHS = pa.array(["true", "false"])
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+")
_NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_INFINITE = r"^[+-]?(inf|infinity)$"


class NotNumbers(ValueError):  # noqa: N818 - names the content of the column
    """Raised if a value of a column is no finite number. ``row`` counts from 0, ``value`` is the text of the cell."""

    def __init__(self, row: int, value: str):
        super().__init__(value)
        self.row, self.value = row, value

    @property
    def infinite(self) -> bool:
        """Return True for an infinite value."""
        return self.value.strip().lower().lstrip("+-") in ("inf", "infinity")


def texts_of(column: pa.Array, missing: Sequence[str] = (), values: Collection[str] = ()) -> pa.Array:
    """Return cells as texts without blanks around them, null where a value is missing.

    A number in ``missing`` stands for every cell that is this number, written as -999, -999.0 or -999,0.

    Parameters
    ----------
    values : texts of ``MISSING`` that are values of this column, in lower case; ``ANY_TEXT`` for all but the empty one.
    """
    cells = pc.utf8_trim_whitespace(written(_present(column, missing)))
    lower = pc.utf8_lower(cells)
    cells = pc.if_else(pc.is_in(lower, _TRUTHS), lower, cells)  # programs write True or true
    usual = [text for text in MISSING if text not in values]
    markers = pa.array([*usual, *(text.strip().lower() for text in missing)])
    gone = pc.is_in(lower, markers)
    if (listed := _listed(missing)) and not is_number(column.type):  # in a column of numbers they are null already
        plain = pc.replace_substring(cells, ",", ".")
        numbers = pc.if_else(pc.match_substring_regex(plain, _NUMBER), plain, pa.scalar(None, pa.string()))
        gone = pc.or_(gone, pc.is_in(pc.cast(numbers, pa.float64()), pa.array(listed, pa.float64())))
    return pc.if_else(gone, pa.scalar(None, pa.string()), cells)


def _listed(missing: Sequence[str]) -> list[float]:
    """Return the numbers among texts for a missing value, with either decimal sign.

    Raises
    ------
    ValueError : the comma of a number may be a decimal comma or a separator of thousands.
    """
    for text in missing:
        if _THOUSANDS.fullmatch(text.strip()):
            raise ValueError(
                f"--missing: got {text!r}, whose comma may be a decimal comma or a separator of thousands; expected "
                f"{text.strip().replace(',', '')} or {text.strip().replace(',', '.')}"
            )
    return [value for text in missing if (value := number_in(text.strip().replace(",", "."))) is not None]


def written(column: pa.Array) -> pa.Array:
    """Return cells of any type as texts."""
    if pa.types.is_boolean(column.type):
        return pc.if_else(column, "true", "false")
    if pa.types.is_floating(column.type):  # a whole number is written without decimals, whatever other columns hold
        written = pc.cast(column, pa.string())
        return pc.if_else(pc.equal(column, pc.round(column)), pc.replace_substring_regex(written, r"\.0$", ""), written)
    return pc.cast(column, pa.string())


def _present(column: pa.Array, missing: Sequence[str]) -> pa.Array:
    """Return a column of numbers with null for NaN and for missing values; any other column unchanged."""
    if not is_number(column.type):
        return column
    values = _floats(column)
    listed = pa.array(_listed(missing), pa.float64())
    if pa.types.is_float32(column.type):  # rounded as the cells are
        listed = _floats(pc.cast(listed, pa.float32(), safe=False))
    gone = pc.or_(pc.is_nan(values), pc.is_in(values, listed))
    return pc.if_else(gone, pa.scalar(None, column.type), column)


def _floats(column: pa.Array) -> pa.Array:
    """Return numbers as the nearest float64, as the numbers of a text file are read."""
    return pc.cast(column, pa.float64(), safe=False)


def numbers_of(column: pa.Array, decimal: str = ".", missing: Sequence[str] = ()) -> NDArray[np.float64]:
    """Return cells as float64, NaN where a value is missing.

    Raises
    ------
    NotNumbers : the first cell that is neither missing nor a finite number.
    """
    if is_number(column.type):
        present = _present(column, missing) if missing else column
        found = np.array(_floats(present), dtype=np.float64)  # null becomes NaN
        strange = np.flatnonzero(np.isinf(found))
        if len(strange):
            raise NotNumbers(int(strange[0]), str(found[strange[0]]))
        return found
    if decimal == "." and not missing and pa.types.is_string(column.type):
        plain = plain_numbers(column)
        if plain is not None:
            return plain
    return _parsed(texts_of(column, missing), decimal)


def plain_numbers(column: pa.Array) -> NDArray[np.float64] | None:
    """Return cells as float64 if all are finite numbers without blanks, or empty, else None.

    Most columns are like that, and it takes a third of the time of their texts.
    """
    try:
        found = pc.cast(column, pa.float64())
    except pa.ArrowInvalid:
        try:
            found = pc.cast(pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column), pa.float64())
        except pa.ArrowInvalid:
            return None
    numbers = np.array(found, dtype=np.float64)  # null becomes NaN
    return numbers if np.isfinite(numbers).sum() == len(numbers) - found.null_count else None


def are_numbers(cells: pa.Array, decimal: str) -> NDArray[np.bool_]:
    """Return a mask of the cells (texts, null where missing) that are finite numbers or missing."""
    plain = _with_point(cells, decimal)
    return np.asarray(pc.fill_null(pc.match_substring_regex(plain, _NUMBER), True), dtype=np.bool_)


def are_infinite(cells: pa.Array) -> NDArray[np.bool_]:
    """Return a mask of the infinite cells."""
    found = pc.match_substring_regex(pc.utf8_lower(cells), _INFINITE)
    return np.asarray(pc.fill_null(found, False), dtype=np.bool_)


def _parsed(cells: pa.Array, decimal: str) -> NDArray[np.float64]:
    plain = _with_point(cells, decimal)
    try:
        found = np.array(pc.cast(plain, pa.float64()), dtype=np.float64)
        if not np.isinf(found).any() and np.isnan(found).sum() == plain.null_count:
            return found
    except pa.ArrowInvalid:
        pass
    strange = np.flatnonzero(~are_numbers(cells, decimal))
    # what is left is too large for a float64
    first = int(strange[0]) if len(strange) else int(np.flatnonzero(np.isinf(found))[0])
    raise NotNumbers(first, str(cells[first]))


def _with_point(cells: pa.Array, decimal: str) -> pa.Array:
    if decimal == ".":
        return cells
    # with a decimal comma a point would separate thousands, so that no cell with a point is a number
    guarded = pc.replace_substring(cells, ".", "_")
    return pc.replace_substring(guarded, ",", ".")


def is_number(kind: pa.DataType) -> bool:
    """Return True for the type of a column of numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def sentences(cells: pa.ChunkedArray) -> bool:
    """Return True if most texts of a column have four words or more."""
    return bool((pc.mean(pc.match_substring_regex(cells, SENTENCE.pattern)).as_py() or 0.0) > 0.5)


def number_in(text: str) -> float | None:
    """Return the number in a text, or None."""
    try:
        return float(text)
    except ValueError:
        return None
