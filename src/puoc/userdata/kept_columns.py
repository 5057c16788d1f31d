"""Columns of a scored file that are written beside the scores, such as an id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from puoc.datasets.readers import How
from puoc.datasets.readers.tables import stream_table


class KeptColumns:
    """The cells of some columns as they are in the file, a few rows at a time.

    The file is read for them a second time, so that the rows that are scored need no columns of texts.

    Attributes
    ----------
    fields : name and type of each column: texts of a text file, the type of the column of a Parquet file.

    Raises
    ------
    ValueError : a column is named twice, or as a column of the scores; the file has no such column; or it cannot be
        read.
    """

    def __init__(self, path: Path, how: How, names: Sequence[str], taken: Collection[str]):
        for name, n in Counter(names).items():
            if n > 1:
                raise ValueError(f"--keep: got {name!r} {n} times; expected each column once")
            if name in taken:
                raise ValueError(
                    f"--keep: got {name!r}, which puoc score writes itself; expected a column of another name. "
                    "Rename it in the file"
                )
        self._parts = self._read(path, how, names)
        self._waiting = next(self._parts)
        self.fields = [pa.field(field.name, field.type) for field in self._waiting.schema]

    @staticmethod
    def _read(path: Path, how: How, names: Sequence[str]) -> Iterator[pa.Table]:
        try:
            for part in stream_table(path, how, names):
                yield part.cells.select(names)  # a Parquet file gives them in its own order
        except ValueError as error:
            raise ValueError(f"--keep: {error}") from error

    def take(self, n: int) -> dict[str, pa.ChunkedArray]:
        """Return the next n cells of each column."""
        while self._waiting.num_rows < n:
            self._waiting = pa.concat_tables([self._waiting, next(self._parts)])
        taken, self._waiting = self._waiting.slice(0, n), self._waiting.slice(n)
        return {field.name: taken.column(field.name) for field in self.fields}
