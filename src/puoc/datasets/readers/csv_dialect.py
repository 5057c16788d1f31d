"""Layout of a delimited text file: encoding, separator, decimal sign and columns, found from its first lines.

A file that can be read in two ways raises an error that shows its first line. Nothing is guessed.
"""

from __future__ import annotations

import codecs
import csv
import re
import unicodedata
from collections.abc import Sequence
from ipaddress import AddressValueError, IPv4Address
from itertools import compress
from pathlib import Path
from typing import NamedTuple

from puoc.datasets.readers.options import How

_HEAD = 1 << 18  # bytes looked at
_MIN_LINES, _MAX_HEAD = 20, 1 << 27  # more bytes are looked at until they hold so many lines, up to the second number
_ROWS = 1000  # rows looked at
_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_PLACES = {b"ustar": 257}  # of marks with which a file does not begin
_MARKS = (
    (b"ustar", "a tar archive", "unpack it"),
    (b"PK\x03\x04", "a zip archive (or a spreadsheet)", "unpack it, or save the sheet as CSV"),
    (b"\x1f\x8b", "a gzip archive", "unpack it"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet or document", "save it as CSV"),
    (b"%PDF", "a PDF document", "export its table as CSV"),
    (b"SQLite format 3", "an SQLite database", "export its table as CSV"),
    *(
        (b"\x80" + bytes([n]), "a pickle", "write the table as CSV or Parquet; puoc reads no pickle")
        for n in range(2, 6)
    ),
    (b"BZh", "a bzip2 archive", "unpack it"),
    (b"\xfd7zXZ\0", "an xz archive", "unpack it"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", "unpack it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it"),
    (b"\x04\x22\x4d\x18", "an lz4 archive", "unpack it"),
    (b"Rar!", "a rar archive", "unpack it"),
    (b"ARROW1", "a Feather or Arrow file", "write the table as Parquet (pandas: to_parquet)"),
    (b"FEA1", "a Feather file", "write the table as Parquet (pandas: to_parquet)"),
    (b"\x93NUMPY", "an array of NumPy", "write it as CSV (numpy.savetxt) or Parquet"),
    (b"\x89HDF", "an HDF5 file", "write the table as CSV or Parquet"),
    (b"Obj\x01", "an Avro file", "write the table as Parquet"),
    (b"ORC", "an ORC file", "write the table as Parquet"),
    (b"\x89PNG", "a picture", "give a folder of pictures, or a table"),
    (b"\xff\xd8\xff", "a picture", "give a folder of pictures, or a table"),
    (b"GIF8", "a picture", "give a folder of pictures, or a table"),
    (b"MATLAB", "a MATLAB file", "write the table as CSV"),
)
_EMPTY_LINES = re.compile(r"([ \t]*(\r\n|\r|\n))*")
_EXCEL = re.compile(r"\"?sep=(?P<separator>.)\"?$", re.IGNORECASE)
_JSON = re.compile(r"\{\s*(\"|$)|\[\s*([\[{]|$)")  # the first line of a list or of objects
_COMMA = re.compile(r"[+-]?\d*,\d+")
_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_BOTH = re.compile(r"[+-]?\d{1,3}([.,]\d{3})+[.,]\d+|[+-]?\d{1,3}([.,]\d{3}){2,}")
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")


class Layout(NamedTuple):
    """Layout by which a file is parsed."""

    encoding: str
    separator: str
    decimal: str
    columns: tuple[str, ...]
    before: int  # lines before the first row: empty ones, and the names of the columns
    first_line: str


def layout_of(path: Path, how: How, wanted: Sequence[str] | None = None) -> Layout:
    """Return the layout of a delimited file, found from its first lines.

    Parameters
    ----------
    wanted : the columns that will be used. Other columns may have no name or equal names. Absent: all.

    Raises
    ------
    ValueError : the file is no text or empty; the separator, the header or the decimal sign is doubtful; or columns
        have no names or equal ones.
    """
    encoding, text = _text(path, how)
    empty = _EMPTY_LINES.match(text)
    assert empty is not None, "the pattern also matches an empty text"
    text = text[empty.end() :]
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), "")
    if not first:
        raise ValueError(f"{path}: the file is empty; expected a line of column names and a line for each row")
    if first.lstrip().lower().startswith(("<!doctype", "<html", "<?xml")):
        raise ValueError(f"{path}: a web page or XML in place of a table; its first line is {shown(first)}")
    if _JSON.match(first.lstrip()):
        raise ValueError(
            f"{path}: JSON in place of a table; its first line is {shown(first)}. Write the table as CSV or Parquet "
            "(pandas: read_json, then to_parquet)"
        )
    if directive := _EXCEL.match(first):
        raise ValueError(
            f"{path}: the first line {shown(first)} is an instruction for a spreadsheet, not the names of "
            f"the columns; delete that line, and use --separator {directive['separator']!r} if the separator "
            "is not found"
        )
    separator = how.separator or _separator(path, text, first)
    rows = _parsed(text, separator)
    columns = tuple(map(plain_name, rows[0]))
    named = wanted is not None and set(wanted) <= set(columns)  # no doubt where a model's columns are
    header = how.header if how.header is not None else named or _header(path, rows, first)
    if not header:
        columns = tuple(f"column{number}" for number in range(1, len(columns) + 1))
    _check_names(path, columns, first, wanted)
    needed = set(wanted or ())
    others = {*how.drop, *how.category, how.text, *doubled(columns)}  # no numbers are read there
    used = [name not in others and (wanted is None or name in needed) for name in columns]
    decimal = how.decimal or _decimal(path, rows[1:] if header else rows, used, first)
    return Layout(encoding, separator, decimal, columns, len(empty[0].splitlines()) + header, first)


