"""Rows of equal content: copies of a row, or rows that repeat by nature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.util import hash_array

from puoc.datasets.readers.fixed_column import FixedColumn
from puoc.datasets.readers.images import PicturePreparing, RawPictures
from puoc.datasets.readers.prepared_columns import CategoryColumn, NumberColumn
from puoc.datasets.readers.preprocess import TablePreparing
from puoc.datasets.readers.raw_table import RawTable
from puoc.datasets.readers.texts import RawTexts, TextPreparing
from puoc.datasets.readers.words import same_text
from puoc.records import Array

ALIKE: Final = 0.05  # share of repeats from which equal rows are reported, since they may repeat by nature

Keys = NDArray[np.int64]  # (n,) equal numbers: equal content


def contents_of(
    raw: RawTable | RawTexts | RawPictures, preparing: TablePreparing | TextPreparing | PicturePreparing
) -> Keys:
    """Number the rows of one file (n,) by first appearance, so that equal numbers mean equal content.

    Parameters
    ----------
    preparing : preprocessing fitted to these rows; it names the columns in use or the size of pictures.
    """
    if isinstance(raw, RawTable):
        assert isinstance(preparing, TablePreparing), "it was fitted to these rows"
        return of_tables([raw], preparing)
    if isinstance(raw, RawTexts):
        return of_texts([raw], same_text)
    assert isinstance(preparing, PicturePreparing), "it was fitted to these rows"
    return of_pictures([preparing.apply(raw).X])


def repeated(keys: Keys) -> int:
    """Count the rows that repeat another one."""
    return len(keys) - len(np.unique(keys))


def of_tables(tables: Sequence[RawTable], preparing: TablePreparing) -> Keys:
    """Number all rows of some tables by the columns in use.

    Rows with different hashes differ. Only rows with equal hashes are compared cell by cell.
    """
    n = sum(map(len, tables))
    hashes = np.zeros(n, dtype=np.uint64)
    for column in preparing.columns:
        hashes = hashes * np.uint64(1_000_003) ^ hash_array(_cells(tables, preparing, column))
    alike = np.flatnonzero(pd.Series(hashes).duplicated(keep=False))
    found = np.zeros(len(alike), dtype=np.int64)
    for column in preparing.columns if len(alike) else ():
        codes, values = pd.factorize(_cells(tables, preparing, column)[alike], use_na_sentinel=False)
        found = pd.factorize(found * len(values) + codes)[0]  # both are below the number of rows
    keys = np.arange(n, dtype=np.int64)
    keys[alike] = n + found
    return pd.factorize(keys)[0].astype(np.int64)


def _cells(
    tables: Sequence[RawTable], preparing: TablePreparing, column: NumberColumn | CategoryColumn | FixedColumn
) -> Array:
    """Return the cells of a column of some tables, (n,): equal ones have the same bits."""
    if isinstance(column, FixedColumn):
        return np.concatenate([column.cells(table, preparing.missing) for table in tables])
    if isinstance(column, CategoryColumn):
        read = [table.texts(column.name, preparing.missing, column.texts_as_values) for table in tables]
        return np.array([text for part in read for text in part.to_pylist()], dtype=object)
    numbers = np.concatenate([table.numbers(column.name, preparing.missing) for table in tables]) + 0.0
    return np.where(np.isnan(numbers), np.nan, numbers)


def of_texts(parts: Sequence[RawTexts], form: Callable[[str], str]) -> Keys:
    """Number all texts of some files by a form of each. Texts with an empty form are equal to no other."""
    forms = pd.Series([form(text) for part in parts for text in part.texts], dtype=object)
    empty = (forms == "").to_numpy()
    alone = np.where(empty, len(forms) + np.arange(len(forms)), pd.factorize(forms)[0])
    return pd.factorize(alone)[0].astype(np.int64)


def alike_but_different(texts: Sequence[str], X: Array, others: Sequence[str], X_others: Array) -> int:
    """Count the texts whose row (n, features) is that of another text, without being the same text as one of those."""
    rows, forms = {row.tobytes() for row in X_others}, set(map(same_text, others))
    return sum(row.tobytes() in rows and same_text(text) not in forms for text, row in zip(texts, X, strict=True))


def of_pictures(blocks: Sequence[Array]) -> Keys:
    """Number all pictures of some arrays (n, channels, height, width)."""
    return pd.factorize(pd.Series([row.tobytes() for block in blocks for row in block], dtype=object))[0]
