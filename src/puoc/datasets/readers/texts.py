"""Texts, one on each line of a file or in a column of a table, as vectors of word weights (tf-idf)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict

from puoc.datasets.readers.csv_dialect import check_text, encoding_of
from puoc.datasets.readers.options import How
from puoc.datasets.readers.preprocess import raw_of
from puoc.datasets.readers.raw_table import RawTable
from puoc.datasets.readers.tables import stream_table
from puoc.datasets.readers.unseen import Block
from puoc.datasets.readers.values import number_in
from puoc.datasets.readers.words import SPLITS, Tokens, tokens_for
from puoc.records import Record
from puoc.store.regular_file import check_regular

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer

AT_ONCE = 1 << 12  # texts of a block
_LOOKED_AT, _MIN_LINES, _NEARLY = 1000, 10, 0.95  # lines, and the share of them, by which a table is recognised


@dataclass(frozen=True)
class RawTexts:
    """Texts of a file in their order, empty ones included."""

    kind: ClassVar[Literal["texts"]] = "texts"
    where: str
    texts: list[str]
    numbers_in_file: NDArray[np.int64] | None = None  # (n,) from 1; absent: all
    notes: tuple[str, ...] = ()  # warnings about the file; the part with the first text has them

    def __len__(self) -> int:
        return len(self.texts)

    def rows(self, mask: NDArray[np.bool_]) -> RawTexts:
        """Return the texts for which a mask (n,) is True."""
        kept = [text for text, wanted in zip(self.texts, mask, strict=True) if wanted]
        return RawTexts(self.where, kept, self.row_numbers()[mask], self.notes if mask[:1].any() else ())

    def row_numbers(self) -> NDArray[np.int64]:
        """Return the line of every text, or its row in the table."""
        return np.arange(1, len(self) + 1) if self.numbers_in_file is None else self.numbers_in_file


class TextPreparing(Record):
    """Word weights: the words of the training rows and how rare they are there (scikit-learn's TfidfVectorizer)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["texts"] = "texts"
    words: tuple[str, ...]
    idf: tuple[float, ...]
    tokens: Tokens | None = None  # what ``words`` are; absent in earlier models: scikit-learn's words of two characters
    column: str | None = None  # of a table; absent: a line is a text
    missing: tuple[str, ...] = ()  # further texts in a table for a value that is not there
    dtype: Literal["float32"] = "float32"
    scale: float = 1.0

    @property
    def inputs(self) -> Literal["vector"]:
        """Return the kind of a prepared row."""
        return "vector"

    @property
    def features(self) -> tuple[str, ...]:
        """Return the names of the features, by position."""
        return self.words

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of a prepared row."""
        return (len(self.words),)

    @cached_property
    def _vectorizer(self) -> TfidfVectorizer:
        vectorizer = _vectorizer(self.tokens, vocabulary=list(self.words))
        vectorizer.idf_ = np.array(self.idf)
        return vectorizer

    def apply(self, raw: RawTexts) -> Block:
        """Prepare texts: (n, words) float32. A text without any of the words is a row of zeros."""
        if not raw.texts:  # scikit-learn rejects an empty list
            return Block(np.zeros((0, *self.shape), dtype=np.float32), {}, {}, notes=raw.notes)
        X = self._vectorizer.transform(raw.texts).toarray().astype(np.float32)
        kind = "sequence of characters" if self.tokens == "characters" else "word"
        met = {f"texts without a known {kind}": int((~X.any(axis=1)).sum())}
        return Block(X, {}, {}, met, raw.notes)

    def stream(self, path: Path, how: How, at_once: int = AT_ONCE) -> Iterator[Block]:
        """Prepare a file block by block. Raises ValueError as the reader, or for a table if the model reads lines."""
        if self.column is None and how.kind != "texts" and path.suffix.lower() != ".txt":
            raise ValueError(
                f"{path}: the model was trained on texts, one a line; expected a file whose name ends in .txt"
            )
        for part in stream_texts(path, how.model_copy(update={"missing": self.missing}), self.column, at_once):
            yield self.apply(part)

    def example(self) -> pd.DataFrame:
        """Return a DataFrame with one example row, the first word."""
        import pandas as pd

        return pd.DataFrame({self.column or "text": [self.words[0]]})

    def from_frame(self, frame: pd.DataFrame) -> Block:
        """Prepare texts of a DataFrame with one column, or with the column that the model was trained on.

        Raises
        ------
        ValueError : several columns, none of which is the column of the training rows.
        """
        column = self.column or "text"
        if frame.shape[1] == 1:
            frame = frame.set_axis([column], axis=1)
        raw = raw_of(frame, [column])
        if self.column is not None:
            return self.apply(texts_in(raw, column, self.missing))
        lines = raw.cells[column].to_pylist()  # any line is a text
        return self.apply(RawTexts(raw.where, ["" if line is None or line != line else str(line) for line in lines]))


def texts_in(table: RawTable, column: str, missing: Sequence[str]) -> RawTexts:
    """Return the texts in a column of a table, empty if missing. Raises ValueError if there is no such column."""
    if column in table.unread:
        raise ValueError(f"{table.where}: the column {column!r} of the texts {table.unread[column]}")
    if column not in table.columns:
        has = ", ".join(map(repr, table.columns))
        raise ValueError(
            f"{table.where}: no column {column!r} for the texts; it has {has}. Say another --text.{table.header_hint}"
        )
    cells = table.texts(column, missing).to_pylist()
    return RawTexts(table.where, [text or "" for text in cells], table.numbers_in_file, table.notes)


def read_texts(path: Path, how: How | None = None) -> RawTexts:
    """Read all texts of a file.

    Raises
    ------
    ValueError : the file is missing, empty or not in the encoding, or has no such column.
    """
    how = how or How()
    parts = list(stream_texts(path, how, how.text))
    texts = [text for part in parts for text in part.texts]
    if not any(texts):
        raise ValueError(f"{path}: no text; expected one a line, or a table and --text COLUMN")
    return RawTexts(str(path), texts, notes=tuple(note for part in parts for note in part.notes))


def stream_texts(path: Path, how: How, column: str | None, at_once: int = AT_ONCE) -> Iterator[RawTexts]:
    """Read the texts of a file in blocks. Raises ValueError as ``read_texts``."""
    if column is not None:
        for part in stream_table(path, how, [column], at_once):
            yield RawTexts(str(path), texts_in(part, column, how.missing).texts, notes=part.notes)
        return
    check_regular(path, "a file with these texts")
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); expected a text file") from error
    check_text(path, head, "a text file; expected one text a line")
    encoding = encoding_of(head, how)
    try:
        with path.open(encoding="utf-8-sig" if encoding == "utf-8" else encoding) as file:
            lines: list[str] = []
            first = True
            for line in file:
                if "\0" in line:
                    raise ValueError(f"{path}: binary content; expected one text a line, or a table and --text COLUMN")
                lines.append(line.rstrip("\r\n"))
                if len(lines) == at_once:
                    yield RawTexts(str(path), lines, notes=_like_table(lines) if first else ())
                    lines, first = [], False
            yield RawTexts(str(path), lines, notes=_like_table(lines) if first else ())
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: not {encoding} text ({error.reason}: byte {error.object[error.start]:#x}); say what it is, for "
            "example --encoding cp1252, or save it as UTF-8"
        ) from error
    except LookupError:
        raise ValueError(f"{path}: unknown encoding {encoding!r}; expected one such as utf-8 or latin-1") from None
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); expected a text file") from error


def _like_table(lines: Sequence[str]) -> tuple[str, ...]:
    """Return a warning if nearly all lines have equally many separators, and numbers between them."""
    used = [line for line in lines[:_LOOKED_AT] if line.strip()]
    for separator in ",;\t|":
        rows = [line.split(separator) for line in used if separator in line]
        if len(rows) < _MIN_LINES or len(rows) < _NEARLY * len(used):
            continue
        width, n = Counter(map(len, rows)).most_common(1)[0]
        cells = [cell.strip() for row in rows for cell in row]
        if n >= _NEARLY * len(used) and sum(number_in(cell) is not None for cell in cells) > len(cells) / 2:
            return (
                f"nearly all lines have {width} cells with {separator!r} between them, most of them numbers, as a "
                "table has. Each line was read as a text. To read a table, give the file a name that ends in .csv",
            )
    return ()


def fit_texts(parts: Sequence[RawTexts], how: How) -> TextPreparing:
    """Fit weights to the words of the training rows; if they have too many words, to the most frequent ones.

    If the options do not say so, ``tokens_for`` decides between words and sequences of characters.

    Raises
    ------
    ValueError : the texts hold no word.
    """
    texts = [text for part in parts for text in part.texts]
    tokens = how.tokens or tokens_for(texts)
    try:
        fitted = _vectorizer(tokens, max_features=how.words).fit(texts)
    except ValueError as error:
        raise ValueError(
            f"{parts[0].where}: no {tokens} in {texts[:3]}; expected texts, or --tokens characters"
        ) from error
    words = tuple(str(word) for word in fitted.get_feature_names_out())
    idf = tuple(map(float, fitted.idf_))
    return TextPreparing(words=words, idf=idf, tokens=tokens, column=how.text, missing=how.missing)


def _vectorizer(
    tokens: Tokens | None, vocabulary: list[str] | None = None, max_features: int | None = None
) -> TfidfVectorizer:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(
        analyzer="word" if tokens is None else SPLITS[tokens],
        sublinear_tf=True,
        dtype=np.float64,
        vocabulary=vocabulary,
        max_features=max_features,
    )