def plain_name(name: object) -> str:
    """Return the name of a column without blanks around it, with composed letters."""
    return unicodedata.normalize("NFC", str(name).strip())


def shown(line: str) -> str:
    """Return a line in quotes, cut after 120 characters."""
    return repr(line if len(line) <= 120 else line[:117] + "...")


def encoding_of(head: bytes, how: How) -> str:
    """Return the encoding of a file: that of the options, else that of its byte order mark, else UTF-8."""
    return how.encoding or next((name for mark, name in _BOMS if head.startswith(mark)), "utf-8")


def _text(path: Path, how: How) -> tuple[str, str]:
    """Return the encoding and the text of the first lines of a file; of a file with long lines, more of it."""
    size = _HEAD
    while True:
        with path.open("rb") as file:
            head = file.read(size)
            whole = not file.read(1)
        check_text(path, head, "a table; expected CSV, TSV or Parquet")
        encoding = encoding_of(head, how)
        text = _decoded(path, head, encoding, whole)
        if "\0" in text:
            raise ValueError(f"{path}: binary content in place of text; expected CSV, TSV or Parquet")
        if whole:
            return encoding, text
        cut = text[: text.rfind("\n") + 1] or text[: text.rfind("\r") + 1]
        lines = len(cut.strip().splitlines())
        if lines > _MIN_LINES or (lines and size >= _MAX_HEAD):
            return encoding, cut
        if size >= _MAX_HEAD:
            raise ValueError(f"{path}: no line ends in the first {size >> 20} MiB; expected a line of column names")
        size *= 8


def check_text(path: Path, head: bytes, expected: str) -> None:
    """Raise ValueError if a file begins as one of a known other form, such as an archive or a pickle."""
    for mark, what, advice in _MARKS:
        if head.startswith(mark, _PLACES.get(mark, 0)):
            raise ValueError(f"{path}: {what} in place of {expected}. Please {advice}")


def _decoded(path: Path, head: bytes, encoding: str, whole: bool) -> str:
    try:
        "".encode(encoding)  # which only encodings of texts can
        decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)()
        return decoder.decode(head, final=whole)
    except LookupError:
        raise ValueError(f"{path}: unknown encoding {encoding!r}; expected one such as utf-8 or latin-1") from None
    except UnicodeDecodeError as error:
        line = head.count(b"\n", 0, error.start) + 1
        begins = head.splitlines()[line - 1][:120].decode("ascii", "backslashreplace")  # quoted without a second escape
        raise ValueError(
            f"{path}: not {encoding} text (line {line}: '{begins}'); say what it is, for example "
            "--encoding cp1252 or --encoding latin-1, or save it as UTF-8"
        ) from error


def _parsed(text: str, separator: str) -> list[list[str]]:
    usual = csv.field_size_limit()
    csv.field_size_limit(max(usual, len(text)))  # a cell may be a long text
    try:
        rows = (row for row in csv.reader(text.splitlines(keepends=True), delimiter=separator) if row)
        return [row for row, _ in zip(rows, range(_ROWS), strict=False)]
    finally:
        csv.field_size_limit(usual)  # it is one for the process, and readers of datasets find a lost quote by it


