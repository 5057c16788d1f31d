"""Which rows have equal content: copies of a row, or rows that repeat by nature."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from puoc.datasets.readers.images import PicturePreparing, RawPictures
from puoc.datasets.readers.preprocess import NumberColumn, TablePreparing
from puoc.datasets.readers.tables import RawTable
from puoc.datasets.readers.texts import RawTexts, TextPreparing
from puoc.records import Array

ALIKE: Final = 0.05  # share of repeats from which equal rows are what the data are like, and worth a word

Keys = NDArray[np.int64]  # (n,) equal numbers: equal content

_WORD = re.compile(r"\w\w+")  # what the weights of words know of a text


def contents_of(
    raw: RawTable | RawTexts | RawPictures, preparing: TablePreparing | TextPreparing | PicturePreparing
) -> Keys:
    """Numbers (n,) of the rows of one file, by first appearance: equal ones mean equal content.

    Parameters
    ----------
    preparing : fitted to these rows, so that it knows the columns that are used and the size of pictures.
    """
    if isinstance(raw, RawTable):
        assert isinstance(preparing, TablePreparing), "it was fitted to these rows"
        return of_tables([raw], preparing)
    if isinstance(raw, RawTexts):
        return of_texts([raw], lambda text: " ".join(_WORD.findall(text.lower())))
    assert isinstance(preparing, PicturePreparing), "it was fitted to these rows"
    return of_pictures([preparing.apply(raw).X])


def repeated(keys: Keys) -> int:
    """Rows that repeat another one."""
    return len(keys) - len(np.unique(keys))


def of_tables(tables: Sequence[RawTable], preparing: TablePreparing) -> Keys:
    """Of all rows of some tables, by the columns that are used."""
    found = np.zeros(sum(map(len, tables)), dtype=np.int64)
    for column in preparing.columns:
        if isinstance(column, NumberColumn):
            numbers = np.concatenate([table.numbers(column.name, preparing.missing) for table in tables])
            cells = pd.Series(numbers + 0.0)
        else:
            texts = [text for table in tables for text in table.texts(column.name, preparing.missing).to_pylist()]
            cells = pd.Series(texts, dtype=object)
        codes, values = pd.factorize(cells, use_na_sentinel=False)
        found = pd.factorize(found * len(values) + codes)[0]  # both are below the number of rows
    return found


def of_texts(parts: Sequence[RawTexts], form: Callable[[str], str]) -> Keys:
    """Of all texts of some files, by a form of each; texts whose form is empty have no content that could be equal."""
    forms = pd.Series([form(text) for part in parts for text in part.texts], dtype=object)
    empty = (forms == "").to_numpy()
    alone = np.where(empty, len(forms) + np.arange(len(forms)), pd.factorize(forms)[0])
    return pd.factorize(alone)[0].astype(np.int64)


def of_pictures(blocks: Sequence[Array]) -> Keys:
    """Of all pictures of some arrays (n, channels, height, width)."""
    return pd.factorize(pd.Series([row.tobytes() for block in blocks for row in block], dtype=object))[0]
