"""Lines of a delimited text as the parser reads them: cells over several lines, empty lines."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from threading import Lock
from typing import IO

from puoc.datasets.readers.csv_dialect import shown

_MAX_CELL = 1 << 24  # bytes of a cell; the parser rejects a longer one
_QUOTED = re.compile(rb'[^"]*+(?:""[^"]*+)*+')  # what follows an opening mark, up to the closing one


class Lines:
    """A file that is read in UTF-8 with its lines unchanged, except that empty lines at the end are left out.

    A quotation mark opens a cell at the beginning of a line or a cell (RFC 4180), as in the parser. Any other quotation
    mark is a letter.
    """

    def __init__(self, path: Path, encoding: str, separator: str):
        plain = codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
        self._file: IO[bytes] | IO[str] = path.open("rb") if plain else path.open(encoding=encoding, newline="")
        self._path, self._plain = path, plain
        self._one_at_a_time = Lock()
        starts = re.escape(separator.encode()) + rb"\r\n"
        # Cells that end in their line, one after the other. Before Python 3.11.5, a possessive quantifier of all of
        # them gives back the last one; a greedy one keeps each of them in memory, so it is bounded.
        cells = rb'(?:[^"]++|(?<=[^%b])"|"[^"\r\n]*+(?:""[^"\r\n]*+)*+"){0,1000}'
        self._whole = re.compile(cells % starts)
        self._line_ends_ahead = b""  # line ends after which no row has been read so far
        self._ahead = b""  # the next byte or character, so that the last line comes with its end
        self._mark, self._ended = codecs.BOM_UTF8, False
        self._rest = b""  # not counted so far: the beginning of a line, or of a cell that is not closed
        self.ends = 0  # line ends
        self.breaks = 0  # those within cells
        self._cells = self._first = self._longest = self._longest_from = 0
        self._open_from, self._open = 0, ""  # a cell that is never closed

    closed = False  # as the parser asks

    def read(self, n: int) -> bytes:
        """Read at most ``n`` bytes (12 or more), none at the end. Raises UnicodeDecodeError for another encoding."""
        with self._one_at_a_time:  # the parser reads ahead in a thread of its own, also when it has given up
            return b"" if self.closed else self._read(n)

    def _read(self, n: int) -> bytes:
        while not self._ended:
            text = self._line_ends_ahead + self._next(n - 1 - len(self._line_ends_ahead))
            end = max(len(text.rstrip(b"\r\n")), len(text) - n // 2)
            text, self._line_ends_ahead = (text[:end] + b"\n", b"") if self._ended else (text[:end], text[end:])
            if text:
                self._look(text)
                return text
        return b""

    def _next(self, n: int) -> bytes:
        text = self._ahead + self._read_on((n if self._plain else n // 4) - bool(self._ahead))
        self._ahead = self._read_on(1)
        self._ended = not self._ahead
        text, self._mark = text.removeprefix(self._mark), b""
        return text

    def _read_on(self, n: int) -> bytes:
        """Return the next n bytes of a file in UTF-8, or the next n characters of any other file in UTF-8."""
        text = self._file.read(n)
        return text.encode() if isinstance(text, str) else text

    def close(self) -> None:
        """Close the file."""
        with self._one_at_a_time:
            self._file.close()
            self.closed = True

    def check_closed(self, at_most: int | None = None) -> None:
        """Read to the end, or at most so many bytes. Raises ValueError if the file ends within a cell."""
        left = at_most
        while not self._open_from and (left is None or left > 0) and (text := self.read(1 << 23)):
            left = None if left is None else left - len(text)
        if self._open_from:
            raise ValueError(
                f"{self._path}: the quotation mark that opens a cell in line {self._open_from} is never closed, so "
                f"that all lines below would belong to that cell; it begins {shown(self._open)}. Close it; a mark that "
                'is part of a text is written twice, within marks: "5"" wide"'
            )

    def warnings(self, rows: int, before: int) -> tuple[str, ...]:
        """Return the warnings about a file with so many rows, which begin after ``before`` lines."""
        found = []
        if self._cells:
            found.append(
                f"line breaks within {self._cells} cells in quotation marks, the first from line {self._first} on, the "
                f"longest from line {self._longest_from} on, of {self._longest} lines; a stray quotation mark?"
            )
        if (empty := self.ends - self.breaks - before - rows) > 0:
            found.append(f"{empty} empty lines passed over, and rows are numbered without them")
        return tuple(found)

    def _look(self, new: bytes) -> None:
        """Count the line ends and cells of new text, up to its last line end or to a cell that is not closed."""
        if self._open_from:
            return
        text = self._rest + new
        end = len(text) if self._ended else text.rfind(b"\n") + 1 or text.rfind(b"\r", 0, -1) + 1
        at = 0
        if b'"' not in text:  # no cell in quotation marks
            self.ends += _line_ends(text, 0, end)
            at = end
        while at < end:
            start = at
            while (further := _end(self._whole, text, start, end)) > start:
                start = further
            self.ends += _line_ends(text, at, start)
            at = start
            if start < end:
                closes = _end(_QUOTED, text, start + 1, end)
                if closes == end:
                    break
                self._count(_line_ends(text, start, closes))
                at = closes + 1
        self._rest = text[at:]
        if self._rest and (self._ended or len(self._rest) > _MAX_CELL) and at < end:
            self._open_from, self._open = self.ends + 1, self._rest[:400].decode(errors="replace").splitlines()[0]
            self._rest = b""

    def _count(self, breaks: int) -> None:
        line = self.ends + 1
        self._cells += 1
        self._first = self._first or line
        if breaks >= self._longest:
            self._longest, self._longest_from = breaks + 1, line
        self.ends += breaks
        self.breaks += breaks


def _end(pattern: re.Pattern[bytes], text: bytes, start: int, end: int) -> int:
    found = pattern.match(text, start, end)
    assert found is not None, "the pattern also matches an empty text"
    return found.end()


def _line_ends(text: bytes, start: int, end: int) -> int:
    returns = text.count(b"\r", start, end)
    return text.count(b"\n", start, end) + (returns and returns - text.count(b"\r\n", start, end))
