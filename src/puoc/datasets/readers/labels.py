"""Label column of a table and its positive value. A pair of values that is not known raises an error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from puoc.datasets.readers.options import How
from puoc.datasets.readers.raw_table import RawTable
from puoc.store.counting import cut, noun, quoted

_LISTED = 6  # label values that a message shows
_UNLABELLED = {"u", "unl", "unlabelled", "unlabeled"}
#: Usual values for positives (labelled ones, in training) and for the other rows.
_PAIRS = (
    ({"1", "+1"}, {"-1", "0", "-"}),
    ({"+"}, {"-"}),
    ({"true", "t"}, {"false", "f"}),
    ({"yes", "y"}, {"no", "n"}),
    ({"p", "pos", "positive"}, {"n", "neg", "negative"} | _UNLABELLED),
    ({"labelled", "labeled"}, {"unlabelled", "unlabeled"}),
)


class Labels(NamedTuple):
    """Labels of a table's rows."""

    positive: NDArray[np.bool_]  # (n,)
    note: str  # describes how they were read


def labels_of(table: RawTable, how: How, others: str) -> Labels:
    """Read the label column.

    Parameters
    ----------
    others : class of the rows without the positive label: ``unlabelled`` in training, ``negative`` in a test.

    Raises
    ------
    ValueError : the column is missing, has one value, an unknown pair or more than two values; or the other rows of a
        test are called unlabelled and ``how.positive`` is absent.
    """
    column = how.label
    if column is None:
        raise ValueError(f"{table.where}: the column with the labels is not named; use --label NAME.{table.hint}")
    if column in table.unread:
        raise ValueError(f"{table.where}: the column {column!r} of the labels {table.unread[column]}.{table.hint}")
    if column not in table.columns:
        has = ", ".join(map(repr, table.columns))
        raise ValueError(
            f"{table.where}: no column {column!r} for the labels; it has {has}.{table.hint}{table.header_hint}"
        )
    cells = table.texts(column, how.missing)
    if cells.null_count:
        if others == "negative":
            raise ValueError(
                f"{table.where}: {cells.null_count} {noun(cells.null_count, 'row has', 'rows have')} "
                f"no label in {column!r}; expected one each"
            )
        cells = pc.fill_null(cells, "")
    counts = {str(item["values"]): int(item["counts"]) for item in pc.value_counts(cells).to_pylist()}
    positive = _positive(table, column, counts, how)
    unlabelled = [value for value in counts if value != positive and _is(value, _UNLABELLED)]
    if others == "negative" and how.positive is None and unlabelled:
        raise ValueError(
            f"{table.where}: the label {column!r} is {quoted(unlabelled[0])} in {counts[unlabelled[0]]} "
            f"{noun(counts[unlabelled[0]], 'row')}; unlabelled "
            "rows are no test rows, since nobody knows their classes: expected negatives. If these are, use "
            f"--positive {positive}.{table.hint}"
        )
    is_positive = np.asarray(pc.equal(cells, positive), dtype=np.bool_)
    shown = [f"{cut(value) or '(empty)'} ({n} {noun(n, 'row')})" for value, n in counts.items() if value != positive]
    more = [f"{len(shown) - _LISTED} further values"] if len(shown) > _LISTED else []
    rest = " and ".join([*shown[:_LISTED], *more])
    read = f"{cut(positive)} ({counts[positive]} {noun(counts[positive], 'row')}) read as positive"
    return Labels(is_positive, f"label {column!r}: {read}, {rest} as {others}")


def _positive(table: RawTable, column: str, counts: dict[str, int], how: How) -> str:
    values = ", ".join(f"{quoted(value)} in {n} {noun(n, 'row')}" for value, n in list(counts.items())[:_LISTED])
    begin = f"{table.where}: the label {column!r} has {values}{', ...' if len(counts) > _LISTED else ''}"
    if len(counts) == 1:
        raise ValueError(f"{begin}; expected two values, positive and another.{table.hint}")
    if how.positive is not None:
        value = how.positive.lower() if how.positive.lower() in ("true", "false") else how.positive  # as cells are read
        if value in counts:
            return value
        raise ValueError(f"{begin}; {how.positive!r}, given by --positive, is not among them.{table.hint}")
    if len(counts) == 2:
        for value in counts:
            (other,) = counts.keys() - {value}
            if any(_is(value, yes) and (other == "" or _is(other, no)) for yes, no in _PAIRS):
                return value
    raise ValueError(f"{begin}; which one means positive? Use --positive VALUE.{table.hint}")


def _is(value: str, among: set[str]) -> bool:
    return value.lower().removesuffix(".0") in among