def _separator(path: Path, text: str, first: str) -> str:
    even: list[str] = []
    uneven: list[str] = []
    for separator in _SEPARATORS:
        widths = [len(row) for row in _parsed(text, separator)]
        if widths and widths[0] > 1:
            (even if len(set(widths)) == 1 else uneven).append(separator)
    possible = even or uneven
    if len(possible) > 1:
        names = " and ".join(_SEPARATORS[separator] for separator in possible)
        raise ValueError(
            f"{path}: the columns could be separated by {names}; the first line is {shown(first)}. Say which one, for "
            f"example --separator {possible[0]!r}"
        )
    return possible[0] if possible else _one_column(path, text, first)


def _one_column(path: Path, text: str, first: str) -> str:
    """Return a separator that the file does not contain, so that no decimal comma is taken for one."""
    lines = [line.split() for line in text.splitlines()[:_ROWS] if line.strip()]
    numbers = [cell for line in lines[1:] for cell in line if _NUMBER.fullmatch(cell)]
    if len(lines[0]) > 1 and len({len(line) for line in lines}) == 1 and numbers:
        raise ValueError(
            f"{path}: the columns seem to be separated by blanks; the first line is {shown(first)}. If so, write one "
            "blank between them and use --separator ' '; if it is one column, use --separator ,"
        )
    return next((separator for separator in _SEPARATORS if separator not in text), ",")


def _header(path: Path, rows: list[list[str]], first: str) -> bool:
    numbers = [place for place, cell in enumerate(rows[0]) if _NUMBER.fullmatch(cell.strip())]
    if len(numbers) == len(rows[0]):
        what = f"the first line holds numbers alone, {shown(first)}"
    elif doubtful := [place for place in numbers if _mostly_numbers(rows[1:], place)]:
        number = rows[0][doubtful[0]].strip()
        what = f"the first line, {shown(first)}, holds the number {number!r}, and the lines below hold numbers there"
    else:
        return True
    raise ValueError(
        f"{path}: {what}. If it is a row, use --no-header; if these are the names of the columns, use --header"
    )


def _mostly_numbers(rows: list[list[str]], place: int) -> bool:
    cells = [cell for row in rows if len(row) > place and (cell := row[place].strip())]
    return 2 * sum(_NUMBER.fullmatch(cell) is not None for cell in cells) > len(cells)


def doubled(columns: Sequence[str]) -> dict[str, str]:
    """Return the names that several columns have, with their places; columns without a name are one of these."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(columns, start=1):
        places.setdefault(name, []).append(place)
    found = {}
    for name, at in places.items():
        if len(at) > 1:
            among = ", ".join([*map(str, at[:9]), *["..."] * (len(at) > 9)])
            what = f"stands {len(at)} times" if name else f"has no name, {len(at)} times"
            found[name] = f"{what} (columns {among}); expected each name once"
    return found


def _check_names(path: Path, columns: tuple[str, ...], first: str, wanted: Sequence[str] | None = None) -> None:
    """Reject equal names of columns that are wanted, or of all columns."""
    twice = doubled(columns)
    faults = [name for name in twice if name in wanted] if wanted else list(twice)
    if faults and (wanted or len(twice) == len(set(columns))):
        raise ValueError(f"{path}: the column {faults[0]!r} {twice[faults[0]]}. The first line is {shown(first)}")


def _decimal(path: Path, rows: list[list[str]], used: Sequence[bool], first: str) -> str:
    cells = [cell.strip() for row in rows for cell in compress(row, used)]
    commas = [cell for cell in cells if _COMMA.fullmatch(cell)]
    both = next((cell for cell in cells if _BOTH.fullmatch(cell) and not _is_address(cell)), None)
    if both and (commas or both.count(",") + both.count(".") > 1):
        raise ValueError(
            f"{path}: {both!r} has separators of thousands, which are not read; write numbers without them, or use "
            f"--decimal . or --decimal , if these are no numbers. The first line is {shown(first)}"
        )
    if not commas:
        return "."
    point = next((cell for cell in cells if _POINT.fullmatch(cell)), None)
    if point:
        raise ValueError(
            f"{path}: {commas[0]!r} has a decimal comma and {point!r} a decimal point; choose one by "
            f"--decimal . or --decimal , (a column of the other kind is then no number). The first "
            f"line is {shown(first)}"
        )
    if all(_THOUSANDS.fullmatch(cell) for cell in commas):
        raise ValueError(
            f"{path}: {commas[0]!r} may be a decimal comma or a separator of thousands. If it is the first, use "
            f"--decimal , and if the second, write numbers without it. The first line is {shown(first)}"
        )
    return ","


def _is_address(cell: str) -> bool:
    """Return True for an internet address such as 192.168.100.100."""
    try:
        IPv4Address(cell)
    except AddressValueError:
        return False
    return True
